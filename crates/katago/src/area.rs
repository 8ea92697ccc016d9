//! Who owns which points as the board stands, as KataGo's networks see it.
//!
//! This is the area of Tromp-Taylor scoring, except that a pass-alive color also owns the enemy stones and empty points
//! of its regions in which the enemy cannot live: those with at most one point that touches no stone of the owner.

use tengen_rules::{Color, Point, PointSet, Size, Suicide, pass_alive_area};

/// The points that Black and White own.
pub(crate) fn area(size: Size, stones: &[PointSet; 2], suicide: Suicide) -> [PointSet; 2] {
    let mut owned = [PointSet::new(); 2];
    for color in [Color::Black, Color::White] {
        add_area(size, stones, color, suicide, &mut owned);
    }
    let neutral = |owned: &[PointSet; 2]| owned[0] | owned[1];
    for color in [0, 1] {
        let unclaimed = stones[color] - neutral(&owned);
        owned[color] |= unclaimed;
    }
    owned
}

/// Adds the pass-alive chains of a color and its regions to what is owned. Those that are surely its own are taken from
/// the other color; an empty region of other chains is its own only if nobody owns it yet.
fn add_area(size: Size, stones: &[PointSet; 2], color: Color, suicide: Suicide, owned: &mut [PointSet; 2]) {
    let (mine, theirs) = (color.index(), color.opposite().index());
    let own = stones[mine];
    if own.is_empty() {
        return;
    }
    let alive = pass_alive_area(size, own, stones[theirs], suicide) & own;
    let mut claim = |points: PointSet| {
        owned[theirs] -= points;
        owned[mine] |= points;
    };
    claim(alive);
    let mut unsure = PointSet::new();
    for region in regions(size, own) {
        let without_enemy = !region.points.intersects(&stones[theirs]);
        let is_safe = (region.border & own).is_subset(&alive);
        if is_safe && (region.inner <= 1 || without_enemy) {
            claim(region.points);
        } else if without_enemy {
            unsure |= region.points;
        }
    }
    let neutral = unsure - owned[0] - owned[1];
    owned[mine] |= neutral;
}

/// A connected set of points without a stone of its owner.
struct Region {
    points: PointSet,
    /// The points next to it.
    border: PointSet,
    /// Number of its points that touch no stone of the owner.
    inner: usize,
}

/// The regions around the stones `own`.
fn regions(size: Size, own: PointSet) -> Vec<Region> {
    let mut seen = own;
    let mut found = Vec::new();
    for start in size.points() {
        if seen.contains(start) {
            continue;
        }
        let region = region(size, own, start);
        seen |= region.points;
        found.push(region);
    }
    found
}

fn region(size: Size, own: PointSet, start: Point) -> Region {
    let mut points = PointSet::new();
    points.insert(start);
    let mut border = PointSet::new();
    let mut inner = 0;
    let mut open = vec![start];
    while let Some(point) = open.pop() {
        let mut touches = false;
        for near in point.neighbors(size) {
            if own.contains(near) {
                border.insert(near);
                touches = true;
            } else if !points.contains(near) {
                points.insert(near);
                open.push(near);
            }
        }
        inner += usize::from(!touches);
    }
    Region { points, border, inner }
}
