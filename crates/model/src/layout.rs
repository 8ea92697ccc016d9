//! Which layers and tensors does a network consist of? The one place that names tensors and gives their shapes, roles,
//! and initial values. Every form of the network, in a file or in memory, is made from it.
//!
//! With C channels, h head channels, and s hidden units:
//!
//! | name | shape | contents |
//! |---|---|---|
//! | `input.conv.weight` | `[C, 9, 3, 3]` | eight bit planes, two more with `pass_alive_inputs` and with `ladder_inputs`, and the on-board mask |
//! | `input.globals.weight` | `[C, 3]` | the global inputs, added to every point |
//! | `blocks.N.conv1.weight`, `conv2.weight` | `[C, C, 3, 3]` | the two convolutions of a block |
//! | `blocks.N.pool.weight` | `[C, 3C]` | bias from the pooled first half of the block (blocks that pool) |
//! | `blocks.N.conv1.weight`, `conv2.weight` | `[C/2, C, 1, 1]`, `[C, C/2, 1, 1]` | nested blocks: to half of the channels and back |
//! | `blocks.N.inner0.…`, `blocks.N.inner1.…` | | nested blocks: the two blocks between, with C/2 channels; only the first pools |
//! | `blocks.N.conv1.weight`, `conv2.weight` | `[3C, C, 1, 1]`, `[C, C, 1, 1]` | attention: queries, keys, and values; the output |
//! | `blocks.N.offsets.weight` | `[H, 1369]` | attention: for each of H heads, a bias for each offset between points, row by row from (-18, -18) |
//! | `heads.conv.weight` | `[2h, C, 1, 1]` | first layer of both heads |
//! | `heads.points.weight`, `.bias` | `[2, 2h]`, `[2]` | per point: policy logit and ownership before tanh |
//! | `heads.pass.weight`, `.bias` | `[1, 6h]`, `[1]` | the pass logit from the pooled head channels |
//! | `score.hidden.weight`, `.bias` | `[s, 6h + 3]`, `[s]` | pooled head channels and the three komi terms |
//! | `score.margin.weight`, `.bias` | `[723, s]`, `[723]` | one row for each final margin, -361 to 361 |
//! | `heads.reply.weight`, `.bias` | `[1, 2h]`, `[1]` | only with `reply_head`: a logit per point for the opponent's reply |
//! | `heads.reply_pass.weight`, `.bias` | `[1, 6h]`, `[1]` | only with `reply_head`: the logit of a pass in reply |
//! | `heads.soft.weight`, `.bias` | `[1, 2h]`, `[1]` | only with `soft_policy_head`: a logit per point |
//! | `heads.soft_pass.weight`, `.bias` | `[1, 6h]`, `[1]` | only with `soft_policy_head`: the logit of a pass |
//! | `score.short.weight`, `.bias` | `[3, s]`, `[3]` | only with `short_term_head`: half the log-odds of winning, by horizon |
//! | `….norm.scale`, `shift`, `mean`, `variance` | `[channels]` | batch normalization after each convolution |

use tengen_encoding::{GLOBALS, HORIZONS};
use tengen_rules::{MAX_AREA, MAX_SIDE};

use crate::config::NetworkConfig;
use crate::parameters::{Parameter, Role, Start};

/// Numbers pooled from each channel: mean, mean times a measure of the board's side, and maximum.
pub const POOLED: usize = 3;
/// Numbers through which the komi enters the score head.
pub const KOMI_TERMS: usize = 3;
/// Number of possible final margins on boards up to 19x19.
pub const MARGINS: usize = 2 * MAX_AREA + 1;
/// Number of offsets between two points in one direction, -18 to 18.
pub const OFFSETS: usize = 2 * MAX_SIDE - 1;
/// Residual blocks within a nested block.
const INNER_BLOCKS: usize = 2;
/// Added to the variance in batch normalization.
pub const EPSILON: f64 = 1e-5;

/// The layers of a network and the tensors they consist of, as a [`NetworkConfig`] determines them.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    parameters: Vec<Parameter>,
    layers: Layers<ConvTensors, LinearTensors>,
}

/// The layers of one form of a network, in which a convolution with its normalization is a `C` and a linear layer an
/// `L`. The layout's own form holds indices of tensors; [`Layers::try_map`] makes the others from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers<C, L> {
    /// The 3x3 convolution of the input planes.
    pub stem: C,
    /// From the global inputs to a number for each channel, added to the stem at every point.
    pub globals: L,
    /// The tower.
    pub blocks: Vec<Block<C, L>>,
    /// Policy, ownership, and score.
    pub heads: Heads<C, L>,
}

/// A block of the tower, whose output is added to its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block<C, L> {
    /// Two 3x3 convolutions (He et al., 2016).
    Residual(Residual<C, L>),
    /// Residual blocks with half of the channels between two 1x1 convolutions, as KataGo's nested bottleneck blocks.
    Nested(Nested<C, L>),
    /// Self-attention over all points (Vaswani et al., 2017).
    Attention(Attention<C, L>),
}

/// A residual block of two 3x3 convolutions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residual<C, L> {
    /// The first convolution.
    pub first: C,
    /// The second convolution, whose output is added to the block's input.
    pub second: C,
    /// From the pooled output of the first convolution to a number for each channel, in blocks that pool.
    pub pool: Option<L>,
}

/// Residual blocks with half of the channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested<C, L> {
    /// The 1x1 convolution to half of the channels.
    pub reduce: C,
    /// The blocks there.
    pub inner: Vec<Residual<C, L>>,
    /// The 1x1 convolution back, whose output is added to the block's input.
    pub expand: C,
}

/// Self-attention over all points of the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention<C, L> {
    /// Number of heads, among which the channels are divided.
    pub heads: usize,
    /// The 1x1 convolution to the queries, keys, and values, in this order.
    pub projections: C,
    /// One row for each head: a number for each offset between two points, row by row from (-18, -18) to (18, 18),
    /// which is added to how much the first point attends to the second.
    pub offsets: L,
    /// The 1x1 convolution of what was attended to, whose output is added to the block's input.
    pub output: C,
}

/// The layers that follow the tower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heads<C, L> {
    /// The 1x1 convolution that all heads share.
    pub conv: C,
    /// From the channels of a point to its policy logit and its ownership before tanh.
    pub points: L,
    /// From the pooled channels to the logit of passing.
    pub pass: L,
    /// From the pooled channels and the komi terms to the hidden units of the score.
    pub hidden: L,
    /// From the hidden units to the logits of all final margins.
    pub margin: L,
    /// The opponent's reply, in networks that learn to predict it. Only training computes it.
    pub reply: Option<PolicyHead<L>>,
    /// The softened policy, in networks that learn it. Only training computes it.
    pub soft: Option<PolicyHead<L>>,
    /// From the hidden units of the score to the values over the next plies, one for each of [`HORIZONS`], in networks
    /// that learn them. Only training computes it.
    pub short_term: Option<L>,
}

/// The layers that predict moves only in training: the opponent's reply (Wu, 2019, section 4.1), or a softened policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyHead<L> {
    /// From the channels of a point to the logit of a play there.
    pub points: L,
    /// From the pooled channels to the logit of passing.
    pub pass: L,
}

/// Where a tensor is in [`Layout::parameters`]; it has no meaning in the layout of another configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorIndex(usize);

/// The tensors of a convolution without bias and of the batch normalization after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvTensors {
    /// `[outputs, inputs, side, side]`.
    pub weight: TensorIndex,
    /// `[outputs]`: by what normalized values are multiplied.
    pub scale: TensorIndex,
    /// `[outputs]`: what is then added.
    pub shift: TensorIndex,
    /// `[outputs]`: the running mean.
    pub mean: TensorIndex,
    /// `[outputs]`: the running variance.
    pub variance: TensorIndex,
}

/// The tensors of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearTensors {
    /// `[outputs, inputs]`.
    pub weight: TensorIndex,
    /// `[outputs]`; layers whose output is added to a normalized one have none.
    pub bias: Option<TensorIndex>,
}

impl Layout {
    /// The layout of a network of this shape.
    pub fn new(config: &NetworkConfig) -> Layout {
        let mut tensors = Tensors(Vec::new());
        // Fields are evaluated in the order in which they are written here, which is the storage order.
        let layers = Layers {
            stem: tensors.conv(
                "input.conv",
                "input.norm",
                [config.channels, config.input_planes(), 3, 3],
                1.0,
            ),
            globals: tensors.linear("input.globals", [config.channels, GLOBALS], Start::Normal(0.5)),
            blocks: (0..config.blocks)
                .map(|block| Block::new(&mut tensors, config, block))
                .collect(),
            heads: Heads::new(&mut tensors, config),
        };
        Layout {
            parameters: tensors.0,
            layers,
        }
    }

    /// Every tensor of the network, in the fixed storage order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The tensor at an index that [`Layout::layers`] gives.
    pub fn parameter(&self, index: TensorIndex) -> &Parameter {
        &self.parameters[index.0]
    }

    /// Where the tensors of each layer are.
    pub fn layers(&self) -> &Layers<ConvTensors, LinearTensors> {
        &self.layers
    }
}

impl TensorIndex {
    /// The position in [`Layout::parameters`], counted from 0.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Block<ConvTensors, LinearTensors> {
    fn new(tensors: &mut Tensors, config: &NetworkConfig, number: usize) -> Self {
        let (name, pools) = (format!("blocks.{number}"), config.pools(number));
        if config.attends(number) {
            Block::Attention(Attention::new(tensors, &name, config))
        } else if config.nested_blocks {
            Block::Nested(Nested::new(tensors, &name, config.channels, pools))
        } else {
            Block::Residual(Residual::new(tensors, &name, config.channels, pools))
        }
    }
}

impl Residual<ConvTensors, LinearTensors> {
    fn new(tensors: &mut Tensors, block: &str, channels: usize, pools: bool) -> Self {
        let kernel = [channels, channels, 3, 3];
        let matrix = [channels, POOLED * channels];
        Residual {
            first: tensors.conv(&format!("{block}.conv1"), &format!("{block}.norm1"), kernel, 1.0),
            second: tensors.conv(&format!("{block}.conv2"), &format!("{block}.norm2"), kernel, 0.5),
            pool: pools.then(|| tensors.linear(&format!("{block}.pool"), matrix, Start::Constant(0.0))),
        }
    }
}

impl Nested<ConvTensors, LinearTensors> {
    fn new(tensors: &mut Tensors, block: &str, channels: usize, pools: bool) -> Self {
        let (half, names) = (channels / 2, |part| {
            (format!("{block}.conv{part}"), format!("{block}.norm{part}"))
        });
        let ((conv1, norm1), (conv2, norm2)) = (names(1), names(2));
        Nested {
            reduce: tensors.conv(&conv1, &norm1, [half, channels, 1, 1], 1.0),
            inner: (0..INNER_BLOCKS)
                .map(|inner| Residual::new(tensors, &format!("{block}.inner{inner}"), half, pools && inner == 0))
                .collect(),
            expand: tensors.conv(&conv2, &norm2, [channels, half, 1, 1], 0.5),
        }
    }
}

impl Attention<ConvTensors, LinearTensors> {
    fn new(tensors: &mut Tensors, block: &str, config: &NetworkConfig) -> Self {
        let (channels, heads) = (config.channels, config.attention_heads());
        let (conv1, norm1) = (format!("{block}.conv1"), format!("{block}.norm1"));
        let (conv2, norm2) = (format!("{block}.conv2"), format!("{block}.norm2"));
        let offsets = [heads, OFFSETS * OFFSETS];
        Attention {
            heads,
            projections: tensors.conv(&conv1, &norm1, [3 * channels, channels, 1, 1], 1.0),
            offsets: tensors.linear(&format!("{block}.offsets"), offsets, Start::Constant(0.0)),
            output: tensors.conv(&conv2, &norm2, [channels, channels, 1, 1], 0.5),
        }
    }
}

impl Heads<ConvTensors, LinearTensors> {
    fn new(tensors: &mut Tensors, config: &NetworkConfig) -> Self {
        let (channels, hidden) = (2 * config.head_channels, config.score_hidden);
        let pooled = POOLED * channels;
        let score_inputs = pooled + KOMI_TERMS;
        let zero = Start::Constant(0.0);
        Heads {
            conv: tensors.conv("heads.conv", "heads.norm", [channels, config.channels, 1, 1], 1.0),
            points: tensors.linear_with_bias("heads.points", [2, channels], zero),
            pass: tensors.linear_with_bias("heads.pass", [1, pooled], zero),
            hidden: tensors.linear_with_bias("score.hidden", [hidden, score_inputs], Start::he(score_inputs)),
            margin: tensors.linear_with_bias("score.margin", [MARGINS, hidden], zero),
            reply: config.reply_head.then(|| PolicyHead {
                points: tensors.linear_with_bias("heads.reply", [1, channels], zero),
                pass: tensors.linear_with_bias("heads.reply_pass", [1, pooled], zero),
            }),
            soft: config.soft_policy_head.then(|| PolicyHead {
                points: tensors.linear_with_bias("heads.soft", [1, channels], zero),
                pass: tensors.linear_with_bias("heads.soft_pass", [1, pooled], zero),
            }),
            short_term: config
                .short_term_head
                .then(|| tensors.linear_with_bias("score.short", [HORIZONS, hidden], zero)),
        }
    }
}

impl<C, L> Layers<C, L> {
    /// The same layers in another form: `conv` converts each convolution and `linear` each linear layer.
    ///
    /// # Errors
    /// The first error of `conv` or `linear`.
    pub fn try_map<D, M, E>(
        &self,
        conv: impl Fn(&C) -> Result<D, E>,
        linear: impl Fn(&L) -> Result<M, E>,
    ) -> Result<Layers<D, M>, E> {
        let residual = |block: &Residual<C, L>| {
            Ok(Residual {
                first: conv(&block.first)?,
                second: conv(&block.second)?,
                pool: block.pool.as_ref().map(&linear).transpose()?,
            })
        };
        let block = |block: &Block<C, L>| {
            Ok(match block {
                Block::Residual(block) => Block::Residual(residual(block)?),
                Block::Nested(block) => Block::Nested(Nested {
                    reduce: conv(&block.reduce)?,
                    inner: block.inner.iter().map(residual).collect::<Result<_, E>>()?,
                    expand: conv(&block.expand)?,
                }),
                Block::Attention(block) => Block::Attention(Attention {
                    heads: block.heads,
                    projections: conv(&block.projections)?,
                    offsets: linear(&block.offsets)?,
                    output: conv(&block.output)?,
                }),
            })
        };
        let policy = |head: &PolicyHead<L>| {
            Ok(PolicyHead {
                points: linear(&head.points)?,
                pass: linear(&head.pass)?,
            })
        };
        Ok(Layers {
            stem: conv(&self.stem)?,
            globals: linear(&self.globals)?,
            blocks: self.blocks.iter().map(block).collect::<Result<_, E>>()?,
            heads: Heads {
                conv: conv(&self.heads.conv)?,
                points: linear(&self.heads.points)?,
                pass: linear(&self.heads.pass)?,
                hidden: linear(&self.heads.hidden)?,
                margin: linear(&self.heads.margin)?,
                reply: self.heads.reply.as_ref().map(policy).transpose()?,
                soft: self.heads.soft.as_ref().map(policy).transpose()?,
                short_term: self.heads.short_term.as_ref().map(&linear).transpose()?,
            },
        })
    }
}

impl NetworkConfig {
    /// Number of multiplications and additions, each counted as one operation, in the convolutions and attention for
    /// one position on a board of `area` points. The linear layers, under 1% of the total, are not counted.
    pub fn operations(&self, area: usize) -> u64 {
        let layout = Layout::new(self);
        let kernels = layout.parameters.iter().filter(|tensor| tensor.shape.len() == 4);
        // Every pair of points takes a product of queries and keys, and one of weights and values.
        let attending = (0..self.blocks).filter(|&block| self.attends(block)).count();
        let products = attending * 2 * area * area * self.channels;
        2 * (area * kernels.map(Parameter::len).sum::<usize>() + products) as u64
    }
}

/// The tensors listed so far; each method appends those of one layer.
struct Tensors(Vec<Parameter>);

impl Tensors {
    /// A convolution of shape `[outputs, inputs, side, side]` with its normalization, whose scale starts at `scale`.
    fn conv(&mut self, name: &str, norm: &str, shape: [usize; 4], scale: f32) -> ConvTensors {
        let start = Start::he(shape[1..].iter().product());
        let weight = self.push(format!("{name}.weight"), &shape, Role::Weight, start);
        let mut channels = |part: &str, role: Role, value: f32| {
            self.push(format!("{norm}.{part}"), &shape[..1], role, Start::Constant(value))
        };
        ConvTensors {
            weight,
            scale: channels("scale", Role::Bias, scale),
            shift: channels("shift", Role::Bias, 0.0),
            mean: channels("mean", Role::Statistic, 0.0),
            variance: channels("variance", Role::Statistic, 1.0),
        }
    }

    /// A linear layer of shape `[outputs, inputs]` without bias.
    fn linear(&mut self, name: &str, shape: [usize; 2], start: Start) -> LinearTensors {
        LinearTensors {
            weight: self.push(format!("{name}.weight"), &shape, Role::Weight, start),
            bias: None,
        }
    }

    /// A linear layer of shape `[outputs, inputs]` with a bias that starts at zero.
    fn linear_with_bias(&mut self, name: &str, shape: [usize; 2], start: Start) -> LinearTensors {
        let LinearTensors { weight, .. } = self.linear(name, shape, start);
        let bias = self.push(format!("{name}.bias"), &shape[..1], Role::Bias, Start::Constant(0.0));
        LinearTensors {
            weight,
            bias: Some(bias),
        }
    }

    fn push(&mut self, name: String, shape: &[usize], role: Role, start: Start) -> TensorIndex {
        let index = TensorIndex(self.0.len());
        self.0.push(Parameter {
            name,
            shape: shape.to_vec(),
            role,
            start,
        });
        index
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use super::*;

    /// Files hold tensors under these names, and initial values depend on the order, so neither may change.
    #[test]
    fn names_shapes_and_order_are_fixed() {
        let config = NetworkConfig {
            head_channels: 2,
            score_hidden: 5,
            ..NetworkConfig::new(2, 8)
        };
        let layout = Layout::new(&config);
        let found = layout.parameters().iter().map(|p| format!("{} {:?}", p.name, p.shape));
        let norm = |name: &str, channels: usize| {
            ["scale", "shift", "mean", "variance"].map(|part| format!("{name}.{part} [{channels}]"))
        };
        let mut expected = vec!["input.conv.weight [8, 9, 3, 3]".to_owned()];
        expected.extend(norm("input.norm", 8));
        expected.push("input.globals.weight [8, 3]".to_owned());
        for block in ["blocks.0", "blocks.1"] {
            expected.push(format!("{block}.conv1.weight [8, 8, 3, 3]"));
            expected.extend(norm(&format!("{block}.norm1"), 8));
            expected.push(format!("{block}.conv2.weight [8, 8, 3, 3]"));
            expected.extend(norm(&format!("{block}.norm2"), 8));
        }
        expected.push("blocks.1.pool.weight [8, 24]".to_owned());
        expected.push("heads.conv.weight [4, 8, 1, 1]".to_owned());
        expected.extend(norm("heads.norm", 4));
        let last = [
            "heads.points.weight [2, 4]",
            "heads.points.bias [2]",
            "heads.pass.weight [1, 12]",
            "heads.pass.bias [1]",
            "score.hidden.weight [5, 15]",
            "score.hidden.bias [5]",
            "score.margin.weight [723, 5]",
            "score.margin.bias [723]",
        ];
        expected.extend(last.map(str::to_owned));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_are_unique_and_final_layers_start_at_zero() {
        let layout = Layout::new(&NetworkConfig::new(4, 32));
        let list = layout.parameters();
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

    #[test]
    fn nested_and_attention_blocks_have_the_documented_tensors() {
        let config = NetworkConfig {
            nested_blocks: true,
            attention_every: 3,
            ..NetworkConfig::new(3, 32)
        };
        let layout = Layout::new(&config);
        let found: Vec<String> = layout
            .parameters()
            .iter()
            .filter(|p| p.name.starts_with("blocks.") && p.name.ends_with("weight"))
            .map(|p| format!("{} {:?}", p.name, p.shape))
            .collect();
        let nested = |block: usize, pool: &[&str]| {
            let mut names = vec![format!("blocks.{block}.conv1.weight [16, 32, 1, 1]")];
            for inner in 0..2 {
                let name = format!("blocks.{block}.inner{inner}");
                names.extend([1, 2].map(|conv| format!("{name}.conv{conv}.weight [16, 16, 3, 3]")));
                if inner == 0 {
                    names.extend(pool.iter().map(|pool| format!("{name}.{pool}")));
                }
            }
            names.push(format!("blocks.{block}.conv2.weight [32, 16, 1, 1]"));
            names
        };
        let mut expected = [nested(0, &[]), nested(1, &["pool.weight [16, 48]"])].concat();
        expected.push("blocks.2.conv1.weight [96, 32, 1, 1]".to_owned());
        expected.push("blocks.2.offsets.weight [2, 1369]".to_owned());
        expected.push("blocks.2.conv2.weight [32, 32, 1, 1]".to_owned());
        assert_eq!(found, expected);
    }

    /// Every tensor belongs to exactly one layer.
    #[test]
    fn layers_cover_all_tensors_in_order() {
        for (nested_blocks, attention_every) in [(false, 0), (true, 0), (true, 4)] {
            layers_cover_all_tensors_of(&NetworkConfig {
                nested_blocks,
                attention_every,
                reply_head: true,
                soft_policy_head: true,
                short_term_head: true,
                ..NetworkConfig::new(4, 8)
            });
        }
        let layout = Layout::new(&NetworkConfig::new(4, 8));
        let Block::Residual(second) = &layout.layers().blocks[1] else {
            panic!("a plain block")
        };
        let first = second.first;
        assert_eq!(layout.parameter(first.weight).name, "blocks.1.conv1.weight");
        assert_eq!(layout.parameter(first.variance).name, "blocks.1.norm1.variance");
    }

    fn layers_cover_all_tensors_of(config: &NetworkConfig) {
        let layout = Layout::new(config);
        let seen = RefCell::new(Vec::new());
        let conv = |conv: &ConvTensors| {
            let all = [conv.weight, conv.scale, conv.shift, conv.mean, conv.variance];
            seen.borrow_mut().extend(all);
            Ok::<(), Infallible>(())
        };
        let linear = |linear: &LinearTensors| {
            seen.borrow_mut().push(linear.weight);
            seen.borrow_mut().extend(linear.bias);
            Ok(())
        };
        let Ok(layers) = layout.layers().try_map(conv, linear);
        assert_eq!(layers.blocks.len(), 4);
        let seen: Vec<usize> = seen.into_inner().into_iter().map(TensorIndex::get).collect();
        assert!(seen.iter().copied().eq(0..layout.parameters().len()), "{seen:?}");
    }

    #[test]
    fn operations_count_every_convolution() {
        let tower = 9 * 9 * 32 + 4 * 2 * 9 * 32 * 32;
        let heads = 32 * 48;
        assert_eq!(NetworkConfig::new(4, 32).operations(25), 2 * 25 * (tower + heads));
        let nested = 2 * 32 * 16 + 4 * 9 * 16 * 16;
        let attention = 4 * 32 * 32 + 2 * 25 * 32;
        let both = NetworkConfig {
            nested_blocks: true,
            attention_every: 2,
            ..NetworkConfig::new(2, 32)
        };
        assert_eq!(both.operations(25), 2 * 25 * (9 * 9 * 32 + nested + attention + heads));
    }
}
