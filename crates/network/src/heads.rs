//! What does the network output? Logits for moves and for final margins, and an owner for each point, all in fp32.

use tch::{Kind, Tensor};

use tengen_model::{Heads, ReplyHead};
use tengen_rules::MAX_AREA;

use crate::inputs::NetworkInputs;
use crate::layers::Linear;
use crate::pool::pool;

/// A logit with probability zero that is still finite, so that zero times its logarithm is zero.
const NEVER: f64 = -1e30;

/// The network's outputs for a batch of `B` positions on a canvas of `A` points, in fp32, from the viewpoint of the
/// side to move.
#[derive(Debug)]
pub struct Outputs {
    /// `[B, A + 1]`: logits of all moves, pass last; very large negative values off the board.
    pub policy: Tensor,
    /// `[B, A]`: final owner, from -1 (the opponent) to 1 (the side to move); 0 off the board.
    pub ownership: Tensor,
    /// `[B, 2 A + 1]`: logits of the final board margins -A to A in points, without komi; very large negative values
    /// for margins that exceed the area of the sample's board.
    pub margins: Tensor,
    /// `[B, A + 1]`: logits of the opponent's reply, like [`policy`](Self::policy); only in training, and only of
    /// networks that predict it.
    pub reply: Option<Tensor>,
}

/// Computes the outputs from the masked activations of the head's convolution, `[B, 2 h, H, W]`.
pub(crate) fn last_layers<C>(heads: &Heads<C, Linear>, head: &Tensor, inputs: &NetworkInputs) -> Outputs {
    let pooled = pool(head, &inputs.boards);
    let points = head.permute([0, 2, 3, 1]).flatten(1, 2).to_kind(Kind::Float);
    let points = heads.points.apply(&points);
    let pass = heads.pass.apply(&pooled);
    let (moves, owners) = (points.select(2, 0), points.select(2, 1).tanh());
    let ownership = match &inputs.boards.mask {
        Some(mask) => owners * &mask.flat,
        None => owners,
    };
    let margins = margin_logits(heads, &pooled, &ownership, inputs);
    Outputs {
        policy: move_logits(moves, &pass, inputs),
        ownership,
        margins,
        reply: None,
    }
}

/// Logits of the opponent's reply, from the same activations as [`last_layers`].
pub(crate) fn reply_logits(reply: &ReplyHead<Linear>, head: &Tensor, inputs: &NetworkInputs) -> Tensor {
    let points = head.permute([0, 2, 3, 1]).flatten(1, 2).to_kind(Kind::Float);
    let moves = reply.points.apply(&points).select(2, 0);
    let pass = reply.pass.apply(&pool(head, &inputs.boards));
    move_logits(moves, &pass, inputs)
}

/// Logits of plays, `[B, A]`, and of the pass, `[B, 1]`, together, without plays off the board.
fn move_logits(plays: Tensor, pass: &Tensor, inputs: &NetworkInputs) -> Tensor {
    let plays = match &inputs.boards.mask {
        Some(mask) => plays.masked_fill(&mask.flat.eq(0.0), NEVER),
        None => plays,
    };
    Tensor::cat(&[&plays, pass], 1)
}

/// Logits of the final margins. The head sees how far the owned points plus komi are from a tie.
fn margin_logits<C>(heads: &Heads<C, Linear>, pooled: &Tensor, ownership: &Tensor, inputs: &NetworkInputs) -> Tensor {
    let area = inputs.boards.area();
    let lead = ownership.detach().sum_dim_intlist([1i64].as_slice(), true, Kind::Float) + inputs.komi.unsqueeze(1);
    let share = match &inputs.boards.mask {
        Some(mask) => &lead / &mask.areas,
        None => &lead / area as f64,
    };
    let features = Tensor::cat(&[pooled, &lead.tanh(), &(lead / 4.0).tanh(), &share], 1);
    let hidden = heads.hidden.apply(&features).relu();
    let possible = heads.margin.outputs(MAX_AREA as i64 - area, 2 * area + 1);
    let logits = possible.apply(&hidden);
    match &inputs.boards.mask {
        Some(mask) => logits.masked_fill(&all_margins(&logits).abs().gt_tensor(&mask.areas), NEVER),
        None => logits,
    }
}

/// The margins -A to A that the last dimension of `[…, 2 A + 1]` represents, in fp32.
pub(crate) fn all_margins(logits: &Tensor) -> Tensor {
    let area = (logits.size().last().copied().unwrap_or(1) - 1) / 2;
    Tensor::arange_start(-area, area + 1, (Kind::Float, logits.device()))
}
