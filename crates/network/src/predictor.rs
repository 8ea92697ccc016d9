//! The search's view of the network: a predictor that owns folded weights on one device.

use std::collections::BTreeMap;

use tch::Device;

use tengen_encoding::InputBatch;
use tengen_model::Weights;
use tengen_rules::Size;
use tengen_search::{PredictError, Predictions, Predictor};

use crate::by_size::BySize;
use crate::catching::{LibtorchError, catching};
use crate::device::{DeviceChoice, DeviceError, ThreadLimit};
use crate::folded::{FoldedLayers, Method, fold, overwrite};
use crate::fused::{FusedError, InferenceGuard};
use crate::fused_heads::FusedHeads;
use crate::inputs::{Channels, NetworkInputs};
use crate::kernels;
use crate::one_kernel;
use crate::outputs::{joined, read_each, read_joined};
use crate::precision::Precision;
use crate::recorded::Recorded;
use crate::shapes::Shapes;
use crate::stream::{self, Work};
use crate::tower::{forward, tower};
use crate::usage::Span;
use crate::value::Value;

/// The device, number format, and kind of convolutions that a predictor uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictorOptions {
    /// The device to compute on (usual cpu).
    pub device: DeviceChoice,
    /// The number format of the tower (usual bf16 on a GPU and on CPUs with instructions for it).
    pub precision: Precision,
    /// Threads per libtorch operation on the CPU (usual 1; run more predictors instead).
    pub threads: usize,
    /// How convolutions are computed (usual auto).
    pub engine: Engine,
}

impl Default for PredictorOptions {
    fn default() -> PredictorOptions {
        PredictorOptions {
            device: DeviceChoice::Cpu,
            precision: Precision::Fp32,
            threads: 1,
            engine: Engine::Auto,
        }
    }
}

/// How convolutions are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Fused on a CPU with oneDNN; on a GPU whose cuDNN gets that right, with addition and ReLU in the convolution
    /// kernels; otherwise plain.
    #[default]
    Auto,
    /// libtorch's ordinary operations.
    Plain,
    /// Packed weights, with bias, addition, and ReLU in the same pass. Needs the CPU and oneDNN.
    Fused,
}

/// Predicts with a network, from one thread at a time.
#[derive(Debug)]
pub struct TorchPredictor {
    name: String,
    weights: Weights,
    options: PredictorOptions,
    device: Device,
    method: Method,
    /// Dropped before the layers that they refer to.
    recordings: Shapes<Recorded>,
    layers: FoldedLayers,
    /// The same layers, packed for boards of other sizes that were predicted before.
    packed: BTreeMap<Size, FoldedLayers>,
    heads: FusedHeads,
    threads: ThreadLimit,
    /// The last padded batch, for a GPU.
    padded: InputBatch,
    /// Parts of the last batch with boards of several sizes, for a CPU.
    by_size: BySize,
}

/// The smallest batch that a GPU predicts, after padding.
const SMALLEST_BUCKET: usize = 16;

/// The number of board sizes for which layers stay packed.
const SIZES_KEPT: usize = 8;

impl TorchPredictor {
    /// A predictor with these weights.
    ///
    /// # Errors
    /// When the device cannot be used, or the fused engine is requested but not available.
    pub fn new(weights: &Weights, options: PredictorOptions) -> Result<TorchPredictor, PredictorError> {
        let device = options.device.resolve()?;
        let threads = ThreadLimit::new(options.threads, device, Work::Prediction);
        let usual_canvas = Size::square(9).expect("9x9 is a board");
        let can_fuse = device == Device::Cpu && tch::utils::has_mkldnn();
        if can_fuse && options.engine != Engine::Plain {
            Precision::for_prediction(options.precision.into(), options.device)?;
        }
        let method = match options.engine {
            Engine::Auto if one_kernel::is_right(device, options.precision.kind()) => Method::OneKernel,
            Engine::Plain => Method::Plain,
            Engine::Auto if !can_fuse => Method::Plain,
            Engine::Auto => Method::Fused(usual_canvas),
            Engine::Fused if can_fuse => Method::Fused(usual_canvas),
            Engine::Fused => return Err(PredictorError::NoFusedEngine),
        };
        if method == Method::OneKernel {
            kernels::prepare(device, options.precision.kind());
        }
        let layers = folded(weights, device, options.precision, method)?;
        let name = weights.config().name();
        let heads = FusedHeads::new(weights);
        let weights = weights.clone();
        Ok(TorchPredictor {
            name,
            weights,
            options,
            device,
            method,
            recordings: Shapes::default(),
            layers,
            packed: BTreeMap::new(),
            heads,
            threads,
            padded: InputBatch::new(usual_canvas),
            by_size: BySize::new(),
        })
    }

    /// Renames the predictor, for example to a model's id.
    pub fn with_name(mut self, name: impl Into<String>) -> TorchPredictor {
        self.name = name.into();
        self
    }

    /// Replaces the weights; the new ones may have a different architecture.
    ///
    /// # Errors
    /// When libtorch cannot pack the new weights; the old ones then stay in place.
    pub fn set_weights(&mut self, weights: &Weights) -> Result<(), PredictorError> {
        let layers = folded(weights, self.device, self.options.precision, self.method)?;
        if self.device.is_cuda() && weights.config() == self.weights.config() {
            // Captured graphs continue with the new weights.
            catching(|| overwrite(&self.layers, &layers))?;
            stream::finish(self.device)?;
        } else {
            self.recordings = Shapes::default();
            self.layers = layers;
            self.packed.clear();
        }
        self.heads = FusedHeads::new(weights);
        self.weights = weights.clone();
        Ok(())
    }

    /// The current weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The options that the predictor was created with.
    pub fn options(&self) -> PredictorOptions {
        self.options
    }

    /// The device that predictions are computed on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Whether batches of some shape are launched on a GPU as captured graphs.
    pub fn has_recordings(&self) -> bool {
        self.recordings.has_recordings()
    }

    /// Computes the predictions for a batch on the CPU.
    fn fill_on_cpu(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        if inputs.uniform() || !matches!(self.method, Method::Fused(_)) {
            self.prepare(inputs.canvas())?;
            let tensors = || NetworkInputs::new(inputs, self.device, self.options.precision);
            return Ok(catching(|| self.fill(inputs, &tensors(), out))??);
        }
        let mut by_size = std::mem::replace(&mut self.by_size, BySize::new());
        let filled = by_size.predict(inputs, out, |boards, predictions| self.fill_on_cpu(boards, predictions));
        self.by_size = by_size;
        filled
    }

    /// Computes the predictions for a batch, whose form on the device is `tensors`.
    fn fill(&self, inputs: &InputBatch, tensors: &NetworkInputs, out: &mut Predictions) -> Result<(), LibtorchError> {
        if inputs.uniform() && matches!(self.method, Method::Fused(_)) {
            self.heads.predict(&tower(&self.layers, tensors, ())?, inputs, out)?;
            return Ok(());
        }
        let mut span = Span::begin(self.device, Work::Prediction);
        let outputs = forward(&self.layers, tensors, ())?;
        let value = Value::of(&outputs.margins, &tensors.komi);
        match self.device {
            Device::Cpu => read_each(&outputs, &value, out),
            _ => {
                let joined = joined(&outputs, &value);
                span.end();
                read_joined(&joined, out);
            }
        }
        span.count_batch(out.win.len(), inputs.len());
        Ok(())
    }

    /// Computes the predictions for a batch on a GPU.
    fn fill_on_gpu(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        self.threads.apply();
        let (device, precision) = (self.device, self.options.precision);
        catching(|| {
            self.padded.pad(inputs, bucket(inputs.len()));
            let (padded, layers) = (&self.padded, &self.layers);
            let channels = Channels::for_prediction(device, precision);
            let record = |other: Option<&_>| Recorded::new(layers, padded, device, (precision, channels), other);
            match self.recordings.recorded(padded, record) {
                Some(recorded) => recorded.predict(padded, out),
                None => self.fill(
                    padded,
                    &NetworkInputs::from_bits(padded, device, precision, channels),
                    out,
                ),
            }
        })??;
        Ok(())
    }

    /// Prepares the calling thread and, for another board size, the packed weights.
    fn prepare(&mut self, canvas: Size) -> Result<(), PredictError> {
        self.threads.apply();
        let Method::Fused(last) = self.method else {
            return Ok(());
        };
        if last == canvas {
            return Ok(());
        }
        let method = Method::Fused(canvas);
        let layers = match self.packed.remove(&canvas) {
            Some(layers) => layers,
            None => folded(&self.weights, self.device, self.options.precision, method)
                .map_err(|error| PredictError::Failed(error.to_string()))?,
        };
        if self.packed.len() >= SIZES_KEPT {
            self.packed.clear();
        }
        self.packed.insert(last, std::mem::replace(&mut self.layers, layers));
        self.method = method;
        Ok(())
    }
}

impl Predictor for TorchPredictor {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        let (found, expected) = (inputs.plane_set(), self.weights.config().plane_set());
        if found != expected {
            return Err(PredictError::Failed(format!(
                "the batch has input planes {found:?}, but the network expects {expected:?}"
            )));
        }
        out.reset(inputs.len(), inputs.canvas());
        if inputs.is_empty() {
            return Ok(());
        }
        let _inference = InferenceGuard::new();
        out.reset_ownership(inputs.canvas());
        match self.device {
            Device::Cpu => self.fill_on_cpu(inputs, out)?,
            _ => self.fill_on_gpu(inputs, out)?,
        }
        if !inputs.uniform() {
            out.policy_logits.map_inplace(forbid_off_board);
        }
        Ok(())
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_batch(&self, canvas: Size) -> InputBatch {
        InputBatch::with_planes(canvas, self.weights.config().plane_set())
    }

    fn preferred_batch(&self) -> usize {
        if self.device == Device::Cpu { 64 } else { 1024 }
    }
}

/// The number of positions that a GPU batch is padded to: a power of two. This keeps the number of shapes small, and a
/// position's prediction does not depend on the batch size, except at these steps.
fn bucket(positions: usize) -> usize {
    positions.next_power_of_two().max(SMALLEST_BUCKET)
}

/// The weights in their form for prediction, ready for use from any thread.
fn folded(
    weights: &Weights,
    device: Device,
    precision: Precision,
    method: Method,
) -> Result<FoldedLayers, PredictorError> {
    let mut layers = catching(|| fold(weights, device, precision.kind(), method))??;
    layers.stem = layers.stem.with(Channels::for_prediction(device, precision));
    stream::finish(device)?;
    Ok(layers)
}

/// Sets the logit of an off-board point, which is finite inside the network, to negative infinity.
fn forbid_off_board(logit: &mut f32) {
    if *logit < -1e20 {
        *logit = f32::NEG_INFINITY;
    }
}

/// Why a predictor cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum PredictorError {
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// libtorch cannot use the weights on the device.
    #[error("{0}{advice}", advice = if .0.is_out_of_memory() { ": use a smaller network" } else { "" })]
    Libtorch(#[from] LibtorchError),
    /// The fused engine was requested but is not available.
    #[error("the fused engine needs the CPU and a libtorch with oneDNN: use the engine `auto` or `plain`")]
    NoFusedEngine,
    /// libtorch could not pack the weights.
    #[error("{0}")]
    Fused(String),
    /// The GPU's server could not be started.
    #[error(transparent)]
    Server(#[from] PredictError),
}

impl From<FusedError> for PredictorError {
    fn from(error: FusedError) -> PredictorError {
        PredictorError::Fused(error.to_string())
    }
}
