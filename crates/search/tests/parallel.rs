//! Predictions by several threads.

use tengen_encoding::{Features, InputBatch};
use tengen_rules::{Komi, Move, Position, Size};
use tengen_search::{ParallelPredictor, PredictError, Predictions, Predictor, ScriptedPredictor};

/// Different positions on boards of two sizes.
fn batch(count: usize) -> InputBatch {
    let mut batch = InputBatch::new(Size::square(5).unwrap());
    for number in 0..count {
        let size = if number % 3 == 0 {
            Size::new(4, 3)
        } else {
            Size::square(5)
        };
        let mut position = Position::new(size.unwrap());
        let points = position.legal_points();
        position.play(Move::Play(points.nth(number % points.len()).unwrap()));
        batch.push(&Features::of(&position, Komi::from_half_points(number as i16)));
    }
    batch
}

fn parallel(threads: usize, fewest: usize) -> ParallelPredictor {
    let others = (1..threads).map(|_| Box::new(ScriptedPredictor::new(3)) as Box<dyn Predictor + Send>);
    ParallelPredictor::new(Box::new(ScriptedPredictor::new(3)), others.collect(), fewest)
}

#[test]
fn predictions_do_not_depend_on_the_number_of_threads() {
    for threads in 1..5 {
        let mut shared = parallel(threads, if threads == 3 { 1 } else { 4 });
        // Several batches through the same threads, large and small ones.
        for count in [1, 3, 4, 7, 8, 9, 16, 31, 2, 64] {
            let inputs = batch(count);
            let (mut expected, mut found) = (Predictions::default(), Predictions::default());
            ScriptedPredictor::new(3).predict(&inputs, &mut expected).unwrap();
            shared.predict(&inputs, &mut found).unwrap();
            assert_eq!(found, expected, "{threads} threads, {count} positions");
        }
    }
}

/// Fails on every batch, or panics.
struct Broken {
    panics: bool,
}

impl Predictor for Broken {
    fn predict(&mut self, _: &InputBatch, _: &mut Predictions) -> Result<(), PredictError> {
        assert!(!self.panics, "broken");
        Err(PredictError::NotFinite { array: "win", row: 1 })
    }

    fn name(&self) -> String {
        "broken".to_owned()
    }
}

#[test]
fn errors_and_panics_of_other_threads_are_errors() {
    for panics in [false, true] {
        let mut shared = ParallelPredictor::new(
            Box::new(ScriptedPredictor::new(3)),
            vec![Box::new(Broken { panics })],
            4,
        );
        let mut out = Predictions::default();
        shared.predict(&batch(7), &mut out).expect("too few for two threads");
        for _ in 0..2 {
            let error = shared.predict(&batch(20), &mut out).unwrap_err();
            match panics {
                false => assert_eq!(error, PredictError::NotFinite { array: "win", row: 11 }),
                true => assert!(error.to_string().contains("has ended"), "{error}"),
            }
        }
    }
}
