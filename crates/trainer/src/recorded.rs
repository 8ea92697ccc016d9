//! How does a GPU compute the gradients of batches of a shape that it knows? With one launch, recorded before.

use tch::Tensor;

use tengen_encoding::TrainingBatch;
use tengen_network::{Channels, Graph, LibtorchError, Mode, Network, PackedInputs, Span, Work};

use crate::config::LossWeights;
use crate::loss::Terms;
use crate::targets::{Placement, Targets};

/// The losses and the gradient of a batch of one shape.
#[derive(Debug)]
pub(crate) struct Recorded {
    // Dropped before the tensors that it uses.
    graph: Graph,
    inputs: PackedInputs,
    targets: Vec<Tensor>,
    gradient: Tensor,
    terms: Terms,
}

impl AsRef<Graph> for Recorded {
    fn as_ref(&self) -> &Graph {
        &self.graph
    }
}

impl Recorded {
    /// Records the losses and the gradient of batches like this one.
    pub(crate) fn new(
        network: &Network,
        batch: &TrainingBatch,
        weights: &LossWeights,
        other: Option<&Graph>,
    ) -> Result<Recorded, LibtorchError> {
        let inputs = PackedInputs::new(&batch.inputs, network.device());
        let mut placement = Placement::new(network.device());
        let targets = Targets::placed(batch, &mut placement)?;
        let (graph, (gradient, terms)) = Graph::record(other, || {
            let inputs = inputs.unpack(&batch.inputs, network.precision(), Channels::Exact);
            let outputs = network.forward(&inputs, Mode::Training);
            let terms = Terms::new(&outputs, &inputs, &targets, weights, None);
            Ok((network.gradient(&terms.total), terms.detached()))
        })?;
        Ok(Recorded {
            graph,
            inputs,
            targets: placement.placed,
            gradient,
            terms,
        })
    }

    /// The gradient and the losses of a batch of the same shape; they hold until the next call. The span has begun.
    pub(crate) fn compute(&mut self, batch: &TrainingBatch) -> Result<(Tensor, Terms, Span), LibtorchError> {
        self.inputs.refill(&batch.inputs)?;
        Targets::placed(batch, &mut Placement::into(&self.targets))?;
        let span = Span::begin(self.gradient.device(), Work::Training);
        self.graph.launch()?;
        Ok((self.gradient.shallow_clone(), self.terms.detached(), span))
    }
}
