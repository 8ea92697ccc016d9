//! Reuses a GPU network that is no longer needed for the next one of the same shape, so weights that change every
//! second need neither new memory nor new CUDA graphs.

use std::sync::{Mutex, PoisonError};

use tengen_encoding::InputBatch;
use tengen_model::Weights;
use tengen_network::{PredictorError, PredictorOptions, TorchPredictor};
use tengen_rules::Size;
use tengen_search::{PredictError, Predictions, Predictor};

/// Free predictors, each with the thread it works for, oldest first.
static FREE: Mutex<Vec<(Lane, TorchPredictor)>> = Mutex::new(Vec::new());

/// The maximum number of free predictors. Self-play has two sets of weights at a time for each thread of a GPU server.
const MOST: usize = 8;

/// A thread of a GPU server. A thread's CUDA graphs use memory of its own stream, which another thread's graphs must
/// not use at the same time, so a predictor never moves from one thread to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The number of the GPU.
    pub(crate) gpu: usize,
    /// The number of the thread within the server.
    pub(crate) thread: usize,
}

/// A predictor on a GPU that becomes free for other weights when dropped.
#[derive(Debug)]
pub(crate) struct Reused {
    lane: Lane,
    /// `None` only during drop.
    predictor: Option<TorchPredictor>,
    name: String,
}

impl Reused {
    /// A predictor with these weights: a free one of the same shape, or a new one.
    ///
    /// # Errors
    /// Same as [`TorchPredictor::new`].
    pub(crate) fn new(lane: Lane, weights: &Weights, options: PredictorOptions) -> Result<Reused, PredictorError> {
        let predictor = match take(lane, weights, options) {
            Some(mut free) => {
                free.set_weights(weights)?;
                free
            }
            None => TorchPredictor::new(weights, options)?,
        };
        Ok(Reused {
            lane,
            name: predictor.name(),
            predictor: Some(predictor),
        })
    }

    pub(crate) fn with_name(mut self, name: &str) -> Reused {
        name.clone_into(&mut self.name);
        self
    }

    fn get(&self) -> Result<&TorchPredictor, PredictError> {
        self.predictor.as_ref().ok_or_else(gone)
    }
}

fn take(lane: Lane, weights: &Weights, options: PredictorOptions) -> Option<TorchPredictor> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = |(of, predictor): &(Lane, TorchPredictor)| {
        *of == lane && predictor.options() == options && predictor.weights().config() == weights.config()
    };
    let place = free.iter().rposition(fits)?;
    Some(free.remove(place).1)
}

/// Drops all free predictors.
pub(crate) fn forget() {
    let free = std::mem::take(&mut *FREE.lock().unwrap_or_else(PoisonError::into_inner));
    drop(free);
}

fn gone() -> PredictError {
    PredictError::Failed("the predictor has been dropped".to_owned())
}

impl Predictor for Reused {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        self.predictor.as_mut().ok_or_else(gone)?.predict(inputs, out)
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_batch(&self, canvas: Size) -> InputBatch {
        self.get()
            .map_or_else(|_| InputBatch::new(canvas), |predictor| predictor.new_batch(canvas))
    }

    fn preferred_batch(&self) -> usize {
        self.get().map_or(1, TorchPredictor::preferred_batch)
    }
}

impl Drop for Reused {
    fn drop(&mut self) {
        let Some(predictor) = self.predictor.take() else { return };
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.push((self.lane, predictor));
        if free.len() > MOST {
            let oldest = free.remove(0);
            // Freeing GPU memory takes a while, so unlock first.
            drop(free);
            drop(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use tengen_model::NetworkConfig;

    use super::*;

    /// Runs on the CPU, where predictors are otherwise not reused; the GPU number does not matter.
    const LANE: Lane = Lane { gpu: 63, thread: 0 };

    #[test]
    fn a_dropped_predictor_takes_other_weights_of_its_shape() {
        tengen_network::limit_threads();
        let weights = |config: &NetworkConfig, seed| Weights::random(config, seed).expect("a shape");
        let (small, large) = (NetworkConfig::new(1, 8), NetworkConfig::new(1, 16));
        let options = PredictorOptions::default();
        let new = |weights: &Weights| Reused::new(LANE, weights, options).expect("the CPU");
        let free = || {
            let free = FREE.lock().expect("no panic inside");
            free.iter().filter(|(lane, _)| *lane == LANE).count()
        };
        let first = new(&weights(&small, 1)).with_name("first");
        assert_eq!((first.name().as_str(), free()), ("first", 0));
        drop(first);
        assert_eq!(free(), 1);
        let other_shape = new(&weights(&large, 1));
        let other_lane = Lane { thread: 1, ..LANE };
        let other_lane = Reused::new(other_lane, &weights(&small, 2), options).expect("the CPU");
        assert_eq!(free(), 1);
        let second = new(&weights(&small, 2)).with_name("second");
        assert_eq!((second.name().as_str(), free()), ("second", 0));
        assert_eq!(second.get().expect("it is there").weights(), &weights(&small, 2));
        drop((second, other_shape, other_lane));
        for seed in 0..2 * MOST as u64 {
            let many: Vec<Reused> = (0..MOST + 2).map(|_| new(&weights(&small, seed))).collect();
            drop(many);
            assert!(free() <= MOST);
        }
        forget();
        assert_eq!(free(), 0);
    }
}
