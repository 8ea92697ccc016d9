//! Capturing races: two chains without two eyes, each of which lives only by capturing the other.

use tengen_rng::{Rng, unit_f64};
use tengen_rules::{Color, PointSet, Position, Size};

use crate::problem::Candidate;
use crate::sketch::{Sketch, between, either, some};

/// A random pair of adjacent chains among walls of both colors; `None` if it is not worth a search.
pub(crate) fn candidate(rng: &mut Rng, size: Size) -> Option<Candidate> {
    let mut sketch = Sketch::new(size);
    let longest = if size.width() < 6 { 4 } else { 6 };
    let count = between(rng, 2, longest);
    let black = sketch.blob(rng, sketch.all(), sketch.all(), count);
    let free = sketch.all() - black;
    let count = between(rng, 2, longest);
    let white = sketch.blob(rng, sketch.around(black), free, count);
    let chains = [black, white];
    let border = sketch.around(black | white);
    let share = 0.15 + 0.35 * unit_f64(rng);
    let liberties = some(rng, border, share);
    // The wall next to a chain belongs to its enemy; a point next to both chains stays empty.
    let next = chains.map(|chain| sketch.around(chain) & (border - liberties));
    let walls = [next[1] - next[0], next[0] - next[1]];
    sketch.stones = chains;
    let eye_spaces = liberties | (next[0] & next[1]);
    let within = sketch.all() - black - white - eye_spaces;
    sketch.spread(rng, walls, within);
    let outer = [sketch.stones[0] - black, sketch.stones[1] - white];
    for color in Color::ALL {
        let eyes = between(rng, 2, 3);
        sketch.make_eyes(rng, color, outer[color.index()], eyes);
    }

    let mover = either(rng);
    let position = sketch.position(mover)?;
    let target = chains[mover.opposite().index()];
    is_race(&position, chains, outer).then_some(Candidate {
        position,
        attacker: mover,
        target,
        rival: Some(chains[mover.index()]),
        decides_game: true,
        ladder_works: None,
        stakes: black | white | eye_spaces,
    })
}

/// Whether the chains stand alone, have several liberties, and the stones around them of at least one color are safe.
fn is_race(position: &Position, chains: [PointSet; 2], outer: [PointSet; 2]) -> bool {
    let stands_alone = |color: Color| {
        let chain = chains[color.index()];
        let first = chain.iter().next();
        first.is_some_and(|first| position.chain(first) == chain && position.liberties(first) >= 2)
    };
    let alive = Color::ALL.map(|color| position.pass_alive_of(color));
    let is_safe = |color: Color| (outer[color.index()] & position.stones(color)).is_subset(&alive[color.index()]);
    let open = position.empty_points() - alive[0] - alive[1];
    Color::ALL.into_iter().all(stands_alone) && Color::ALL.into_iter().all(is_safe) && open.len() <= 14
}
