//! What should the network have predicted? A training batch's targets as tensors.

use ndarray::{Array1, ArrayBase, Axis, Data, Dimension};
use tch::{Device, Tensor, kind::Element};

use tengen_encoding::TrainingBatch;

/// Targets of `B` samples on a canvas of `A` points, from the viewpoint of the side to move; all fp32 except the
/// margins.
#[derive(Debug)]
pub(crate) struct Targets {
    /// `[B, A + 1]`: the search's policy; rows sum to 1, or to 0 where the weight is 0.
    pub(crate) policy: Tensor,
    /// `[B]`: weight of each sample's policy term.
    pub(crate) policy_weight: Tensor,
    /// `[B, A + 1]`: the opponent's policy at the next turn; rows sum to 1, or to 0 where it is unknown.
    pub(crate) reply: Tensor,
    /// `[B, 3]`: win, tie, loss.
    pub(crate) value: Tensor,
    /// `[B, 3]`: the search's values over the next plies, -1 to 1.
    pub(crate) short_term: Tensor,
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
        let area = batch.inputs.canvas().area() as i64;
        let columns = batch.board_margin.mapv(|margin| i64::from(margin) + area);
        let areas: Array1<f32> = batch.inputs.sizes().iter().map(|size| size.area() as f32).collect();
        Targets {
            policy: on_device(&batch.policy, device),
            policy_weight: on_device(&batch.policy_weight, device),
            reply: on_device(&batch.reply, device),
            value: on_device(&batch.value, device),
            short_term: on_device(&batch.short_term, device),
            margin: on_device(&columns.insert_axis(Axis(1)), device),
            ownership: on_device(&batch.ownership, device).flatten(1, 2),
            result_weight: on_device(&batch.result_weight, device),
            areas: on_device(&areas, device),
            weight: on_device(&batch.weight, device),
        }
    }
}

/// Copies an array to a device, to a GPU without waiting.
fn on_device<T: Element + Clone, D: Dimension>(values: &ArrayBase<impl Data<Elem = T>, D>, device: Device) -> Tensor {
    tengen_network::on_device(values.as_standard_layout().view(), device)
}
