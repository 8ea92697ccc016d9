//! Statistics of pairs of games with the same opening.

use serde::{Deserialize, Serialize};

/// Counts of pairs of games by player A's points in the pair: 0, ½, 1, 1½, 2.
///
/// The two games of a pair share their opening with colors swapped. If an opening favors one color, their results are
/// correlated, and counting single games would give a wrong error estimate. Pairs are independent of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pentanomial {
    /// Pairs in which player A scored 0, ½, 1, 1½, and 2 points.
    pub counts: [u64; 5],
}

/// Mean points per game of the five outcomes of a pair.
pub(crate) const SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

impl Pentanomial {
    /// Adds a pair, given player A's points in each of its two games: 0, ½, or 1.
    pub fn add(&mut self, first: f64, second: f64) {
        let index = (2.0 * (first + second)).round() as usize;
        self.counts[index.min(4)] += 1;
    }

    /// Number of pairs.
    pub fn pairs(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Player A's mean points per game, 0 to 1; ½ if there are no pairs.
    pub fn score(&self) -> f64 {
        match self.pairs() {
            0 => 0.5,
            pairs => self.weighted().map(|(score, count)| score * count).sum::<f64>() / pairs as f64,
        }
    }

    /// The variance of the pairs' scores as a share of the largest variance that this mean score allows, 0 to 1. One
    /// won pair and one lost pair are added first, so that a few equal results do not seem certain.
    pub(crate) fn variance_share(&self) -> f64 {
        let mut counts = self.counts.map(|count| count as f64);
        counts[0] += 1.0;
        counts[4] += 1.0;
        let pairs: f64 = counts.iter().sum();
        let mean = SCORES
            .iter()
            .zip(counts)
            .map(|(score, count)| score * count)
            .sum::<f64>()
            / pairs;
        let variance = SCORES
            .iter()
            .zip(counts)
            .map(|(score, count)| (score - mean).powi(2) * count)
            .sum::<f64>()
            / pairs;
        variance / (mean * (1.0 - mean))
    }

    fn weighted(&self) -> impl Iterator<Item = (f64, f64)> {
        SCORES.into_iter().zip(self.counts.map(|count| count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_by_points() {
        let mut pairs = Pentanomial::default();
        assert_eq!(pairs.score(), 0.5);
        for (first, second) in [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.5, 0.5), (1.0, 0.5), (1.0, 1.0)] {
            pairs.add(first, second);
        }
        assert_eq!(pairs.counts, [1, 1, 2, 1, 1]);
        assert!((pairs.score() - 0.5).abs() < 1e-12);
        assert_eq!(serde_json::to_string(&pairs).expect("JSON"), "[1,1,2,1,1]");
    }

    #[test]
    fn variance_share_measures_how_much_pairs_vary() {
        let independent = Pentanomial {
            counts: [2500, 0, 5000, 0, 2500],
        };
        assert!((independent.variance_share() - 0.5).abs() < 1e-3);
        let only_the_opening_decides = Pentanomial {
            counts: [0, 0, 1000, 0, 0],
        };
        assert!(only_the_opening_decides.variance_share() < 0.01);
        let always_won = Pentanomial {
            counts: [0, 0, 0, 0, 7],
        };
        assert!((always_won.variance_share() - 1.0).abs() < 1e-12);
    }
}
