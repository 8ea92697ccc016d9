//! Where do checkpoints and the model go? Into one folder:
//!
//! | file | contents |
//! |---|---|
//! | `weights.safetensors`, `model.json` | the model, once training is done; `model:FOLDER` names it |
//! | `checkpoints/<step>/…` | what training resumes from, in the form of a run's checkpoints |
//! | `run.lock` | held by the process that trains |
//!
//! Nothing is written before the first step, so that training that is refused leaves nothing behind.

use std::fs::DirEntry;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use tengen_model::{INFO_FILE, Model, WEIGHTS_FILE};
use tengen_run::{Ledger, RunConfig, Watch};
use tengen_store::{CheckpointFiles, Create, RunLock, Store};
use tengen_trainer::Trainer;

/// The checkpoint file that says what is trained, as opposed to the trainer's own state.
const STATE_FILE: &str = "train.json";

/// What belongs to a checkpoint besides the trainer's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    /// The configuration, as TOML.
    pub(crate) config: String,
    /// Names the games.
    pub(crate) games: String,
    /// The model that training began with; `None` for random weights.
    pub(crate) origin: Option<String>,
    /// What training has cost so far.
    pub(crate) ledger: Ledger,
}

/// The file that a process locks before it writes anything else.
const LOCK_FILE: &str = "run.lock";

/// The folder of a training.
pub(crate) struct Place {
    folder: PathBuf,
    /// The store that keeps the checkpoints, and its lock; `None` until something is written.
    open: Option<(Store, RunLock)>,
}

impl Place {
    /// The folder, which may not exist yet.
    ///
    /// # Errors
    /// If it holds something else, or another process trains there.
    pub(crate) fn find(folder: &Path) -> anyhow::Result<Place> {
        let mut place = Place {
            folder: folder.to_owned(),
            open: None,
        };
        let shown = folder.display();
        if folder.to_str().is_none() {
            bail!("{shown} has a name that is not UTF-8: choose another folder for the model");
        }
        // After an early kill, the lock may be alone.
        let is_content = |entry: std::io::Result<DirEntry>| entry.map_or(true, |entry| entry.file_name() != LOCK_FILE);
        let is_used = match std::fs::read_dir(folder) {
            Ok(mut entries) => entries.any(is_content),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        };
        if !is_used {
            return Ok(place);
        }
        if folder.join("run.json").exists() {
            bail!("{shown} is the store of a run: choose another folder for the model");
        }
        if !folder.join("checkpoints").is_dir() {
            bail!("{shown} holds other files: choose a new or empty folder for the model");
        }
        place.open()?;
        Ok(place)
    }

    fn open(&mut self) -> anyhow::Result<&Store> {
        if self.open.is_none() {
            let store = Store::open(&self.folder.display().to_string(), Create::Always)?;
            let lock = store.lock_run()?;
            self.open = Some((store, lock));
        }
        let (store, _) = self.open.as_ref().context("it was just opened")?;
        Ok(store)
    }

    /// The newest intact checkpoint, if there is one. Damaged ones are set aside and named.
    pub(crate) fn checkpoint(&self, watch: &dyn Watch) -> anyhow::Result<Option<(CheckpointFiles, State)>> {
        let Some((store, _)) = &self.open else { return Ok(None) };
        let recovered = store.checkpoints().recover()?;
        for note in &recovered.damaged {
            watch.say(&format!(
                "{} is damaged and was quarantined: {}",
                note.shard, note.reason
            ));
        }
        let Some((step, files)) = recovered.newest else {
            return Ok(None);
        };
        let state = files.get(STATE_FILE).map(|bytes| serde_json::from_slice(bytes));
        let state = state.with_context(|| {
            format!(
                "checkpoint {step} of {} is not one of `tengen train FILE`: choose another folder",
                self.folder.display()
            )
        })?;
        let of = || format!("checkpoint {step} of {} is from another version", self.folder.display());
        Ok(Some((files, state.with_context(of)?)))
    }

    /// Writes a checkpoint and deletes old ones.
    pub(crate) fn save(&mut self, trainer: &Trainer, state: &State, config: &RunConfig) -> anyhow::Result<()> {
        let mut files: CheckpointFiles = trainer
            .checkpoint()
            .into_iter()
            .map(|(name, bytes)| (name, bytes.into()))
            .collect();
        files.insert(STATE_FILE.to_owned(), serde_json::to_vec_pretty(state)?.into());
        let store = self.open()?;
        store.checkpoints().put(trainer.steps(), &files)?;
        store.checkpoints().prune(config.loop_config.checkpoints_kept)?;
        Ok(())
    }

    /// Whether the folder has an intact model of this step. After a kill, it may still have an earlier one, or weights
    /// that its description does not fit.
    pub(crate) fn has_model_of(&self, step: u64) -> bool {
        Model::load(&self.folder).is_ok_and(|model| model.info.provenance.step == step)
    }

    /// Puts the model into the folder, each file in one step, and the description last.
    pub(crate) fn put_model(&mut self, model: &Model) -> anyhow::Result<()> {
        self.open()?;
        let (weights, info) = model.to_files();
        for (name, bytes) in [(WEIGHTS_FILE, weights), (INFO_FILE, info)] {
            let path = self.folder.join(name);
            let put = || -> std::io::Result<()> {
                // As for other new files, the user's umask decides who may read it.
                let everybody = std::fs::Permissions::from_mode(0o666);
                let mut builder = tempfile::Builder::new();
                let mut file = builder.permissions(everybody).tempfile_in(&self.folder)?;
                file.write_all(&bytes)?;
                file.as_file().sync_all()?;
                file.persist(&path).map_err(|error| error.error)?;
                Ok(())
            };
            put().with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}
