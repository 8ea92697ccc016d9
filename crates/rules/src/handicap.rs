//! Handicaps and the usual points of handicap stones.

use crate::point::Point;
use crate::size::Size;

/// How Black receives a handicap.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Default)]
pub enum Handicap {
    /// An even game without handicap stones.
    #[default]
    Even,
    /// Black starts with this many consecutive plays at any legal points; each is a recorded turn, and Black may not
    /// pass in between. White takes the next turn. Fewer than two means an even game.
    Consecutive(u16),
    /// White must pass in the first turns, one fewer than this number of stones.
    WhitePasses(u16),
    /// This many stones are on the board before the first turn.
    Fixed(u16),
}

impl Handicap {
    /// The number of handicap stones; 0 for an even game.
    pub fn stones(self) -> u32 {
        match self {
            Handicap::Consecutive(n) | Handicap::WhitePasses(n) | Handicap::Fixed(n) if n >= 2 => n.into(),
            _ => 0,
        }
    }
}

/// The usual points of `stones` fixed handicap stones, in the usual order: corners, then sides, then the center.
///
/// This follows the Go Text Protocol (version 2, section 4.1.1): grids of at least 7x7 have two to four stones in the
/// corners, and up to nine if both sides are odd and at least 9; on a rectangle, each side follows the rule for its own
/// length. `None` if the grid has no such points.
pub fn fixed_handicap(size: Size, stones: usize) -> Option<Vec<Point>> {
    let (width, height) = (size.width(), size.height());
    let odd = width % 2 == 1 && height % 2 == 1 && width >= 9 && height >= 9;
    let most = if odd { 9 } else { 4 };
    if width.min(height) < 7 || stones < 2 || stones > most {
        return None;
    }
    let line = |side: usize| if side < 13 { 2 } else { 3 };
    let (left, top) = (line(width), line(height));
    let (right, bottom) = (width - 1 - left, height - 1 - top);
    let (middle, center) = (width / 2, height / 2);
    let corners = [(left, bottom), (right, top), (left, top), (right, bottom)];
    let sides = [(left, center), (right, center), (middle, top), (middle, bottom)];
    let mut places = Vec::from(&corners[..stones.min(4)]);
    if stones > 4 {
        places.extend(&sides[..(stones - 4) / 2 * 2]);
        if stones % 2 == 1 {
            places.push((middle, center));
        }
    }
    places
        .into_iter()
        .map(|(column, row)| size.point(column, row))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::format_point;

    fn check(side: usize, stones: usize, expected: &str) {
        let size = Size::square(side).unwrap();
        let points = fixed_handicap(size, stones).unwrap();
        let names: Vec<_> = points.iter().map(|&point| format_point(size, point)).collect();
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn fixed_handicap_follows_the_protocol() {
        check(19, 2, "D4 Q16");
        check(19, 3, "D4 Q16 D16");
        check(19, 4, "D4 Q16 D16 Q4");
        check(19, 5, "D4 Q16 D16 Q4 K10");
        check(19, 6, "D4 Q16 D16 Q4 D10 Q10");
        check(19, 7, "D4 Q16 D16 Q4 D10 Q10 K10");
        check(19, 8, "D4 Q16 D16 Q4 D10 Q10 K16 K4");
        check(19, 9, "D4 Q16 D16 Q4 D10 Q10 K16 K4 K10");
        check(13, 2, "D4 K10");
        check(9, 5, "C3 G7 C7 G3 E5");
        check(8, 4, "C3 F6 C6 F3");
        check(7, 4, "C3 E5 C5 E3");
    }

    #[test]
    fn unsupported_numbers_of_stones_give_none() {
        for (side, stones) in [(19, 1), (19, 10), (6, 2), (5, 2), (7, 5), (8, 5), (10, 5)] {
            let size = Size::square(side).unwrap();
            assert_eq!(fixed_handicap(size, stones), None, "{side} {stones}");
        }
    }
}
