//! Where do handicap stones go? (GTP 2, section 4.1)

use tengen_rules::{Point, Size};

/// The points of GTP 2, section 4.1.1, for `stones` handicap stones, or `None` when the specification gives none for this
/// board and number.
///
/// On rectangles each side follows the rule of its own length; as the specification covers squares only, this is ours.
pub fn fixed_handicap(size: Size, stones: usize) -> Option<Vec<Point>> {
    if !(2..=max_fixed(size)).contains(&stones) {
        return None;
    }
    let (columns, rows) = (lines(size.width()), lines(size.height()));
    // (column, row) with 0 low, 1 middle, 2 high; rows count from the top, as points do.
    let (left, middle, right) = (columns[0], columns[1], columns[2]);
    let (top, centre, bottom) = (rows[0], rows[1], rows[2]);
    let corners = [(left, bottom), (right, top), (left, top), (right, bottom)];
    let sides = [(left, centre), (right, centre), (middle, top), (middle, bottom)];
    let mut places: Vec<(usize, usize)> = corners.iter().copied().take(stones.min(4)).collect();
    places.extend(sides.iter().copied().take(match stones {
        0..=5 => 0,
        6 | 7 => 2,
        _ => 4,
    }));
    if matches!(stones, 5 | 7 | 9) {
        places.push((middle, centre));
    }
    places
        .into_iter()
        .map(|(column, row)| size.point(column, row))
        .collect()
}

fn max_fixed(size: Size) -> usize {
    match (
        size.width().min(size.height()),
        size.width() % 2 == 1 && size.height() % 2 == 1,
    ) {
        (0..=6, _) => 0,
        (7 | 8, _) | (_, false) => 4,
        _ => 9,
    }
}

fn lines(side: usize) -> [usize; 3] {
    let edge = if side >= 13 { 3 } else { 2 };
    [edge, side / 2, side - 1 - edge]
}

/// Points for a free placement of `stones` stones: the fixed places where they exist, else points spread as far from each other
/// and from the edge as can be, starting near the centre. Always fewer than the board has points.
pub fn spread_handicap(size: Size, stones: usize) -> Vec<Point> {
    if let Some(points) = fixed_handicap(size, stones) {
        return points;
    }
    let mut chosen: Vec<Point> = Vec::new();
    while chosen.len() < stones.min(size.area().saturating_sub(1)) {
        let free = size.points().filter(|point| !chosen.contains(point));
        let best = free.max_by_key(|&point| (room(size, &chosen, point), std::cmp::Reverse(point)));
        chosen.extend(best);
    }
    chosen
}

/// Twice the distance to the edge, or the distance to the nearest chosen stone where that is less.
fn room(size: Size, chosen: &[Point], point: Point) -> usize {
    let (column, row) = (point.column(size), point.row(size));
    let edge = (column + 1)
        .min(size.width() - column)
        .min(row + 1)
        .min(size.height() - row);
    let distance = |&other: &Point| column.abs_diff(other.column(size)) + row.abs_diff(other.row(size));
    chosen.iter().map(distance).min().unwrap_or(usize::MAX).min(2 * edge)
}

#[cfg(test)]
mod tests {
    use tengen_rules::format_point;

    use super::*;

    fn check(side: usize, stones: usize, expected: &str) {
        let size = Size::square(side).expect("a size");
        let points = fixed_handicap(size, stones).expect("fixed places");
        let text: Vec<String> = points.into_iter().map(|point| format_point(size, point)).collect();
        assert_eq!(text.join(" "), expected);
    }

    #[test]
    fn places_are_those_of_the_specification() {
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
        check(7, 4, "C3 E5 C5 E3");
    }

    #[test]
    fn numbers_without_places_have_none() {
        for (side, stones) in [(19, 1), (19, 10), (6, 2), (7, 5), (8, 5), (10, 5)] {
            assert_eq!(
                fixed_handicap(Size::square(side).expect("a size"), stones),
                None,
                "{side} {stones}"
            );
        }
    }

    #[test]
    fn spread_stones_are_distinct_on_every_board() {
        for (width, height) in [(1, 1), (1, 2), (2, 2), (3, 5), (5, 5), (19, 19), (4, 19)] {
            let size = Size::new(width, height).expect("a size");
            for stones in [2, 3, 5, 17, 361] {
                let mut points = spread_handicap(size, stones);
                assert!(points.len() <= stones.min(size.area() - 1));
                points.sort();
                points.dedup();
                assert!(points.len() == stones.min(size.area() - 1), "{width}x{height} {stones}");
            }
        }
    }
}
