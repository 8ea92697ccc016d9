//! Streams of problems, made by seed.

use std::collections::HashSet;

use tengen_rng::{Rng, below, stream};
use tengen_rules::{Color, PointSet, Size, Symmetry};

use crate::problem::{Candidate, Limits, Problem};
use crate::{ladder, life, race};

/// What problems are about.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Kind {
    /// A group whose life depends on the next move.
    Life,
    /// Two chains, each of which lives only by capturing the other.
    Race,
    /// A chain that is chased by at least three ataris, whether the ladder works or is broken.
    Ladder,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 3] = [Kind::Life, Kind::Race, Kind::Ladder];

    /// The name for commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Life => "life",
            Kind::Race => "races",
            Kind::Ladder => "ladders",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Candidates are cheap, so one that takes long is given up early.
    const fn limits(self) -> Limits {
        match self {
            Kind::Life => Limits {
                first: 15_000,
                each: 30_000,
                game: 30_000,
            },
            Kind::Race | Kind::Ladder => Limits {
                first: 8_000,
                each: 20_000,
                game: 20_000,
            },
        }
    }

    fn candidate(self, rng: &mut Rng, size: Size) -> Option<Candidate> {
        match self {
            Kind::Life => life::candidate(rng, size),
            Kind::Race => race::candidate(rng, size),
            Kind::Ladder => ladder::candidate(rng, size),
        }
    }
}

/// Problems of one kind on 5x5, 7x7, and 9x9, all different even up to symmetry and exchanged colors. The same seed
/// always gives the same ones. The sizes of life and death take turns, and so do
/// ladders that work and broken ones. The iterator never ends, but may take long for the next problem.
#[derive(Clone, Debug)]
pub struct Problems {
    kind: Kind,
    seed: u64,
    /// The number of candidates so far.
    pub tried: u64,
    /// The number of candidates that were searched.
    pub searched: u64,
    seen: HashSet<[PointSet; 2]>,
}

const SIDES: [usize; 3] = [5, 7, 9];

impl Problems {
    /// The stream of a seed.
    pub fn new(kind: Kind, seed: u64) -> Problems {
        Problems {
            kind,
            seed,
            tried: 0,
            searched: 0,
            seen: HashSet::new(),
        }
    }
}

impl Iterator for Problems {
    type Item = Problem;

    fn next(&mut self) -> Option<Problem> {
        loop {
            let mut rng = stream(self.seed, &[self.kind as u64, self.tried]);
            self.tried += 1;
            let turn = match self.kind {
                Kind::Life => self.seen.len() % SIDES.len(),
                Kind::Race | Kind::Ladder => below(&mut rng, SIDES.len()),
            };
            let side = SIDES[turn];
            let candidate = Size::square(side)
                .ok()
                .and_then(|size| self.kind.candidate(&mut rng, size));
            let Some(candidate) = candidate else { continue };
            let wanted = candidate
                .ladder_works
                .is_none_or(|works| works == self.seen.len().is_multiple_of(2));
            if !wanted || self.seen.contains(&canonical(&candidate)) {
                continue;
            }
            self.searched += 1;
            if let Some(problem) = candidate.prove(self.kind.limits()) {
                self.seen.insert(canonical(&candidate));
                return Some(problem);
            }
        }
    }
}

/// The same for all mirror images and with colors exchanged: the stones of the side to move and the other's.
fn canonical(candidate: &Candidate) -> [PointSet; 2] {
    let position = &candidate.position;
    let mover = position.to_move();
    let sides: [Color; 2] = [mover, mover.opposite()];
    let image = |symmetry: &Symmetry| {
        let symmetry = *symmetry;
        sides.map(|color| symmetry.apply_set(position.size(), &position.stones(color)))
    };
    let images = Symmetry::all(position.size()).iter().map(image);
    images.min().unwrap_or_default()
}
