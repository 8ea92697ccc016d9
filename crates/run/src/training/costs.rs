//! The cost of the run so far, in a small file of its own. The checkpoint of a training step is written only once, but
//! costs go on while the trainer waits for games.

use anyhow::Context;
use serde::{Deserialize, Serialize};

use tengen_config::Ledger;
use tengen_store::{Store, sealed_json, unseal};

/// The file in the store.
const COSTS_FILE: &str = "costs.json";

/// What a run had cost when its last checkpoint was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Costs {
    /// The training step of that checkpoint.
    pub(crate) step: u64,
    /// The costs.
    pub(crate) ledger: Ledger,
}

impl Costs {
    /// The costs in a store; `None` if there are none, or, after a warning, if they are damaged.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn read(store: &Store) -> anyhow::Result<Option<Costs>> {
        let Some(bytes) = store.files().get(COSTS_FILE)? else {
            return Ok(None);
        };
        let costs = unseal(COSTS_FILE, &bytes)
            .map_err(anyhow::Error::from)
            .and_then(|json| serde_json::from_slice(&json).with_context(|| format!("cannot read {COSTS_FILE}")));
        if let Err(error) = &costs {
            tracing::warn!("{error:#}; using the costs in the newest checkpoint");
        }
        Ok(costs.ok())
    }

    /// Replaces the costs in a store.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn write(&self, store: &Store) -> anyhow::Result<()> {
        Ok(store.files().replace(COSTS_FILE, sealed_json(self))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_store::Create;

    #[test]
    fn damaged_costs_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path().to_str().expect("UTF-8"), Create::Always).expect("a store");
        assert_eq!(Costs::read(&store).expect("readable"), None);
        let ledger = Ledger {
            elapsed_seconds: 0.1 + 0.2,
            evaluations: 7,
            ..Ledger::default()
        };
        let costs = Costs { step: 3, ledger };
        costs.write(&store).expect("written");
        assert_eq!(Costs::read(&store).expect("readable"), Some(costs));
        let path = folder.path().join(COSTS_FILE);
        let text = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, text.replace(": 7", ": 8")).expect("written");
        assert_eq!(Costs::read(&store).expect("readable"), None);
    }
}
