//! Calibration of the search's and the network's values: predicted values in bins against the results of the games.

use tengen_records::{GameRecord, OPENING};
use tengen_rules::Color;

use super::plot::{Axis, Plot, Series, Shape, Tone};
use super::replay::outcome_value;

const BINS: usize = 20;
/// Bins with fewer positions are not shown.
const LEAST_POSITIONS: u64 = 20;

/// Sums over the positions whose value falls into one bin.
#[derive(Clone, Copy, Default)]
struct Bin {
    positions: u64,
    predicted: f64,
    result: f64,
}

/// Bins for values from −1 to 1.
#[derive(Default)]
struct Bins([Bin; BINS]);

impl Bins {
    fn add(&mut self, predicted: f32, result: f32) {
        let bin = ((predicted + 1.0) / 2.0 * BINS as f32).clamp(0.0, BINS as f32 - 1.0) as usize;
        self.0[bin].positions += 1;
        self.0[bin].predicted += f64::from(predicted);
        self.0[bin].result += f64::from(result);
    }

    /// (mean prediction, mean result) of the bins with enough positions.
    fn curve(&self) -> Vec<(f64, f64)> {
        let full = self.0.iter().filter(|bin| bin.positions >= LEAST_POSITIONS);
        full.map(|bin| (bin.predicted / bin.positions as f64, bin.result / bin.positions as f64))
            .collect()
    }
}

/// The calibration of the search and of the network alone in these games. Only searched turns of games with a result
/// count, each from its mover's viewpoint; openings do not.
pub(super) fn plot<'a>(games: impl Iterator<Item = &'a GameRecord>) -> Plot {
    let (mut search, mut network) = (Bins::default(), Bins::default());
    for game in games {
        let Some(black) = outcome_value(game) else { continue };
        for (ply, record) in game.plies.iter().enumerate() {
            if record.root_visits == 0 || record.has(OPENING) {
                continue;
            }
            let result = if game.mover(ply) == Color::Black { black } else { -black };
            search.add(record.root_value, result);
            network.add(record.network_value, result);
        }
    }
    Plot {
        title: "Value calibration",
        caption: "Recent self-play: what search and network expected before each move, in 20 bins, against how the \
                  game ended. On the thin line, values are perfectly calibrated.",
        x: Axis::showing("expected: P(win) − P(loss) of the mover", &[-1.0, 1.0]),
        y: Axis::showing("mean result (1 won, −1 lost)", &[-1.0, 1.0]),
        series: vec![
            Series::new("perfect", Tone::GRAY, Shape::Reference, vec![(-1.0, -1.0), (1.0, 1.0)]),
            Series::new("network", Tone::ORANGE, Shape::Dots, network.curve()),
            Series::new("search", Tone::BLUE, Shape::Dots, search.curve()),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_results_share_bins() {
        let mut bins = Bins::default();
        for i in 0..40 {
            bins.add(0.5, if i % 4 == 0 { -1.0 } else { 1.0 });
            bins.add(1.0, 1.0);
        }
        bins.add(-1.0, 1.0);
        assert_eq!(bins.curve(), [(0.5, 0.5), (1.0, 1.0)]);
    }
}
