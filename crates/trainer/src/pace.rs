//! Which numbers of a step depend on how far training is? They are tensors on the network's device, so that what is
//! recorded for a GPU once serves all steps.

use ndarray::Array1;
use tch::Tensor;

use tengen_network::LibtorchError;

use crate::config::TrainerConfig;
use crate::targets::Placement;

/// Number of numbers.
const NUMBERS: usize = 5;

/// The numbers of one step, as tensors without dimensions, fp32.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The learning rate.
    pub(crate) rate: Tensor,
    /// Minus the share of a weight by which weight decay shrinks it.
    pub(crate) shrink: Tensor,
    /// The learning rate, divided by what the mean of AdamW lacks because it began at zero.
    pub(crate) mean_rate: Tensor,
    /// What corrects the root of AdamW's mean square, which began at zero.
    pub(crate) root_scale: Tensor,
    /// The share of the way that the averaged weights move towards the trained ones.
    pub(crate) average: Tensor,
}

impl Pace {
    /// The numbers of a step, which counts from 0, at a learning rate.
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

    /// Copies numbers to a place, to a GPU without waiting.
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
