//! A stand-in for a device that takes a fixed time per batch and computes nothing, to benchmark everything around it.

use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tengen_encoding::InputBatch;

use crate::predictor::{PredictError, Predictions, Predictor};
use crate::server::{PredictionServer, ServedNetwork, ServerSetup};
use crate::stand_ins::UniformPredictor;

/// A device that computes one batch at a time. Each batch takes a fixed delay plus a time for each of its positions,
/// during which the calling thread sleeps. All clones are the same device. Predicts like [`UniformPredictor`].
#[derive(Clone, Debug)]
pub struct SimulatedDevice {
    delay: Duration,
    positions_per_second: f64,
    device: Arc<Mutex<()>>,
    busy_ns: Arc<AtomicU64>,
}

impl SimulatedDevice {
    /// A device with this delay per batch and this throughput (above 0) for very large batches.
    pub fn new(delay: Duration, positions_per_second: f64) -> SimulatedDevice {
        SimulatedDevice {
            delay,
            positions_per_second,
            device: Arc::default(),
            busy_ns: Arc::default(),
        }
    }

    /// The time that a batch with this many positions takes.
    pub fn time(&self, positions: usize) -> Duration {
        self.delay + Duration::from_secs_f64(positions as f64 / self.positions_per_second)
    }

    /// A server for the device, set up as for a GPU, and its network.
    ///
    /// # Errors
    /// Same as [`PredictionServer::start`].
    pub fn serve(&self) -> Result<(PredictionServer, ServedNetwork), PredictError> {
        let server = PredictionServer::start(ServerSetup::GPU)?;
        let lane = |_| Ok::<_, PredictError>(Box::new(self.clone()) as Box<dyn Predictor + Send>);
        let network = server.add(lane)?;
        Ok((server, network))
    }

    /// How long the device has been busy so far.
    pub fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy_ns.load(Ordering::Relaxed))
    }
}

impl Predictor for SimulatedDevice {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        UniformPredictor.predict(inputs, out)?;
        let _device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        std::thread::sleep(self.time(inputs.len()));
        self.busy_ns
            .fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn name(&self) -> String {
        "simulated".to_owned()
    }
}

impl FromStr for SimulatedDevice {
    type Err = String;

    /// Reads `DELAY:RATE`, the delay in milliseconds and the throughput in positions per second, such as `2:50000`.
    fn from_str(text: &str) -> Result<SimulatedDevice, String> {
        let number = |text: &str| {
            text.parse()
                .ok()
                .filter(|value: &f64| value.is_finite() && *value >= 0.0)
        };
        let numbers = text
            .split_once(':')
            .and_then(|(delay, rate)| number(delay).zip(number(rate)));
        match numbers {
            Some((delay, rate)) if delay <= 60_000.0 && rate > 0.0 => {
                Ok(SimulatedDevice::new(Duration::from_secs_f64(delay / 1000.0), rate))
            }
            _ => Err(format!(
                "`{text}` is not DELAY:RATE, milliseconds per batch and positions per second above 0, such as 2:50000"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_the_delay_and_the_time_of_its_positions() {
        let device: SimulatedDevice = "2:50000".parse().unwrap();
        assert_eq!(device.time(0), Duration::from_millis(2));
        assert_eq!(device.time(100), Duration::from_millis(4));
        for wrong in ["", "2", "2:0", "-1:5", "1:x", "nan:5", "1:inf", "60001:1"] {
            assert!(wrong.parse::<SimulatedDevice>().is_err(), "{wrong}");
        }
    }
}
