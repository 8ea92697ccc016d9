//! Samples from games of several origins, each with its share.

use tengen_encoding::Sample;
use tengen_rng::{SplitMix64, fold};

use crate::sample_config::SymmetryMode;
use crate::samples::SampleSource;

/// Games of several origins. Each sample comes from one of them, chosen at random by their shares.
pub struct Mixture {
    parts: Vec<(SampleSource, f64)>,
}

impl Mixture {
    /// A mixture of sources with their shares, which are positive numbers of any sum.
    pub fn new(parts: Vec<(SampleSource, f64)>) -> Mixture {
        Mixture { parts }
    }

    /// The sources, in order.
    pub fn sources(&self) -> impl Iterator<Item = &SampleSource> {
        self.parts.iter().map(|(source, _)| source)
    }

    /// The share of each source, in order; they sum to 1.
    pub fn shares(&self) -> Vec<f64> {
        let sum: f64 = self.parts.iter().map(|(_, share)| share).sum();
        self.parts.iter().map(|(_, share)| share / sum).collect()
    }

    /// Number of positions in all games to train on.
    pub fn positions(&self) -> u64 {
        self.sources().map(SampleSource::positions).sum()
    }

    /// Draws `count` samples to train on with replacement: first the source of each by its share, then a position by
    /// its weight. The same games, count, seed and mode give the same samples. `None` if a source that is drawn from
    /// has nothing to train on.
    pub fn draw(&self, count: usize, seed: u64, mode: SymmetryMode) -> Option<Vec<Sample>> {
        let mut samples = Vec::with_capacity(count);
        for (number, (of_this, (source, _))) in self.counts(count, seed).into_iter().zip(&self.parts).enumerate() {
            if of_this > 0 {
                samples.extend(source.draw_samples(of_this, fold(seed, &[number as u64]), mode)?);
            }
        }
        Some(samples)
    }

    /// The number of samples, of `count`, that come from each source.
    fn counts(&self, count: usize, seed: u64) -> Vec<usize> {
        let mut upper_ends = self.shares();
        let mut sum = 0.0;
        for share in &mut upper_ends {
            sum += *share;
            *share = sum;
        }
        let mut counts = vec![0; upper_ends.len()];
        let mut random = SplitMix64::new(seed);
        for _ in 0..count {
            // 53 bits, so that the number is below 1.
            let u = (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
            let place = upper_ends.iter().position(|&end| u < end);
            counts[place.unwrap_or(upper_ends.len() - 1)] += 1;
        }
        counts
    }
}
