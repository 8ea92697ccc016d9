//! Win, loss, and margin from a distribution of margins.

use tch::{Kind, Tensor};

use tengen_network::{Value, limit_threads, log_results};

/// A distribution on a 5x5 board with probability 0.75 at +25 and 0.25 at +3.
fn logits() -> Tensor {
    let mut logits = [-100.0f32; 51];
    logits[25 + 25] = 0.75f32.ln();
    logits[25 + 3] = 0.25f32.ln();
    Tensor::from_slice(&logits).view([1, 51])
}

fn read(value: &Tensor) -> f32 {
    let mut out = [0.0f32];
    value.copy_data(&mut out, 1);
    out[0]
}

#[test]
fn half_a_point_of_komi_decides() {
    limit_threads();
    for (komi, win, loss) in [
        (-24.5, 0.75, 0.25),
        (-25.0, 0.0, 0.25),
        (-25.5, 0.0, 1.0),
        (0.0, 1.0, 0.0),
    ] {
        let value = Value::of(&logits(), &Tensor::from_slice(&[komi as f32]));
        assert!(
            (read(&value.win) - win).abs() < 1e-6,
            "komi {komi}: win {:?}",
            value.win
        );
        assert!(
            (read(&value.loss) - loss).abs() < 1e-6,
            "komi {komi}: loss {:?}",
            value.loss
        );
        assert!((read(&value.margin) - (0.75 * 25.0 + 0.25 * 3.0 + komi as f32)).abs() < 1e-4);
    }
}

#[test]
fn logarithms_agree_with_probabilities_and_stay_finite() {
    limit_threads();
    for komi in [-24.5f32, -25.0, -25.5, 0.0, 60.0] {
        let komi = Tensor::from_slice(&[komi]);
        let logits = logits().set_requires_grad(true);
        let logs = log_results(&logits, &komi);
        let value = Value::of(&logits, &komi);
        let tie = 1.0 - &value.win - &value.loss;
        for (column, probability) in [value.win, tie, value.loss].iter().enumerate() {
            let log = read(&logs.select(1, column as i64));
            let expected = read(probability).ln();
            if expected > -10.0 {
                assert!((log - expected).abs() < 1e-4, "{log} {expected}");
            }
        }
        let gradient = Tensor::run_backward(&[logs.sum(Kind::Float)], &[&logits], false, false);
        assert!(gradient[0].isfinite().all().int64_value(&[]) == 1);
    }
}
