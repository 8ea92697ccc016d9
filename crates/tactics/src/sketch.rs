//! Boards under construction: random blobs, walls, and territories with eyes.

use tengen_rng::{Rng, below, unit_f64};
use tengen_rules::{Color, Point, PointSet, Position, Rules, Setup, Size};

/// The stones of a board that is not a position yet.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Sketch {
    pub(crate) size: Size,
    pub(crate) stones: [PointSet; 2],
}

impl Sketch {
    pub(crate) fn new(size: Size) -> Sketch {
        Sketch {
            size,
            stones: [PointSet::new(); 2],
        }
    }

    pub(crate) fn all(&self) -> PointSet {
        self.size.points().collect()
    }

    pub(crate) fn empty(&self) -> PointSet {
        self.all() - self.stones[0] - self.stones[1]
    }

    pub(crate) fn of(&mut self, color: Color) -> &mut PointSet {
        &mut self.stones[color.index()]
    }

    /// The points next to a set, without its own.
    pub(crate) fn around(&self, set: PointSet) -> PointSet {
        let next: PointSet = set.iter().flat_map(|point| point.neighbors(self.size)).collect();
        next - set
    }

    /// A random connected set of at most `count` points that begins at a random point of `first` and stays in `within`.
    pub(crate) fn blob(&self, rng: &mut Rng, first: PointSet, within: PointSet, count: usize) -> PointSet {
        let mut blob = PointSet::new();
        let mut front = first & within;
        while blob.len() < count
            && let Some(point) = front.nth(below(rng, front.len().max(1)))
        {
            blob.insert(point);
            front = self.around(blob) & within;
        }
        blob
    }

    /// Lets both colors spread from their seeds, point by point in random order, until `within` is full of stones.
    pub(crate) fn spread(&mut self, rng: &mut Rng, seeds: [PointSet; 2], within: PointSet) {
        let mut held = seeds.map(|seeds| seeds & within);
        loop {
            let free = within - held[0] - held[1];
            let fronts = held.map(|held| self.around(held) & free);
            let color = below(rng, 2);
            let front = if fronts[color].is_empty() { 1 - color } else { color };
            match fronts[front].nth(below(rng, fronts[front].len().max(1))) {
                Some(point) => held[front].insert(point),
                None => break,
            }
        }
        for (stones, held) in self.stones.iter_mut().zip(held) {
            *stones |= held;
        }
    }

    /// Takes `count` stones away that are surrounded by stones of their own color, as eyes.
    pub(crate) fn make_eyes(&mut self, rng: &mut Rng, color: Color, from: PointSet, count: usize) {
        for _ in 0..count {
            let own = self.stones[color.index()];
            let is_inner = |point: &Point| point.neighbors(self.size).all(|next| own.contains(next));
            let inner: PointSet = (own & from).iter().filter(is_inner).collect();
            if let Some(eye) = inner.nth(below(rng, inner.len().max(1))) {
                self.of(color).remove(eye);
            }
        }
    }

    /// The position without history; `None` if a chain has no liberty.
    pub(crate) fn position(&self, to_move: Color) -> Option<Position> {
        let setup = Setup {
            stones: self.stones,
            to_move,
            ..Setup::EVEN
        };
        Position::starting(self.size, Rules::tromp_taylor(), &setup).ok()
    }
}

/// Each point of a set with this probability.
pub(crate) fn some(rng: &mut Rng, set: PointSet, probability: f64) -> PointSet {
    set.iter().filter(|_| unit_f64(rng) < probability).collect()
}

/// One of the numbers from `least` to `most`.
pub(crate) fn between(rng: &mut Rng, least: usize, most: usize) -> usize {
    least + below(rng, most + 1 - least)
}

/// One of the two colors.
pub(crate) fn either(rng: &mut Rng) -> Color {
    Color::ALL[below(rng, 2)]
}
