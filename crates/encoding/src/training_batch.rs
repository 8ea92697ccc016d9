//! Batches of training samples: inputs packed on one canvas, targets as flat arrays.

use tengen_rules::Size;

use crate::features::PlaneSet;
use crate::inputs::{InputBatch, canvas_index};
use crate::sample::Sample;

/// A batch of `B` samples on one canvas of `H` rows and `W` columns, `A = H * W`. All targets are from the mover's view
/// and in the frame of the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingBatch {
    /// The network inputs.
    pub inputs: InputBatch,
    /// Policy targets, `[B, A + 1]`, with the pass last; all 0 if there is no target.
    pub policy: Vec<f32>,
    /// 1 if there is a policy target, else 0, `[B]`.
    pub policy_weight: Vec<f32>,
    /// The mover's final score minus the opponent's in points, without the points in the inputs' komi, `[B]`.
    pub board_margin: Vec<i32>,
    /// Targets for win, tie, loss, `[B, 3]`.
    pub value: Vec<f32>,
    /// Final owners, `[B, A]`: 1 the mover, -1 the opponent, 0 neither or off the board.
    pub ownership: Vec<f32>,
    /// 1 if value, margin and ownership are known from a score, else 0, `[B]`.
    pub result_weight: Vec<f32>,
    /// Weight of each sample in the loss, `[B]`.
    pub weight: Vec<f32>,
}

impl TrainingBatch {
    /// Collects samples with the base planes on the smallest canvas that holds every board.
    ///
    /// # Panics
    /// If there are no samples.
    pub fn of(samples: &[Sample]) -> TrainingBatch {
        TrainingBatch::with_planes(samples, PlaneSet::Base)
    }

    /// [`TrainingBatch::of`] with the given planes.
    ///
    /// # Panics
    /// If there are no samples.
    pub fn with_planes(samples: &[Sample], plane_set: PlaneSet) -> TrainingBatch {
        let side = |get: fn(Size) -> usize| samples.iter().map(|sample| get(sample.features.size)).max();
        let (width, height) = side(Size::width)
            .zip(side(Size::height))
            .expect("a batch has at least one sample");
        let canvas = Size::new(width, height).expect("the side lengths come from valid boards");
        let (count, area) = (samples.len(), canvas.area());
        let mut batch = TrainingBatch {
            inputs: InputBatch::with_planes(canvas, plane_set),
            policy: vec![0.0; count * (area + 1)],
            policy_weight: samples.iter().map(|sample| sample.policy_weight).collect(),
            board_margin: samples.iter().map(|sample| sample.board_margin).collect(),
            value: samples.iter().flat_map(|sample| sample.value_target).collect(),
            ownership: vec![0.0; count * area],
            result_weight: samples.iter().map(|sample| sample.result_weight).collect(),
            weight: samples.iter().map(|sample| sample.weight).collect(),
        };
        for (number, sample) in samples.iter().enumerate() {
            batch.inputs.push(&sample.features);
            write_policy(sample, canvas, &mut batch.policy[number * (area + 1)..][..area + 1]);
            write_ownership(sample, canvas, &mut batch.ownership[number * area..][..area]);
        }
        batch
    }

    /// Number of samples, `B`.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether the batch holds no sample.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }
}

fn write_policy(sample: &Sample, canvas: Size, target: &mut [f32]) {
    let size = sample.features.size;
    for &(index, probability) in &sample.policy {
        let index = usize::from(index);
        let place = if index == size.area() {
            canvas.area()
        } else {
            canvas_index(size, canvas, index)
        };
        target[place] += probability;
    }
}

fn write_ownership(sample: &Sample, canvas: Size, target: &mut [f32]) {
    let width = sample.features.size.width();
    for (row, owners) in sample.ownership.chunks_exact(width).enumerate() {
        for (value, &owner) in target[row * canvas.width()..].iter_mut().zip(owners) {
            *value = f32::from(owner);
        }
    }
}
