//! Who will own each point, in the mean over many predictions?

/// The mean of ownership maps, all seen by the side to move at the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnershipMean {
    sum: Vec<f64>,
    count: u32,
}

impl OwnershipMean {
    /// Forgets every map.
    pub(crate) fn clear(&mut self) {
        self.sum.clear();
        self.count = 0;
    }

    /// Counts one map of `area` points, given as (point, ownership).
    pub(crate) fn add(&mut self, area: usize, map: impl Iterator<Item = (usize, f32)>) {
        self.sum.resize(area, 0.0);
        map.for_each(|(point, value)| self.sum[point] += f64::from(value));
        self.count += 1;
    }

    /// The mean per point in reading order; none without a map.
    pub(crate) fn mean(&self) -> Option<Vec<f32>> {
        let scale = 1.0 / f64::from(self.count);
        (self.count > 0).then(|| self.sum.iter().map(|sum| (sum * scale) as f32).collect())
    }
}
