//! The form of the network for prediction: every batch normalization is folded into the convolution before it.

use std::cell::RefCell;
use std::convert::Infallible;

use tch::{Device, Kind, Tensor};

use tengen_model::{ConvTensors, EPSILON, Layers, LinearTensors, TensorIndex, Weights};
use tengen_rules::Size;

use crate::fused::{FusedError, PackedConv};
use crate::inputs::sides;
use crate::layers::{After, Convolution, Linear, Pass};

/// Batch size for which fused weights are packed; other batch sizes work too.
const PACKED_BATCH: i64 = 64;

/// The network with one weight and one bias per convolution, on one device, in one number format.
pub(crate) type FoldedLayers = Layers<FoldedConv, Linear>;

/// How the convolutions are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// With the operations that tch offers, on any device.
    Plain,
    /// Packed and fused, on the CPU, for boards of about this size.
    Fused(Size),
}

/// A convolution with the normalization in its weight and bias.
#[derive(Debug)]
pub(crate) enum FoldedConv {
    /// Computed with the operations that tch offers.
    Plain {
        /// `[outputs, inputs, side, side]` in channels-last memory.
        weight: Tensor,
        /// `[outputs]`.
        bias: Tensor,
    },
    /// Packed and fused.
    Fused(PackedConv),
}

/// Folds the weights and places them on a device; convolutions are in the number format `kind`.
///
/// # Errors
/// When libtorch cannot pack the weights.
pub(crate) fn fold(weights: &Weights, device: Device, kind: Kind, method: Method) -> Result<FoldedLayers, FusedError> {
    let conv = |tensors: &ConvTensors| {
        let (weight, bias) = folded(weights, tensors);
        FoldedConv::new(
            &moved(&weight, device).to_kind(kind),
            &moved(&bias, device).to_kind(kind),
            method,
        )
    };
    let linear = |tensors: &LinearTensors| {
        let linear = Linear::new(tensors, |index| moved(&tensor(weights, index), device));
        Ok(match method {
            Method::Plain => linear,
            Method::Fused(_) => linear.packed(),
        })
    };
    weights.layout().layers().try_map(conv, linear)
}

/// Overwrites layers in place with those of a network of the same shape, so that what refers to them sees the new
/// weights.
pub(crate) fn overwrite(layers: &FoldedLayers, new: &FoldedLayers) {
    for (mut old, new) in tensors(layers).into_iter().zip(tensors(new)) {
        old.copy_(&new);
    }
}

/// All tensors of plain layers, in their order.
fn tensors(layers: &FoldedLayers) -> Vec<Tensor> {
    let found = RefCell::new(Vec::new());
    let keep = |tensor: &Tensor| found.borrow_mut().push(tensor.shallow_clone());
    let conv = |conv: &FoldedConv| {
        if let FoldedConv::Plain { weight, bias } = conv {
            [weight, bias].into_iter().for_each(&keep);
        }
        Ok::<(), Infallible>(())
    };
    let linear = |linear: &Linear| {
        linear.tensors().for_each(&keep);
        Ok(())
    };
    let Ok(_) = layers.try_map(conv, linear);
    found.into_inner()
}

impl FoldedConv {
    fn new(weight: &Tensor, bias: &Tensor, method: Method) -> Result<FoldedConv, FusedError> {
        match method {
            Method::Plain => Ok(FoldedConv::Plain {
                weight: channels_last(weight),
                bias: bias.shallow_clone(),
            }),
            Method::Fused(canvas) => {
                let (height, width) = sides(canvas);
                let shape = [PACKED_BATCH, weight.size()[1], height, width];
                Ok(FoldedConv::Fused(PackedConv::new(weight, bias, shape)?))
            }
        }
    }
}

impl Convolution for FoldedConv {
    type Error = FusedError;
    type Mode = ();

    fn apply(&self, x: &Tensor, _pass: Pass<'_, ()>, after: After) -> Result<Tensor, FusedError> {
        match self {
            FoldedConv::Plain { weight, bias } => {
                let mut out = plain(x, weight, bias);
                Ok(if after == After::Relu { out.relu_() } else { out })
            }
            FoldedConv::Fused(packed) => packed.apply(x, after),
        }
    }

    fn add_relu(&self, x: &Tensor, sum: Tensor, _pass: Pass<'_, ()>) -> Result<Tensor, FusedError> {
        match self {
            FoldedConv::Plain { weight, bias } => Ok((plain(x, weight, bias) + sum).relu_()),
            FoldedConv::Fused(packed) => packed.add_relu(x, sum),
        }
    }
}

fn plain(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
    let padding = weight.size()[2] / 2;
    x.conv2d(weight, Some(bias), [1, 1], [padding, padding], [1, 1], 1)
}

/// The same values with the channel as the innermost dimension in memory.
fn channels_last(weight: &Tensor) -> Tensor {
    weight.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2])
}

/// A tensor of the CPU on a device; to a GPU, through pinned memory, without waiting.
fn moved(tensor: &Tensor, device: Device) -> Tensor {
    match device {
        Device::Cpu => tensor.shallow_clone(),
        _ => tensor
            .internal_pin_memory(device)
            .to_device_(device, tensor.kind(), true, false),
    }
}

fn tensor(weights: &Weights, index: TensorIndex) -> Tensor {
    let shape = &weights.layout().parameter(index).shape;
    let shape: Vec<i64> = shape.iter().map(|&side| side as i64).collect();
    Tensor::from_slice(weights.tensor(index)).view(shape.as_slice())
}

/// Weight and bias of a convolution that equals the convolution followed by normalization with running statistics.
fn folded(weights: &Weights, conv: &ConvTensors) -> (Tensor, Tensor) {
    let (scale, variance) = (weights.tensor(conv.scale), weights.tensor(conv.variance));
    let (shift, mean) = (weights.tensor(conv.shift), weights.tensor(conv.mean));
    let factors: Vec<f32> = scale
        .iter()
        .zip(variance)
        .map(|(scale, variance)| scale / (variance + EPSILON as f32).sqrt())
        .collect();
    let biases: Vec<f32> = shift
        .iter()
        .zip(mean)
        .zip(&factors)
        .map(|((shift, mean), factor)| shift - mean * factor)
        .collect();
    (
        tensor(weights, conv.weight) * Tensor::from_slice(&factors).view([-1, 1, 1, 1]),
        Tensor::from_slice(&biases),
    )
}
