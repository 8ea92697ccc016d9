//! The numbers of a step that depend on the progress of training. They are tensors on the network's device, so that a
//! recorded GPU graph serves all steps.

use ndarray::Array1;
use tch::Tensor;

use tengen_network::LibtorchError;

use crate::config::TrainerConfig;
use crate::targets::Placement;

/// How many numbers a step has.
const NUMBERS: usize = 5;

/// The numbers of one step, as fp32 scalar tensors.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The learning rate.
    pub(crate) rate: Tensor,
    /// Minus the share of a weight by which weight decay shrinks it.
    pub(crate) shrink: Tensor,
    /// The learning rate, divided by the bias correction of AdamW's mean.
    pub(crate) mean_rate: Tensor,
    /// The factor that corrects the bias of AdamW's root mean square.
    pub(crate) root_scale: Tensor,
    /// How far the averaged weights move toward the trained ones, 0 to 1.
    pub(crate) average: Tensor,
}

impl Pace {
    /// The numbers of a step, counted from 0, at a learning rate.
    pub(crate) fn numbers(config: &TrainerConfig, step: u64, rate: f64) -> Array1<f32> {
        let power = i32::try_from(step + 1).unwrap_or(i32::MAX);
        let (correction1, correction2) = (1.0 - config.beta1.powi(power), 1.0 - config.beta2.powi(power));
        let numbers: [f64; NUMBERS] = [
            rate,
            -rate * config.weight_decay,
            rate / correction1,
            1.0 / correction2.sqrt(),
            config.average_rate_at(step),
        ];
        numbers.iter().map(|&number| number as f32).collect()
    }

    /// Copies the numbers to `place`, without waiting for a GPU.
    ///
    /// # Errors
    /// If libtorch cannot copy them.
    pub(crate) fn placed(numbers: &Array1<f32>, place: &mut Placement<'_>) -> Result<Pace, LibtorchError> {
        let numbers = place.put(numbers)?;
        let [rate, shrink, mean_rate, root_scale, average] = std::array::from_fn(|index| numbers.get(index as i64));
        Ok(Pace {
            rate,
            shrink,
            mean_rate,
            root_scale,
            average,
        })
    }
}
