//! Which komi does a network consider fair on the boards of a run?

use tengen_config::RunConfig;
use tengen_model::ModelInfo;
use tengen_rules::Komi;
use tengen_selfplay::FairKomi;
use tengen_trainer::Trainer;

/// Asks the averaged weights of a network in training, whose steps are done.
///
/// # Errors
/// If its device fails.
pub fn fair_komi(trainer: &Trainer, config: &RunConfig) -> anyhow::Result<FairKomi> {
    let plane_set = trainer.network().plane_set();
    let chances = |questions: &[_]| trainer.chances(questions);
    Ok(FairKomi::according_to(
        &config.sizes()?,
        config.rules,
        plane_set,
        chances,
    )?)
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
