//! The network's outputs: logits for moves and for final margins, and an owner for each point, all in fp32.

use tch::{Kind, Tensor};

use tengen_model::{Heads, PolicyHead};
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
    /// `[B, A + 1]`: logits of the softened policy, like [`policy`](Self::policy); only in training, and only of
    /// networks that learn it.
    pub soft: Option<Tensor>,
    /// `[B, 3]`: half the log-odds of winning over the next plies, for each of
    /// [`HORIZONS`](tengen_encoding::HORIZONS); only in training, and only of networks that learn them.
    pub short_term: Option<Tensor>,
}

/// Computes the outputs needed for play from the masked activations of the head's convolution, `[B, 2 h, H, W]`.
pub(crate) fn last_layers<C>(heads: &Heads<C, Linear>, head: &Tensor, inputs: &NetworkInputs) -> Outputs {
    outputs_and_hidden(heads, head, inputs).0
}

/// Computes all outputs, including those for training only, from the same activations as [`last_layers`].
pub(crate) fn last_layers_in_training<C>(heads: &Heads<C, Linear>, head: &Tensor, inputs: &NetworkInputs) -> Outputs {
    let (outputs, hidden) = outputs_and_hidden(heads, head, inputs);
    let logits = |policy: &PolicyHead<Linear>| policy_logits(policy, head, inputs);
    Outputs {
        reply: heads.reply.as_ref().map(logits),
        soft: heads.soft.as_ref().map(logits),
        short_term: heads.short_term.as_ref().map(|linear| linear.apply(&hidden)),
        ..outputs
    }
}

/// The outputs needed for play, and the hidden units of the score, `[B, s]`.
fn outputs_and_hidden<C>(heads: &Heads<C, Linear>, head: &Tensor, inputs: &NetworkInputs) -> (Outputs, Tensor) {
    let pooled = pool(head, &inputs.boards);
    let points = head.permute([0, 2, 3, 1]).flatten(1, 2).to_kind(Kind::Float);
    let points = heads.points.apply(&points);
    let pass = heads.pass.apply(&pooled);
    let (moves, owners) = (points.select(2, 0), points.select(2, 1).tanh());
    let ownership = match &inputs.boards.mask {
        Some(mask) => owners * &mask.flat,
        None => owners,
    };
    let hidden = score_hidden(heads, &pooled, &ownership, inputs);
    let outputs = Outputs {
        policy: move_logits(moves, &pass, inputs),
        margins: margin_logits(heads, &hidden, inputs),
        ownership,
        reply: None,
        soft: None,
        short_term: None,
    };
    (outputs, hidden)
}

/// Logits of a policy that only training predicts.
fn policy_logits(policy: &PolicyHead<Linear>, head: &Tensor, inputs: &NetworkInputs) -> Tensor {
    let points = head.permute([0, 2, 3, 1]).flatten(1, 2).to_kind(Kind::Float);
    let moves = policy.points.apply(&points).select(2, 0);
    let pass = policy.pass.apply(&pool(head, &inputs.boards));
    move_logits(moves, &pass, inputs)
}

/// Joins the logits of plays, `[B, A]`, and of the pass, `[B, 1]`, without plays off the board.
fn move_logits(plays: Tensor, pass: &Tensor, inputs: &NetworkInputs) -> Tensor {
    let plays = match &inputs.boards.mask {
        Some(mask) => plays.masked_fill(&mask.flat.eq(0.0), NEVER),
        None => plays,
    };
    Tensor::cat(&[&plays, pass], 1)
}

/// The hidden units of the score, `[B, s]`. They see how far the owned points plus komi are from a tie.
fn score_hidden<C>(heads: &Heads<C, Linear>, pooled: &Tensor, ownership: &Tensor, inputs: &NetworkInputs) -> Tensor {
    let area = inputs.boards.area();
    let lead = ownership.detach().sum_dim_intlist([1i64].as_slice(), true, Kind::Float) + inputs.komi.unsqueeze(1);
    let share = match &inputs.boards.mask {
        Some(mask) => &lead / &mask.areas,
        None => &lead / area as f64,
    };
    let features = Tensor::cat(&[pooled, &lead.tanh(), &(lead / 4.0).tanh(), &share], 1);
    heads.hidden.apply(&features).relu()
}

/// Logits of the final margins.
fn margin_logits<C>(heads: &Heads<C, Linear>, hidden: &Tensor, inputs: &NetworkInputs) -> Tensor {
    let area = inputs.boards.area();
    let possible = heads.margin.outputs(MAX_AREA as i64 - area, 2 * area + 1);
    let logits = possible.apply(hidden);
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
