//! What each layer computes, in every form of the network.

use tch::Tensor;
use tengen_model::{LinearTensors, TensorIndex};

use crate::fused::Columns;
use crate::inputs::Boards;

/// A 1x1 or 3x3 convolution with its normalization. The form of the network determines how it is computed: with batch
/// statistics, with running statistics, or with the normalization folded into the weight.
pub(crate) trait Convolution {
    /// The error that a convolution can return.
    type Error;
    /// What each pass chooses, such as the statistics to normalize with.
    type Mode: Copy;
    /// Whether the results of `apply` and `add_relu` for this input are zero off the board. Otherwise, they are not
    /// masked.
    fn masks(&self, _x: &Tensor, _mode: Self::Mode) -> bool {
        false
    }
    /// norm(conv(x)), followed by a ReLU if `after` asks for one. The result is a new tensor.
    fn apply(&self, x: &Tensor, pass: Pass<'_, Self::Mode>, after: After) -> Result<Tensor, Self::Error>;
    /// ReLU(norm(conv(x)) + sum). It may overwrite `sum`, which must not share memory with a tensor
    /// that is still needed.
    fn add_relu(&self, x: &Tensor, sum: Tensor, pass: Pass<'_, Self::Mode>) -> Result<Tensor, Self::Error>;
    /// ReLU(norm(conv(x)) + own + sum), where `own`, `[B, O]` in fp32, is a bias of each sample; `None` where that
    /// takes several passes over memory. It may overwrite `sum`, like `add_relu`.
    fn biased_relu(&self, _x: &Tensor, _own: &Tensor, _sum: Option<&Tensor>) -> Option<Result<Tensor, Self::Error>> {
        None
    }
}

/// What all layers share while a batch passes through the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass<'a, M> {
    /// The on-board points of the batch.
    pub(crate) boards: &'a Boards,
    /// The choices of this pass.
    pub(crate) mode: M,
}

/// What follows a convolution and its normalization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// No further operation.
    Nothing,
    /// A ReLU activation.
    Relu,
}

/// A linear layer in fp32, the same in every form of the network.
#[derive(Debug)]
pub(crate) struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
    /// The layer rearranged for prediction on the CPU.
    columns: Option<Columns>,
}

impl Linear {
    /// A layer without bias.
    #[cfg(test)]
    pub(crate) fn of(weight: Tensor) -> Linear {
        Linear {
            weight,
            bias: None,
            columns: None,
        }
    }

    /// The layer with these tensors.
    pub(crate) fn new(tensors: &LinearTensors, tensor: impl Fn(TensorIndex) -> Tensor) -> Linear {
        Linear {
            weight: tensor(tensors.weight),
            bias: tensors.bias.map(tensor),
            columns: None,
        }
    }

    /// The layer for prediction on the CPU, where a row's result does not depend on the other rows.
    pub(crate) fn packed(self) -> Linear {
        Linear {
            columns: Some(Columns::new(&self.weight, self.bias.as_ref())),
            ..self
        }
    }

    /// The weight and, if there is one, the bias.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        [&self.weight].into_iter().chain(&self.bias)
    }

    /// `[outputs, inputs]`.
    pub(crate) fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// `[…, outputs]` from `[…, inputs]`.
    pub(crate) fn apply(&self, x: &Tensor) -> Tensor {
        match &self.columns {
            Some(columns) if x.dim() == 2 => columns.apply(x).unwrap_or_else(|error| panic!("{error}")),
            _ => x.linear(&self.weight, self.bias.as_ref()),
        }
    }

    /// The layer that computes only `count` of the outputs, from `first` on.
    pub(crate) fn outputs(&self, first: i64, count: i64) -> Linear {
        let rows = |table: &Tensor| table.narrow(0, first, count);
        Linear {
            weight: rows(&self.weight),
            bias: self.bias.as_ref().map(rows),
            columns: self.columns.as_ref().map(|columns| columns.outputs(first, count)),
        }
    }
}
