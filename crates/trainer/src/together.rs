//! Data-parallel training in several processes. Each rank computes the gradient of its part of the batch; an all-reduce
//! sums them to the gradient of the whole batch, with which all ranks update their own copies of the weights in the
//! same way.

use std::sync::Arc;

use tch::{Device, Kind, Tensor};

use tengen_encoding::TrainingBatch;
use tengen_network::{Group, GroupError, LibtorchError, Mode, NetworkInputs, catching};

use crate::loss::{Losses, Terms};
use crate::targets::Targets;
use crate::trainer::{Trainer, TrainerError};

/// The flags that every rank sends to the others with each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// All ranks should stop after this step.
    pub stop: bool,
    /// All ranks should synchronize before the next step, because rank 0 has something to decide.
    pub pause: bool,
}

/// A trainer's membership in a group.
#[derive(Clone, Debug)]
pub(crate) struct Together {
    group: Arc<Group>,
    /// The word that this rank sends with its next step.
    says: Word,
    /// The combined word of all ranks from the last step.
    heard: Word,
}

/// Number of figures that are all-reduced with the gradient: the terms of the loss, the samples' weights, and the three
/// of [`figures`].
const FIGURES: i64 = 10;

impl Trainer {
    /// From now on, trains with the other ranks of a group. Broadcasts the state of rank 0, from which all of them
    /// continue; they must have the same network and settings.
    ///
    /// # Errors
    /// [`TrainerError::Group`] when another rank is gone.
    pub fn join(&mut self, group: Arc<Group>) -> Result<(), TrainerError> {
        let progress = Tensor::from_slice(&[self.step as i64, self.samples as i64]);
        let average = [&self.average.trained, &self.average.statistics];
        let moments = self.optimizer.moments.iter().map(|(_, moment)| moment);
        for tensor in average.into_iter().chain(moments).chain([&progress]) {
            group.from_first(tensor)?;
        }
        group.from_first(&self.network.trained())?;
        group.from_first(&self.network.statistics())?;
        self.step = progress.int64_value(&[0]) as u64;
        self.samples = progress.int64_value(&[1]) as u64;
        self.take_part(Together {
            group,
            says: Word::default(),
            heard: Word::default(),
        });
        Ok(())
    }

    pub(crate) fn take_part(&mut self, together: Together) {
        self.network.join(&together.group);
        self.together = Some(together);
    }

    /// Number of processes that train together; 1 if this one trains alone.
    pub fn ranks(&self) -> usize {
        self.together.as_ref().map_or(1, |together| together.group.ranks())
    }

    /// Sets the word that this rank sends to the others with its next step.
    pub fn say(&mut self, word: Word) {
        if let Some(together) = &mut self.together {
            together.says = word;
        }
    }

    /// The combined word of all ranks from the last step: a flag is set if any rank set it.
    pub fn heard(&self) -> Word {
        self.together
            .as_ref()
            .map(|together| together.heard)
            .unwrap_or_default()
    }

    /// Performs a step on all ranks of this group and waits for it. If another rank is gone, this one keeps its state
    /// from before the step.
    pub(crate) fn step_together(
        &mut self,
        Together { group, says, .. }: Together,
        batch: &TrainingBatch,
    ) -> Result<Losses, TrainerError> {
        let statistics = self.network.statistics().copy();
        let done = catching(|| self.change_together(batch, &group, says));
        let failed = |error: LibtorchError| group.failure().map_or(error.into(), TrainerError::Group);
        let done = done.map_err(failed).and_then(|done| done);
        if done.is_err() {
            let _no_grad = tch::no_grad_guard();
            self.network.statistics().copy_(&statistics);
        }
        done
    }

    fn change_together(&mut self, batch: &TrainingBatch, group: &Group, says: Word) -> Result<Losses, TrainerError> {
        let inputs = NetworkInputs::new(&batch.inputs, self.device(), self.precision);
        let targets = Targets::new(batch, self.device())?;
        let outputs = self.network.forward(&inputs, Mode::Training);
        let samples = batch.inputs.len() * group.ranks();
        let mut terms = Terms::new(&outputs, &inputs, &targets, &self.config.loss, Some(samples));
        let gradient = self.network.gradient(&terms.total);

        let _no_grad = tch::no_grad_guard();
        let said = figures(says, self.budget_spent, group.rank() == 0);
        let sums = [&terms.total].into_iter().chain(&terms.parts).chain([&terms.weight]);
        let mut parts = vec![gradient];
        parts.extend(sums.map(|sum| sum.detach().reshape([1])));
        parts.push(said.to_device(self.device()));
        let flat = Tensor::cat(&parts, 0);
        group.sum(&flat)?;
        let said = self.hear(group, &flat, said)?;
        let length = flat.numel() as i64 - FIGURES;
        let sums = flat.narrow(0, length, FIGURES - 3);
        let scale = sums.get(6).clamp_min(1e-6 / samples as f64);
        let sums = &sums / &scale;
        terms.total = sums.get(0);
        terms.parts = [1, 2, 3, 4, 5].map(|place| sums.get(place));
        let heard = Word {
            stop: said[0] > 0.5,
            pause: said[1] > 0.5,
        };
        self.budget_spent = said[2];
        if let Some(together) = &mut self.together {
            together.heard = heard;
        }
        Ok(self.follow(flat.narrow(0, 0, length) / scale, &terms)?.read()?)
    }

    /// The sums of [`figures`] over all ranks. On a GPU, the ranks sum them once more without NCCL, whose all-reduce
    /// never ends if another rank dies: once all have come this far, all have started the same NCCL operations.
    fn hear(&self, group: &Group, flat: &Tensor, said: Tensor) -> Result<[f64; 3], GroupError> {
        let said = match self.device() {
            Device::Cpu => flat.narrow(0, flat.numel() as i64 - 3, 3),
            device => {
                group.sum(&said)?;
                group.finish(device)?;
                said
            }
        };
        let mut numbers = [0.0f32; 3];
        said.copy_data(&mut numbers, 3);
        Ok(numbers.map(f64::from))
    }
}

/// What a rank sends, as numbers that can be summed: its word and, from rank 0, the share of the budget that is spent.
fn figures(word: Word, spent: f64, is_first: bool) -> Tensor {
    let spent = if is_first { spent } else { 0.0 };
    let numbers = [f64::from(u8::from(word.stop)), f64::from(u8::from(word.pause)), spent];
    Tensor::from_slice(&numbers).to_kind(Kind::Float)
}
