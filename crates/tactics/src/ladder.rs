//! Ladders: a chain that is chased from one atari to the next, and what breaks the ladder.

use tengen_rng::{Rng, below, unit_f64};
use tengen_rules::{Color, Point, PointSet, Size, Symmetry};

use crate::problem::Candidate;
use crate::reader::chase;
use crate::sketch::{Sketch, between, some};

/// The fewest ataris of a ladder.
const LEAST_ATARIS: usize = 3;

/// A random ladder, working or broken; `None` if it is not worth a search.
///
/// The chain begins near the upper left corner of the drawing with two liberties, to the right and below, so the ladder
/// runs down to the right.
pub(crate) fn candidate(rng: &mut Rng, size: Size) -> Option<Candidate> {
    let mut sketch = Sketch::new(size);
    let (attacker, defender) = match below(rng, 2) {
        0 => (Color::Black, Color::White),
        _ => (Color::White, Color::Black),
    };
    let most = (size.width() - 4).min(3);
    let corner = (between(rng, 1, most.max(1)), between(rng, 1, most.max(1)));
    let at = |column: isize, row: isize| {
        let column = corner.0.checked_add_signed(column)?;
        size.point(column, corner.1.checked_add_signed(row)?)
    };
    let points = |steps: &[(isize, isize)]| -> PointSet { steps.iter().filter_map(|&(c, r)| at(c, r)).collect() };
    let target = points(&[(0, 0)]);
    let behind = points(&[(-1, 0), (0, -1)]);
    let supports = points(&[(1, -1), (-1, 1)]);
    *sketch.of(defender) |= target;
    *sketch.of(attacker) |= behind | some(rng, supports, 0.7);
    let widths = [between(rng, 2, 3) as isize, between(rng, 2, 3) as isize];
    let length = between(rng, 2, 5) as isize;
    let is_lane = |point: &Point| {
        let column = point.column(size) as isize - corner.0 as isize;
        let row = point.row(size) as isize - corner.1 as isize;
        column >= -1
            && row >= -1
            && column - row <= widths[0]
            && row - column <= widths[1]
            && column + row <= 2 * length
    };
    let lane: PointSet =
        size.points().filter(is_lane).collect::<PointSet>() - target - behind - sketch.stones[attacker.index()];
    let rest = sketch.empty() - lane;
    let seeds = [between(rng, 1, 2), between(rng, 1, 2)].map(|count| {
        let points = (0..count).filter_map(|_| rest.nth(below(rng, rest.len().max(1))));
        points.collect::<PointSet>()
    });
    sketch.spread(rng, [seeds[0], seeds[1] - seeds[0]], rest);
    for color in Color::ALL {
        sketch.make_eyes(rng, color, rest, 2);
    }
    // Stones in the lane: now and then a ladder breaker, or a stone that helps the attacker.
    let share = 0.12 * unit_f64(rng);
    let breakers = some(rng, lane, share);
    *sketch.of(defender) |= breakers;
    let helpers = some(rng, lane - breakers, 0.04);
    *sketch.of(attacker) |= helpers;

    let symmetry = Symmetry::ALL[below(rng, 8)];
    sketch.stones = sketch.stones.map(|stones| symmetry.apply_set(size, &stones));
    let first = symmetry.apply_set(size, &target).iter().next()?;
    let mover = if unit_f64(rng) < 0.75 { attacker } else { defender };
    let position = sketch.position(mover)?;
    let target = position.chain(first);
    let alive = Color::ALL.map(|color| position.pass_alive_of(color));
    let open = position.empty_points() - alive[0] - alive[1];
    let worth_it = open.len() <= 24 && !alive[defender.index()].intersects(&target);
    if !worth_it {
        return None;
    }
    let chase = chase(&position, attacker, first);
    if chase.ataris < LEAST_ATARIS {
        return None;
    }
    Some(Candidate {
        position,
        attacker,
        target,
        rival: None,
        decides_game: false,
        ladder_works: Some(chase.works),
        stakes: symmetry.apply_set(size, &lane) | target,
    })
}
