//! How a batch flows through the network, written down as standard operators. It follows `tower.rs`, `heads.rs`,
//! `pool.rs`, and `value.rs` of the crate `network`.
//!
//! Every board of a batch may be smaller than the batch's canvas: the last input plane says which points are on the
//! board, and activations are zeroed elsewhere. Batch normalization is folded into the convolutions.

use tengen_model::{Block, ConvTensors, EPSILON, KOMI_TERMS, LinearTensors, MARGINS, Nested, Residual, Weights};

use crate::error::ExportError;
use crate::graph::{Attribute, Graph, Name, Side};

/// A logit with probability zero that is still finite.
const NEVER: f32 = -1e30;
/// The board side for which the second pooled number of a channel is zero.
const USUAL_SIDE: f32 = 14.0;
/// A margin after komi this close to zero is a tie, because margins are multiples of half a point.
const TIE: f32 = 0.25;
/// Axes of rows and columns.
const BOARD: [i64; 2] = [2, 3];

/// The graph of a network under construction, and the values that many layers need.
struct Forward<'a> {
    weights: &'a Weights,
    graph: Graph,
    /// `[B, 1, H, W]`: 1 on the board.
    mask: Name,
    /// `[B, 1]`: points of each board.
    areas: Name,
    /// `[B, 1]`: the measure of the board's side by which pooled means are multiplied.
    sides: Name,
    /// `[B, 1]`: komi for the side to move.
    komi: Name,
    /// `[B, G]`: the global inputs.
    globals: Name,
    planes: Name,
}

/// Describes the whole network.
pub(crate) fn describe(weights: &Weights) -> Result<Graph, ExportError> {
    let mut forward = Forward::new(weights);
    let head = forward.tower()?;
    forward.heads(&head);
    Ok(forward.graph)
}

impl<'a> Forward<'a> {
    fn new(weights: &'a Weights) -> Forward<'a> {
        let mut graph = Graph::default();
        let count = weights.config().input_planes();
        let (batch, height, width) = (Side::Named("batch"), Side::Named("height"), Side::Named("width"));
        let planes = graph.input(
            "planes",
            &[batch, Side::Fixed(count), height, width],
            "0 or 1: the bit planes, then the points on the board; see the metadata tengen.planes",
        );
        let globals = graph.input(
            "globals",
            &[batch, Side::Fixed(tengen_encoding::GLOBALS)],
            "see the metadata tengen.globals",
        );
        let komi = graph.input("komi", &[batch], "points that the side to move gets besides the board");
        let mut forward = Forward {
            weights,
            mask: String::new(),
            areas: String::new(),
            sides: String::new(),
            komi: String::new(),
            globals,
            planes,
            graph,
        };
        forward.mask = forward.channel(&forward.planes.clone(), count - 1);
        forward.areas = forward.sum_over_board(&forward.mask.clone());
        forward.sides = forward.measure_of_side();
        let axis = forward.graph.ints("axis_1", &[1]);
        forward.komi = forward.graph.op("Unsqueeze", &[&komi, &axis]);
        forward
    }

    /// (√area − 14) / 10 of each board.
    fn measure_of_side(&mut self) -> Name {
        let graph = &mut self.graph;
        let (usual, tenth) = (graph.float("usual_side", USUAL_SIDE), graph.float("tenth", 0.1));
        let side = graph.op("Sqrt", &[&self.areas]);
        let side = graph.op("Sub", &[&side, &usual]);
        graph.op("Mul", &[&side, &tenth])
    }

    /// The masked activations of the heads' convolution.
    fn tower(&mut self) -> Result<Name, ExportError> {
        let layers = self.weights.layout().layers().clone();
        let planes = self.planes.clone();
        let stem = self.conv(&layers.stem, &planes);
        let globals = self.linear(&layers.globals, &self.globals.clone());
        let globals = self.per_channel(&globals);
        let mut x = self.sum_relu_masked(&stem, &globals);
        for block in &layers.blocks {
            x = match block {
                Block::Residual(block) => self.residual(block, &x),
                Block::Nested(block) => self.nested(block, &x),
                Block::Attention(_) => return Err(ExportError::Attention(self.weights.config().name())),
            };
        }
        let head = self.conv(&layers.heads.conv, &x);
        Ok(self.relu_masked(&head))
    }

    fn residual(&mut self, block: &Residual<ConvTensors, LinearTensors>, x: &str) -> Name {
        let y = self.conv(&block.first, x);
        let y = self.relu_masked(&y);
        let skip = match &block.pool {
            Some(linear) => {
                let pooled = self.pool(&y);
                let bias = self.linear(linear, &pooled);
                let bias = self.per_channel(&bias);
                self.graph.op("Add", &[x, &bias])
            }
            None => x.to_owned(),
        };
        let y = self.conv(&block.second, &y);
        self.sum_relu_masked(&y, &skip)
    }

    fn nested(&mut self, block: &Nested<ConvTensors, LinearTensors>, x: &str) -> Name {
        let y = self.conv(&block.reduce, x);
        let mut y = self.relu_masked(&y);
        for inner in &block.inner {
            y = self.residual(inner, &y);
        }
        let y = self.conv(&block.expand, &y);
        self.sum_relu_masked(&y, x)
    }

    /// All outputs from the masked activations of the heads' convolution.
    fn heads(&mut self, head: &str) {
        let heads = self.weights.layout().layers().heads.clone();
        let pooled = self.pool(head);
        let points = self.pointwise(&heads.points, head);
        let plays = self.channel(&points, 0);
        let policy = self.move_logits(&plays, &heads.pass, &pooled);
        let batch = Side::Named("batch");
        let moves = [batch, Side::Named("height * width + 1")];
        let logits = "logits of the points in reading order and of the pass";
        self.graph.output(&policy, "policy", &moves, logits);
        let ownership = self.ownership(&points);
        let hidden = self.hidden(&heads.hidden, &pooled, &ownership);
        self.margins(&heads.margin, &hidden);
        let training = [
            ("reply", &heads.reply, "logits of the opponent's reply"),
            ("soft_policy", &heads.soft, "logits of the softened policy"),
        ];
        for (name, policy, meaning) in training {
            if let Some(policy) = policy {
                let plays = self.pointwise(&policy.points, head);
                let logits = self.move_logits(&plays, &policy.pass, &pooled);
                self.graph.output(&logits, name, &moves, meaning);
            }
        }
        if let Some(linear) = &heads.short_term {
            let values = self.linear(linear, &hidden);
            let shape = [batch, Side::Fixed(tengen_encoding::HORIZONS)];
            let meaning = "half the log-odds of winning over the next plies, by horizon";
            self.graph.output(&values, "short_term", &shape, meaning);
        }
    }

    /// `[B, H W + 1]`: plays off the board never, and the pass last.
    fn move_logits(&mut self, plays: &str, pass: &LinearTensors, pooled: &str) -> Name {
        let pass = self.linear(pass, pooled);
        let (half, never) = (self.graph.float("half", 0.5), self.graph.float("never", NEVER));
        let on_board = self.graph.op("Greater", &[&self.mask, &half]);
        let plays = self.graph.op("Where", &[&on_board, plays, &never]);
        let plays = self.graph.op_with("Flatten", &[&plays], &[Attribute::Int("axis", 1)]);
        self.graph
            .op_with("Concat", &[&plays, &pass], &[Attribute::Int("axis", 1)])
    }

    /// `[B, 1, H, W]`, which also becomes an output.
    fn ownership(&mut self, points: &str) -> Name {
        let owners = self.channel(points, 1);
        let owners = self.graph.op("Tanh", &[&owners]);
        let owners = self.graph.op("Mul", &[&owners, &self.mask]);
        let axis = self.graph.ints("axis_1", &[1]);
        let flat = self.graph.op("Squeeze", &[&owners, &axis]);
        let shape = ["batch", "height", "width"].map(Side::Named);
        let meaning = "expected owner of each point: 1 the side to move, -1 the opponent; 0 off the board";
        self.graph.output(&flat, "ownership", &shape, meaning);
        owners
    }

    /// The hidden units of the score, `[B, s]`.
    fn hidden(&mut self, linear: &LinearTensors, pooled: &str, ownership: &str) -> Name {
        let owned = self.sum_over_board(ownership);
        let graph = &mut self.graph;
        let quarter = graph.float("quarter", 0.25);
        let lead = graph.op("Add", &[&owned, &self.komi]);
        let near = graph.op("Tanh", &[&lead]);
        let far = graph.op("Mul", &[&lead, &quarter]);
        let far = graph.op("Tanh", &[&far]);
        let share = graph.op("Div", &[&lead, &self.areas]);
        let terms: [&str; KOMI_TERMS] = [&near, &far, &share];
        let inputs = [&[pooled], terms.as_slice()].concat();
        let features = graph.op_with("Concat", &inputs, &[Attribute::Int("axis", 1)]);
        let hidden = self.linear(linear, &features);
        self.graph.op("Relu", &[&hidden])
    }

    /// The distribution over final margins, and what it means with the komi.
    fn margins(&mut self, linear: &LinearTensors, hidden: &str) {
        let logits = self.linear(linear, hidden);
        let most = (MARGINS / 2) as i32;
        let values: Vec<f32> = (-most..=most).map(|margin| margin as f32).collect();
        let graph = &mut self.graph;
        let all = graph.floats("all_margins", &[1, MARGINS], &values);
        let never = graph.float("never", NEVER);
        let sizes = graph.op("Abs", &[&all]);
        let impossible = graph.op("Greater", &[&sizes, &self.areas]);
        let logits = graph.op("Where", &[&impossible, &never, &logits]);
        let batch = Side::Named("batch");
        let meaning = "logits of the final board margins -361 to 361 of the side to move, without komi";
        graph.output(&logits, "margin_logits", &[batch, Side::Fixed(MARGINS)], meaning);
        let shares = graph.op_with("Softmax", &[&logits], &[Attribute::Int("axis", -1)]);
        let after = graph.op("Add", &[&all, &self.komi]);
        let (above, below) = (graph.float("tie", TIE), graph.float("minus_tie", -TIE));
        let wins = graph.op("Greater", &[&after, &above]);
        let losses = graph.op("Less", &[&after, &below]);
        for (name, which, meaning) in [
            ("win", &wins, "probability that the side to move wins"),
            ("loss", &losses, "probability that it loses; the rest is a tie"),
        ] {
            let which = self.graph.op_with("Cast", &[which], &[Attribute::Int("to", 1)]);
            self.expectation(&shares, &which, name, meaning);
        }
        let meaning = "expected final margin of the side to move after komi, in points";
        self.expectation(&shares, &after, "margin", meaning);
    }

    /// An output `[B]`: the mean of values over the distribution of margins.
    fn expectation(&mut self, shares: &str, values: &str, name: &str, meaning: &str) {
        let axis = self.graph.ints("axis_1", &[1]);
        let products = self.graph.op("Mul", &[shares, values]);
        let sum = self
            .graph
            .op_with("ReduceSum", &[&products, &axis], &[Attribute::Int("keepdims", 0)]);
        self.graph.output(&sum, name, &[Side::Named("batch")], meaning);
    }

    /// `[B, 3 C]`: mean, mean times a measure of the side, and maximum of each channel.
    fn pool(&mut self, x: &str) -> Name {
        let sum = self.sum_over_board(x);
        let mean = self.graph.op("Div", &[&sum, &self.areas]);
        let sided = self.graph.op("Mul", &[&mean, &self.sides]);
        let axes = [Attribute::Ints("axes", &BOARD), Attribute::Int("keepdims", 0)];
        let most = self.graph.op_with("ReduceMax", &[x], &axes);
        self.graph
            .op_with("Concat", &[&mean, &sided, &most], &[Attribute::Int("axis", 1)])
    }

    /// `[B, C, H, W]` to `[B, C]`.
    fn sum_over_board(&mut self, x: &str) -> Name {
        let axes = self.graph.ints("board_axes", &BOARD);
        self.graph
            .op_with("ReduceSum", &[x, &axes], &[Attribute::Int("keepdims", 0)])
    }

    /// `[B, C, H, W]` to `[B, 1, H, W]`.
    fn channel(&mut self, x: &str, channel: usize) -> Name {
        let first = self.graph.ints(&format!("first_{channel}"), &[channel as i64]);
        let end = self.graph.ints(&format!("end_{channel}"), &[channel as i64 + 1]);
        let axis = self.graph.ints("axis_1", &[1]);
        self.graph.op("Slice", &[x, &first, &end, &axis])
    }

    /// `[B, C]` to `[B, C, 1, 1]`.
    fn per_channel(&mut self, x: &str) -> Name {
        let axes = self.graph.ints("board_axes", &BOARD);
        self.graph.op("Unsqueeze", &[x, &axes])
    }

    fn relu_masked(&mut self, x: &str) -> Name {
        let x = self.graph.op("Relu", &[x]);
        self.graph.op("Mul", &[&x, &self.mask])
    }

    fn sum_relu_masked(&mut self, x: &str, y: &str) -> Name {
        let sum = self.graph.op("Add", &[x, y]);
        self.relu_masked(&sum)
    }

    /// A convolution with its normalization folded into it.
    fn conv(&mut self, tensors: &ConvTensors, x: &str) -> Name {
        let parameter = self.weights.layout().parameter(tensors.weight);
        let [scale, shift, mean, variance] =
            [tensors.scale, tensors.shift, tensors.mean, tensors.variance].map(|index| self.weights.tensor(index));
        let factors: Vec<f32> = scale
            .iter()
            .zip(variance)
            .map(|(&scale, &variance)| (f64::from(scale) / (f64::from(variance) + EPSILON).sqrt()) as f32)
            .collect();
        let kernel = self.weights.tensor(tensors.weight);
        let length = kernel.len() / factors.len();
        let folded: Vec<f32> = kernel
            .chunks(length)
            .zip(&factors)
            .flat_map(|(values, factor)| values.iter().map(move |value| value * factor))
            .collect();
        let bias: Vec<f32> = (0..factors.len())
            .map(|output| shift[output] - mean[output] * factors[output])
            .collect();
        let weight = self.graph.floats(&parameter.name, &parameter.shape, &folded);
        let name = parameter.name.replace(".weight", ".folded_bias");
        let bias = self.graph.floats(&name, &[factors.len()], &bias);
        let side = parameter.shape[3] as i64;
        let (kernel, pads) = ([side; 2], [side / 2; 4]);
        let attributes = [Attribute::Ints("kernel_shape", &kernel), Attribute::Ints("pads", &pads)];
        self.graph.op_with("Conv", &[x, &weight, &bias], &attributes)
    }

    /// A linear layer over `[B, inputs]`.
    fn linear(&mut self, tensors: &LinearTensors, x: &str) -> Name {
        let mut inputs = vec![x.to_owned(), self.tensor(tensors.weight)];
        inputs.extend(tensors.bias.map(|bias| self.tensor(bias)));
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.graph.op_with("Gemm", &inputs, &[Attribute::Int("transB", 1)])
    }

    /// A linear layer over the channels of every point, `[B, C, H, W]` to `[B, outputs, H, W]`.
    fn pointwise(&mut self, tensors: &LinearTensors, x: &str) -> Name {
        let parameter = self.weights.layout().parameter(tensors.weight);
        let shape = [parameter.shape[0], parameter.shape[1], 1, 1];
        let kernel = self
            .graph
            .floats(&parameter.name, &shape, self.weights.tensor(tensors.weight));
        let mut inputs = vec![x.to_owned(), kernel];
        inputs.extend(tensors.bias.map(|bias| self.tensor(bias)));
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.graph.op("Conv", &inputs)
    }

    fn tensor(&mut self, index: tengen_model::TensorIndex) -> Name {
        let parameter = self.weights.layout().parameter(index);
        self.graph
            .floats(&parameter.name, &parameter.shape, self.weights.tensor(index))
    }
}
