//! Which komi does a network consider fair on the boards of a run?

use tengen_config::RunConfig;
use tengen_model::{ModelInfo, Weights};
use tengen_network::{PredictorOptions, TorchPredictor};
use tengen_rules::Komi;
use tengen_selfplay::FairKomi;

/// Asks the network with these weights, on the CPU.
///
/// # Errors
/// If libtorch cannot run the network.
pub fn fair_komi(weights: &Weights, config: &RunConfig) -> anyhow::Result<FairKomi> {
    let mut predictor = TorchPredictor::new(weights, PredictorOptions::default())?;
    Ok(FairKomi::according_to(&mut predictor, &config.sizes()?, config.rules)?)
}

/// Writes the fair komi of the run's boards into the description of a model.
///
/// # Errors
/// If the configuration names no board.
pub fn describe_fair_komi(info: &mut ModelInfo, fair: &FairKomi, config: &RunConfig) -> anyhow::Result<()> {
    for size in config.sizes()? {
        let half_points = (fair.of(size) * 2.0).round() as i16;
        info.set_fair_komi(size, Komi::from_half_points(half_points));
    }
    Ok(())
}
