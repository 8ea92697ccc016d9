//! What the network should have predicted: a training batch's targets as tensors.

use ndarray::{Array1, ArrayBase, Axis, Data, Dimension};
use tch::{Device, Tensor, kind::Element};

use tengen_encoding::TrainingBatch;
use tengen_network::{LibtorchError, on_device, transfer};

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
    /// `[B, A]`: -1 to 1.
    pub(crate) ownership: Tensor,
    /// `[B]`: weight of each sample's ownership term.
    pub(crate) ownership_weight: Tensor,
    /// `[B]`: weight of each sample's margin term.
    pub(crate) result_weight: Tensor,
    /// `[B]`: weight of each sample's value and short-term terms.
    pub(crate) value_weight: Tensor,
    /// `[B]`: area of each sample's board in points.
    pub(crate) areas: Tensor,
    /// `[B]`: weight of each sample as a whole.
    pub(crate) weight: Tensor,
}

/// Where the arrays of a step go: to new tensors on a device, or to those of an earlier step of the same shape on a
/// GPU.
#[derive(Debug)]
pub(crate) struct Placement<'a> {
    device: Device,
    earlier: &'a [Tensor],
    /// Everything that has been placed, in order.
    pub(crate) placed: Vec<Tensor>,
}

impl<'a> Placement<'a> {
    pub(crate) fn new(device: Device) -> Placement<'a> {
        Placement {
            device,
            earlier: &[],
            placed: Vec::new(),
        }
    }

    /// Reuses the tensors of an earlier placement.
    pub(crate) fn into(earlier: &'a [Tensor]) -> Placement<'a> {
        Placement {
            earlier,
            ..Placement::new(Device::Cpu)
        }
    }

    /// Copies an array to the next place.
    ///
    /// # Errors
    /// If libtorch cannot copy it.
    pub(crate) fn put<T: Element + Clone, D: Dimension>(
        &mut self,
        values: &ArrayBase<impl Data<Elem = T>, D>,
    ) -> Result<Tensor, LibtorchError> {
        let values = values.as_standard_layout();
        let tensor = match self.earlier.get(self.placed.len()) {
            Some(earlier) => {
                transfer(values.view(), earlier)?;
                earlier.shallow_clone()
            }
            None => on_device(values.view(), self.device),
        };
        self.placed.push(tensor.shallow_clone());
        Ok(tensor)
    }
}

impl Targets {
    /// Copies a batch's targets to a device, without waiting for a GPU.
    ///
    /// # Errors
    /// If libtorch cannot copy them.
    pub(crate) fn new(batch: &TrainingBatch, device: Device) -> Result<Targets, LibtorchError> {
        Targets::placed(batch, &mut Placement::new(device))
    }

    /// Copies a batch's targets to `place`.
    ///
    /// # Errors
    /// As [`Targets::new`].
    pub(crate) fn placed(batch: &TrainingBatch, place: &mut Placement<'_>) -> Result<Targets, LibtorchError> {
        let area = batch.inputs.canvas().area() as i64;
        let columns = batch.board_margin.mapv(|margin| i64::from(margin) + area);
        let areas: Array1<f32> = batch.inputs.sizes().iter().map(|size| size.area() as f32).collect();
        Ok(Targets {
            policy: place.put(&batch.policy)?,
            policy_weight: place.put(&batch.policy_weight)?,
            reply: place.put(&batch.reply)?,
            value: place.put(&batch.value)?,
            short_term: place.put(&batch.short_term)?,
            margin: place.put(&columns.insert_axis(Axis(1)))?,
            ownership: place.put(&batch.ownership)?.flatten(1, 2),
            ownership_weight: place.put(&batch.ownership_weight)?,
            result_weight: place.put(&batch.result_weight)?,
            value_weight: place.put(&batch.value_weight)?,
            areas: place.put(&areas)?,
            weight: place.put(&batch.weight)?,
        })
    }
}
