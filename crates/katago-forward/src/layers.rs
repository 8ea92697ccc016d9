//! The layers of a network of KataGo as operations of libtorch.

use tch::{Device, Kind, Tensor};

use tengen_katago::{Activation, Conv, Matrix, Norm};

/// Where and in which number format a network computes.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) device: Device,
    pub(crate) kind: Kind,
}

impl Place {
    fn tensor(self, values: &[f32]) -> Tensor {
        Tensor::from_slice(values).to_device(self.device).to_kind(self.kind)
    }
}

/// A convolution, with what comes right after it and does not depend on anything else.
#[derive(Debug)]
pub(crate) struct ConvOp {
    /// `[out, in, rows, columns]`
    weight: Tensor,
    bias: Option<Tensor>,
    padding: [i64; 2],
    dilation: [i64; 2],
    /// The activation of the normalization that is part of it.
    activation: Activation,
}

impl ConvOp {
    /// The first `outputs` channels of a convolution.
    pub(crate) fn new(conv: &Conv, outputs: usize, place: Place) -> ConvOp {
        ConvOp::build(conv, outputs, None, place)
    }

    /// A convolution and the normalization after it.
    pub(crate) fn with_norm(conv: &Conv, norm: &Norm, place: Place) -> ConvOp {
        ConvOp::build(conv, conv.outputs, Some(norm), place)
    }

    fn build(conv: &Conv, outputs: usize, norm: Option<&Norm>, place: Place) -> ConvOp {
        let [rows, columns] = [conv.height as i64, conv.width as i64];
        let shape = [rows, columns, conv.inputs as i64, conv.outputs as i64];
        let weight = Tensor::from_slice(&conv.weights).reshape(shape).permute([3, 2, 0, 1]);
        let weight = weight.narrow(0, 0, outputs as i64);
        let weight = match norm {
            Some(norm) => weight * Tensor::from_slice(&norm.scale).reshape([-1, 1, 1, 1]),
            None => weight,
        };
        let weight = weight.to_device(place.device).to_kind(place.kind);
        ConvOp {
            weight: channels_last(&weight),
            bias: norm.map(|norm| place.tensor(&norm.bias)),
            padding: [
                rows / 2 * conv.dilation[0] as i64,
                columns / 2 * conv.dilation[1] as i64,
            ],
            dilation: conv.dilation.map(|distance| distance as i64),
            activation: norm.map_or(Activation::Identity, |norm| norm.activation),
        }
    }

    /// The convolution of `[B, C, H, W]`; `added`, `[B, C, 1, 1]`, is added before the activation.
    pub(crate) fn apply(&self, x: &Tensor, added: Option<&Tensor>) -> Tensor {
        let mut y = x.conv2d(&self.weight, self.bias.as_ref(), [1, 1], self.padding, self.dilation, 1);
        if let Some(added) = added {
            y += added;
        }
        activate(y, self.activation)
    }
}

/// A tensor of four axes in channels-last memory.
fn channels_last(x: &Tensor) -> Tensor {
    x.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2])
}

/// A normalization that is not right after a convolution.
#[derive(Debug)]
pub(crate) struct NormOp {
    scale: Tensor,
    bias: Tensor,
    activation: Activation,
}

impl NormOp {
    pub(crate) fn new(norm: &Norm, place: Place) -> NormOp {
        NormOp {
            scale: place.tensor(&norm.scale).reshape([1, -1, 1, 1]),
            bias: place.tensor(&norm.bias).reshape([1, -1, 1, 1]),
            activation: norm.activation,
        }
    }

    pub(crate) fn apply(&self, x: &Tensor, mask: Option<&Tensor>) -> Tensor {
        masked(activate(self.bias.addcmul(x, &self.scale), self.activation), mask)
    }
}

/// A linear layer.
#[derive(Debug)]
pub(crate) struct LinearOp {
    /// `[in, out]`
    weight: Tensor,
    bias: Option<Tensor>,
    activation: Activation,
}

impl LinearOp {
    /// The columns `from` to `from + count` of a linear layer.
    pub(crate) fn columns(matrix: &Matrix, (from, count): (usize, usize), bias: Option<&[f32]>, place: Place) -> Self {
        let shape = [matrix.inputs as i64, matrix.outputs as i64];
        let weight = Tensor::from_slice(&matrix.weights).reshape(shape);
        let weight = weight.narrow(1, from as i64, count as i64).contiguous();
        LinearOp {
            weight: weight.to_device(place.device).to_kind(place.kind),
            bias: bias.map(|bias| place.tensor(&bias[from..from + count])),
            activation: Activation::Identity,
        }
    }

    /// A linear layer without bias.
    pub(crate) fn new(matrix: &Matrix, place: Place) -> LinearOp {
        LinearOp::columns(matrix, (0, matrix.outputs), None, place)
    }

    /// A linear layer whose outputs are multiplied by a scale.
    pub(crate) fn scaled(matrix: &Matrix, scale: &[f32], place: Place) -> LinearOp {
        let scaled = matrix.weights.chunks(matrix.outputs);
        let weights = scaled.flat_map(|row| row.iter().zip(scale).map(|(weight, scale)| weight * scale));
        let weights = weights.collect();
        LinearOp::new(
            &Matrix {
                weights,
                ..matrix.clone()
            },
            place,
        )
    }

    /// A linear layer with bias and activation.
    pub(crate) fn activated(matrix: &Matrix, bias: &[f32], activation: Activation, place: Place) -> LinearOp {
        LinearOp {
            activation,
            ..LinearOp::columns(matrix, (0, matrix.outputs), Some(bias), place)
        }
    }

    pub(crate) fn apply(&self, x: &Tensor) -> Tensor {
        let y = x.matmul(&self.weight);
        let y = match &self.bias {
            Some(bias) => y + bias,
            None => y,
        };
        activate(y, self.activation)
    }
}

fn activate(mut x: Tensor, activation: Activation) -> Tensor {
    match activation {
        Activation::Identity => x,
        Activation::Relu => x.relu_(),
        Activation::Mish => x.mish_(),
        Activation::Silu => x.silu_(),
    }
}

/// The values on the board; 0 elsewhere.
pub(crate) fn masked(x: Tensor, mask: Option<&Tensor>) -> Tensor {
    match mask {
        Some(mask) => x * mask,
        None => x,
    }
}
