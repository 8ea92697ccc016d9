//! Predicts GPU batches of a known shape by launching a CUDA graph captured earlier.

use tch::{Device, Tensor};

use tengen_encoding::InputBatch;
use tengen_search::Predictions;

use crate::catching::LibtorchError;
use crate::folded::FoldedLayers;
use crate::graph::Graph;
use crate::inputs::Channels;
use crate::outputs::{joined, read_joined};
use crate::packed::PackedInputs;
use crate::precision::Precision;
use crate::stream::Work;
use crate::tower::forward;
use crate::usage::Span;
use crate::value::Value;

/// The captured prediction of batches of one shape.
#[derive(Debug)]
pub(crate) struct Recorded {
    // Dropped before the tensors that it uses.
    graph: Graph,
    inputs: PackedInputs,
    /// All outputs, a row for each position.
    outputs: Tensor,
}

impl AsRef<Graph> for Recorded {
    fn as_ref(&self) -> &Graph {
        &self.graph
    }
}

impl Recorded {
    /// Captures the prediction of batches like this one.
    pub(crate) fn new(
        layers: &FoldedLayers,
        batch: &InputBatch,
        device: Device,
        (precision, channels): (Precision, Channels),
        other: Option<&Graph>,
    ) -> Result<Recorded, LibtorchError> {
        let inputs = PackedInputs::new(batch, device);
        let (graph, outputs) = Graph::record(device, other, || {
            let tensors = inputs.unpack(batch, precision, channels);
            let outputs = forward(layers, &tensors, ())?;
            let value = Value::of(&outputs.margins, tensors.komi());
            Ok(joined(&outputs, &value))
        })?;
        Ok(Recorded { graph, inputs, outputs })
    }

    /// Predicts a batch of the same shape. `out` receives its first positions, as many as it has room for.
    pub(crate) fn predict(&mut self, batch: &InputBatch, out: &mut Predictions) -> Result<(), LibtorchError> {
        self.inputs.refill(batch)?;
        let mut span = Span::begin(self.outputs.device(), Work::Prediction);
        self.graph.launch()?;
        span.end();
        read_joined(&self.outputs, out);
        span.count_batch(out.win.len(), batch.len());
        Ok(())
    }
}
