//! Who will own each point, in the mean over many predictions?

use std::collections::BTreeMap;

/// The mean of ownership maps, all seen by the side to move at the root.
#[derive(Clone, Debug, Default)]
struct OwnershipMean {
    sum: Vec<f64>,
    count: u32,
}

impl OwnershipMean {
    /// Counts one map of `area` points, given as (point, ownership).
    fn add(&mut self, area: usize, map: impl Iterator<Item = (usize, f32)>) {
        self.sum.resize(area, 0.0);
        map.for_each(|(point, value)| self.sum[point] += f64::from(value));
        self.count += 1;
    }

    /// The mean per point in reading order; none without a map.
    fn mean(&self) -> Option<Vec<f32>> {
        let scale = 1.0 / f64::from(self.count);
        (self.count > 0).then(|| self.sum.iter().map(|sum| (sum * scale) as f32).collect())
    }
}

/// What a search was told about ownership: in the mean over all its positions, and over those below each move of the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct RootOwnership {
    all: OwnershipMean,
    below: BTreeMap<u16, OwnershipMean>,
    descent: u16,
}

impl RootOwnership {
    /// Forgets every map.
    pub(crate) fn clear(&mut self) {
        self.all.sum.clear();
        self.all.count = 0;
        self.below.clear();
    }

    /// What is added next as lying below the root lies below this move of the root, given as an index of the board.
    pub(crate) fn go_down(&mut self, mv: u16) {
        self.descent = mv;
    }

    /// Counts one map of `area` points, given as (point, ownership), of the root or of a position below it.
    pub(crate) fn add(&mut self, below: bool, area: usize, map: impl Iterator<Item = (usize, f32)> + Clone) {
        if below {
            self.below.entry(self.descent).or_default().add(area, map.clone());
        }
        self.all.add(area, map);
    }

    /// The mean over everything per point in reading order; none without a map.
    pub(crate) fn mean(&self) -> Option<Vec<f32>> {
        self.all.mean()
    }

    /// The mean over the positions below a move of the root; none without a map.
    pub(crate) fn mean_below(&self, mv: u16) -> Option<Vec<f32>> {
        self.below.get(&mv)?.mean()
    }
}
