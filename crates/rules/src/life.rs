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
