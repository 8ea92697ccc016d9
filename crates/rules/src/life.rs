//! Independent life under the Simplified Japanese Rules 2008, by exhaustive search.

use crate::color::Color;
use crate::judge::LIFE_NODES;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::Position;
use crate::proof::{Proof, Question};
use crate::rules::{GameEnd, KoRule, LongCycle, Rules, Suicide};
use crate::setup::Setup;

/// The answer to whether a chain is independently alive.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Life {
    /// Its owner can always force a two-eye-formation that has a point in common with the chain.
    Alive,
    /// The opponent can prevent such a formation.
    NotAlive,
    /// The search reached its limit without an answer.
    NotDecided,
}

impl Position {
    /// Whether the chain at a point is independently alive: in hypothetical play from this grid, with the opponent
    /// first, without suicide, under fixed ko and ending after three successive passes, its owner can always force a
    /// two-eye-formation that has a point in common with the chain as it is now.
    ///
    /// The search tries every sequence on the whole board up to positions that the shape of the board decides, so it
    /// can decide only small or nearly filled boards; it searches at most `max_nodes` positions. A point without a
    /// stone is not alive.
    ///
    /// Two shortcuts decide a position, at the root or below it:
    ///
    /// - To alive: a stone of the chain is part of a two-eye-formation or immortal (see below). The owner of immortal
    ///   chains fills their liberties one by one. Each fill is legal, since the chain has another liberty and the grid
    ///   never had so many of these stones. A fill keeps every region vital that it does not fill completely, and while
    ///   there are more than two regions, there is one whose chains touch three regions between them, which can be
    ///   filled completely. When no third liberty is left, the rest is a two-eye-formation. Below the root, fixed ko
    ///   cannot forbid a fill either: the search goes no further where the stones are immortal, so no earlier play
    ///   started from such a grid.
    /// - To not alive: around immortal opposing stones, no part of the board with a point of the chain has two points
    ///   that are adjacent neither to such a stone nor to each other. The two eyes of a formation are such points, and
    ///   immortal opposing stones survive even if their owner only passes.
    ///
    /// A chain is immortal if it is pass-alive by Benson's analysis with a stricter definition: a region is vital to a
    /// chain only if each of its points, not just each empty one, is adjacent to the chain.
    pub fn independent_life(&self, point: Point, max_nodes: u64) -> Life {
        match self.life(point, max_nodes, true) {
            // Games of version 0.1.0, which searched without shortcuts, must keep their scores.
            Life::NotDecided => self.life(point, max_nodes.min(LIFE_NODES), false),
            decided => decided,
        }
    }

    fn life(&self, point: Point, max_nodes: u64, shortcuts: bool) -> Life {
        let Some(owner) = self.at(point) else {
            return Life::NotAlive;
        };
        let rules = Rules {
            ko: KoRule::Fixed,
            suicide: Suicide::Forbidden,
            end: GameEnd::FourPasses,
            long_cycle: LongCycle::GoesOn,
            button: false,
            ..self.rules()
        };
        let start = Setup {
            stones: *self.stone_sets(),
            to_move: owner.opposite(),
            ..Setup::EVEN
        };
        let mut analysis = Position::from_start(self.size(), rules, start);
        let question = TwoEyes {
            owner,
            chain: self.chain(point),
            shortcuts,
        };
        match Proof::new(&mut analysis, question, max_nodes).run() {
            Some((winner, _)) if winner == owner => Life::Alive,
            Some(_) => Life::NotAlive,
            None => Life::NotDecided,
        }
    }

    /// The stones of all independently alive chains if every chain can be decided, by a shortcut (see
    /// [`Position::independent_life`]) or else by a search of at most `max_nodes` positions per chain.
    pub(crate) fn all_independently_alive(&self, max_nodes: u64) -> Option<PointSet> {
        let immortal = Color::ALL.map(|color| self.immortal_stones(color));
        let (mut alive, mut open) = (PointSet::new(), Vec::new());
        for color in Color::ALL {
            let formations = self.two_eye_formations(color) | immortal[color.index()];
            for chain in self.geometry().components(&self.stones(color)) {
                if chain.intersects(&formations) {
                    alive |= chain;
                } else if self.has_room(&chain, &immortal[color.opposite().index()]) {
                    open.push(chain);
                }
            }
        }
        for chain in open {
            match self.independent_life(chain.next_from(0).expect("a chain has stones"), max_nodes) {
                Life::Alive => alive |= chain,
                Life::NotAlive => {}
                Life::NotDecided => return None,
            }
        }
        Some(alive)
    }

    /// Whether some part of the board between the walls has a point of the chain and two points that could be the eyes
    /// of a formation.
    fn has_room(&self, chain: &PointSet, walls: &PointSet) -> bool {
        let geometry = self.geometry();
        let next_to_walls = geometry.adjacent(walls);
        let mut parts = geometry.components(&(geometry.all - *walls));
        parts.any(|part| {
            let room = part - next_to_walls;
            let has_two_eyes = |eye| {
                let eye = [eye].into_iter().collect();
                !(room - geometry.adjacent(&eye) - eye).is_empty()
            };
            part.intersects(chain) && room.iter().any(has_two_eyes)
        })
    }

    /// The stones of all independently alive chains and those of undecided chains. Each chain is searched separately,
    /// with at most `max_nodes` positions.
    pub fn independently_alive(&self, max_nodes: u64) -> (PointSet, PointSet) {
        let (mut alive, mut undecided) = (PointSet::new(), PointSet::new());
        for chain in Color::ALL
            .iter()
            .flat_map(|&c| self.geometry().components(&self.stones(c)))
        {
            let first = chain.next_from(0).expect("a chain has stones");
            match self.independent_life(first, max_nodes) {
                Life::Alive => alive |= chain,
                Life::NotAlive => {}
                Life::NotDecided => undecided |= chain,
            }
        }
        (alive, undecided)
    }

    /// The points of all two-eye-formations of a color.
    ///
    /// A two-eye-formation is a set of chains and exactly two empty points such that every chain is adjacent to both
    /// points and to no other empty point, and both points are adjacent only to these chains.
    pub fn two_eye_formations(&self, color: Color) -> PointSet {
        let mut formations = PointSet::new();
        let own = self.stones(color);
        for chain in self.geometry().components(&own) {
            let eyes = self.geometry().adjacent(&chain) & self.empty_points();
            if eyes.len() == 2
                && let Some(formation) = self.formation_around(&eyes, &own)
            {
                formations |= formation | eyes;
            }
        }
        formations
    }

    /// The chains around two empty points, if these are their only liberties and the points touch nothing else.
    fn formation_around(&self, eyes: &PointSet, own: &PointSet) -> Option<PointSet> {
        let geometry = self.geometry();
        let around = geometry.adjacent(eyes);
        if !around.is_subset(own) {
            return None;
        }
        let chains = around.iter().fold(
            PointSet::new(),
            |all, p| if all.contains(p) { all } else { all | self.chain(p) },
        );
        let same_liberties = geometry
            .components(&chains)
            .all(|chain| geometry.adjacent(&chain) & self.empty_points() == *eyes);
        same_liberties.then_some(chains)
    }
}

/// The question whether the owner of a chain can force a two-eye-formation that shares a point with it.
struct TwoEyes {
    owner: Color,
    chain: PointSet,
    /// Whether the shape of the board may decide before a formation or three passes do.
    shortcuts: bool,
}

impl Question for TwoEyes {
    fn winner(&self, position: &Position) -> Option<Color> {
        let opponent = self.owner.opposite();
        if position.two_eye_formations(self.owner).intersects(&self.chain) {
            Some(self.owner)
        } else if position.consecutive_passes() >= 3 {
            Some(opponent)
        } else if !self.shortcuts {
            None
        } else if position.immortal_stones(self.owner).intersects(&self.chain) {
            Some(self.owner)
        } else if !position.has_room(&self.chain, &position.immortal_stones(opponent)) {
            Some(opponent)
        } else {
            None
        }
    }

    /// Three passes are enough for the opponent.
    fn pass_first(&self, position: &Position) -> bool {
        position.to_move() != self.owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::Move;
    use crate::size::Size;

    /// A board after random turns that mostly keep their own one-point eyes, so that groups live.
    fn random_board(size: Size, seed: u64) -> Position {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        let mut position = Position::with_rules(size, Rules::japanese2008());
        for _ in 0..size.area() + below(size.area()) {
            let mut legal: Vec<Point> = position.legal_points().iter().collect();
            legal.retain(|&p| !position.is_one_point_eye(p, position.to_move()));
            match legal.len() {
                0 if position.consecutive_passes() > 0 => break,
                0 => position.play(Move::Pass),
                n => position.play(Move::Play(legal[below(n)])),
            }
            if position.is_over() {
                break;
            }
        }
        position
    }

    /// A search with shortcuts at every position gives the same answers as one without, and more of them.
    #[test]
    fn shortcuts_below_the_root_agree_with_the_search() {
        let (mut decided, mut more) = ([0; 2], 0);
        for seed in 1000..1500 {
            let size = [(3, 3), (4, 3), (5, 2), (6, 2), (4, 4)][seed as usize % 5];
            let position = random_board(Size::new(size.0, size.1).unwrap(), seed);
            for chain in Color::ALL
                .iter()
                .flat_map(|&color| position.geometry().components(&position.stones(color)))
            {
                let point = chain.next_from(0).unwrap();
                let (fast, plain) = (position.life(point, 3_000, true), position.life(point, 8_000, false));
                match (fast, plain) {
                    (Life::NotDecided, _) => {}
                    (_, Life::NotDecided) => more += 1,
                    _ => {
                        assert_eq!(fast, plain, "{position:?}");
                        decided[usize::from(fast == Life::Alive)] += 1;
                    }
                }
            }
        }
        assert!(decided.iter().all(|&n| n > 50) && more > 5, "{decided:?} {more}");
    }

    /// The shortcuts from the shape of the board give the same answers as the search.
    #[test]
    fn shortcuts_agree_with_the_search() {
        let (mut alive_at_once, mut dead_at_once) = (0, 0);
        for seed in 0..400 {
            let size = [(3, 3), (4, 3), (4, 4), (5, 2)][seed as usize % 4];
            let position = random_board(Size::new(size.0, size.1).unwrap(), seed);
            for color in Color::ALL {
                let walls = position.immortal_stones(color.opposite());
                let immortal = position.immortal_stones(color);
                for chain in position.geometry().components(&position.stones(color)) {
                    let life = || position.life(chain.next_from(0).unwrap(), 20_000, false);
                    if chain.intersects(&immortal) {
                        assert_ne!(life(), Life::NotAlive, "{position:?}");
                        alive_at_once += usize::from(life() == Life::Alive);
                    } else if !position.has_room(&chain, &walls) {
                        assert_ne!(life(), Life::Alive, "{position:?}");
                        dead_at_once += usize::from(life() == Life::NotAlive);
                    }
                }
            }
        }
        assert!(
            alive_at_once > 20 && dead_at_once > 20,
            "{alive_at_once} {dead_at_once}"
        );
    }
}
