//! Win, tie, and loss probabilities: the distribution over final margins and the komi determine them exactly.

use tch::{Kind, Tensor};

use crate::heads::all_margins;

/// Final margins and komi are multiples of half a point, so a margin after komi this close to zero is a tie.
const TIE: f64 = 0.25;

/// A logit that contributes nothing but keeps sums finite.
const ABSENT: f64 = -1e30;

/// Lower limit for logarithms of probabilities, so that an impossible result has a bounded loss and no gradient.
const LOWEST_LOG: f64 = -30.0;

/// The meaning of a distribution over final margins at a given komi, from the viewpoint of the side to move, each `[B]`
/// in fp32.
#[derive(Debug)]
pub struct Value {
    /// Probability of a win, 0 to 1.
    pub win: Tensor,
    /// Probability of a loss, 0 to 1; the rest is the probability of a tie.
    pub loss: Tensor,
    /// Expected margin after komi, in points.
    pub margin: Tensor,
}

impl Value {
    /// Computes the value from margin logits `[B, 2 A + 1]` and the komi that the side to move gets, in points, `[B]`.
    pub fn of(margin_logits: &Tensor, komi: &Tensor) -> Value {
        let probabilities = margin_logits.softmax(-1, Kind::Float);
        let after = all_margins(margin_logits) + komi.unsqueeze(1);
        let sum = |which: Tensor| (&probabilities * which).sum_dim_intlist([1i64].as_slice(), false, Kind::Float);
        Value {
            win: sum(after.gt(TIE)),
            loss: sum(after.lt(-TIE)),
            margin: sum(after),
        }
    }
}

/// Logarithms of the probabilities of win, tie, and loss, `[B, 3]`, at least -30, with exact gradients with respect to
/// the margin logits `[B, 2 A + 1]`. `komi`, `[B]`, is in points for the side to move.
pub fn log_results(margin_logits: &Tensor, komi: &Tensor) -> Tensor {
    let after = all_margins(margin_logits) + komi.unsqueeze(1);
    let total = margin_logits.logsumexp([1i64].as_slice(), true);
    let log = |which: Tensor| {
        margin_logits
            .masked_fill(&which, ABSENT)
            .logsumexp([1i64].as_slice(), true)
            - &total
    };
    let logs = [log(after.le(TIE)), log(after.abs().gt(TIE)), log(after.ge(-TIE))];
    Tensor::cat(&logs, 1).clamp_min(LOWEST_LOG)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        crate::limit_threads();
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
        crate::limit_threads();
        for komi in [-24.5f32, -25.0, -25.5, 0.0, 60.0] {
            let komi = Tensor::from_slice(&[komi]);
            let logits = logits().set_requires_grad(true);
            let logs = log_results(&logits, &komi);
            let value = Value::of(&logits, &komi);
            let tie = 1.0 - &value.win - &value.loss;
            for (column, probability) in [value.win, tie, value.loss].iter().enumerate() {
                let log = read(&logs.select(1, column as i64));
                let expected = read(probability).ln().max(LOWEST_LOG as f32);
                if expected > -10.0 {
                    assert!((log - expected).abs() < 1e-4, "{log} {expected}");
                }
            }
            let gradient = Tensor::run_backward(&[logs.sum(Kind::Float)], &[&logits], false, false);
            assert!(gradient[0].isfinite().all().int64_value(&[]) == 1);
        }
    }
}
