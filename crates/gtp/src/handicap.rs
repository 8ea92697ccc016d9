//! Free placement of handicap stones (GTP 2, section 4.1.2).

use tengen_rules::{Point, Size, fixed_handicap};

/// Points for a free placement of `stones` stones: the usual fixed points if they exist, otherwise points as far from
/// each other and from the edge as possible, starting near the center. Always fewer than the board has points.
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

/// Twice the distance to the edge, or the distance to the nearest chosen stone if that is less.
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
    use super::*;

    #[test]
    fn free_handicap_stones_are_distinct_on_every_board() {
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
