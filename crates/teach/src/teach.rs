//! How does a network learn from games, and resume? Step by step until the goal, with checkpoints.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use tengen_model::{CostLedger, Model, Provenance};
use tengen_network::DeviceChoice;
use tengen_run::{Clock, Ledger, RunConfig, Setup, fair_komi, state_fair_komi};
use tengen_trainer::{Losses, Trainer, TrainerError};

use crate::judge::{HeldOut, Of, judge, judge_by};
use crate::material::{Material, Source};
use crate::place::{Place, State};
use crate::start::{Origin, weights};

/// One step of training, for a display.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Steps so far, from zero.
    pub step: u64,
    /// The last step.
    pub of: u64,
    /// The losses of the step.
    pub losses: Losses,
}

/// What training has done.
#[derive(Clone, Debug, Serialize)]
pub struct Taught {
    /// The model's folder; `None` if training was stopped before it was done.
    pub model: Option<String>,
    /// The network, such as `b4c32`.
    pub network: String,
    /// What it was trained on, with the number format.
    pub device: String,
    /// Training steps from zero.
    pub steps: u64,
    /// Those of this process.
    pub steps_made: u64,
    /// The steps that training ends with.
    pub steps_planned: u64,
    /// How often the games were gone through.
    pub epochs: f64,
    /// Samples trained on in a second.
    pub samples_per_second: f64,
    /// The games.
    pub sources: Vec<Source>,
    /// Predictions of games that were never trained on; `None` if there are none.
    pub held_out: Option<HeldOut>,
    /// The same of games that were trained on. If they are much better, the network remembers games.
    pub trained_on: Option<HeldOut>,
}

/// A network, the games it learns from, and where the result goes.
struct Lessons<'a> {
    config: &'a RunConfig,
    setup: &'a Setup,
    material: &'a Material,
    origin: Option<&'a Origin>,
    place: Place,
    trainer: Trainer,
    clock: Clock,
    goal: u64,
    /// Steps whose losses have been shown.
    shown: u64,
}

/// Trains a network on games and puts the model into a folder. Resumes from the folder's newest checkpoint, also after
/// a kill; on the CPU with one thread, the result is then the same to the bit. Setting `setup.stop` ends training with
/// a checkpoint.
///
/// # Errors
/// If the folder holds something else, the games cannot be read or teach nothing, or a step fails; refused training
/// leaves nothing behind.
pub fn teach(
    config: &RunConfig,
    origin: Option<&Origin>,
    folder: &Path,
    setup: &Setup,
    show: &mut dyn FnMut(Step),
) -> anyhow::Result<Taught> {
    let place = Place::find(folder)?;
    let material = Material::gather(config, &*setup.watch)?;
    teach_from(config, origin, (folder, place), &material, setup, show)
}

/// [`teach`] with games that have been read.
pub(crate) fn teach_from(
    config: &RunConfig,
    origin: Option<&Origin>,
    (folder, place): (&Path, Place),
    material: &Material,
    setup: &Setup,
    show: &mut dyn FnMut(Step),
) -> anyhow::Result<Taught> {
    setup.watch.say(&material.in_words());
    let mut lessons = Lessons::begin(config, origin, place, material, setup)?;
    say_device(&lessons.trainer, setup);
    let (first, began) = (lessons.trainer.steps(), Instant::now());
    let learned = lessons.learn(show);
    let made = lessons.trainer.steps() - first;
    // Whatever ended training: keep the steps made.
    let saved = match &learned {
        Err(error) if matches!(error.downcast_ref(), Some(TrainerError::Diverged { .. })) => Ok(()),
        _ if made == 0 => Ok(()),
        _ => lessons.save(),
    };
    learned.and(saved)?;
    let samples_per_second = (made * config.training.batch as u64) as f64 / began.elapsed().as_secs_f64();
    let is_done = lessons.trainer.steps() >= lessons.goal;
    if is_done && !lessons.place.has_model_of(lessons.trainer.steps()) {
        let model = lessons.model()?;
        lessons.place.put_model(&model)?;
    }
    Ok(Taught {
        model: is_done.then(|| folder.display().to_string()),
        network: config.network.name(),
        device: lessons.trainer.device_in_words(),
        steps: lessons.trainer.steps(),
        steps_made: made,
        steps_planned: lessons.goal,
        epochs: lessons.trainer.samples() as f64 / material.mixture.positions() as f64,
        samples_per_second,
        sources: material.sources.clone(),
        held_out: judge(&mut lessons.trainer, material, config)?,
        trained_on: judge_by(Of::Trained, &mut lessons.trainer, material, config)?,
    })
}

impl<'a> Lessons<'a> {
    /// Resumes from the place's checkpoint, or begins.
    fn begin(
        config: &'a RunConfig,
        origin: Option<&'a Origin>,
        place: Place,
        material: &'a Material,
        setup: &'a Setup,
    ) -> anyhow::Result<Lessons<'a>> {
        let device = device(config, setup);
        let (trainer, before) = match place.checkpoint(&*setup.watch)? {
            Some((files, state)) => {
                check_same(&state, config, origin, material, setup)?;
                let trainer = Trainer::restore(&files, Some(config.training.clone()), device)?;
                (trainer, state.ledger)
            }
            None => {
                let weights = weights(config, origin, &*setup.watch)?;
                let trainer = Trainer::from_weights(&weights, config.training.clone(), device)?;
                (trainer, Ledger::default())
            }
        };
        let goal = config
            .train
            .steps_for(material.mixture.positions(), config.training.batch);
        Ok(Lessons {
            config,
            setup,
            material,
            origin,
            place,
            clock: Clock::start(before, device.resolve()?.is_cuda()),
            goal,
            shown: trainer.steps(),
            trainer,
        })
    }

    /// Makes steps until the goal is reached or the user stops.
    fn learn(&mut self, show: &mut dyn FnMut(Step)) -> anyhow::Result<()> {
        let every = Duration::from_secs_f64(self.config.loop_config.checkpoint_seconds);
        let mut saved = Instant::now();
        while self.trainer.steps() < self.goal && !self.setup.stop.load(Ordering::SeqCst) {
            let step = self.trainer.steps();
            self.trainer.set_budget_spent(step as f64 / self.goal as f64);
            let known = train_ahead(&mut self.trainer, self.material, self.config)?;
            self.show(known, show);
            if saved.elapsed() >= every {
                self.settle(show)?;
                self.save()?;
                saved = Instant::now();
            }
        }
        self.settle(show)
    }

    /// Waits until a GPU has done all steps.
    fn settle(&mut self, show: &mut dyn FnMut(Step)) -> anyhow::Result<()> {
        let rest = self.trainer.settle()?;
        self.show(rest, show);
        Ok(())
    }

    fn show(&mut self, known: impl IntoIterator<Item = Losses>, show: &mut dyn FnMut(Step)) {
        for losses in known {
            self.shown += 1;
            show(Step {
                step: self.shown,
                of: self.goal,
                losses,
            });
        }
    }

    fn save(&mut self) -> anyhow::Result<()> {
        // A checkpoint of weights that diverged would be useless.
        self.trainer.settle()?;
        let state = State {
            config: toml::to_string(self.config)?,
            games: self.material.id.clone(),
            origin: self.origin.map(|origin| origin.name.clone()),
            ledger: self.clock.read(0),
        };
        self.place.save(&self.trainer, &state, self.config)
    }

    /// The averaged weights with their description.
    fn model(&mut self) -> anyhow::Result<Model> {
        let mut model = Model::new(self.trainer.ema_weights());
        let ledger = self.clock.read(0);
        let origin = self.origin.map(|origin| origin.model.info.cost).unwrap_or_default();
        model.info.provenance = Provenance {
            run_id: format!("{}-{}-train", self.config.name, &self.config.id()?[..6]),
            step: self.trainer.steps(),
            parent: self.origin.map(|origin| origin.name.clone()),
        };
        model.info.cost = CostLedger {
            cpu_seconds: origin.cpu_seconds + ledger.cpu_seconds,
            gpu_seconds: origin.gpu_seconds + ledger.gpu_seconds,
            ..origin
        };
        model.info.rules = Some(self.config.rules.to_string());
        let sizes = self.config.sizes()?;
        let fair = fair_komi(&mut self.trainer, &sizes, self.config.rules)?;
        state_fair_komi(&mut model.info, &fair, &sizes);
        Ok(model)
    }
}

/// Draws a batch, trains on it, and waits until that is done.
pub(crate) fn train_once(trainer: &mut Trainer, material: &Material, config: &RunConfig) -> anyhow::Result<Losses> {
    let known = train_ahead(trainer, material, config)?;
    trainer.settle()?.pop().or(known).context("a step has no losses")
}

/// Draws a batch and trains on it, as [`Trainer::advance`] does. The samples depend on the games, the seed, and the
/// number of the step alone.
fn train_ahead(trainer: &mut Trainer, material: &Material, config: &RunConfig) -> anyhow::Result<Option<Losses>> {
    let seed = Material::seed(config, trainer.steps());
    let samples = material
        .mixture
        .draw(
            config.training.batch,
            seed,
            config.loop_config.symmetry_at(trainer.budget_spent()),
        )
        .context("the games have no positions to train on")?;
    let batch = trainer.batch(&samples);
    Ok(trainer.advance(&batch)?)
}

/// The device that a network is trained on.
pub(crate) fn device(config: &RunConfig, setup: &Setup) -> DeviceChoice {
    DeviceChoice::first_of(setup.devices.unwrap_or(config.inference.device))
}

/// Says what a network is trained or judged on.
pub(crate) fn say_device(trainer: &Trainer, setup: &Setup) {
    setup.watch.say(&format!("device {}", trainer.device_in_words()));
}

/// Refuses a checkpoint of another network, and says what else has changed since.
fn check_same(
    state: &State,
    config: &RunConfig,
    origin: Option<&Origin>,
    material: &Material,
    setup: &Setup,
) -> anyhow::Result<()> {
    let earlier: RunConfig = toml::from_str(&state.config).context("the checkpoint is from another version")?;
    let name = |origin: Option<&str>| origin.unwrap_or("random weights").to_owned();
    let (began, begins) = (
        name(state.origin.as_deref()),
        name(origin.map(|origin| origin.name.as_str())),
    );
    for (what, before, now) in [
        ("the network", earlier.network.name(), config.network.name()),
        ("rules", earlier.rules.to_string(), config.rules.to_string()),
        ("the start", began, begins),
    ] {
        anyhow::ensure!(
            before == now,
            "the folder has a checkpoint with {what} {before}, but now it is {now}: choose another folder, or go on \
             with what began there"
        );
    }
    anyhow::ensure!(
        earlier.network == config.network,
        "the folder has a checkpoint with other settings in [network]: choose another folder, or go on with those"
    );
    let changed = config.changes_since(&earlier)?;
    if !changed.is_empty() {
        setup
            .watch
            .say(&format!("changed since the checkpoint: {}", changed.join(", ")));
    }
    if state.games != material.id {
        setup.watch.say("the stores have other games than at the checkpoint");
    }
    Ok(())
}
