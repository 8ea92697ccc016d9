//! Prediction with KataGo networks.

use std::sync::Arc;

use ndarray::{Array2, Array4, ArrayViewMut3, Axis};
use tch::{Device, Kind, Tensor};

use tengen_encoding::{InputBatch, PlaneSet, Trail, canvas_index};
use tengen_katago::{Inputs, NUMBERS, Network, PLANES};
use tengen_katago_forward::{Forward, Seen};
use tengen_network::{
    InferenceGuard, PredictorError, PredictorOptions, ThreadLimit, Work, catching, finish_stream, on_device, read_back,
};
use tengen_rules::Size;
use tengen_search::{PredictError, Predictions, Predictor};

/// Predicts with a KataGo network, from one thread at a time.
///
/// The margin of a prediction is KataGo's lead: the komi that would make the game even. Games without a result, which
/// only rules without superko know, count as ties.
#[derive(Debug)]
pub struct KatagoPredictor {
    name: String,
    network: Arc<Network>,
    options: PredictorOptions,
    device: Device,
    forward: Forward,
    threads: ThreadLimit,
}

/// What the network computes for a batch, copied from its device: `[B, A + 1]` logits of moves, `[B, A]` owners before
/// tanh, `[B, 3]` logits of win, loss, and no result, and `[B, 2]` mean margins and leads.
struct Raw {
    policy: Array2<f32>,
    owners: Array2<f32>,
    result: Array2<f32>,
    margins: Array2<f32>,
}

impl KatagoPredictor {
    /// A predictor with this network.
    ///
    /// # Errors
    /// If the device cannot be used.
    pub fn new(network: &Arc<Network>, options: PredictorOptions) -> Result<KatagoPredictor, PredictorError> {
        let device = options.device.resolve()?;
        let threads = ThreadLimit::new(options.threads, device, Work::Prediction);
        let _inference = InferenceGuard::new();
        let forward = catching(|| Forward::new(network, device, options.precision.kind()))?;
        finish_stream(device)?;
        Ok(KatagoPredictor {
            name: network.name.clone(),
            network: network.clone(),
            options,
            device,
            forward,
            threads,
        })
    }

    /// Renames the predictor, for example to a file name.
    pub fn with_name(mut self, name: impl Into<String>) -> KatagoPredictor {
        self.name = name.into();
        self
    }

    /// The network's inputs for every position of a batch, on the device.
    fn see(&self, inputs: &InputBatch, trails: &[&Trail]) -> Seen {
        let canvas = inputs.canvas();
        let (height, width) = (canvas.height(), canvas.width());
        let mut planes = Array4::zeros((trails.len(), height, width, PLANES));
        let mut numbers = Array2::zeros((trails.len(), NUMBERS));
        for (row, trail) in trails.iter().enumerate() {
            let seen = Inputs::of(trail, self.network.style);
            unpack(&seen, canvas, planes.index_axis_mut(Axis(0), row));
            numbers.row_mut(row).assign(&ndarray::aview1(&seen.numbers));
        }
        let kind = self.options.precision.kind();
        let planes = on_device(planes.view(), self.device).permute([0, 3, 1, 2]);
        let mask = (!inputs.uniform()).then(|| planes.narrow(1, 0, 1));
        let areas = Array2::from_shape_fn((trails.len(), 1), |(row, _)| trails[row].size.area() as f32);
        Seen {
            planes: planes.to_kind(kind),
            numbers: on_device(numbers.view(), self.device).to_kind(kind),
            mask: mask.map(|mask| mask.to_kind(kind)),
            areas: on_device(areas.view(), self.device),
        }
    }

    fn compute(&mut self, inputs: &InputBatch, trails: &[&Trail]) -> Raw {
        let computed = self.forward.run(&self.see(inputs, trails));
        let copied = |tensor: &Tensor| {
            let back = read_back(&tensor.to_kind(Kind::Float).contiguous());
            let (rows, columns) = back.size2().expect("outputs have two dimensions");
            let mut values = Array2::zeros((rows as usize, columns as usize));
            let length = values.len();
            back.copy_data(values.as_slice_mut().expect("a new array is in C order"), length);
            values
        };
        Raw {
            policy: copied(&computed.policy),
            owners: copied(&computed.owners),
            result: copied(&computed.result),
            margins: copied(&computed.margins),
        }
    }

    /// Turns the network's raw outputs into predictions.
    fn fill(&self, inputs: &InputBatch, trails: &[&Trail], raw: &Raw, out: &mut Predictions) {
        let canvas = inputs.canvas();
        out.policy_logits.fill(f32::NEG_INFINITY);
        let owners = out.ownership.as_slice_mut().expect("a reset array is in C order");
        for (row, trail) in trails.iter().enumerate() {
            for index in 0..trail.size.area() {
                let place = canvas_index(trail.size, canvas, index);
                out.policy_logits[[row, place]] = raw.policy[[row, place]];
                owners[row * canvas.area() + place] = raw.owners[[row, place]].tanh();
            }
            out.policy_logits[[row, canvas.area()]] = raw.policy[[row, canvas.area()]];
            let result = [0, 1, 2].map(|column| raw.result[[row, column]]);
            let [mean, lead] = [0, 1].map(|column| raw.margins[[row, column]]);
            let outcome = self.network.multipliers.outcome(trail, result, mean, lead);
            out.win[row] = outcome.win;
            out.loss[row] = outcome.loss;
            out.margin[row] = outcome.lead;
        }
    }
}

/// Writes planes into the top left corner of `[H, W, 22]`.
fn unpack(seen: &Inputs, canvas: Size, mut out: ArrayViewMut3<'_, f32>) {
    for (plane, points) in seen.planes.iter().enumerate() {
        for point in points.iter() {
            let place = canvas_index(seen.size, canvas, point.index());
            out[[place / canvas.width(), place % canvas.width(), plane]] = 1.0;
        }
    }
}

impl Predictor for KatagoPredictor {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        out.reset(inputs.len(), inputs.canvas());
        if inputs.is_empty() {
            return Ok(());
        }
        let trails: Option<Vec<&Trail>> = inputs.trails().iter().map(|trail| trail.as_deref()).collect();
        let trails = trails.filter(|trails| trails.len() == inputs.len()).ok_or_else(|| {
            PredictError::Failed("networks of KataGo need the last turns of every position".to_owned())
        })?;
        let _inference = InferenceGuard::new();
        self.threads.apply();
        out.reset_ownership(inputs.canvas());
        let raw = catching(|| self.compute(inputs, &trails))?;
        self.fill(inputs, &trails, &raw, out);
        Ok(())
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_batch(&self, canvas: Size) -> InputBatch {
        InputBatch::with_planes(canvas, PlaneSet::TRAIL)
    }

    fn preferred_batch(&self) -> usize {
        if self.device == Device::Cpu { 16 } else { 256 }
    }
}
