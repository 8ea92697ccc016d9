//! How does a GPU compute the gradients of batches of a shape that it knows? With one launch, recorded before.

use std::collections::BTreeMap;

use tch::Tensor;

use tengen_encoding::TrainingBatch;
use tengen_network::{Graph, LibtorchError, Mode, Network, PackedInputs};
use tengen_rules::Size;

use crate::config::LossWeights;
use crate::loss::Terms;
use crate::targets::{Placement, Targets};

/// Batches of a shape that are computed step by step before one is recorded, so that libtorch has chosen its kernels.
const WARM_UP: u32 = 3;

/// What a trainer has recorded for batches whose boards fill the canvas, by the number of samples and the canvas. It
/// refers to the network's weights, with which it must be dropped.
#[derive(Debug, Default)]
pub(crate) struct Recordings(BTreeMap<(usize, Size), Shape>);

/// What is known of a shape.
#[derive(Debug)]
enum Shape {
    /// So many batches have been computed step by step.
    Seen(u32),
    Recorded(Recorded),
    /// It cannot be recorded.
    Failed,
}

/// The losses and the gradient of a batch of one shape.
#[derive(Debug)]
struct Recorded {
    // Dropped before the tensors that it uses.
    graph: Graph,
    inputs: PackedInputs,
    targets: Vec<Tensor>,
    gradient: Tensor,
    terms: Terms,
}

impl Recordings {
    /// The gradient and the losses of a batch if its shape is recorded, or can be now; they hold until the next call.
    /// `None` means that they are to be computed step by step.
    ///
    /// # Errors
    /// If the GPU fails.
    pub(crate) fn gradient(
        &mut self,
        network: &Network,
        batch: &TrainingBatch,
        weights: &LossWeights,
    ) -> Result<Option<(Tensor, Terms)>, LibtorchError> {
        if !network.device().is_cuda() || !batch.inputs.uniform() || Graph::available().is_err() {
            return Ok(None);
        }
        let key = (batch.inputs.len(), batch.inputs.canvas());
        let shape = self.0.entry(key).or_insert(Shape::Seen(0));
        if let Shape::Seen(count) = shape {
            *count += 1;
            if *count <= WARM_UP {
                return Ok(None);
            }
            let recorded = Recorded::new(network, batch, weights, self.any());
            // A GPU with too little memory for a recording may still have enough to do without.
            self.0.insert(key, recorded.map_or(Shape::Failed, Shape::Recorded));
        }
        match self.0.get_mut(&key) {
            Some(Shape::Recorded(recorded)) => recorded.compute(batch).map(Some),
            _ => Ok(None),
        }
    }

    /// A graph whose memory others can use, too: a trainer computes one batch at a time.
    fn any(&self) -> Option<&Graph> {
        self.0.values().find_map(|shape| match shape {
            Shape::Recorded(recorded) => Some(&recorded.graph),
            Shape::Seen(_) | Shape::Failed => None,
        })
    }
}

impl Recorded {
    fn new(
        network: &Network,
        batch: &TrainingBatch,
        weights: &LossWeights,
        other: Option<&Graph>,
    ) -> Result<Recorded, LibtorchError> {
        let inputs = PackedInputs::new(&batch.inputs, network.device());
        let mut placement = Placement::new(network.device());
        let targets = Targets::placed(batch, &mut placement)?;
        let (graph, (gradient, terms)) = Graph::record(other, || {
            let inputs = inputs.unpack(&batch.inputs, network.precision());
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

    fn compute(&mut self, batch: &TrainingBatch) -> Result<(Tensor, Terms), LibtorchError> {
        self.inputs.refill(&batch.inputs)?;
        Targets::placed(batch, &mut Placement::into(&self.targets))?;
        self.graph.launch()?;
        Ok((self.gradient.shallow_clone(), self.terms.detached()))
    }
}
