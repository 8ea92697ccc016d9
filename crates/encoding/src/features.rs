//! The network's view of a position: eight bit planes, three numbers and the komi, all from the mover's viewpoint.
//!
//! | plane | points in the plane |
//! |---|---|
//! | 0 | the mover's stones |
//! | 1 | the opponent's stones |
//! | 2, 3, 4 | chains of either color with exactly 1, 2, 3 liberties |
//! | 5 | empty points banned for the mover by the ko rule (including one-stone suicides) |
//! | 6 | points the mover would own if the game stopped now: the mover's stones and empty points reaching only them |
//! | 7 | points the opponent would own if the game stopped now |
//!
//! Points that are not on the board count as komi: White's handicap bonus and, under territory scoring, the prisoners
//! taken so far, for the side that took them. They do not change the value of later moves, and the result depends only
//! on the sum. The planes of owned points always use area.
//!
//! A network may see optional planes ([`PlaneSet`]). They follow from the stones, so [`Features`] does not store them;
//! an [`InputBatch`](crate::InputBatch) adds them after the others, in this order:
//!
//! | optional planes | points in each plane |
//! |---|---|
//! | [`pass_alive`](PlaneSet::pass_alive) | the pass-alive areas of the mover and of the opponent |
//! | [`ladders`](PlaneSet::ladders) | the stones of either color that can be captured in a ladder, and the mover's plays that begin one |
//!
//! A pass-alive area consists of chains that live even if their owner always passes, and their vital regions. What a
//! [ladder](tengen_ladders) is follows KataGo (Wu, 2019).
//!
//! No plane encodes the order of earlier moves, so transpositions share one prediction. Other programs' networks may
//! see that order; for them, `Features` carry a [`Trail`].

use std::sync::Arc;

use tengen_ladders::{Ladders, ladders};
use tengen_rules::{
    Color, ImageTable, Komi, Move, PointSet, Position, Scoring, Size, Suicide, Symmetry, pass_alive_area,
};

use crate::plane_set::PlaneSet;
use crate::trail::Trail;

/// Number of bit planes of [`Features`].
pub const BIT_PLANES: usize = 8;

/// Number of global inputs of [`Features`].
pub const GLOBALS: usize = 3;

/// Plane of the mover's stones.
pub const PLANE_OWN: usize = 0;
/// Plane of the opponent's stones.
pub const PLANE_OPPONENT: usize = 1;
/// First of the three planes of chains with 1, 2 and 3 liberties.
pub const PLANE_LIBERTIES: usize = 2;
/// Plane of empty points banned for the mover by the ko rule.
pub const PLANE_BANNED: usize = 5;
/// Plane of the points the mover owns on the current board.
pub const PLANE_OWN_AREA: usize = 6;
/// Plane of the points the opponent owns on the current board.
pub const PLANE_OPPONENT_AREA: usize = 7;

/// Points of margin at which the third global input reaches tanh(1).
const MARGIN_SCALE: f32 = 5.0;

/// Plays after which a ladder is no longer read. In games on 9x9, one position in a thousand has such a ladder, which
/// would cost as much as all others.
const MOST_LADDER_PLAYS: usize = 2_000;

/// Everything the network sees of one position, from the view of the side to move.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Size of the board that the planes cover.
    pub size: Size,
    /// The bit planes `[BIT_PLANES]`, in the order of the table in the module header.
    pub planes: [PointSet; BIT_PLANES],
    /// The global inputs `[GLOBALS]`: komi from the mover's view divided by the number of points; 1 if the opponent
    /// just passed, else 0; tanh of one fifth of the mover's margin after komi if the game stopped now (under territory
    /// scoring, as if every chain were alive).
    pub globals: [f32; GLOBALS],
    /// Points the mover gets in addition to the board result: the komi for White or minus the komi for Black, plus the
    /// mover's share of the off-board points described in the module header.
    pub komi: f32,
    /// The suicide rule. The network sees it only through [`Features::pass_alive`]; [`Features::key`] ignores it.
    pub suicide: Suicide,
    /// The last turns, for networks that see them ([`PlaneSet::trail`]); otherwise `None`.
    pub trail: Option<Arc<Trail>>,
}

impl Features {
    /// Encodes a position for its side to move under a komi.
    pub fn of(position: &Position, komi: Komi) -> Features {
        let size = position.size();
        let mover = position.to_move();
        let area = position.area();
        let (own_area, opponent_area) = match mover {
            Color::Black => (area.black, area.white),
            Color::White => (area.white, area.black),
        };
        let [one, two, three] = position.chains_by_liberties();
        let planes = [
            position.stones(mover),
            position.stones(mover.opposite()),
            one,
            two,
            three,
            position.superko_banned(),
            own_area,
            opponent_area,
        ];
        let so_far = SoFar {
            mover,
            komi,
            after_pass: position.last_move() == Some(Move::Pass),
            gain: gain_off_board(position),
            territory: position.rules().scoring == Scoring::Territory,
            suicide: position.rules().suicide,
        };
        features_from_planes(size, planes, so_far)
    }

    /// Encodes a position for its side to move under a komi, as a network with these planes sees it.
    pub fn seen_with(plane_set: PlaneSet, position: &Position, komi: Komi) -> Features {
        let features = Features::of(position, komi);
        Features {
            trail: plane_set.trail.then(|| Arc::new(Trail::of(position, &features))),
            ..features
        }
    }

    /// The pass-alive areas of the mover and of the opponent; see [`Position::pass_alive`].
    pub fn pass_alive(&self) -> [PointSet; 2] {
        let (own, opponent) = (self.planes[PLANE_OWN], self.planes[PLANE_OPPONENT]);
        let area = |own, opponent| pass_alive_area(self.size, own, opponent, self.suicide);
        [area(own, opponent), area(opponent, own)]
    }

    /// The stones of either color that can be captured in a ladder, and the mover's plays that begin one.
    pub fn ladders(&self) -> Ladders {
        // The mover is called Black here.
        let stones = [self.planes[PLANE_OWN], self.planes[PLANE_OPPONENT]];
        ladders(
            self.size,
            &stones,
            self.planes[PLANE_BANNED],
            Color::White,
            MOST_LADDER_PLAYS,
        )
    }

    /// The mirror image of the position under a symmetry.
    ///
    /// # Panics
    /// If the symmetry changes the board size (a rotation of a rectangle by 90 degrees).
    pub fn transformed(&self, symmetry: Symmetry) -> Features {
        let map = ImageTable::of(self.size).map_of(symmetry);
        let planes = self.planes.map(|plane| map.image(&plane));
        let trail = self.trail.as_ref().map(|trail| Arc::new(trail.transformed(symmetry)));
        Features {
            planes,
            trail,
            ..self.clone()
        }
    }

    /// The smallest mirror image, which is the same for every image of a position, and the symmetry that maps the
    /// original points to its points.
    ///
    /// Images are ordered by the mover's stones, then the opponent's, then the banned points, each compared as words.
    /// All other planes follow from these, so images that compare equal are equal.
    pub fn canonical(&self) -> (Symmetry, Features) {
        let symmetry = self.canonical_symmetry();
        (symmetry, self.transformed(symmetry))
    }

    /// The symmetry that [`Features::canonical`] applies.
    pub fn canonical_symmetry(&self) -> Symmetry {
        let table = ImageTable::of(self.size);
        let symmetries = table.symmetries();
        let mut rest = [0usize; 8];
        let mut count = symmetries.len();
        for (number, slot) in rest.iter_mut().enumerate().take(count) {
            *slot = number;
        }
        for plane in [PLANE_OWN, PLANE_OPPONENT, PLANE_BANNED] {
            if count == 1 {
                break;
            }
            count = keep_smallest(table, &self.planes[plane], &mut rest, count);
        }
        symmetries[rest[0]]
    }

    /// A 128-bit hash of everything the network sees under one rule set, including the board size. Identical on every
    /// machine.
    pub fn key(&self) -> u128 {
        let words = self.size.area().div_ceil(64);
        let mut mixer = Mixer::new(((self.size.width() as u64) << 32) | self.size.height() as u64);
        for plane in &self.planes {
            for &word in &plane.words()[..words] {
                mixer.add(word);
            }
        }
        let [komi, passed, margin] = self.globals.map(|value| u64::from(value.to_bits()));
        mixer.add(komi | passed << 32);
        mixer.add(margin | u64::from(self.komi.to_bits()) << 32);
        if let Some(trail) = &self.trail {
            trail.words().for_each(|word| mixer.add(word));
        }
        mixer.finish()
    }
}

/// The state besides the planes that the numeric inputs depend on.
#[derive(Copy, Clone)]
pub struct SoFar {
    /// The side to move.
    pub mover: Color,
    /// The komi of the game.
    pub komi: Komi,
    /// Whether the last move was a pass.
    pub after_pass: bool,
    /// See [`gain_off_board`].
    pub gain: i32,
    /// Whether the rules use territory scoring.
    pub territory: bool,
    /// Whether the rules allow suicide.
    pub suicide: Suicide,
}

/// Black's points off the board, excluding komi, which later moves do not change: prisoners under territory scoring,
/// otherwise minus White's handicap bonus.
pub fn gain_off_board(position: &Position) -> i32 {
    let taken = |color| position.prisoners(color) as i32;
    match position.rules().scoring {
        Scoring::Territory => taken(Color::White) - taken(Color::Black),
        Scoring::Area | Scoring::Half => {
            let stones = position.handicap().stones();
            -(position.rules().handicap_bonus.points(stones) as i32)
        }
    }
}

/// Completes bit planes with the numbers that follow from them, the komi and the earlier moves.
pub fn features_from_planes(size: Size, planes: [PointSet; BIT_PLANES], so_far: SoFar) -> Features {
    let points = |plane: usize| planes[plane].len() as f32;
    let komi = mover_komi(so_far);
    let mut margin = points(PLANE_OWN_AREA) - points(PLANE_OPPONENT_AREA) + komi;
    if so_far.territory {
        margin -= points(PLANE_OWN) - points(PLANE_OPPONENT);
    }
    let passed = if so_far.after_pass { 1.0 } else { 0.0 };
    Features {
        size,
        planes,
        globals: [komi / size.area() as f32, passed, (margin / MARGIN_SCALE).tanh()],
        komi,
        suicide: so_far.suicide,
        trail: None,
    }
}

/// Points the mover gets in addition to the board result.
fn mover_komi(so_far: SoFar) -> f32 {
    let for_white = so_far.komi.points() - so_far.gain as f32;
    match so_far.mover {
        Color::Black => -for_white,
        Color::White => for_white,
    }
}

/// Keeps those of the first `count` symmetries in `rest` for which the image of `set` is smallest; returns how many
/// remain.
fn keep_smallest(table: &ImageTable, set: &PointSet, rest: &mut [usize; 8], count: usize) -> usize {
    let mut best = table.map(rest[0]).image(set);
    let mut kept = 1;
    for read in 1..count {
        let candidate = table.map(rest[read]).image(set);
        match candidate.words().cmp(best.words()) {
            std::cmp::Ordering::Less => {
                best = candidate;
                rest[0] = rest[read];
                kept = 1;
            }
            std::cmp::Ordering::Equal => {
                rest[kept] = rest[read];
                kept += 1;
            }
            std::cmp::Ordering::Greater => {}
        }
    }
    kept
}

/// Two lanes of multiply-and-fold mixing. The seeds and the final words are digits of pi and e; the multipliers come
/// from the golden ratio and its generalization to three dimensions.
struct Mixer {
    low: u64,
    high: u64,
}

impl Mixer {
    fn new(seed: u64) -> Mixer {
        Mixer {
            low: seed ^ 0x243f_6a88_85a3_08d3,
            high: seed ^ 0xb7e1_5162_8aed_2a6b,
        }
    }

    fn add(&mut self, word: u64) {
        self.low = fold(self.low ^ word, 0x9e37_79b9_7f4a_7c15).wrapping_add(self.high.rotate_left(17));
        self.high = fold(self.high.wrapping_add(word), 0xd1b5_4a32_d192_ed03) ^ word.rotate_left(31);
    }

    fn finish(mut self) -> u128 {
        self.add(0x4528_21e6_38d0_1377);
        self.add(0xbf71_5880_9cf4_f3c7);
        (u128::from(self.high) << 64) | u128::from(self.low)
    }
}

/// XOR of the high and low halves of a 128-bit product.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}
