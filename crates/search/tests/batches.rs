//! Batches of positions for the network.

use tengen_encoding::{Features, InputBatch, PlaneSet};
use tengen_rules::{Komi, Position, Size};
use tengen_search::{Batch, PredictError, Predictions, Predictor};

/// A predictor that sees these planes and rejects others.
struct Sees(PlaneSet);

impl Predictor for Sees {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        assert_eq!(inputs.plane_set(), self.0);
        out.reset(inputs.len(), inputs.canvas());
        Ok(())
    }

    fn name(&self) -> String {
        format!("{:?}", self.0)
    }

    fn new_batch(&self, canvas: Size) -> InputBatch {
        InputBatch::with_planes(canvas, self.0)
    }
}

#[test]
fn a_batch_has_the_canvas_and_planes_of_each_round() {
    let mut batch = Batch::new();
    for (side, plane_set) in [
        (3, PlaneSet::default()),
        (3, PlaneSet::ALL),
        (5, PlaneSet::ALL),
        (5, PlaneSet::ALL),
    ] {
        let size = Size::square(side).unwrap();
        let features = Features::of(&Position::new(size), Komi::ZERO);
        let mut predictor = Sees(plane_set);
        batch.begin(size, &&mut predictor);
        assert!(batch.is_empty());
        let rows = [1, 1, 2].map(|key| batch.add(key, &features));
        assert_eq!((rows, batch.len()), ([0, 0, 1], 2));
        batch.predict(&mut predictor).unwrap();
        assert_eq!(batch.prediction(1).policy_logits.len(), size.area() + 1);
    }
}
