//! What should the network have predicted? A training batch's targets as tensors.

use tch::{Device, Tensor};
use tengen_encoding::TrainingBatch;

/// Targets of `B` samples on a canvas of `A` points, from the viewpoint of the side to move; all fp32 except the
/// margins.
#[derive(Debug)]
pub(crate) struct Targets {
    /// `[B, A + 1]`: the search's policy; rows sum to 1, or to 0 where the weight is 0.
    pub(crate) policy: Tensor,
    /// `[B]`: weight of each sample's policy term.
    pub(crate) policy_weight: Tensor,
    /// `[B, 3]`: win, tie, loss.
    pub(crate) value: Tensor,
    /// `[B, 1]`, i64: the final board margin without komi, as a column of the margin logits.
    pub(crate) margin: Tensor,
    /// `[B, A]`: -1, 0 or 1.
    pub(crate) ownership: Tensor,
    /// `[B]`: weight of each sample's value, margin, and ownership terms.
    pub(crate) result_weight: Tensor,
    /// `[B]`: area of each sample's board in points.
    pub(crate) areas: Tensor,
    /// `[B]`: weight of each sample as a whole.
    pub(crate) weight: Tensor,
}

impl Targets {
    /// Copies a batch's targets to a device.
    pub(crate) fn new(batch: &TrainingBatch, device: Device) -> Targets {
        let samples = batch.inputs.len() as i64;
        let area = batch.inputs.canvas().area();
        let floats = |values: &[f32]| Tensor::from_slice(values).to_device(device);
        let columns: Vec<i64> = batch
            .board_margin
            .iter()
            .map(|&margin| i64::from(margin) + area as i64)
            .collect();
        let areas: Vec<f32> = batch.inputs.sizes().iter().map(|size| size.area() as f32).collect();
        Targets {
            policy: floats(&batch.policy).view([samples, area as i64 + 1]),
            policy_weight: floats(&batch.policy_weight),
            value: floats(&batch.value).view([samples, 3]),
            margin: Tensor::from_slice(&columns).to_device(device).unsqueeze(1),
            ownership: floats(&batch.ownership).view([samples, area as i64]),
            result_weight: floats(&batch.result_weight),
            areas: floats(&areas),
            weight: floats(&batch.weight),
        }
    }
}
