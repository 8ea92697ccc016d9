//! What is one tensor of a network? A name, a shape, a role, and initial values.

/// What a tensor is used for, which determines how training treats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A weight matrix or kernel: trained, with weight decay.
    Weight,
    /// Shifts or scales a channel: trained, without weight decay.
    Bias,
    /// A running mean or variance of batch normalization: not trained but updated from each batch.
    Statistic,
}

/// One tensor of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The tensor's name in the weights file.
    pub name: String,
    /// The tensor's dimensions, outermost first.
    pub shape: Vec<usize>,
    /// What the tensor is used for.
    pub role: Role,
    /// The tensor's initial values.
    pub start: Start,
}

impl Parameter {
    /// Number of values in the tensor.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the tensor has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Initial values of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// The same value everywhere.
    Constant(f32),
    /// Normally distributed with mean zero and this standard deviation.
    Normal(f32),
}

impl Start {
    /// He et al. (2015): preserves the scale of values through a layer with `inputs` inputs and a ReLU.
    pub(crate) fn he(inputs: usize) -> Start {
        Start::Normal((2.0 / inputs as f32).sqrt())
    }
}
