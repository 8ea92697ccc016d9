//! Life and death: a group in a corner, at an edge, or in the center, whose life depends on the next move.

use tengen_rng::{Rng, below, unit_f64};
use tengen_rules::{Color, Point, PointSet, Size};

use crate::problem::Candidate;
use crate::sketch::{Sketch, between, either, some};

/// A random group around an eye space with the attacker's wall around it; `None` if it is not worth a search.
pub(crate) fn candidate(rng: &mut Rng, size: Size) -> Option<Candidate> {
    let mut sketch = Sketch::new(size);
    let attacker = either(rng);
    let defender = attacker.opposite();
    let start = place(rng, size);
    let count = between(rng, 3, 7);
    let space = sketch.blob(rng, start, sketch.all(), count);
    let ring = ring(rng, &sketch, space);
    *sketch.of(defender) |= ring;
    let wall = sketch.around(ring | space);
    let liberties = {
        let share = 0.4 * unit_f64(rng);
        some(rng, wall, share)
    };
    *sketch.of(attacker) |= wall - liberties;
    let outside = sketch.all() - space - ring - wall;
    surroundings(rng, &mut sketch, attacker, wall - liberties, outside);
    let share = 0.25 * unit_f64(rng);
    let inner = some(rng, space, share);
    *sketch.of(attacker) |= inner;
    let own = some(rng, space - inner, 0.08);
    *sketch.of(defender) |= own;

    let position = sketch.position(either(rng))?;
    let target = ring | own;
    let alive = position.pass_alive_of(attacker);
    let worth_it = !position.pass_alive_of(defender).intersects(&target)
        && (wall - liberties).is_subset(&alive)
        && (position.empty_points() - alive).len() <= 14;
    worth_it.then_some(Candidate {
        position,
        attacker,
        target,
        rival: None,
        decides_game: size.width() < 7,
        ladder_works: None,
        stakes: space | ring | liberties,
    })
}

/// The points where the eye space may begin: in the corner, at the edge, or in the center.
fn place(rng: &mut Rng, size: Size) -> PointSet {
    let (width, height) = (size.width(), size.height());
    let kind = below(rng, 3);
    let belongs = |point: &Point| {
        let (column, row) = (point.column(size), point.row(size));
        match kind {
            0 => column < 2 && row < 2,
            1 => row == 0 && column.abs_diff(width / 2) < 2,
            _ => column.abs_diff(width / 2) < 2 && row.abs_diff(height / 2) < 2,
        }
    };
    size.points().filter(belongs).collect()
}

/// The defender's stones: the points around the eye space, most with the corners that connect them.
fn ring(rng: &mut Rng, sketch: &Sketch, space: PointSet) -> PointSet {
    let ring = sketch.around(space);
    let is_corner = |point: &Point| {
        let next = point.neighbors(sketch.size).filter(|&next| ring.contains(next));
        next.count() >= 2
    };
    let corners: PointSet = (sketch.around(ring) - space).iter().filter(is_corner).collect();
    ring | some(rng, corners, 0.75)
}

/// Fills the rest with the attacker's stones and, sometimes, with a living group of the defender; both with eyes.
fn surroundings(rng: &mut Rng, sketch: &mut Sketch, attacker: Color, wall: PointSet, outside: PointSet) {
    let far = outside - sketch.around(wall);
    let friends = match far.len() {
        enough @ 8.. => {
            let count = between(rng, 6, enough);
            sketch.blob(rng, far, far, count)
        }
        _ => PointSet::new(),
    };
    *sketch.of(attacker.opposite()) |= friends;
    *sketch.of(attacker) |= outside - friends;
    sketch.make_eyes(rng, attacker.opposite(), friends, 2);
    let eyes = between(rng, 2, 3);
    sketch.make_eyes(rng, attacker, outside | wall, eyes);
}
