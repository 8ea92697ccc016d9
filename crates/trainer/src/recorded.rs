//! Training steps as recorded GPU graphs: a step with a batch of a known shape takes a single launch.

use ndarray::Array1;
use tch::Tensor;

use tengen_encoding::TrainingBatch;
use tengen_network::{Channels, Graph, LibtorchError, PackedInputs, Span, Work};

use crate::pace::Pace;
use crate::targets::{Placement, Targets};
use crate::trainer::Learner;

/// A recorded step for batches of one shape: losses, gradient, optimizer, and moving average.
#[derive(Debug)]
pub(crate) struct Recorded {
    // Dropped before the tensors that it uses.
    graph: Graph,
    inputs: PackedInputs,
    /// The targets, followed by the numbers of the step.
    placed: Vec<Tensor>,
    losses: Tensor,
}

impl AsRef<Graph> for Recorded {
    fn as_ref(&self) -> &Graph {
        &self.graph
    }
}

impl Recorded {
    /// Records the step for batches like this one, without running it. `numbers` are those of [`Pace::numbers`].
    pub(crate) fn new(
        learner: &mut Learner<'_>,
        batch: &TrainingBatch,
        numbers: &Array1<f32>,
        other: Option<&Graph>,
    ) -> Result<Recorded, LibtorchError> {
        let (device, precision) = (learner.network.device(), learner.network.precision());
        let inputs = PackedInputs::new(&batch.inputs, device);
        let mut placement = Placement::new(device);
        let targets = Targets::placed(batch, &mut placement)?;
        let pace = Pace::placed(numbers, &mut placement)?;
        let (graph, losses) = Graph::record(device, other, || {
            let inputs = inputs.unpack(&batch.inputs, precision, Channels::Exact);
            Ok(learner.learn(&inputs, &targets, &pace))
        })?;
        Ok(Recorded {
            graph,
            inputs,
            placed: placement.placed,
            losses,
        })
    }

    /// Runs the step on a batch of the same shape. Returns the losses of [`Terms::stacked`](crate::loss::Terms), which
    /// are valid until the next call, and the span of the GPU's work, which has begun.
    pub(crate) fn compute(
        &mut self,
        batch: &TrainingBatch,
        numbers: &Array1<f32>,
    ) -> Result<(Tensor, Span), LibtorchError> {
        self.inputs.refill(&batch.inputs)?;
        let mut placement = Placement::into(&self.placed);
        Targets::placed(batch, &mut placement)?;
        Pace::placed(numbers, &mut placement)?;
        let span = Span::begin(self.losses.device(), Work::Training);
        self.graph.launch()?;
        Ok((self.losses.shallow_clone(), span))
    }
}
