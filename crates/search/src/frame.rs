//! The orientation in which the network sees a position, and how its moves map to those of the board.

use tengen_encoding::{Features, PLANE_BANNED, PLANE_OPPONENT, PLANE_OWN, PlaneSet};
use tengen_rng as rng;
use tengen_rules::{Handicap, ImageTable, Komi, Position, Rules, Size, Suicide, Symmetry};

/// How the network sees positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// What the network sees besides the standard planes.
    pub(crate) plane_set: PlaneSet,
    /// Whether it sees the canonical image. A network that sees the move history gets each position as it is, since
    /// hardly any positions with a history share an image.
    pub(crate) canonical: bool,
    /// How many mirror images of each position it sees; its predictions for them are averaged.
    pub(crate) images: u32,
}

impl Shown {
    /// How the network sees the root, of which it sees this many images.
    pub(crate) fn at_root(self, images: u32) -> Shown {
        Shown {
            images: self.images.max(images),
            ..self
        }
    }

    fn canonical(self) -> bool {
        self.canonical && !self.plane_set.trail
    }
}

/// A position as the network sees it, ready to be evaluated.
#[derive(Debug)]
pub(crate) struct View {
    /// The features of the canonical image, or of the original position.
    pub(crate) features: Features,
    /// The symmetry that maps the position to its image.
    pub(crate) symmetry: Symmetry,
    /// The symmetries that map `features` to all images that the network sees; the first one is the identity.
    pub(crate) images: &'static [Symmetry],
    /// The key of the position and its rule set in the evaluation cache.
    pub(crate) key: u128,
    /// The legal moves as board indices, in the order of the image, with the pass last.
    pub(crate) moves: Vec<u16>,
    /// The points of `moves` in the image, without the pass.
    pub(crate) image_points: Vec<u16>,
}

impl View {
    /// The view of a position at which the game is not over.
    pub(crate) fn of(position: &Position, komi: Komi, shown: Shown) -> Self {
        let features = Features::seen_with(shown.plane_set, position, komi);
        let identity = Symmetry::all(position.size())[0];
        let mut view = Self {
            features,
            symmetry: identity,
            images: &[],
            key: 0,
            moves: Vec::new(),
            image_points: Vec::new(),
        };
        view.finish(position, shown);
        view
    }

    /// Replaces this view by that of another position, reusing the memory.
    pub(crate) fn replace(&mut self, position: &Position, komi: Komi, shown: Shown) {
        self.features = Features::seen_with(shown.plane_set, position, komi);
        self.finish(position, shown);
    }

    /// Maps the features of the position to their image and lists the moves.
    fn finish(&mut self, position: &Position, shown: Shown) {
        let identity = Symmetry::all(position.size())[0];
        self.symmetry = identity;
        if shown.canonical() {
            let symmetry = self.features.canonical_symmetry();
            if symmetry != identity {
                self.features = self.features.transformed(symmetry);
            }
            self.symmetry = symmetry;
        }
        let all = Symmetry::all(position.size());
        self.images = &all[..all.len().min(shown.images as usize)];
        self.key = self.features.key() ^ rules_salt(position.rules()) ^ images_salt(self.images.len());
        self.list_moves(position);
    }

    /// The board index of every point of the image, on a board of this size.
    pub(crate) fn originals(&self, size: Size) -> &'static [u16] {
        ImageTable::of(size).map_of(self.symmetry.inverse()).points()
    }

    fn list_moves(&mut self, position: &Position) {
        self.moves.clear();
        self.image_points.clear();
        let originals = self.originals(position.size());
        if position.rules().suicide == Suicide::Allowed && position.handicap() == Handicap::Even {
            // In this case, a play is illegal only if the point is occupied or the ko rule forbids it.
            let planes = &self.features.planes;
            let closed = planes[PLANE_OWN] | planes[PLANE_OPPONENT] | planes[PLANE_BANNED];
            push_points_outside(closed.words(), originals.len(), &mut self.image_points);
        } else {
            let legal = self.symmetry.apply_set(position.size(), &position.legal_points());
            self.image_points.extend(legal.iter().map(|point| point.index() as u16));
        }
        self.moves
            .extend(self.image_points.iter().map(|&point| originals[usize::from(point)]));
        self.moves.push(originals.len() as u16);
    }
}

/// Appends the points below `area` that are not in the set.
fn push_points_outside(words: &[u64; 6], area: usize, out: &mut Vec<u16>) {
    for (number, &word) in words.iter().enumerate().take(area.div_ceil(64)) {
        let points = (area - number * 64).min(64);
        let mut open = !word & (u64::MAX >> (64 - points));
        while open != 0 {
            out.push((number * 64) as u16 + open.trailing_zeros() as u16);
            open &= open - 1;
        }
    }
}

/// Distinguishes evaluations that are averages over different numbers of images; 0 for one image.
fn images_salt(images: usize) -> u128 {
    match images {
        1 => 0,
        several => u128::from(rng::fold(3, &[several as u64])) << 64 | u128::from(rng::fold(4, &[several as u64])),
    }
}

/// Distinguishes evaluations under different rules; 0 for strict Tromp-Taylor.
fn rules_salt(rules: Rules) -> u128 {
    if rules == Rules::tromp_taylor() {
        return 0;
    }
    let settings = [
        rules.ko as u64,
        rules.long_cycle as u64,
        rules.suicide as u64,
        rules.end as u64,
        rules.scoring as u64,
        rules.handicap_bonus as u64,
        u64::from(rules.button),
    ];
    u128::from(rng::fold(1, &settings)) << 64 | u128::from(rng::fold(2, &settings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_rng::below;
    use tengen_rules::Move;

    #[test]
    fn moves_are_all_legal_moves_in_the_order_of_the_image() {
        for size in [
            Size::square(3).unwrap(),
            Size::new(4, 2).unwrap(),
            Size::square(9).unwrap(),
        ] {
            let mut rng = rng::stream(4, &[size.area() as u64]);
            let mut position = Position::new(size);
            let shown = Shown {
                plane_set: PlaneSet::default(),
                canonical: true,
                images: 1,
            };
            for _ in 0..60 {
                let view = View::of(&position, Komi::from_half_points(1), shown);
                let mut expected: Vec<u16> = position
                    .legal_points()
                    .iter()
                    .map(|point| point.index() as u16)
                    .collect();
                expected.push(size.area() as u16);
                let mut moves = view.moves.clone();
                moves.sort_unstable();
                assert_eq!(moves, expected);
                for (&mv, &image) in view.moves.iter().zip(&view.image_points) {
                    let point = tengen_rules::Point::from_index(size, usize::from(mv)).unwrap();
                    assert_eq!(view.symmetry.apply(size, point).index(), usize::from(image));
                }
                let mv = view.moves[below(&mut rng, view.moves.len())];
                position.play(Move::from_index(size, usize::from(mv)).unwrap());
                if position.is_over() {
                    position = Position::new(size);
                }
            }
        }
    }
}
