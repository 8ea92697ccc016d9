//! Independent life under the Simplified Japanese Rules 2008, by exhaustive search.

use crate::color::Color;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::Position;
use crate::proof::{Proof, Question};
use crate::rules::{GameEnd, KoRule, LongCycle, Rules, Suicide};
use crate::setup::Setup;

/// Whether a chain is independently alive.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Life {
    /// Its owner can always bring about a two-eye-formation with a point in common with it.
    Alive,
    /// The opponent can prevent that.
    NotAlive,
    /// The search met its limit before it knew.
    NotDecided,
}

impl Position {
    /// Whether the chain at a point is independently alive: in hypothetical play from this grid, the opponent first,
    /// without suicide, with fixed ko, up to three successive passes, its owner can always bring about a
    /// two-eye-formation having a point in common with the chain as it stands now.
    ///
    /// The search tries every sequence on the whole board, so it decides small or nearly filled boards only; it looks
    /// at `most_nodes` positions at most. A point without a stone is not alive.
    pub fn independent_life(&self, point: Point, most_nodes: u64) -> Life {
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
        };
        match Proof::new(&mut analysis, question, most_nodes).run() {
            Some((winner, _)) if winner == owner => Life::Alive,
            Some(_) => Life::NotAlive,
            None => Life::NotDecided,
        }
    }

    /// The stones of all independently alive chains, if every chain can be decided: by what follows from the shape of
    /// the board at once, else by a search of at most `most_nodes` positions for each chain.
    ///
    /// At once alive is a chain of a two-eye-formation, and one of the immortal chains (below): their owner fills one
    /// liberty of theirs after the other. Each fill is legal, for the chain has another liberty and the grid never had
    /// so many of these stones; it leaves every region vital that it does not fill up, and as long as there are more
    /// than two regions there is one whose chains touch three together, which can be filled up. What is left when no
    /// third liberty is left is a two-eye-formation.
    ///
    /// At once not alive is a chain from which no two points can be reached, past immortal stones of the opponent,
    /// that are not adjacent to such a stone nor to each other: both eyes of a formation are, and the opponent's stones
    /// stay if he only passes.
    ///
    /// Immortal are chains pass-alive by Benson's analysis when a region is vital to a chain only if each of its
    /// points, not only each empty one, is adjacent to the chain.
    pub(crate) fn all_independently_alive(&self, most_nodes: u64) -> Option<PointSet> {
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
            match self.independent_life(chain.next_from(0).expect("a chain has stones"), most_nodes) {
                Life::Alive => alive |= chain,
                Life::NotAlive => {}
                Life::NotDecided => return None,
            }
        }
        Some(alive)
    }

    /// Whether two points that could be the eyes of a formation lie on the chain's side of the walls.
    fn has_room(&self, chain: &PointSet, walls: &PointSet) -> bool {
        let geometry = self.geometry();
        let first = chain.next_from(0).expect("a chain has stones");
        let room = geometry.component(first.index(), &(geometry.all - *walls)) - geometry.adjacent(walls);
        room.iter().any(|eye| {
            let beside = geometry.adjacent(&[eye].into_iter().collect());
            !(room - beside - [eye].into_iter().collect()).is_empty()
        })
    }

    /// The stones of all independently alive chains and those of the chains the search could not decide, each chain
    /// analysed alone with at most `most_nodes` positions.
    pub fn independently_alive(&self, most_nodes: u64) -> (PointSet, PointSet) {
        let (mut alive, mut undecided) = (PointSet::new(), PointSet::new());
        for chain in Color::ALL
            .iter()
            .flat_map(|&c| self.geometry().components(&self.stones(c)))
        {
            let first = chain.next_from(0).expect("a chain has stones");
            match self.independent_life(first, most_nodes) {
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
    /// points and to no other empty point, and both points are adjacent to these chains only.
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

    /// The chains around two empty points, if these are their only liberties and all that the points are adjacent to.
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

/// The owner of a chain wants a two-eye-formation that shares a point with it.
struct TwoEyes {
    owner: Color,
    chain: PointSet,
}

impl Question for TwoEyes {
    fn winner(&self, position: &Position) -> Option<Color> {
        if position.two_eye_formations(self.owner).intersects(&self.chain) {
            Some(self.owner)
        } else if position.consecutive_passes() >= 3 {
            Some(self.owner.opposite())
        } else {
            None
        }
    }

    /// The opponent is content with three passes.
    fn pass_first(&self, position: &Position) -> bool {
        position.to_move() != self.owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::Move;
    use crate::size::Size;

    /// A board after random turns, own one-point eyes mostly kept so that groups live.
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

    /// What the shape of the board tells at once is what the search finds.
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
                    let life = || position.independent_life(chain.next_from(0).unwrap(), 20_000);
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
