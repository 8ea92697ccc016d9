//! Restrictions on the moves at the root of a search.

use tengen_rules::{Move, PointSet, Size};

/// The moves allowed at the root of a search; deeper in the tree, all moves are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootMoves {
    /// The points where a play is allowed.
    pub points: PointSet,
    /// Whether a pass is allowed.
    pub pass: bool,
}

/// The root moves that a method may choose from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenMoves<'a> {
    size: Size,
    allowed: Option<&'a RootMoves>,
}

impl<'a> OpenMoves<'a> {
    /// The allowed moves on a board of this size; `None` allows all.
    pub(crate) fn new(size: Size, allowed: Option<&'a RootMoves>) -> OpenMoves<'a> {
        OpenMoves { size, allowed }
    }

    /// Whether the move with this index is one of them.
    pub(crate) fn contains(self, index: u16) -> bool {
        let Some(allowed) = self.allowed else { return true };
        match Move::from_index(self.size, usize::from(index)) {
            Some(Move::Play(point)) => allowed.points.contains(point),
            Some(Move::Pass) => allowed.pass,
            None => false,
        }
    }
}
