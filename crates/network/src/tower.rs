//! The flow of a batch through the network. One description serves training and every fast path.
//!
//! The input layer is a 3x3 convolution of the planes plus a linear map of the globals, computed in fp32 and added to
//! every point. Residual blocks follow: conv-BN-ReLU-conv-BN-add-ReLU. In some blocks, the output of the first half is
//! pooled over the whole board and adds a bias per channel to the second half. Blocks may also be nested, or be
//! self-attention (`attention`). Finally, a 1x1 convolution feeds the last layers (`heads`).
//!
//! Off-board points are set to zero after every activation, so a board on a larger canvas sees the same zero padding as
//! at its own edge.

use tch::{Kind, Tensor};
use tengen_model::{Block, Layers, Nested, Residual};

use crate::attention::attention;
use crate::heads::{Outputs, last_layers};
use crate::inputs::{Boards, NetworkInputs};
use crate::kernels;
use crate::layers::{After, Convolution, Linear, Pass};
use crate::pool::pool;

/// Runs a batch through the layers.
pub(crate) fn forward<C: Convolution>(
    layers: &Layers<C, Linear>,
    inputs: &NetworkInputs,
    mode: C::Mode,
) -> Result<Outputs, C::Error> {
    Ok(last_layers(&layers.heads, &tower(layers, inputs, mode)?, inputs))
}

/// Runs a batch up to the masked activations of the head's convolution, the input of the last layers.
pub(crate) fn tower<C: Convolution>(
    layers: &Layers<C, Linear>,
    inputs: &NetworkInputs,
    mode: C::Mode,
) -> Result<Tensor, C::Error> {
    let pass = Pass {
        boards: &inputs.boards,
        mode,
    };
    let mut x = stem(layers, inputs, pass)?;
    for block in &layers.blocks {
        x = match block {
            Block::Residual(block) => residual(block, x, pass)?,
            Block::Nested(block) => nested(block, x, pass)?,
            Block::Attention(block) => attention(block, x, pass)?,
        };
    }
    relu(&layers.heads.conv, &x, pass)
}

/// The first activations, `[B, C, H, W]`.
fn stem<C: Convolution>(
    layers: &Layers<C, Linear>,
    inputs: &NetworkInputs,
    pass: Pass<'_, C::Mode>,
) -> Result<Tensor, C::Error> {
    let globals = layers.globals.apply(&inputs.globals);
    biased_relu(&layers.stem, &inputs.planes, &globals, None, pass)
}

/// A residual block: two convolutions, and in some blocks a bias from the pooled output of the first one.
fn residual<C: Convolution>(
    block: &Residual<C, Linear>,
    x: Tensor,
    pass: Pass<'_, C::Mode>,
) -> Result<Tensor, C::Error> {
    let y = relu(&block.first, &x, pass)?;
    match &block.pool {
        Some(linear) => {
            let bias = linear.apply(&pool(&y, pass.boards));
            biased_relu(&block.second, &y, &bias, Some(x), pass)
        }
        None => add_relu(&block.second, &y, x, pass),
    }
}

/// Residual blocks with half of the channels, between two 1x1 convolutions.
fn nested<C: Convolution>(block: &Nested<C, Linear>, x: Tensor, pass: Pass<'_, C::Mode>) -> Result<Tensor, C::Error> {
    let mut y = relu(&block.reduce, &x, pass)?;
    for inner in &block.inner {
        y = residual(inner, y, pass)?;
    }
    add_relu(&block.expand, &y, x, pass)
}

/// ReLU(norm(conv(x))), zero off the board.
fn relu<C: Convolution>(conv: &C, x: &Tensor, pass: Pass<'_, C::Mode>) -> Result<Tensor, C::Error> {
    let out = conv.apply(x, pass, After::Relu)?;
    Ok(on_board(conv, x, out, pass))
}

/// ReLU(norm(conv(x)) + sum), zero off the board. It may overwrite `sum`, like [`Convolution::add_relu`].
pub(crate) fn add_relu<C: Convolution>(
    conv: &C,
    x: &Tensor,
    sum: Tensor,
    pass: Pass<'_, C::Mode>,
) -> Result<Tensor, C::Error> {
    let out = conv.add_relu(x, sum, pass)?;
    Ok(on_board(conv, x, out, pass))
}

/// What a convolution of `x` gave, zero off the board.
fn on_board<C: Convolution>(conv: &C, x: &Tensor, out: Tensor, pass: Pass<'_, C::Mode>) -> Tensor {
    match conv.masks(x, pass.mode) {
        true => out,
        false => masked(out, pass.boards),
    }
}

/// ReLU(norm(conv(x)) + own + sum), zero off the board, where `own`, `[B, O]` in fp32, is a bias of each sample.
fn biased_relu<C: Convolution>(
    conv: &C,
    x: &Tensor,
    own: &Tensor,
    sum: Option<Tensor>,
    pass: Pass<'_, C::Mode>,
) -> Result<Tensor, C::Error> {
    if let Some(out) = conv.biased_relu(x, own, sum.as_ref()) {
        return out.map(|out| masked(out, pass.boards));
    }
    let at_points = |kind: Kind| own.to_kind(kind).unsqueeze(2).unsqueeze(3);
    if let Some(sum) = sum {
        let skip = kernels::add_bias(&sum, own, After::Nothing);
        let skip = skip.unwrap_or_else(|| &sum + at_points(sum.kind()));
        return add_relu(conv, x, skip, pass);
    }
    let mut out = conv.apply(x, pass, After::Nothing)?;
    let sum = kernels::add_bias(&out, own, After::Relu);
    let sum = sum.unwrap_or_else(|| out.g_add_(&at_points(out.kind())).relu_());
    Ok(masked(sum, pass.boards))
}

/// Zeroes off-board points, if there are any.
fn masked(activations: Tensor, boards: &Boards) -> Tensor {
    match &boards.mask {
        Some(mask) => activations * &mask.points,
        None => activations,
    }
}
