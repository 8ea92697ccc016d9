//! How does a GPU predict batches of a shape that it knows? With one launch of everything, recorded before.

use std::collections::BTreeMap;

use tch::{Device, Tensor};

use tengen_encoding::InputBatch;
use tengen_rules::Size;
use tengen_search::Predictions;

use crate::catching::LibtorchError;
use crate::folded::FoldedLayers;
use crate::graph::Graph;
use crate::inputs::PackedInputs;
use crate::outputs::{joined, read_joined};
use crate::precision::Precision;
use crate::tower::forward;
use crate::value::Value;

/// Batches of a shape that are predicted step by step before one is recorded, so that libtorch has chosen its kernels.
const WARM_UP: u32 = 2;

/// What a predictor has recorded for batches whose boards fill the canvas, by the number of positions and the canvas.
/// It refers to the network's layers, with which it must be dropped.
#[derive(Debug, Default)]
pub(crate) struct Recordings(BTreeMap<(usize, Size), Shape>);

/// What is known of a shape.
#[derive(Debug)]
enum Shape {
    /// So many batches have been predicted step by step.
    Seen(u32),
    Recorded(Recorded),
    /// It cannot be recorded.
    Failed,
}

/// The prediction of a batch of one shape.
#[derive(Debug)]
struct Recorded {
    // Dropped before the tensors that it uses.
    graph: Graph,
    inputs: PackedInputs,
    /// All outputs, a row for each position.
    outputs: Tensor,
}

impl Recordings {
    /// Predicts a batch if its shape is recorded, or can be now. `false` means that it is to be predicted step by step.
    /// `out` takes the first positions of the batch, as many as it has.
    ///
    /// # Errors
    /// If the GPU fails.
    pub(crate) fn predict(
        &mut self,
        layers: &FoldedLayers,
        batch: &InputBatch,
        device: Device,
        precision: Precision,
        out: &mut Predictions,
    ) -> Result<bool, LibtorchError> {
        if !batch.uniform() || Graph::available().is_err() {
            return Ok(false);
        }
        let key = (batch.len(), batch.canvas());
        let shape = self.0.entry(key).or_insert(Shape::Seen(0));
        if let Shape::Seen(count) = shape {
            *count += 1;
            if *count <= WARM_UP {
                return Ok(false);
            }
            let recorded = Recorded::new(layers, batch, device, precision, self.any());
            // A GPU with too little memory for a recording may still have enough to do without.
            self.0.insert(key, recorded.map_or(Shape::Failed, Shape::Recorded));
        }
        match self.0.get_mut(&key) {
            Some(Shape::Recorded(recorded)) => recorded.predict(batch, out).map(|()| true),
            _ => Ok(false),
        }
    }

    /// A graph whose memory others can use, too: a predictor runs one at a time.
    fn any(&self) -> Option<&Graph> {
        self.0.values().find_map(|shape| match shape {
            Shape::Recorded(recorded) => Some(&recorded.graph),
            Shape::Seen(_) | Shape::Failed => None,
        })
    }
}

impl Recorded {
    fn new(
        layers: &FoldedLayers,
        batch: &InputBatch,
        device: Device,
        precision: Precision,
        other: Option<&Graph>,
    ) -> Result<Recorded, LibtorchError> {
        let inputs = PackedInputs::new(batch, device);
        let (graph, outputs) = Graph::record(other, || {
            let tensors = inputs.unpack(batch, precision);
            let outputs = forward(layers, &tensors, ())?;
            let value = Value::of(&outputs.margins, tensors.komi());
            Ok(joined(&outputs, &value))
        })?;
        Ok(Recorded { graph, inputs, outputs })
    }

    fn predict(&mut self, batch: &InputBatch, out: &mut Predictions) -> Result<(), LibtorchError> {
        self.inputs.refill(batch)?;
        self.graph.launch()?;
        read_joined(&self.outputs, out);
        Ok(())
    }
}
