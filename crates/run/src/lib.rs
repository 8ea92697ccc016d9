//! The training loop on one machine: self-play workers, publisher, trainer and gate around one store.
//!
//! ```text
//! workers --games--> publisher --shards--> store --shards--> trainer --weights--> workers
//!                                                               `--candidates--> gate --promotions--> store
//! ```
//!
//! The only state outside the store is in the trainer's memory and goes into checkpoints; everything else is derived
//! from the store, so a run can resume after any kind of exit.
//!
//! [`run`] does it all; the other functions are its parts, for programs that run one stage in its own process.
//! A [`Watch`] shows the progress; setting [`Setup::stop`] ends a run cleanly.
//!
//! This crate never prints, parses arguments, or speaks the protocols of other programs.

mod busy;
mod failures;
mod fair_komi;
mod finish;
mod gating;
mod ledger;
mod opened;
mod outbox;
mod place;
mod publisher;
mod ranks;
pub mod selfplay;
mod session;
pub mod start;
mod status;
mod summary;
mod training;
mod tuned;
mod used;
mod watch;

pub use failures::Failures;
pub use fair_komi::{fair_komi, state_fair_komi};
pub use finish::finish;
pub use gating::{Candidate, Gating, Settled, left_over, rejected};
pub use ledger::Clock;
pub use opened::{Opened, Program, Setup, stored_config};
pub use outbox::Outbox;
pub use place::{Place, PlaceError};
pub use publisher::{Publisher, searched_positions};
pub use ranks::Ranks;
pub use session::work;
pub use summary::Summary;
pub use tengen_config::{BudgetConfig, InferenceConfig, Ledger, LoopConfig, Progress, RunConfig, keys};
pub use training::{Guard, Training};
pub use used::GpuMeter;
pub use watch::{Silent, View, Watch};

/// Runs a configuration in the store at `location` until its budget is spent; `None` if `setup.stop` is set first.
///
/// # Errors
/// If the store belongs to another run or cannot be used, or if a part of the run fails. Games and training steps up to
/// that point are kept.
pub fn run(config: &RunConfig, location: &str, setup: &Setup) -> anyhow::Result<Option<Summary>> {
    let mut run = Opened::open(config, location, setup)?;
    run.be_patient();
    let _lock = run.lock()?;
    run_locked(&mut run)
}

/// The part of [`run`] that needs the store to itself.
///
/// # Errors
/// As [`run`].
pub fn run_locked(run: &mut Opened) -> anyhow::Result<Option<Summary>> {
    run.first_model()?;
    run.settle_auto()?;
    if !work(run)? {
        return Ok(None);
    }
    finish(run)
}
