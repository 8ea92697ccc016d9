//! Self-attention over the points of the board (Vaswani et al., 2017), with a learned bias for each offset between two
//! points, which tells it where points are relative to each other.

use tch::{Kind, Tensor};
use tengen_model::{Attention, OFFSETS};

use crate::inputs::{Boards, sides};
use crate::layers::{After, Convolution, Linear, Pass};
use crate::tower::add_relu;

/// An attention block: every point gets a weighted mean of the values of all on-board points.
pub(crate) fn attention<C: Convolution>(
    block: &Attention<C, Linear>,
    x: Tensor,
    pass: Pass<'_, C::Mode>,
) -> Result<Tensor, C::Error> {
    let projections = block.projections.apply(&x, pass, After::Nothing)?;
    let biases = biases(&block.offsets, pass.boards);
    let attended = attended(&projections, &biases, block.heads as i64, pass.boards);
    add_relu(&block.output, &attended, x, pass)
}

/// What each point attends to, `[B, C, H, W]` in channels-last memory, from queries, keys, and values,
/// `[B, 3 C, H, W]`.
fn attended(projections: &Tensor, biases: &Tensor, heads: i64, boards: &Boards) -> Tensor {
    let kind = projections.kind();
    let (height, width) = sides(boards.canvas);
    // [3, B, heads, H W, C / heads]
    let parts = projections
        .permute([0, 2, 3, 1])
        .reshape([-1, height * width, 3, heads, part(projections, heads)]);
    let parts = parts.permute([2, 0, 3, 1, 4]);
    let (queries, keys, values) = (parts.get(0), parts.get(1), parts.get(2));
    let scale = (part(projections, heads) as f64).powf(-0.5);
    let scores = (queries * scale).matmul(&keys.transpose(2, 3)).to_kind(Kind::Float) + biases;
    let scores = match &boards.mask {
        Some(mask) => scores.masked_fill(&mask.flat.eq(0.0).unsqueeze(1).unsqueeze(1), f64::NEG_INFINITY),
        None => scores,
    };
    let mixed = scores.softmax(-1, Kind::Float).to_kind(kind).matmul(&values);
    let points = mixed
        .transpose(1, 2)
        .reshape([-1, height, width, projections.size()[1] / 3]);
    points.permute([0, 3, 1, 2])
}

/// The channels per head.
fn part(projections: &Tensor, heads: i64) -> i64 {
    projections.size()[1] / 3 / heads
}

/// Position-dependent attention biases between all points, `[heads, H W, H W]`.
fn biases(offsets: &Linear, boards: &Boards) -> Tensor {
    let table = offsets.weight();
    let (height, width) = sides(boards.canvas);
    let all = OFFSETS as i64;
    let steps = |side: i64| {
        let along = Tensor::arange(side, (Kind::Int64, table.device()));
        along.unsqueeze(0) - along.unsqueeze(1) + (all - 1) / 2
    };
    let rows = steps(height).view([height, 1, height, 1]) * all;
    let columns = steps(width).view([1, width, 1, width]);
    let places = (rows + columns).flatten(0, -1);
    let points = height * width;
    table.index_select(1, &places).view([-1, points, points])
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tch::Device;
    use tengen_model::{Block, NetworkConfig, Weights};
    use tengen_rules::Size;

    use super::*;

    fn boards(width: usize, height: usize) -> Boards {
        Boards {
            canvas: Size::new(width, height).expect("a board"),
            mask: None,
        }
    }

    /// A table in which the bias of an offset is 100 times its row plus its column.
    fn telling_table() -> Linear {
        let steps = Tensor::arange(37, (Kind::Float, Device::Cpu)) - 18.0;
        let table = steps.unsqueeze(1) * 100.0 + steps.unsqueeze(0);
        Linear::of(table.view([1, -1]))
    }

    #[test]
    fn a_bias_belongs_to_the_offset_between_two_points() {
        crate::limit_threads();
        let biases = biases(&telling_table(), &boards(5, 3));
        assert_eq!(biases.size(), [1, 15, 15]);
        for (from, to, expected) in [(0, 0, 0.0), (0, 14, 204.0), (14, 0, -204.0), (4, 5, 96.0), (7, 6, -1.0)] {
            assert_eq!(biases.double_value(&[0, from, to]), expected, "{from} {to}");
        }
    }

    /// One query, key, and value at a time, without matrices.
    #[test]
    fn attention_is_a_weighted_mean_of_values() {
        crate::limit_threads();
        let (heads, width) = (2, 3);
        let boards = boards(2, 2);
        let numbers = (Tensor::arange(3 * 6 * 4, (Kind::Float, Device::Cpu)) * 0.7).sin();
        let projections = numbers.view([1, 18, 2, 2]);
        let biases = (Tensor::arange(2 * 16, (Kind::Float, Device::Cpu)) * 1.3)
            .cos()
            .view([2, 4, 4]);
        let found = attended(&projections, &biases, heads, &boards);
        assert_eq!(found.size(), [1, 6, 2, 2]);
        let at = |kind: i64, head: i64, channel: i64, point: i64| {
            projections.double_value(&[0, kind * 6 + head * width + channel, point / 2, point % 2])
        };
        for (head, from, channel) in [(0, 0, 0), (0, 3, 2), (1, 1, 1), (1, 2, 0)] {
            let weight = |to: i64| {
                let score: f64 = (0..width).map(|c| at(0, head, c, from) * at(1, head, c, to)).sum();
                (score / 3f64.sqrt() + biases.double_value(&[head, from, to])).exp()
            };
            let total: f64 = (0..4).map(weight).sum();
            let mean: f64 = (0..4).map(|to| weight(to) / total * at(2, head, channel, to)).sum();
            let value = found.double_value(&[0, head * width + channel, from / 2, from % 2]);
            assert!((value - mean).abs() < 1e-5, "{value} {mean}");
        }
    }

    #[test]
    fn heads_share_the_channels() {
        let blocks = |config: NetworkConfig| {
            let weights = Weights::random(&config, 1).expect("a good config");
            let Ok(layers) = weights
                .layout()
                .layers()
                .try_map(|_| Ok::<_, Infallible>(()), |_| Ok(()));
            let heads = |block: &Block<(), ()>| match block {
                Block::Attention(block) => block.heads,
                _ => 0,
            };
            layers.blocks.iter().map(heads).collect::<Vec<_>>()
        };
        let with_attention = |channels: usize| NetworkConfig {
            attention_every: 2,
            ..NetworkConfig::new(4, channels)
        };
        assert_eq!(blocks(with_attention(32)), [0, 2, 0, 2]);
        assert_eq!(blocks(with_attention(24)), [0, 1, 0, 1]);
    }
}
