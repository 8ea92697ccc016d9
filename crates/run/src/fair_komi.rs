//! The komi that a network considers fair on the boards of a run.

use tengen_model::ModelInfo;
use tengen_rules::{Komi, Rules, Size};
use tengen_selfplay::FairKomi;
use tengen_trainer::Trainer;

/// Evaluates the empty boards of these sizes with the averaged weights of a network in training, whose steps are done.
///
/// # Errors
/// If its device fails.
pub fn fair_komi(trainer: &mut Trainer, sizes: &[Size], rules: Rules) -> anyhow::Result<FairKomi> {
    let plane_set = trainer.network().plane_set();
    let chances = |questions: &[_]| trainer.chances(questions);
    Ok(FairKomi::according_to(sizes, rules, plane_set, chances)?)
}

/// The fair komi that a model states for boards of these sizes.
pub(crate) fn stated(info: &ModelInfo, sizes: &[Size]) -> FairKomi {
    let mut fair = FairKomi::new();
    for &size in sizes {
        if let Some(komi) = info.fair_komi(size) {
            fair.set(size, f64::from(komi.points()));
        }
    }
    fair
}

/// Writes the fair komi of boards of these sizes, where it is known, into the description of a model.
pub fn state_fair_komi(info: &mut ModelInfo, fair: &FairKomi, sizes: &[Size]) {
    for &size in sizes {
        if let Some(points) = fair.known(size) {
            info.set_fair_komi(size, Komi::from_half_points((points * 2.0).round() as i16));
        }
    }
}
