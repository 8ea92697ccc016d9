//! The network in its form for training: all trained values are in one flat tensor, so an optimizer step takes only a
//! few operations.

use std::convert::Infallible;
use std::sync::Arc;

use tch::{Device, Kind, Tensor};

use tengen_model::{
    Block, ConvTensors, EPSILON, Layers, Layout, LinearTensors, NetworkConfig, Parameter, Residual, Role, TensorIndex,
    Weights, WeightsError,
};

use crate::fused::{FusedError, Norm};
use crate::group::{Group, joined_norm};
use crate::heads::{Outputs, last_layers_in_training};
use crate::inputs::{Boards, Mask, NetworkInputs};
use crate::layers::{After, Convolution, Linear, Pass};
use crate::precision::Precision;
use crate::tower::tower;

/// How far each training batch moves the running statistics of batch normalization.
const STATISTICS_RATE: f64 = 0.1;

/// A matrix among the trained values: one row for each output of its layer, one column for each input. A kernel has a
/// column for each input channel and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Where its first value is in [`Network::trained`]; the others follow row by row.
    pub start: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

/// Which mean and variance normalize the activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those of the batch, which also updates the running statistics.
    Training,
    /// The running statistics, as in play.
    Evaluation,
}

/// A network with gradients. It stays on one thread.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    device: Device,
    precision: Precision,
    layout: Layout,
    trained: Tensor,
    statistics: Tensor,
    /// For each parameter, a view into one of the two flat tensors; views of trained parameters collect gradients.
    views: Vec<Tensor>,
    layers: TrainingLayers,
}

impl Network {
    /// A network with these weights on a device. `precision` applies to the tower's convolutions; weights stay fp32.
    pub fn new(weights: &Weights, device: Device, precision: Precision) -> Network {
        let flat = |statistic: bool| {
            let chosen = weights
                .parameters()
                .iter()
                .zip(weights.values())
                .filter(|(p, _)| (p.role == Role::Statistic) == statistic);
            let values: Vec<f32> = chosen.flat_map(|(_, values)| values.iter().copied()).collect();
            Tensor::from_slice(&values).to_device(device)
        };
        let (trained, statistics) = (flat(false), flat(true));
        let layout = weights.layout().clone();
        let views = views(layout.parameters(), &trained, &statistics);
        let layers = layers(&layout, precision, &views, None);
        Network {
            config: weights.config().clone(),
            device,
            precision,
            layout,
            trained,
            statistics,
            views,
            layers,
        }
    }

    /// The architecture of the network.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// The device that the network computes on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The number format of the tower's convolutions.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The description of every tensor, in storage order.
    pub fn parameters(&self) -> &[Parameter] {
        self.layout.parameters()
    }

    /// All trained values as a flat fp32 tensor, in the order of [`Network::parameters`] without the statistics.
    /// Writing to it changes the network.
    pub fn trained(&self) -> Tensor {
        self.trained.shallow_clone()
    }

    /// All running statistics as a flat fp32 tensor, in the order of [`Network::parameters`]. Writing to it changes the
    /// network.
    pub fn statistics(&self) -> Tensor {
        self.statistics.shallow_clone()
    }

    /// From now on, normalizes training batches by the combined statistics of all ranks of a group, which must run
    /// their forward and backward passes in the same order.
    pub fn join(&mut self, group: &Arc<Group>) {
        self.layers = layers(&self.layout, self.precision, &self.views, Some(group));
    }

    /// The network's outputs for a batch, with gradients unless they are disabled.
    pub fn forward(&self, inputs: &NetworkInputs, mode: Mode) -> Outputs {
        let Ok(head) = tower(&self.layers, inputs, mode);
        last_layers_in_training(&self.layers.heads, &head, inputs)
    }

    /// The gradient of `loss`, a single number, laid out like [`Network::trained`].
    pub fn gradient(&self, loss: &Tensor) -> Tensor {
        let trained: Vec<&Tensor> = self
            .parameters()
            .iter()
            .zip(&self.views)
            .filter(|(parameter, _)| parameter.role != Role::Statistic)
            .map(|(_, view)| view)
            .collect();
        let gradients = Tensor::run_backward(&[loss], &trained, false, false);
        let flat: Vec<Tensor> = gradients.iter().map(|gradient| gradient.reshape([-1])).collect();
        Tensor::cat(&flat, 0)
    }

    /// 1 for each trained value that weight decay shrinks and 0 for the others, laid out like [`Network::trained`].
    pub fn decayed(&self) -> Tensor {
        let trained = self
            .parameters()
            .iter()
            .filter(|parameter| parameter.role != Role::Statistic);
        let marks = trained.flat_map(|p| std::iter::repeat_n(f32::from(p.role == Role::Weight), p.len()));
        Tensor::from_slice(&marks.collect::<Vec<f32>>()).to_device(self.device)
    }

    /// The weight matrices of the hidden layers: those of the tower's blocks and the first layers of the heads.
    pub fn hidden_matrices(&self) -> Vec<Matrix> {
        let layers = self.layout.layers();
        let heads = [layers.heads.conv.weight, layers.heads.hidden.weight];
        let blocks = layers.blocks.iter().flat_map(block_matrices);
        let hidden: Vec<TensorIndex> = blocks.chain(heads).collect();
        let starts = self.parameters().iter().scan(0, |start, parameter| {
            let own = *start;
            *start += if parameter.role == Role::Statistic {
                0
            } else {
                parameter.len()
            };
            Some(own)
        });
        let starts: Vec<usize> = starts.collect();
        let matrix = |index: TensorIndex| {
            let parameter = self.layout.parameter(index);
            let rows = parameter.shape[0];
            Matrix {
                start: starts[index.get()],
                rows,
                columns: parameter.len() / rows,
            }
        };
        hidden.into_iter().map(matrix).collect()
    }

    /// A copy of the network's current weights.
    pub fn weights(&self) -> Weights {
        self.weights_of(&self.trained, &self.statistics)
    }

    /// Weights from flat tensors laid out like [`Network::trained`] and [`Network::statistics`], such as an average.
    ///
    /// # Panics
    /// Panics if a tensor has a different length.
    pub fn weights_of(&self, trained: &Tensor, statistics: &Tensor) -> Weights {
        let mut trained = values(trained).into_iter();
        let mut statistics = values(statistics).into_iter();
        let lists = self.parameters().iter().map(|parameter| {
            let source = if parameter.role == Role::Statistic {
                &mut statistics
            } else {
                &mut trained
            };
            source.take(parameter.len()).collect()
        });
        Weights::from_values(&self.config, lists.collect()).expect("the flat tensors contain every parameter")
    }

    /// Replaces the weights in place with others of the same architecture.
    ///
    /// # Errors
    /// [`WeightsError::Shape`] when the architectures differ.
    pub fn set_weights(&mut self, weights: &Weights) -> Result<(), WeightsError> {
        Weights::from_values(&self.config, weights.values().to_vec())?;
        let other = Network::new(weights, self.device, self.precision);
        let _no_grad = tch::no_grad_guard();
        self.trained.copy_(&other.trained);
        self.statistics.copy_(&other.statistics);
        Ok(())
    }
}

/// The weight matrices of a block. Attention's offset biases are a table, not a matrix.
fn block_matrices(block: &Block<ConvTensors, LinearTensors>) -> Vec<TensorIndex> {
    let residual = |block: &Residual<ConvTensors, LinearTensors>| {
        let pool = block.pool.as_ref().map(|pool| pool.weight);
        let both = [block.first.weight, block.second.weight];
        both.into_iter().chain(pool).collect::<Vec<_>>()
    };
    match block {
        Block::Residual(block) => residual(block),
        Block::Nested(block) => {
            let inner = block.inner.iter().flat_map(residual);
            inner.chain([block.reduce.weight, block.expand.weight]).collect()
        }
        Block::Attention(block) => vec![block.projections.weight, block.output.weight],
    }
}

/// The values of a flat fp32 tensor.
fn values(tensor: &Tensor) -> Vec<f32> {
    let tensor = tensor.detach().to_device(Device::Cpu);
    let mut values = vec![0.0; tensor.numel()];
    let length = values.len();
    tensor.copy_data(&mut values, length);
    values
}

/// For each parameter, a view into the flat tensors.
fn views(parameters: &[Parameter], trained: &Tensor, statistics: &Tensor) -> Vec<Tensor> {
    let (mut trained_offset, mut statistics_offset) = (0, 0);
    let view = |parameter: &Parameter| {
        let shape: Vec<i64> = parameter.shape.iter().map(|&side| side as i64).collect();
        let length = parameter.len() as i64;
        let (flat, offset) = match parameter.role {
            Role::Statistic => (statistics, &mut statistics_offset),
            _ => (trained, &mut trained_offset),
        };
        let view = flat.narrow(0, *offset, length).view(shape.as_slice()).detach();
        *offset += length;
        view.set_requires_grad(parameter.role != Role::Statistic)
    };
    parameters.iter().map(view).collect()
}

/// The layers in their form for training, whose tensors are views into the flat ones.
type TrainingLayers = Layers<NormalizedConv, Linear>;

/// The layers over these views, one for each of the layout's parameters.
fn layers(layout: &Layout, precision: Precision, views: &[Tensor], group: Option<&Arc<Group>>) -> TrainingLayers {
    let view = |index: TensorIndex| views[index.get()].shallow_clone();
    let conv = |tensors: &ConvTensors| {
        Ok::<_, Infallible>(NormalizedConv {
            kind: precision.kind(),
            weight: view(tensors.weight),
            norm: Norm {
                scale: view(tensors.scale),
                shift: view(tensors.shift),
                mean: view(tensors.mean),
                variance: view(tensors.variance),
            },
            group: group.cloned(),
        })
    };
    let Ok(layers) = layout.layers().try_map(conv, |tensors| Ok(Linear::new(tensors, view)));
    layers
}

/// A convolution followed by batch normalization.
#[derive(Debug)]
struct NormalizedConv {
    kind: Kind,
    weight: Tensor,
    norm: Norm,
    /// The ranks whose batches are normalized as one.
    group: Option<Arc<Group>>,
}

impl Convolution for NormalizedConv {
    type Error = Infallible;
    type Mode = Mode;

    fn masks(&self, x: &Tensor, mode: Mode) -> bool {
        is_fused(x, mode)
    }

    fn apply(&self, x: &Tensor, pass: Pass<'_, Mode>, after: After) -> Result<Tensor, Infallible> {
        let convolved = self.convolved(x);
        if is_fused(x, pass.mode) {
            return Ok(self.fused(&convolved, None, pass.boards, after));
        }
        let mut out = self.normalized(&convolved, pass);
        Ok(if after == After::Relu { out.relu_() } else { out })
    }

    fn add_relu(&self, x: &Tensor, sum: Tensor, pass: Pass<'_, Mode>) -> Result<Tensor, Infallible> {
        let convolved = self.convolved(x);
        if is_fused(x, pass.mode) {
            return Ok(self.fused(&convolved, Some(&sum), pass.boards, After::Relu));
        }
        Ok((self.normalized(&convolved, pass) + sum).relu_())
    }
}

/// Whether normalization, addition, ReLU, and the mask run in one pass: in training on the CPU.
fn is_fused(x: &Tensor, mode: Mode) -> bool {
    x.device() == Device::Cpu && mode == Mode::Training
}

impl NormalizedConv {
    fn convolved(&self, x: &Tensor) -> Tensor {
        let weight = self.weight.to_kind(self.kind);
        if tengen_convolutions::fits(&weight) && x.kind() == Kind::Float {
            let convolved = tengen_convolutions::convolved(x, &weight).map_err(FusedError::from);
            return convolved.unwrap_or_else(|error| panic!("{error}"));
        }
        let padding = weight.size()[2] / 2;
        x.conv2d(&weight, None::<&Tensor>, [1, 1], [padding, padding], [1, 1], 1)
    }

    fn fused(&self, x: &Tensor, sum: Option<&Tensor>, boards: &Boards, after: After) -> Tensor {
        let board = boards.mask.as_ref().map(|mask| &mask.flat);
        self.norm
            .of_batch(x, board, sum, after, (STATISTICS_RATE, EPSILON), self.group.as_deref())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The normalized values; in training mode, this updates the running statistics.
    fn normalized(&self, x: &Tensor, pass: Pass<'_, Mode>) -> Tensor {
        if let (Some(group), Mode::Training) = (&self.group, pass.mode) {
            let board = pass.boards.mask.as_ref().map(|mask| &mask.points);
            return joined_norm(&self.norm, x, board, (STATISTICS_RATE, EPSILON), group)
                .unwrap_or_else(|error| panic!("{error}"));
        }
        match (&pass.boards.mask, pass.mode) {
            (Some(mask), Mode::Training) => self.masked_norm(x, mask),
            _ => x.batch_norm(
                Some(&self.norm.scale),
                Some(&self.norm.shift),
                Some(&self.norm.mean),
                Some(&self.norm.variance),
                pass.mode == Mode::Training,
                STATISTICS_RATE,
                EPSILON,
                true,
            ),
        }
    }

    /// Batch normalization over on-board points only. Values off the board are meaningless and zeroed by the mask.
    fn masked_norm(&self, x: &Tensor, mask: &Mask) -> Tensor {
        let over = [0i64, 2, 3];
        let column = |channels: &Tensor| channels.view([1, -1, 1, 1]);
        let points = mask.points.to_kind(Kind::Float);
        let x = x.to_kind(Kind::Float);
        let count = points.sum(Kind::Float);
        let mean = (&x * &points).sum_dim_intlist(over.as_slice(), false, Kind::Float) / &count;
        let centered = (x - column(&mean)) * &points;
        let variance = centered.square().sum_dim_intlist(over.as_slice(), false, Kind::Float) / &count;
        self.follow(&mean, &(&variance * (&count / (&count - 1.0).clamp_min(1.0))));
        let normal = centered * column(&(variance + EPSILON).rsqrt());
        (normal * column(&self.norm.scale) + column(&self.norm.shift)).to_kind(self.kind)
    }

    fn follow(&self, mean: &Tensor, variance: &Tensor) {
        let _no_grad = tch::no_grad_guard();
        let _ = self.norm.mean.shallow_clone().lerp_(mean, STATISTICS_RATE);
        let _ = self.norm.variance.shallow_clone().lerp_(variance, STATISTICS_RATE);
    }
}
