//! The computation of a network of KataGo.

use tch::{Device, Kind, Tensor};

use tengen_katago::{Block, Network, PolicyHead, ValueHead};

use crate::layers::{ConvOp, LinearOp, NormOp, Place, masked};

/// What a network sees of a batch.
pub struct Seen {
    /// `[B, 22, H, W]` in channels-last memory.
    pub planes: Tensor,
    /// `[B, 19]`
    pub numbers: Tensor,
    /// `[B, 1, H, W]`: 1 on the boards; `None` if all fill the canvas.
    pub mask: Option<Tensor>,
    /// `[B, 1]`, fp32: the area of each board.
    pub areas: Tensor,
}

/// What a network computes for a batch.
pub struct Computed {
    /// `[B, A + 1]`: logits of moves, the pass last.
    pub policy: Tensor,
    /// `[B, A]`: owners before tanh.
    pub owners: Tensor,
    /// `[B, 3]`: logits of win, loss, and no result.
    pub result: Tensor,
    /// `[B, 2]`: mean margin and lead before their multipliers.
    pub margins: Tensor,
}

/// A network on its device.
#[derive(Debug)]
pub struct Forward {
    planes: ConvOp,
    numbers: LinearOp,
    blocks: Vec<BlockOp>,
    tip: NormOp,
    policy: PolicyOp,
    value: ValueOp,
}

#[derive(Debug)]
enum BlockOp {
    Ordinary {
        pre: NormOp,
        first: ConvOp,
        last: ConvOp,
    },
    Pooling {
        pre: NormOp,
        first: ConvOp,
        pooled: ConvOp,
        to_bias: LinearOp,
        last: ConvOp,
    },
    Nested {
        pre: NormOp,
        narrow: ConvOp,
        blocks: Vec<BlockOp>,
        post: NormOp,
        widen: ConvOp,
    },
}

#[derive(Debug)]
struct PolicyOp {
    points: ConvOp,
    pooled: ConvOp,
    to_bias: LinearOp,
    moves: ConvOp,
    pass: Vec<LinearOp>,
}

#[derive(Debug)]
struct ValueOp {
    points: ConvOp,
    hidden: LinearOp,
    result: LinearOp,
    mean: LinearOp,
    lead: LinearOp,
    owners: ConvOp,
}

/// Column of the mean margin among the numbers for margins.
const MEAN: usize = 0;

/// Column of the lead.
const LEAD: usize = 2;

impl Forward {
    /// Puts a network on a device, in this number format.
    pub fn new(network: &Network, device: Device, kind: Kind) -> Forward {
        let place = Place { device, kind };
        let trunk = &network.trunk;
        Forward {
            planes: ConvOp::new(&trunk.planes, trunk.planes.outputs, place),
            numbers: LinearOp::new(&trunk.numbers, place),
            blocks: trunk.blocks.iter().map(|block| BlockOp::new(block, place)).collect(),
            tip: NormOp::new(&trunk.tip, place),
            policy: PolicyOp::new(&network.policy, place),
            value: ValueOp::new(&network.value, place),
        }
    }

    /// Computes a batch.
    pub fn run(&self, seen: &Seen) -> Computed {
        let mask = seen.mask.as_ref();
        let numbers = spread(&self.numbers.apply(&seen.numbers));
        let mut x = self.planes.apply(&seen.planes, Some(&numbers));
        for block in &self.blocks {
            x = block.apply(x, seen);
        }
        let x = self.tip.apply(&x, mask);
        let (owners, result, margins) = self.value.apply(&x, seen);
        Computed {
            policy: self.policy.apply(&x, seen),
            owners,
            result,
            margins,
        }
    }
}

/// `[B, C]` for every point: `[B, C, 1, 1]`.
fn spread(values: &Tensor) -> Tensor {
    values.unsqueeze(-1).unsqueeze(-1)
}

impl BlockOp {
    fn new(block: &Block, place: Place) -> BlockOp {
        let whole = |conv| ConvOp::new(conv, conv.outputs, place);
        match block {
            Block::Ordinary { pre, first, mid, last } => BlockOp::Ordinary {
                pre: NormOp::new(pre, place),
                first: ConvOp::with_norm(first, mid, place),
                last: whole(last),
            },
            Block::Pooling {
                pre,
                first,
                pooled,
                pooled_norm,
                to_bias,
                mid,
                last,
            } => BlockOp::Pooling {
                pre: NormOp::new(pre, place),
                first: ConvOp::with_norm(first, mid, place),
                pooled: ConvOp::with_norm(pooled, pooled_norm, place),
                to_bias: LinearOp::scaled(to_bias, &mid.scale, place),
                last: whole(last),
            },
            Block::Nested {
                pre,
                narrow,
                blocks,
                post,
                widen,
            } => BlockOp::Nested {
                pre: NormOp::new(pre, place),
                narrow: whole(narrow),
                blocks: blocks.iter().map(|block| BlockOp::new(block, place)).collect(),
                post: NormOp::new(post, place),
                widen: whole(widen),
            },
        }
    }

    fn apply(&self, x: Tensor, seen: &Seen) -> Tensor {
        let mask = seen.mask.as_ref();
        match self {
            BlockOp::Ordinary { pre, first, last } => {
                let y = masked(first.apply(&pre.apply(&x, mask), None), mask);
                x + last.apply(&y, None)
            }
            BlockOp::Pooling {
                pre,
                first,
                pooled,
                to_bias,
                last,
            } => {
                let before = pre.apply(&x, mask);
                let numbers = pool(&masked(pooled.apply(&before, None), mask), seen);
                let added = spread(&to_bias.apply(&numbers));
                let y = masked(first.apply(&before, Some(&added)), mask);
                x + last.apply(&y, None)
            }
            BlockOp::Nested {
                pre,
                narrow,
                blocks,
                post,
                widen,
            } => {
                let mut y = narrow.apply(&pre.apply(&x, mask), None);
                for block in blocks {
                    y = block.apply(y, seen);
                }
                x + widen.apply(&post.apply(&y, mask), None)
            }
        }
    }
}

impl PolicyOp {
    fn new(head: &PolicyHead, place: Place) -> PolicyOp {
        let first = |matrix, bias| LinearOp::columns(matrix, (0, 1), bias, place);
        let pass = match &head.pass_layer {
            Some(layer) => vec![
                LinearOp::activated(&head.pass, &layer.bias, layer.activation, place),
                first(&layer.pass, None),
            ],
            None => vec![first(&head.pass, None)],
        };
        PolicyOp {
            points: ConvOp::with_norm(&head.points, &head.norm, place),
            pooled: ConvOp::with_norm(&head.pooled, &head.pooled_norm, place),
            to_bias: LinearOp::scaled(&head.to_bias, &head.norm.scale, place),
            moves: ConvOp::new(&head.moves, 1, place),
            pass,
        }
    }

    fn apply(&self, x: &Tensor, seen: &Seen) -> Tensor {
        let mask = seen.mask.as_ref();
        let numbers = pool(&masked(self.pooled.apply(x, None), mask), seen);
        let added = spread(&self.to_bias.apply(&numbers));
        let points = masked(self.points.apply(x, Some(&added)), mask);
        let moves = self.moves.apply(&points, None).flatten(1, -1);
        let pass = self.pass.iter().fold(numbers, |x, layer| layer.apply(&x));
        Tensor::cat(&[moves, pass], 1)
    }
}

impl ValueOp {
    fn new(head: &ValueHead, place: Place) -> ValueOp {
        let column = |from| LinearOp::columns(&head.margins, (from, 1), Some(&head.margins_bias), place);
        ValueOp {
            points: ConvOp::with_norm(&head.points, &head.norm, place),
            hidden: LinearOp::activated(&head.hidden, &head.hidden_bias, head.hidden_activation, place),
            result: LinearOp::columns(&head.result, (0, 3), Some(&head.result_bias), place),
            mean: column(MEAN),
            lead: column(LEAD),
            owners: ConvOp::new(&head.owners, 1, place),
        }
    }

    /// Owners, results, and margins.
    fn apply(&self, x: &Tensor, seen: &Seen) -> (Tensor, Tensor, Tensor) {
        let points = masked(self.points.apply(x, None), seen.mask.as_ref());
        let owners = self.owners.apply(&points, None).flatten(1, -1);
        let (mean, size) = mean_and_size(&points, seen);
        let bend = (&size * &size) * 0.01 - 0.1;
        let pooled = Tensor::cat(&[&mean, &(&mean * &size * 0.1), &(&mean * bend)], 1);
        let hidden = self.hidden.apply(&pooled.to_kind(points.kind()));
        let margins = Tensor::cat(&[self.mean.apply(&hidden), self.lead.apply(&hidden)], 1);
        (owners, self.result.apply(&hidden), margins)
    }
}

/// The mean of each channel over its board, `[B, C]`, and by how much the side of a square of the board's area differs
/// from 14, `[B, 1]`; both fp32.
fn mean_and_size(x: &Tensor, seen: &Seen) -> (Tensor, Tensor) {
    let sum = x.sum_dim_intlist([2, 3].as_slice(), false, Kind::Float);
    (sum / &seen.areas, seen.areas.sqrt() - 14.0)
}

/// Mean, mean scaled by the size of the board, and maximum of each channel: `[B, 3 C]`.
fn pool(x: &Tensor, seen: &Seen) -> Tensor {
    let (mean, size) = mean_and_size(x, seen);
    let largest = match &seen.mask {
        // Outside the board, values are 0. No activation gets below −1.
        Some(mask) => (x + (mask - 1.0)).amax([2, 3], false),
        None => x.amax([2, 3], false),
    };
    let largest = largest.clamp_min(-1.0).to_kind(Kind::Float);
    Tensor::cat(&[&mean, &(&mean * size * 0.1), &largest], 1).to_kind(x.kind())
}
