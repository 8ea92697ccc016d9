//! Made-up predictions, which stand in for those of a network.

use tengen_encoding::{Features, InputBatch};
use tengen_rules::{Komi, Position, Size};
use tengen_search::{Predictions, Predictor, ScriptedPredictor};

fn predict(canvas: Size, boards: &[Size]) -> Predictions {
    let mut inputs = InputBatch::new(canvas);
    for &size in boards {
        inputs.push(&Features::of(&Position::new(size), Komi::from_half_points(9)));
    }
    let mut out = Predictions::default();
    ScriptedPredictor::new(3).predict(&inputs, &mut out).unwrap();
    out.check(boards.len(), canvas).unwrap();
    out
}

#[test]
fn scripted_predictions_do_not_depend_on_batch_or_canvas() {
    let (small, large) = (Size::square(3).unwrap(), Size::square(5).unwrap());
    let alone = predict(small, &[small]);
    let together = predict(large, &[large, small]);
    let (a, b) = (alone.row(0, small), together.row(1, large));
    assert_eq!((a.win, a.loss, a.margin), (b.win, b.loss, b.margin));
    for point in 0..9 {
        assert_eq!(a.policy_logits[point], b.policy_logits[(point / 3) * 5 + point % 3]);
    }
    assert_eq!(a.policy_logits[9], b.policy_logits[25]);
    assert_ne!(a.win, together.row(0, large).win);
}
