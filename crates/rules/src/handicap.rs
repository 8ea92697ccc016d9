//! Handicaps.

use crate::point::Point;
use crate::point_set::PointSet;
use crate::size::Size;

/// How Black is given a start.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Default)]
pub enum Handicap {
    /// An even game.
    #[default]
    Even,
    /// Black starts with so many consecutive plays, anywhere legal; each is a turn of the record, passing is not
    /// allowed in between. White takes the next turn. Fewer than two are an even game.
    Consecutive(u16),
    /// White has to pass in his first turns, one less than this number of stones.
    WhitePasses(u16),
    /// So many stones stood on the board before the first turn.
    Fixed(u16),
}

impl Handicap {
    /// Number of handicap stones; 0 for an even game.
    pub fn stones(self) -> u32 {
        match self {
            Handicap::Consecutive(n) | Handicap::WhitePasses(n) | Handicap::Fixed(n) if n >= 2 => n.into(),
            _ => 0,
        }
    }
}

/// The usual points of `stones` preset handicap stones: corners first, then the centre and the sides.
///
/// As the Go Text Protocol (version 2, section 4.1.1) has it: from 7x7 up; two to four stones in the corners, up to nine
/// where both sides are odd and at least 9. `None` if the grid has no such set.
pub fn fixed_handicap(size: Size, stones: usize) -> Option<PointSet> {
    let (width, height) = (size.width(), size.height());
    let odd = width % 2 == 1 && height % 2 == 1 && width >= 9 && height >= 9;
    let most = if odd { 9 } else { 4 };
    if width.min(height) < 7 || stones < 2 || stones > most {
        return None;
    }
    let line = |side: usize| if side < 13 { 2 } else { 3 };
    let (left, top) = (line(width), line(height));
    let (right, bottom) = (width - 1 - left, height - 1 - top);
    let (middle, centre) = (width / 2, height / 2);
    let corners = [(left, bottom), (right, top), (left, top), (right, bottom)];
    let sides = [(left, centre), (right, centre), (middle, bottom), (middle, top)];
    let mut places = Vec::from(&corners[..stones.min(4)]);
    if stones > 4 {
        places.extend(&sides[..(stones - 4) / 2 * 2]);
        if stones % 2 == 1 {
            places.push((middle, centre));
        }
    }
    let points: Option<Vec<Point>> = places.iter().map(|&(column, row)| size.point(column, row)).collect();
    Some(points?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::format_point;

    #[test]
    fn preset_stones_stand_where_the_protocol_says() {
        let check = |side: usize, stones: usize, expected: &str| {
            let size = Size::square(side).unwrap();
            let set = fixed_handicap(size, stones).unwrap();
            let mut names: Vec<_> = set.iter().map(|p| format_point(size, p)).collect();
            names.sort();
            assert_eq!(names.join(" "), expected);
        };
        check(19, 2, "D4 Q16");
        check(19, 3, "D16 D4 Q16");
        check(19, 5, "D16 D4 K10 Q16 Q4");
        check(19, 6, "D10 D16 D4 Q10 Q16 Q4");
        check(19, 7, "D10 D16 D4 K10 Q10 Q16 Q4");
        check(9, 9, "C3 C5 C7 E3 E5 E7 G3 G5 G7");
        check(8, 4, "C3 C6 F3 F6");
        assert_eq!(fixed_handicap(Size::square(8).unwrap(), 5), None);
        assert_eq!(fixed_handicap(Size::square(5).unwrap(), 2), None);
    }
}
