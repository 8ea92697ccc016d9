//! The form of the network for prediction: every batch normalization is folded into the convolution before it.

use tch::{Device, Kind, Tensor};

use tengen_model::{EPSILON, Weights};
use tengen_rules::Size;

use crate::fused::{After, FusedError, PackedConv};
use crate::heads::LastLayers;
use crate::inputs::{Boards, NetworkInputs, sides};
use crate::tower::Layers;

/// Batch size for which fused weights are packed; other batch sizes work too.
const PACKED_BATCH: i64 = 64;

/// The network with one weight and one bias per convolution, on one device, in one number format.
#[derive(Debug)]
pub(crate) struct FoldedLayers {
    kind: Kind,
    stem: Conv,
    globals: Tensor,
    blocks: Vec<Block>,
    head: Conv,
    last: LastLayers,
}

#[derive(Debug)]
struct Block {
    first: Conv,
    second: Conv,
    pool: Option<Tensor>,
}

/// How the convolutions are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// With the operations that tch offers, on any device.
    Plain,
    /// Packed and fused, on the CPU, for boards of about this size.
    Fused(Size),
}

#[derive(Debug)]
enum Conv {
    Plain { weight: Tensor, bias: Tensor },
    Fused(PackedConv),
}

impl FoldedLayers {
    /// Folds the weights and places them on a device.
    ///
    /// # Errors
    /// When libtorch cannot pack the weights.
    pub(crate) fn new(
        weights: &Weights,
        device: Device,
        kind: Kind,
        method: Method,
    ) -> Result<FoldedLayers, FusedError> {
        let tensor = |name: &str| tensor(weights, name).map(|tensor| tensor.to_device(device));
        let get = |name: &str| tensor(name).expect("weights contain every parameter of their network");
        let conv = |conv: &str, norm: &str| {
            let (weight, bias) = folded(weights, conv, norm);
            Conv::new(
                &weight.to_device(device).to_kind(kind),
                &bias.to_device(device).to_kind(kind),
                method,
            )
        };
        let block = |block: usize| -> Result<Block, FusedError> {
            Ok(Block {
                first: conv(&format!("blocks.{block}.conv1"), &format!("blocks.{block}.norm1"))?,
                second: conv(&format!("blocks.{block}.conv2"), &format!("blocks.{block}.norm2"))?,
                pool: tensor(&format!("blocks.{block}.pool.weight")),
            })
        };
        Ok(FoldedLayers {
            kind,
            stem: conv("input.conv", "input.norm")?,
            globals: get("input.globals.weight"),
            blocks: (0..weights.config().blocks).map(block).collect::<Result<_, _>>()?,
            head: conv("heads.conv", "heads.norm")?,
            last: LastLayers::find(get),
        })
    }
}

impl Conv {
    fn new(weight: &Tensor, bias: &Tensor, method: Method) -> Result<Conv, FusedError> {
        match method {
            Method::Plain => Ok(Conv::Plain {
                weight: channels_last(weight),
                bias: bias.shallow_clone(),
            }),
            Method::Fused(canvas) => {
                let (height, width) = sides(canvas);
                let shape = [PACKED_BATCH, weight.size()[1], height, width];
                Ok(Conv::Fused(PackedConv::new(weight, bias, shape)?))
            }
        }
    }

    fn apply(&self, x: &Tensor, after: After) -> Result<Tensor, FusedError> {
        match self {
            Conv::Plain { weight, bias } => {
                let mut out = plain(x, weight, bias);
                Ok(if after == After::Relu { out.relu_() } else { out })
            }
            Conv::Fused(packed) => packed.apply(x, after),
        }
    }

    fn add_relu(&self, x: &Tensor, sum: Tensor) -> Result<Tensor, FusedError> {
        match self {
            Conv::Plain { weight, bias } => Ok((plain(x, weight, bias) + sum).relu_()),
            Conv::Fused(packed) => packed.add_relu(x, sum),
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

fn tensor(weights: &Weights, name: &str) -> Option<Tensor> {
    let number = weights
        .parameters()
        .iter()
        .position(|parameter| parameter.name == name)?;
    let shape: Vec<i64> = weights.parameters()[number]
        .shape
        .iter()
        .map(|&side| side as i64)
        .collect();
    Some(Tensor::from_slice(&weights.values()[number]).view(shape.as_slice()))
}

/// Weight and bias of a convolution that equals the convolution followed by normalization with running statistics.
fn folded(weights: &Weights, conv: &str, norm: &str) -> (Tensor, Tensor) {
    let get = |part: &str| {
        weights
            .get(&format!("{norm}.{part}"))
            .expect("each convolution has its normalization")
    };
    let (scale, shift, mean, variance) = (get("scale"), get("shift"), get("mean"), get("variance"));
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
    let weight = tensor(weights, &format!("{conv}.weight")).expect("weights contain every parameter of their network");
    (
        weight * Tensor::from_slice(&factors).view([-1, 1, 1, 1]),
        Tensor::from_slice(&biases),
    )
}

impl Layers for FoldedLayers {
    type Error = FusedError;

    fn blocks(&self) -> usize {
        self.blocks.len()
    }

    fn stem(&self, inputs: &NetworkInputs) -> Result<Tensor, FusedError> {
        let globals = inputs.globals.linear(&self.globals, None::<&Tensor>).to_kind(self.kind);
        let mut planes = self.stem.apply(&inputs.planes, After::Nothing)?;
        Ok(planes.g_add_(&globals.unsqueeze(2).unsqueeze(3)).relu_())
    }

    fn first(&self, block: usize, x: &Tensor, _boards: &Boards) -> Result<Tensor, FusedError> {
        self.blocks[block].first.apply(x, After::Relu)
    }

    fn second(&self, block: usize, y: &Tensor, skip: Tensor, _boards: &Boards) -> Result<Tensor, FusedError> {
        self.blocks[block].second.add_relu(y, skip)
    }

    fn pool_weight(&self, block: usize) -> Option<&Tensor> {
        self.blocks[block].pool.as_ref()
    }

    fn head(&self, x: &Tensor, _boards: &Boards) -> Result<Tensor, FusedError> {
        self.head.apply(x, After::Relu)
    }

    fn last(&self) -> &LastLayers {
        &self.last
    }
}
