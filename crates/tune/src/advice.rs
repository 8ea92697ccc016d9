//! What the measurements say about settings that no trial looks for: the window, the lead, and the batch of training.

use serde::Serialize;

use tengen_report::{counted, thousands};
use tengen_rules::Size;

/// Plies of a usual game per point of its board.
const PLIES_PER_POINT: f64 = 1.2;

/// How often the batch of a trainer that does not keep up is doubled.
const DOUBLINGS: u32 = 4;

/// Advice on `window.base_positions`, if this many games at a time have more positions than it.
pub(crate) fn about_window(base_positions: u64, games: u64, size: Size) -> Option<String> {
    let at_once = (games as f64 * PLIES_PER_POINT * size.area() as f64) as u64;
    let sentence = || {
        format!(
            "window.base_positions is {}, but {} at a time on {size} have about {} positions. Games that begin \
             together end at about the same time and then replace the whole window, so that the network forgets the \
             games before them: raise it to {}, or play fewer games at a time.",
            thousands(base_positions),
            counted(games, "game"),
            thousands(at_once),
            thousands(rounded_up(at_once)),
        )
    };
    (base_positions < at_once).then(sentence)
}

/// Advice on `loop.lead_positions`, if self-play uses the lead up before it gets new weights.
pub(crate) fn about_lead(
    lead_positions: u64,
    positions_per_second: f64,
    weights_every_steps: u64,
    steps_per_second: f64,
) -> Option<String> {
    let between_weights = weights_every_steps as f64 / steps_per_second;
    let lead = lead_positions as f64 / positions_per_second;
    let sentence = || {
        format!(
            "loop.lead_positions is {}, which this self-play plays in {lead:.2} s, but new weights come every \
             {between_weights:.2} s (loop.weights_every_steps). So short a lead makes no weights fresher, and \
             self-play waits whenever the trainer pauses for longer: raise it to {}.",
            thousands(lead_positions),
            thousands(rounded_up((between_weights * positions_per_second) as u64)),
        )
    };
    (between_weights.is_finite() && lead < between_weights).then(sentence)
}

/// The fate of a trainer with a larger batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct LargerBatch {
    /// `training.batch`.
    batch: usize,
    /// Training steps per second.
    steps_per_second: f64,
    /// Training steps that each second of self-play asks for.
    steps_wanted: f64,
}

impl LargerBatch {
    /// The first batch with which the trainer keeps up, of those that double `batch`, or else the largest that fits in
    /// memory. `measure` returns the steps per second with a batch, or `None` if it does not fit.
    pub(crate) fn find<E>(
        batch: usize,
        samples_per_second: f64,
        mut measure: impl FnMut(usize) -> Result<Option<f64>, E>,
    ) -> Result<Option<LargerBatch>, E> {
        let mut largest = None;
        for doubling in 1..=DOUBLINGS {
            let batch = batch << doubling;
            let Some(steps_per_second) = measure(batch)? else {
                break;
            };
            let found = LargerBatch {
                batch,
                steps_per_second,
                steps_wanted: samples_per_second / batch as f64,
            };
            largest = Some(found);
            if found.keeps_up() {
                break;
            }
        }
        Ok(largest)
    }

    fn keeps_up(&self) -> bool {
        self.steps_wanted <= self.steps_per_second
    }

    /// Whether that would help, in words.
    pub(crate) fn in_words(&self) -> String {
        let LargerBatch {
            batch,
            steps_per_second,
            steps_wanted,
        } = self;
        let what = match self.keeps_up() {
            true => "it keeps up",
            false => "the largest tried, it does not keep up either",
        };
        format!(
            "With training.batch = {batch}, {what}: it makes {steps_per_second:.1} steps/s, and {steps_wanted:.1} are \
             asked for."
        )
    }
}

/// The next number with two digits that are not 0.
fn rounded_up(number: u64) -> u64 {
    let unit = 10u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number.div_ceil(unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_smaller_than_a_wave_of_games_is_told() {
        let size = Size::square(9).expect("a board");
        // 1.2 plies on 81 points.
        let positions = 97;
        assert_eq!(about_window(positions, 1, size), None);
        let told = about_window(positions - 1, 1, size).expect("too small");
        assert!(told.contains("96, but 1 game at a time on 9x9 have about 97"), "{told}");
        let told = about_window(400_000, 8192, size).expect("too small");
        assert!(
            told.contains("796,262 positions") && told.contains("raise it to 800,000"),
            "{told}"
        );
    }

    #[test]
    fn a_lead_that_ends_before_new_weights_come_is_told() {
        // 10 steps at 20 steps per second: weights every half second, in which 5,050 positions are played.
        let told = |lead| about_lead(lead, 10_100.0, 10, 20.0);
        assert_eq!(told(5_050), None);
        let told = told(4_040).expect("too short");
        assert!(
            told.contains("plays in 0.40 s") && told.contains("every 0.50 s"),
            "{told}"
        );
        assert!(told.contains("raise it to 5,100"), "{told}");
        assert_eq!(about_lead(1, 10_000.0, 10, 0.0), None, "no steps, no weights");
    }

    #[test]
    fn the_first_batch_that_keeps_up_is_found() {
        let mut tried = Vec::new();
        // 4,096 samples per second: 8 steps of 512. Twice the batch takes half again as long.
        let found = LargerBatch::find(128, 4096.0, |batch| {
            tried.push(batch);
            Ok::<_, ()>(Some(14.0 / 1.5f64.powi((batch / 128).ilog2() as i32)))
        });
        let found = found.expect("no error").expect("a batch");
        assert_eq!((tried, found.batch), (vec![256, 512, 1024], 1024));
        let words = found.in_words();
        assert!(
            words.starts_with("With training.batch = 1024, it keeps up: "),
            "{words}"
        );
        assert!(words.contains("4.1 steps/s, and 4.0 are asked for"), "{words}");
    }

    #[test]
    fn a_trainer_that_never_keeps_up_is_told_from_one_without_memory() {
        let slow = |fits: usize| {
            LargerBatch::find(64, 1e6, |batch| Ok::<_, ()>((batch <= fits).then_some(1.0))).expect("no error")
        };
        let largest = slow(usize::MAX).expect("all fit");
        assert_eq!(largest.batch, 64 << DOUBLINGS);
        assert!(largest.in_words().contains("does not keep up either"));
        assert_eq!(slow(256).map(|found| found.batch), Some(256));
        assert_eq!(slow(64), None);
        assert_eq!(LargerBatch::find(64, 1.0, |_| Err("broken")), Err("broken"));
    }

    #[test]
    fn numbers_are_rounded_up_to_two_digits() {
        for (number, rounded) in [(0, 0), (7, 7), (99, 99), (100, 100), (101, 110), (796_262, 800_000)] {
            assert_eq!(rounded_up(number), rounded);
        }
    }
}
