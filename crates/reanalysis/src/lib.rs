//! Searches positions of a run's old games again with the newest network, so that the run also learns from them what
//! the network can see now (after Schrittwieser et al., 2021, "Online and offline reinforcement learning by planning
//! with a learned model").
//!
//! A [`Reanalyst`] draws games from the older part of the window, has positions in them labelled, and publishes the
//! labelled games in a store of their own, the folder [`FOLDER`] of the run's store. [`Refreshed`] holds the newest of
//! them for the trainer, which draws [`ReanalysisConfig::share`] of its samples from them. Held-out games are never
//! reanalyzed. [`Reanalyzing`] sets the pace within a run.
//!
//! This crate uses no network library.

mod config;
mod reanalyst;
mod reanalyzing;
mod refreshed;

pub use config::ReanalysisConfig;
pub use reanalyst::{Choice, ReanalysisError, Reanalyst, Round};
pub use reanalyzing::{Reanalyzing, Terms};
pub use refreshed::Refreshed;

use tengen_store::{Create, Store, StoreError};

/// The folder of a run's store with the store of reanalyzed games.
pub const FOLDER: &str = "reanalysis";

/// Opens the store of a run's reanalyzed games, with the same patience as the run's store.
fn store_in(run: &Store, create: Create) -> Result<Store, StoreError> {
    let store = Store::open(&format!("{}/{FOLDER}", run.location().trim_end_matches('/')), create)?;
    Ok(match run.patience() {
        Some(patience) => store.with_patience(patience.clone()),
        None => store,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tengen_store::Patience;

    #[test]
    fn the_store_waits_as_long_as_the_run_s() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = Store::open(&folder.path().display().to_string(), Create::Always).expect("a store");
        let limit_of = |run: &Store| {
            let store = store_in(run, Create::Always).expect("a store");
            store.patience().map(|patience| patience.limit)
        };
        assert_eq!(limit_of(&run), None);
        let limit = Duration::from_secs(7);
        let patient = run.with_patience(Patience {
            limit,
            give_up: std::sync::Arc::default(),
        });
        assert_eq!(limit_of(&patient), Some(limit));
    }
}
