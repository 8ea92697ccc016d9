//! What leaves the trainer: weights for self-play, models, and checkpoints.

use std::time::{Duration, Instant};

use tengen_config::Ledger;
use tengen_model::{CostLedger, Model, ModelId, Provenance, Weights};
use tengen_store::CheckpointFiles;

use super::costs::Costs;
use super::{Guard, Training};
use crate::fair_komi::{fair_komi, state_fair_komi};
use crate::opened::{Opened, name_damaged, publish_model};

/// The checkpoint file with the loop's state, as opposed to the trainer's.
pub(super) const LEDGER_FILE: &str = "ledger.json";

/// The checkpoint file with the run's latest configuration. Checkpoints of earlier versions lack it.
pub(super) const CONFIG_FILE: &str = "config.toml";

/// Maximum number of steps before the network is asked for the fair komi again.
const FAIR_KOMI_STEPS: u64 = 500;

impl Training {
    /// The averaged weights, which self-play and models use, after all steps are done.
    ///
    /// # Errors
    /// If one of the steps diverged or a GPU failed.
    pub fn weights(&mut self) -> anyhow::Result<Weights> {
        self.wait()?;
        if self.steps() >= self.ask_again_at {
            self.ask_for_fair_komi()?;
        }
        Ok(self.trainer.ema_weights())
    }

    fn ask_for_fair_komi(&mut self) -> anyhow::Result<()> {
        // Not about boards that are no longer played: the network forgets them, so its answers get worse.
        let sizes = self.config.sizes_from(self.positions)?;
        let newer = fair_komi(&mut self.trainer, &sizes, self.config.rules)?;
        self.fair_komi.update(newer);
        self.ask_again_at = self.steps() + (self.steps() / 4).clamp(1, FAIR_KOMI_STEPS);
        Ok(())
    }

    /// Whether the newest model has the trainer's weights. False if it is older or damaged.
    pub fn is_published(&self, run: &Opened) -> anyhow::Result<bool> {
        let Some(newest) = self.store.models().list()?.pop() else {
            return Ok(false);
        };
        let skipped = || format!("the model {newest} is skipped");
        let info = run.unless_damaged(skipped, self.store.models().info(&newest))?;
        Ok(info.is_some_and(|info| info.provenance.step >= self.steps()))
    }

    /// Publishes the averaged weights as the model of a generation.
    pub fn publish(&mut self, generation: u32, ledger: &Ledger) -> anyhow::Result<(ModelId, Weights)> {
        let weights = self.weights()?;
        self.ask_for_fair_komi()?;
        let mut model = Model::new(weights.clone());
        model.info.provenance = Provenance {
            run_id: self.run_id.clone(),
            step: self.steps(),
            parent: self.parent.clone(),
        };
        model.info.cost = CostLedger {
            games: self.games(),
            positions: self.positions,
            evaluations: ledger.evaluations,
            cpu_seconds: ledger.cpu_seconds,
            gpu_seconds: ledger.gpu_seconds,
        };
        model.info.rules = Some(self.config.rules.to_string());
        state_fair_komi(&mut model.info, &self.fair_komi, &self.config.sizes()?);
        let id = publish_model(&self.store, generation, &model, || self.allowed())?;
        self.parent = Some(id.to_string());
        Ok((id, weights))
    }

    /// From now on, checkpoints and models are committed only if `guard` allows it.
    pub fn set_guard(&mut self, guard: Guard) {
        self.guard = Some(guard);
    }

    fn allowed(&self) -> anyhow::Result<()> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard())
    }

    /// Writes a checkpoint if the last one is old enough.
    pub fn checkpoint_if_due(&mut self, ledger: impl FnOnce() -> Ledger) -> anyhow::Result<()> {
        match self.checkpointed.elapsed() >= Duration::from_secs_f64(self.config.loop_config.checkpoint_seconds) {
            true => self.checkpoint(&ledger()),
            false => Ok(()),
        }
    }

    /// Writes a checkpoint at the end of a process, no matter why it ends.
    ///
    /// # Errors
    /// If the store fails, or if the last step left unusable weights. The next start then resumes from the previous
    /// checkpoint.
    pub fn last_checkpoint(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.sound,
            "the last step left unusable weights, so the previous checkpoint remains the newest"
        );
        self.checkpoint(ledger)
    }

    /// Writes the costs now and, unless this process has done so, a checkpoint of the last step; deletes old ones.
    fn checkpoint(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        self.wait()?;
        if self.saved != Some(self.steps()) {
            self.save(ledger)?;
        }
        self.allowed()?;
        let (step, ledger) = (self.steps(), *ledger);
        Costs { step, ledger }.write(&self.store)?;
        self.checkpointed = Instant::now();
        Ok(())
    }

    /// Writes the checkpoint of the last step.
    fn save(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        let mut files: CheckpointFiles = self
            .trainer
            .checkpoint()
            .into_iter()
            .map(|(name, bytes)| (name, bytes.into()))
            .collect();
        files.insert(LEDGER_FILE.to_owned(), serde_json::to_vec_pretty(ledger)?.into());
        files.insert(CONFIG_FILE.to_owned(), toml::to_string(&self.given)?.into());
        self.store
            .checkpoints()
            .put_if(self.steps(), &files, || self.allowed())?;
        let kept = self.config.loop_config.checkpoints_kept;
        name_damaged(&self.store.checkpoints().prune(kept)?.damaged);
        self.saved = Some(self.steps());
        tracing::info!("checkpoint at step {}", self.steps());
        Ok(())
    }
}
