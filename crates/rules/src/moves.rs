//! Moves, their indices and their text form.

use crate::point::{ParsePointError, Point, format_point, parse_point};
use crate::size::Size;

/// What a player does with a turn.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub enum Move {
    /// Play a stone at a point.
    Play(Point),
    /// Pass: leave the board unchanged.
    Pass,
}

impl Move {
    /// Index among the `area + 1` moves of a grid: the point's index, or the area for a pass.
    #[inline]
    pub const fn index(self, size: Size) -> usize {
        match self {
            Move::Play(point) => point.index(),
            Move::Pass => size.area(),
        }
    }

    /// The move with this index, if there is one.
    #[inline]
    pub const fn from_index(size: Size, index: usize) -> Option<Move> {
        if index == size.area() {
            return Some(Move::Pass);
        }
        match Point::from_index(size, index) {
            Some(point) => Some(Move::Play(point)),
            None => None,
        }
    }

    /// The point of a play; `None` for a pass.
    #[inline]
    pub const fn point(self) -> Option<Point> {
        match self {
            Move::Play(point) => Some(point),
            Move::Pass => None,
        }
    }

    /// The move as text: a point's name such as `C3`, or `pass`.
    pub fn format(self, size: Size) -> String {
        match self {
            Move::Play(point) => format_point(size, point),
            Move::Pass => "pass".to_owned(),
        }
    }

    /// Parses a move, in upper or lower case.
    ///
    /// # Errors
    /// The same as for [`parse_point`], for anything other than `pass`.
    pub fn parse(size: Size, text: &str) -> Result<Move, ParsePointError> {
        if text.eq_ignore_ascii_case("pass") {
            return Ok(Move::Pass);
        }
        parse_point(size, text).map(Move::Play)
    }
}
