//! Which tensors does a network consist of? Names, shapes, roles, and initial values, in a fixed order.
//!
//! With C channels, h head channels, and s hidden units:
//!
//! | name | shape | contents |
//! |---|---|---|
//! | `input.conv.weight` | `[C, 9, 3, 3]` | the bit planes (eight and the optional ones) and the on-board mask |
//! | `input.globals.weight` | `[C, 3]` | the global inputs, added to every point |
//! | `blocks.N.conv1.weight`, `conv2.weight` | `[C, C, 3, 3]` | the two convolutions of a block |
//! | `blocks.N.pool.weight` | `[C, 3C]` | bias from the pooled first half of the block (blocks that pool) |
//! | `heads.conv.weight` | `[2h, C, 1, 1]` | first layer of both heads |
//! | `heads.points.weight`, `.bias` | `[2, 2h]`, `[2]` | per point: policy logit and ownership before tanh |
//! | `heads.pass.weight`, `.bias` | `[1, 6h]`, `[1]` | the pass logit from the pooled head channels |
//! | `score.hidden.weight`, `.bias` | `[s, 6h + 3]`, `[s]` | pooled head channels and the three komi terms |
//! | `score.margin.weight`, `.bias` | `[723, s]`, `[723]` | one row for each final margin, -361 to 361 |
//! | `….norm.scale`, `shift`, `mean`, `variance` | `[channels]` | batch normalization after each convolution |

use tengen_encoding::GLOBALS;
use tengen_rules::MAX_AREA;

use crate::config::NetworkConfig;

/// Numbers pooled from each channel: mean, mean times a measure of the board's side, and maximum.
pub const POOLED: usize = 3;
/// Numbers through which the komi enters the score head.
pub const KOMI_TERMS: usize = 3;
/// Number of possible final margins on boards up to 19x19.
pub const MARGINS: usize = 2 * MAX_AREA + 1;
/// Added to the variance in batch normalization.
pub const EPSILON: f64 = 1e-5;

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

/// Every tensor of the network, in the fixed storage order.
pub fn parameters(config: &NetworkConfig) -> Vec<Parameter> {
    let mut list = List(Vec::new());
    let (channels, heads, hidden) = (config.channels, 2 * config.head_channels, config.score_hidden);
    list.conv("input", "conv", &[channels, config.input_planes(), 3, 3]);
    list.norm("input.norm", channels, 1.0);
    list.weight("input.globals.weight", &[channels, GLOBALS], Start::Normal(0.5));
    for block in 0..config.blocks {
        let name = format!("blocks.{block}");
        list.conv(&name, "conv1", &[channels, channels, 3, 3]);
        list.norm(&format!("{name}.norm1"), channels, 1.0);
        list.conv(&name, "conv2", &[channels, channels, 3, 3]);
        list.norm(&format!("{name}.norm2"), channels, 0.5);
        if config.pools(block) {
            list.weight(
                &format!("{name}.pool.weight"),
                &[channels, POOLED * channels],
                Start::Constant(0.0),
            );
        }
    }
    list.conv("heads", "conv", &[heads, channels, 1, 1]);
    list.norm("heads.norm", heads, 1.0);
    list.linear("heads.points", 2, heads, Start::Constant(0.0));
    list.linear("heads.pass", 1, POOLED * heads, Start::Constant(0.0));
    let score_inputs = POOLED * heads + KOMI_TERMS;
    list.linear("score.hidden", hidden, score_inputs, Start::Normal(he(score_inputs)));
    list.linear("score.margin", MARGINS, hidden, Start::Constant(0.0));
    list.0
}

/// He et al. (2015): the standard deviation that preserves the scale of values through a layer with `inputs` inputs and
/// a ReLU.
fn he(inputs: usize) -> f32 {
    (2.0 / inputs as f32).sqrt()
}

struct List(Vec<Parameter>);

impl List {
    fn push(&mut self, name: String, shape: &[usize], role: Role, start: Start) {
        self.0.push(Parameter {
            name,
            shape: shape.to_vec(),
            role,
            start,
        });
    }

    fn weight(&mut self, name: &str, shape: &[usize], start: Start) {
        self.push(name.to_owned(), shape, Role::Weight, start);
    }

    fn conv(&mut self, owner: &str, name: &str, shape: &[usize]) {
        let inputs = shape[1..].iter().product();
        self.weight(&format!("{owner}.{name}.weight"), shape, Start::Normal(he(inputs)));
    }

    fn linear(&mut self, name: &str, outputs: usize, inputs: usize, start: Start) {
        self.weight(&format!("{name}.weight"), &[outputs, inputs], start);
        self.push(format!("{name}.bias"), &[outputs], Role::Bias, Start::Constant(0.0));
    }

    fn norm(&mut self, name: &str, channels: usize, scale: f32) {
        for (part, role, value) in [
            ("scale", Role::Bias, scale),
            ("shift", Role::Bias, 0.0),
            ("mean", Role::Statistic, 0.0),
            ("variance", Role::Statistic, 1.0),
        ] {
            self.push(format!("{name}.{part}"), &[channels], role, Start::Constant(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_final_layers_start_at_zero() {
        let list = parameters(&NetworkConfig::new(4, 32));
        let names: BTreeSet<&str> = list.iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(names.len(), list.len());
        for name in [
            "heads.points.weight",
            "heads.pass.weight",
            "score.margin.weight",
            "blocks.1.pool.weight",
        ] {
            let parameter = list.iter().find(|parameter| parameter.name == name).expect("listed");
            assert_eq!(parameter.start, Start::Constant(0.0), "{name}");
        }
        assert!(!names.contains("blocks.0.pool.weight"));
    }
}
