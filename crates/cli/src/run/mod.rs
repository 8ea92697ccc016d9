//! The training loop on one machine: self-play workers, publisher, trainer and gate around one store.
//!
//! ```text
//! workers --games--> publisher --shards--> store --shards--> trainer --weights--> workers
//!                                                               `--candidates--> gate --promotions--> store
//! ```
//!
//! The only state outside the store is in the trainer's memory and goes into checkpoints; everything else is derived
//! from the store, so a run can resume after any kind of end.

mod failures;
mod finish;
mod gating;
pub(crate) mod ledger;
mod opened;
mod outbox;
mod publisher;
mod screen;
pub(crate) mod selfplay;
mod session;
mod status;
mod summary;
mod training;

pub(crate) use failures::Failures;
pub(crate) use finish::finish;
pub(crate) use gating::{Gating, left_over};
pub(crate) use ledger::Ledger;
pub(crate) use opened::Opened;
pub(crate) use outbox::Outbox;
pub(crate) use session::work;
pub(crate) use summary::Summary;
pub(crate) use training::Training;

use crate::config::RunConfig;
use crate::interrupt::Interrupt;
use crate::players::DeviceArgs;
use std::path::Path;

/// Runs a configuration in the store at `location` until its budget is spent; `None` if the user stopped it.
pub(crate) fn run(
    config: &RunConfig,
    location: &str,
    device: &DeviceArgs,
    scratch: Option<&Path>,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Summary>> {
    let mut run = Opened::open(config, location, device, scratch)?;
    run.be_patient(interrupt);
    let _lock = run.lock()?;
    run.first_model()?;
    if !work(&run, interrupt)? {
        return Ok(None);
    }
    finish(&run, interrupt)
}
