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
