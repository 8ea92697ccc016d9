//! The mean ownership of each point over many predictions.

use std::collections::BTreeMap;

/// The mean of ownership maps, all from the viewpoint of the side to move at the root.
#[derive(Clone, Debug, Default)]
struct OwnershipMean {
    sum: Vec<f64>,
    count: u32,
}

impl OwnershipMean {
    /// Adds a map of `area` points, given as (point, ownership).
    fn add(&mut self, area: usize, map: impl Iterator<Item = (usize, f32)>) {
        self.sum.resize(area, 0.0);
        map.for_each(|(point, value)| self.sum[point] += f64::from(value));
        self.count += 1;
    }

    /// The mean per point in reading order; `None` without any map.
    fn mean(&self) -> Option<Vec<f32>> {
        let scale = 1.0 / f64::from(self.count);
        (self.count > 0).then(|| self.sum.iter().map(|sum| (sum * scale) as f32).collect())
    }
}

/// The mean ownership over all positions of a search, and over those below each root move.
#[derive(Clone, Debug, Default)]
pub(crate) struct RootOwnership {
    all: OwnershipMean,
    below: BTreeMap<u16, OwnershipMean>,
    root_move: u16,
}

impl RootOwnership {
    pub(crate) fn clear(&mut self) {
        self.all.sum.clear();
        self.all.count = 0;
        self.below.clear();
    }

    /// Sets the root move, as a board index, to which the next positions below the root belong.
    pub(crate) fn set_root_move(&mut self, mv: u16) {
        self.root_move = mv;
    }

    /// Adds a map of `area` points, given as (point, ownership), of the root or of a position below it.
    pub(crate) fn add(&mut self, below: bool, area: usize, map: impl Iterator<Item = (usize, f32)> + Clone) {
        if below {
            self.below.entry(self.root_move).or_default().add(area, map.clone());
        }
        self.all.add(area, map);
    }

    /// The mean over all positions, per point in reading order; `None` without any map.
    pub(crate) fn mean(&self) -> Option<Vec<f32>> {
        self.all.mean()
    }

    /// The mean over the positions below a root move; `None` without any map.
    pub(crate) fn mean_below(&self, mv: u16) -> Option<Vec<f32>> {
        self.below.get(&mv)?.mean()
    }
}
