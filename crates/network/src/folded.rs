//! The network in its form for prediction: every batch normalization is folded into the preceding convolution.

use std::cell::RefCell;
use std::convert::Infallible;

use tch::{Device, Kind, Tensor};

use tengen_convolutions::CpuConv;
use tengen_model::{ConvTensors, EPSILON, Layers, LinearTensors, TensorIndex, Weights};
use tengen_rules::Size;

use crate::fused::{FusedError, PackedConv};
use crate::inputs::{Channels, sides};
use crate::kernels;
use crate::layers::{After, Convolution, Linear, Pass};
use crate::one_kernel;

/// Batch size for which fused weights are packed; other batch sizes work too.
const PACKED_BATCH: i64 = 64;

/// The network with one weight and one bias per convolution, on one device, in one number format.
pub(crate) type FoldedLayers = Layers<FoldedConv, Linear>;

/// How convolutions are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// With tch's operations, on any device.
    Plain,
    /// Like `Plain`, but on a GPU, one kernel computes a convolution, an addition, and a ReLU.
    OneKernel,
    /// Packed and fused, on the CPU, for boards of roughly this size.
    Fused(Size),
}

/// A convolution with the normalization in its weight and bias.
#[derive(Debug)]
pub(crate) enum FoldedConv {
    /// Computed with tch's operations.
    Plain {
        /// `[outputs, inputs, side, side]` in channels-last memory.
        weight: Tensor,
        /// `[outputs]`.
        bias: Tensor,
        /// Whether the operations after the convolution run in the same kernel.
        one_kernel: bool,
    },
    /// Packed and fused.
    Fused(PackedConv),
    /// Packed and fused, by convolutions of our own.
    Own(CpuConv),
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
            Method::Plain | Method::OneKernel => linear,
            Method::Fused(_) => linear.packed(),
        })
    };
    weights.layout().layers().try_map(conv, linear)
}

impl FoldedConv {
    /// The same convolution for inputs padded with zero channels.
    pub(crate) fn with(self, channels: Channels) -> FoldedConv {
        match self {
            FoldedConv::Plain {
                weight,
                bias,
                one_kernel,
            } => FoldedConv::Plain {
                weight: channels_last(&weight.constant_pad_nd([0, 0, 0, 0, 0, channels.added_to(weight.size()[1])])),
                bias,
                one_kernel,
            },
            fused @ (FoldedConv::Fused(_) | FoldedConv::Own(_)) => fused,
        }
    }
}

/// Overwrites layers in place with those of a network of the same shape, so that everything that refers to them sees
/// the new weights.
pub(crate) fn overwrite(layers: &FoldedLayers, new: &FoldedLayers) {
    for (mut old, new) in tensors(layers).into_iter().zip(tensors(new)) {
        old.copy_(&new);
    }
}

/// All tensors of plain layers, in order.
fn tensors(layers: &FoldedLayers) -> Vec<Tensor> {
    let found = RefCell::new(Vec::new());
    let keep = |tensor: &Tensor| found.borrow_mut().push(tensor.shallow_clone());
    let conv = |conv: &FoldedConv| {
        if let FoldedConv::Plain { weight, bias, .. } = conv {
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
            Method::Plain | Method::OneKernel => Ok(FoldedConv::Plain {
                weight: channels_last(weight),
                bias: bias.shallow_clone(),
                one_kernel: method == Method::OneKernel,
            }),
            Method::Fused(canvas) if tengen_convolutions::fits(weight) => {
                Ok(FoldedConv::Own(CpuConv::new(weight, bias, sides(canvas))?))
            }
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
            FoldedConv::Plain {
                weight,
                bias,
                one_kernel,
            } => {
                let same_shape = weight.size()[0] == weight.size()[1];
                if *one_kernel && after == After::Relu && same_shape {
                    // The kernel needs a sum; the input serves as one, with factor 0.
                    return Ok(one_kernel::add_relu(x, weight, bias, x, 0.0));
                }
                if *one_kernel && kernels::adds_bias(x) {
                    let out = one_kernel::conv(x, weight, None);
                    if let Some(sum) = kernels::add_bias(&out, bias, after) {
                        return Ok(sum);
                    }
                }
                let mut out = one_kernel::conv(x, weight, Some(bias));
                Ok(if after == After::Relu { out.relu_() } else { out })
            }
            FoldedConv::Fused(packed) => packed.apply(x, after),
            FoldedConv::Own(conv) => Ok(conv.apply(x, None, after == After::Relu)?),
        }
    }

    fn add_relu(&self, x: &Tensor, sum: Tensor, _pass: Pass<'_, ()>) -> Result<Tensor, FusedError> {
        match self {
            FoldedConv::Plain {
                weight,
                bias,
                one_kernel,
            } => Ok(match one_kernel {
                true => one_kernel::add_relu(x, weight, bias, &sum, 1.0),
                false => (one_kernel::conv(x, weight, Some(bias)) + sum).relu_(),
            }),
            FoldedConv::Fused(packed) => packed.add_relu(x, sum),
            FoldedConv::Own(conv) => Ok(conv.add_relu(x, None, sum)?),
        }
    }

    fn biased_relu(&self, x: &Tensor, own: &Tensor, sum: Option<&Tensor>) -> Option<Result<Tensor, FusedError>> {
        let FoldedConv::Own(conv) = self else { return None };
        let out = match sum {
            Some(sum) => conv.add_relu(x, Some(own), sum.shallow_clone()),
            None => conv.apply(x, Some(own), true),
        };
        Some(out.map_err(FusedError::from))
    }
}

/// The same values with the channel as the innermost dimension in memory.
fn channels_last(weight: &Tensor) -> Tensor {
    weight.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2])
}

/// Moves a CPU tensor to a device; to a GPU, through pinned memory, without waiting.
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

/// The weight and bias of one convolution that equals this convolution followed by normalization with running
/// statistics.
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

#[cfg(test)]
mod tests {
    use tengen_encoding::InputBatch;
    use tengen_model::NetworkConfig;

    use super::*;
    use crate::inputs::NetworkInputs;
    use crate::precision::Precision;
    use crate::self_test::positions;
    use crate::tower::forward;

    /// Networks of each kind of block, and with all input planes.
    fn networks() -> Vec<Weights> {
        let mut all: Vec<NetworkConfig> = ["b2c16", "b2c16nbt", "b2c16a2"]
            .map(|name| name.parse().expect("a network"))
            .to_vec();
        all.push(NetworkConfig {
            pass_alive_inputs: true,
            ladder_inputs: true,
            ..NetworkConfig::new(2, 16)
        });
        all.iter()
            .map(|config| Weights::perturbed(config).expect("a shape"))
            .collect()
    }

    /// Policy, ownership, and margins of a batch.
    fn outputs(weights: &Weights, batch: &InputBatch, method: Method, channels: Channels) -> [Tensor; 3] {
        let mut layers = fold(weights, Device::Cpu, Kind::Float, method).expect("the CPU");
        layers.stem = layers.stem.with(channels);
        let inputs = NetworkInputs::from_bits(batch, Device::Cpu, Precision::Fp32, channels);
        let outputs = tch::no_grad(|| forward(&layers, &inputs, ())).expect("a good batch");
        [outputs.policy, outputs.ownership, outputs.margins]
    }

    /// A batch of boards that fill the canvas, and one of which some do not.
    fn batches(weights: &Weights) -> [InputBatch; 2] {
        let planes = weights.config().plane_set();
        [positions(planes, &["9x9"]), positions(planes, &["9x9", "7x5", "9x3"])]
    }

    #[test]
    fn one_kernel_for_a_convolution_and_what_follows_computes_the_same() {
        crate::limit_threads();
        for weights in networks() {
            for batch in batches(&weights) {
                let method = Method::Fused(batch.canvas());
                let [plain, one, fused] = [Method::Plain, Method::OneKernel, method]
                    .map(|method| outputs(&weights, &batch, method, Channels::Exact));
                for (number, one) in one.iter().enumerate() {
                    for other in [&plain[number], &fused[number]] {
                        let difference = (one - other).abs().max().double_value(&[]);
                        assert!(difference < 1e-4, "{} {number}: {difference}", weights.config().name());
                    }
                }
            }
        }
    }

    #[test]
    fn channels_of_zeros_change_no_bit() {
        crate::limit_threads();
        for weights in networks() {
            for batch in batches(&weights) {
                for method in [Method::Plain, Method::OneKernel] {
                    let [exact, padded] =
                        [Channels::Exact, Channels::Padded].map(|channels| outputs(&weights, &batch, method, channels));
                    assert_eq!(exact, padded, "{} {method:?}", weights.config().name());
                }
            }
        }
    }
}
