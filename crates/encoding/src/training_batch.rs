//! Batches of training samples: inputs packed on one canvas, targets as arrays.

use ndarray::{Array1, Array2, Array3, ArrayViewMut1, ArrayViewMut2, s};

use tengen_rules::Size;

use crate::inputs::{InputBatch, canvas_index};
use crate::plane_set::PlaneSet;
use crate::sample::{HORIZONS, Sample};

/// A batch of `B` samples on one canvas of `H` rows and `W` columns, `A = H * W`. All targets are from the mover's view
/// and in the frame of the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingBatch {
    /// The network's inputs, one per sample.
    pub inputs: InputBatch,
    /// Policy targets, `[sample, move]` = `[B, A + 1]`, with the pass last; all 0 if there is no target.
    pub policy: Array2<f32>,
    /// 1 if there is a policy target, else 0, `[B]`.
    pub policy_weight: Array1<f32>,
    /// The opponent's policies at the next turn, `[B, A + 1]`, like [`policy`](Self::policy).
    pub reply: Array2<f32>,
    /// The mover's final score minus the opponent's in points, without the points in the inputs' komi, `[B]`.
    pub board_margin: Array1<i32>,
    /// Targets for win, tie, loss, `[sample, result]` = `[B, 3]`.
    pub value: Array2<f32>,
    /// The search's values over the next plies, `[sample, horizon]` = `[B, 3]`.
    pub short_term: Array2<f32>,
    /// Final owners, `[sample, row, column]` = `[B, H, W]`: 1 the mover, -1 the opponent, 0 neither or off the board;
    /// values in between if a teacher provides the expected owners.
    pub ownership: Array3<f32>,
    /// 1 if the owners are known, else 0, `[B]`.
    pub ownership_weight: Array1<f32>,
    /// 1 if the margin is known from a score, else 0, `[B]`.
    pub result_weight: Array1<f32>,
    /// 1 if the targets for win, tie, loss and the values over the next plies are known, else 0, `[B]`.
    pub value_weight: Array1<f32>,
    /// Weight of each sample in the loss, `[B]`.
    pub weight: Array1<f32>,
}

impl TrainingBatch {
    /// Collects samples on the smallest canvas that fits every board, with these optional planes.
    ///
    /// # Panics
    /// If there are no samples.
    pub fn of(samples: &[Sample], plane_set: PlaneSet) -> TrainingBatch {
        let side = |get: fn(Size) -> usize| samples.iter().map(|sample| get(sample.features.size)).max();
        let (width, height) = side(Size::width)
            .zip(side(Size::height))
            .expect("a batch has at least one sample");
        let canvas = Size::new(width, height).expect("the side lengths come from valid boards");
        let count = samples.len();
        let value: Vec<[f32; 3]> = samples.iter().map(|sample| sample.value_target).collect();
        let mut batch = TrainingBatch {
            inputs: InputBatch::with_planes(canvas, plane_set),
            policy: Array2::zeros((count, canvas.area() + 1)),
            reply: Array2::zeros((count, canvas.area() + 1)),
            policy_weight: samples.iter().map(|sample| sample.policy_weight).collect(),
            board_margin: samples.iter().map(|sample| sample.board_margin).collect(),
            value: value.into(),
            short_term: samples
                .iter()
                .map(|sample| sample.short_term)
                .collect::<Vec<[f32; HORIZONS]>>()
                .into(),
            ownership: Array3::zeros((count, height, width)),
            ownership_weight: samples.iter().map(|sample| sample.ownership_weight).collect(),
            result_weight: samples.iter().map(|sample| sample.result_weight).collect(),
            value_weight: samples.iter().map(|sample| sample.value_weight).collect(),
            weight: samples.iter().map(|sample| sample.weight).collect(),
        };
        let policies = batch.policy.outer_iter_mut().zip(batch.reply.outer_iter_mut());
        let targets = policies.zip(batch.ownership.outer_iter_mut());
        for (sample, ((policy, reply), ownership)) in samples.iter().zip(targets) {
            batch.inputs.push(&sample.features);
            write_policy(&sample.policy, sample.features.size, (canvas, policy));
            write_policy(&sample.reply, sample.features.size, (canvas, reply));
            write_ownership(sample, ownership);
        }
        batch
    }

    /// Number of samples in the batch, `B`.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether the batch has no samples.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }
}

/// Adds a policy on a board of this size to a row of moves on the canvas.
fn write_policy(policy: &[(u16, f32)], size: Size, (canvas, mut target): (Size, ArrayViewMut1<'_, f32>)) {
    for &(index, probability) in policy {
        let index = usize::from(index);
        let place = if index == size.area() {
            canvas.area()
        } else {
            canvas_index(size, canvas, index)
        };
        target[place] += probability;
    }
}

/// Copies the owners into the top left corner of a canvas.
fn write_ownership(sample: &Sample, mut target: ArrayViewMut2<'_, f32>) {
    let (height, width) = sample.ownership.dim();
    let mut board = target.slice_mut(s![..height, ..width]);
    board.assign(&sample.ownership);
}
