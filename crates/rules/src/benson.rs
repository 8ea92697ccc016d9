//! Unconditionally alive chains and the regions vital to them (Benson, Life in the Game of Go, 1976).

use crate::area::Area;
use crate::color::Color;
use crate::geometry::Geometry;
use crate::point_set::PointSet;
use crate::position::Position;
use crate::rules::{Scoring, Suicide};
use crate::size::Size;

impl Position {
    /// Benson's analysis for each color: the chains that survive even if their owner only passes, and the regions vital
    /// to them.
    ///
    /// A region is a connected set of points without a stone of the owner. It is vital to a chain if each of its empty
    /// points is a liberty of that chain; if the rules allow suicide, which may empty its other points too, each of its
    /// points must be adjacent to the chain. The pass-alive chains are the largest set in which each chain has two
    /// vital regions that touch only chains of the set. The area holds those chains and every such region vital to one
    /// of them. This analysis is not part of the rules and never affects a score.
    pub fn pass_alive(&self) -> Area {
        Area {
            black: self.pass_alive_of(Color::Black),
            white: self.pass_alive_of(Color::White),
        }
    }

    /// The pass-alive area of one color; see [`Position::pass_alive`].
    pub fn pass_alive_of(&self, color: Color) -> PointSet {
        let (own, opponent) = (self.stones(color), self.stones(color.opposite()));
        pass_alive_area(self.size(), own, opponent, self.rules().suicide)
    }

    /// The points that belong to a color at the end of the game even if it only passes from now on: its pass-alive
    /// stones and their one-point eyes, where the opponent cannot play.
    pub fn safe_points_of(&self, color: Color) -> PointSet {
        let geometry = self.geometry();
        let own = self.stones(color);
        let held = self.pass_alive_of(color);
        let eyes = held - geometry.adjacent(&(geometry.all - own)) - own;
        (held & own) | (eyes & self.empty_points())
    }

    /// Whether the score of the current grid can no longer change with sensible play: each color's pass-alive area is
    /// exactly its area, and together they cover the whole grid.
    ///
    /// No point is neutral, no stone is inside the other color's area, and no stone can be captured unless its owner
    /// fills their own eyes. A stone thrown into the other area cannot make an eye, because each point there is
    /// adjacent to the chain around it; it survives only if the opponent never answers. Always false under territory
    /// scoring, where such answers cost points. This does not mean that the game is over, which takes two passes.
    pub fn is_settled(&self) -> bool {
        if self.rules().scoring == Scoring::Territory {
            return false;
        }
        let area = self.area();
        (area.black | area.white) == self.geometry().all && self.pass_alive() == area
    }
}

/// The pass-alive area of the owner of the stones `own` on a board of this size; see [`Position::pass_alive`].
pub fn pass_alive_area(size: Size, own: PointSet, opponent: PointSet, suicide: Suicide) -> PointSet {
    let geometry = Geometry::of(size);
    let decisive = match suicide {
        Suicide::Forbidden => geometry.all - own - opponent,
        Suicide::Allowed | Suicide::MultiOnly => geometry.all - own,
    };
    pass_alive(geometry, own, decisive)
}

impl Position {
    /// The stones of a color that are pass-alive even under the stricter definition, in which a region is vital to a
    /// chain only if each of its points is adjacent to the chain. They also form two-eye-formations; see `life.rs`.
    pub(crate) fn immortal_stones(&self, color: Color) -> PointSet {
        let own = self.stones(color);
        pass_alive(self.geometry(), own, self.geometry().all - own) & own
    }
}

/// The pass-alive chains among the stones `own`, with the regions vital to at least one of them; `decisive` holds the
/// points that must be adjacent to a chain for their region to be vital to it.
fn pass_alive(geometry: &Geometry, own: PointSet, decisive: PointSet) -> PointSet {
    let mut chains: Vec<PointSet> = geometry.components(&own).collect();
    let mut regions: Vec<PointSet> = geometry.components(&(geometry.all - own)).collect();
    let union = |sets: &[PointSet]| sets.iter().fold(PointSet::new(), |all, set| all | *set);
    let vital = |region: &PointSet, adjacent: &PointSet| (*region & decisive).is_subset(adjacent);
    loop {
        let alive = union(&chains);
        regions.retain(|region| (geometry.adjacent(region) & own).is_subset(&alive));
        let before = chains.len();
        chains.retain(|chain| {
            let adjacent = geometry.adjacent(chain);
            regions
                .iter()
                .filter(|region| vital(region, &adjacent))
                .nth(1)
                .is_some()
        });
        if chains.len() == before {
            break;
        }
    }
    regions.retain(|region| chains.iter().any(|chain| vital(region, &geometry.adjacent(chain))));
    union(&chains) | union(&regions)
}
