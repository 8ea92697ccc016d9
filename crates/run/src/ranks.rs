//! Processes that train one network together, as started by torchrun or srun, and what they have to agree on.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};

use tengen_network::{DeviceChoice, Group, GroupError};
use tengen_trainer::TrainerError;

use crate::opened::Opened;
use crate::place::Place;

/// How long to wait for the surviving ranks to report after a connection breaks.
const MUSTER: Duration = Duration::from_secs(3);

/// The processes that train together, each with a rank from 0. Rank 0 alone writes to the store.
#[derive(Debug)]
pub struct Ranks {
    pub(crate) group: Arc<Group>,
    /// This process's number on its machine, which is that of its GPU.
    local_rank: Option<usize>,
}

impl Ranks {
    /// Meets the other processes that torchrun or srun started according to the environment; `None` if this process
    /// trains alone.
    ///
    /// # Errors
    /// If the variables contradict each other, or the others cannot be reached.
    pub fn meet() -> anyhow::Result<Option<Arc<Ranks>>> {
        let Some(Place { meeting, local_rank }) = Place::from_environment()? else {
            return Ok(None);
        };
        let group = Arc::new(Group::join(&meeting)?);
        Ok(Some(Arc::new(Ranks { group, local_rank })))
    }

    /// Opens a run on all ranks: first on rank 0, which creates what the store lacks, then on the others. Without
    /// ranks, just opens it.
    ///
    /// # Errors
    /// If opening fails here or on rank 0, the ranks have different configurations, or they cannot share a batch
    /// equally.
    pub fn open(ranks: Option<Arc<Ranks>>, open: impl Fn() -> anyhow::Result<Opened>) -> anyhow::Result<Opened> {
        let Some(ranks) = ranks else { return open() };
        let opened = if ranks.is_first() { Some(open()?) } else { None };
        let config_id = opened.as_ref().map_or(String::new(), |run| run.config_id.clone());
        let config_id = ranks.bytes_from_first(config_id.as_bytes())?;
        let mut run = opened.map_or_else(&open, Ok)?;
        let (rank, count, batch) = (ranks.group.rank(), ranks.group.ranks(), run.config.training.batch);
        ensure!(
            config_id == run.config_id.as_bytes(),
            "rank {rank} has the configuration {}, but rank 0 has {}: start all ranks with the same one",
            run.config_id,
            String::from_utf8_lossy(&config_id)
        );
        ensure!(
            batch.is_multiple_of(count),
            "training.batch is {batch}, which {count} processes cannot share equally: set it to a multiple of {count}, \
             or start another number of processes"
        );
        let device = ranks.device(run.options.device)?;
        if let DeviceChoice::Cuda(number) = device {
            run.watch.say(&format!("rank {rank} trains on cuda:{number}"));
        }
        run.options.device = device;
        if let Err(why) = ranks.group.use_device(run.options.device.resolve()?)
            && ranks.is_first()
        {
            run.watch
                .say(&format!("NCCL cannot be used ({why}): gradients go through the CPUs"));
        }
        run.ranks = Some(ranks);
        Ok(run)
    }

    /// Whether this is rank 0, which alone writes to the store.
    pub fn is_first(&self) -> bool {
        self.group.rank() == 0
    }

    /// This rank's part of a batch.
    pub(crate) fn part(&self, batch: usize) -> Range<usize> {
        let own = batch / self.group.ranks();
        own * self.group.rank()..own * (self.group.rank() + 1)
    }

    /// Broadcasts the bytes of rank 0.
    pub(crate) fn bytes_from_first(&self, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.group
            .bytes_from_first(bytes)
            .map_err(|error| self.in_words(&error, None))
    }

    /// All-reduces numbers: returns their sums over all ranks.
    pub fn sums<const N: usize>(&self, values: [f64; N]) -> anyhow::Result<[f64; N]> {
        self.group.sums(values).map_err(|error| self.in_words(&error, None))
    }

    /// The error of a step after `steps` steps; names the rank that is gone if that is the reason.
    pub(crate) fn explained(&self, error: TrainerError, steps: u64) -> anyhow::Error {
        match error {
            TrainerError::Group(error) => self.in_words(&error, Some(steps)),
            error => error.into(),
        }
    }

    /// An error that names the ranks that are gone and says how to resume. The group cannot be used afterward.
    fn in_words(&self, error: &GroupError, steps: Option<u64>) -> anyhow::Error {
        let GroupError::Broken(why) = error else {
            return anyhow!("{error}");
        };
        let missing: Vec<String> = self.group.missing(MUSTER).iter().map(usize::to_string).collect();
        let gone = match missing.as_slice() {
            [] => "the connection between the ranks broke".to_owned(),
            [one] => format!("rank {one} is gone"),
            several => format!("ranks {} are gone", several.join(", ")),
        };
        let after = steps.map_or(String::new(), |steps| format!(" after step {steps}"));
        let (count, checkpoint) = (
            self.group.ranks(),
            match self.is_first() {
                true => "a checkpoint keeps what was learned",
                false => "the newest checkpoint is in the store",
            },
        );
        anyhow!(
            "{gone}{after} ({why}); {checkpoint}: start all {count} processes again with the same command to resume"
        )
    }

    /// The device of this rank: the CPU, or a GPU of its own.
    fn device(&self, choice: DeviceChoice) -> anyhow::Result<DeviceChoice> {
        if !choice.resolve()?.is_cuda() {
            return Ok(DeviceChoice::Cpu);
        }
        if let DeviceChoice::Cuda(number) = choice
            && number > 0
        {
            bail!(
                "--device is {choice}, but processes that train together choose their GPUs by LOCAL_RANK: use --device \
                 cuda"
            );
        }
        let local_rank = self.local_rank.context(
            "LOCAL_RANK is not set, so that this process does not know its GPU: start it with torchrun or srun, or set \
             LOCAL_RANK to the number of the process on its machine",
        )?;
        // srun may show each process only its own GPU.
        let alone = std::env::var("CUDA_VISIBLE_DEVICES").is_ok_and(|names| !names.is_empty() && !names.contains(','));
        let device = DeviceChoice::Cuda(if alone { 0 } else { local_rank });
        device.resolve()?;
        Ok(device)
    }
}
