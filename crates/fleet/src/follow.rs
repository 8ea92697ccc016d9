//! What a worker should do now. The trainer's notice names the weights to play with and says how far self-play may go;
//! until there is one, the worker plays with the champion until there are enough games for training to start.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;

use tengen_model::{ModelId, Weights, sha256_hex};
use tengen_report::notices::{Notice, TRAINER, TrainerSays, WORKERS};
use tengen_report::{counted, duration};
use tengen_run::{Opened, Progress, selfplay};
use tengen_selfplay::{FairKomi, ModelUpdate};

use crate::lease::silence;
use crate::pause::pause;

/// How many times to poll for usable weights before falling back to the champion. A live trainer replaces its weights,
/// and deletes old ones, at most once per poll interval.
const LOOKS_FOR_WEIGHTS: u32 = 5;

/// What a worker should do.
#[derive(Clone)]
pub(crate) struct Orders {
    /// The network and the settings to play with.
    pub(crate) model: ModelUpdate,
    /// Positions that all workers together may play beyond those that the trainer has taken in.
    pub(crate) room: u64,
    /// Number of workers that share the room, including this one.
    pub(crate) workers: usize,
    /// Sequence number of this worker's newest shard that the trainer has seen.
    pub(crate) seen: Option<u64>,
    /// Whether the run's budget is spent.
    pub(crate) finished: bool,
    /// The state of the trainer, which makes the room.
    trainer: Trainer,
}

/// What this worker knows about the trainer.
#[derive(Clone, Debug, PartialEq)]
enum Trainer {
    /// No trainer has ever written a notice.
    Missing,
    /// The last one ended cleanly, on this host.
    Ended(String),
    /// Its notice has not changed for this long; on this host.
    Silent(Duration, String),
    Works,
    /// It is at work but does not know about this worker yet.
    Unaware,
}

impl Orders {
    /// Whether these orders change anything for self-play compared with `before`.
    pub(crate) fn changes(&self, before: &Orders) -> bool {
        let (new, old) = (&self.model, &before.model);
        new.model_id != old.model_id
            || new.visits != old.visits
            || new.positions != old.positions
            || new.generation != old.generation
            || new.fair_komi != old.fair_komi
            || new.spent != old.spent
    }

    /// Why self-play is waiting, as text.
    pub(crate) fn why_wait(&self) -> String {
        match &self.trainer {
            Trainer::Missing => "waiting for a trainer to start: `tengen train --follow`".to_owned(),
            Trainer::Ended(host) => {
                format!("waiting for a trainer: the last one, on {host}, has ended; start `tengen train --follow`")
            }
            Trainer::Silent(time, host) => format!(
                "waiting for the trainer on {host}, which has been silent for {}",
                duration(time.as_secs_f64())
            ),
            Trainer::Unaware => "waiting until the trainer knows of this worker".to_owned(),
            Trainer::Works => format!(
                "waiting for the trainer: {} may be ahead of it by {} in all",
                counted(self.workers as u64, "worker"),
                counted(self.room, "position")
            ),
        }
    }
}

/// Follows the trainer's notice.
pub(crate) struct Follow {
    /// The latest orders.
    orders: Option<Orders>,
    /// The trainer's name, the number of its last heartbeat, and when that was first seen.
    heard: Option<(String, u64, Instant)>,
    /// Positions in the store when the worker started; 0 if there was a trainer's notice.
    positions: u64,
    /// The weights file last found to be damaged.
    damaged: Option<String>,
}

impl Follow {
    /// Starts following a run.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn new(run: &Opened) -> anyhow::Result<Follow> {
        // Without a trainer's notice, only the games in the store show how far self-play may go.
        let positions = match Notice::<TrainerSays>::read(&run.store, TRAINER)? {
            Some(_) => 0,
            None => run.progress()?.positions,
        };
        Ok(Follow {
            orders: None,
            heard: None,
            positions,
            damaged: None,
        })
    }

    /// The orders to start with. Falls back to the champion if the trainer's weights remain unusable or
    /// [`Opened::stop`] is set.
    ///
    /// # Errors
    /// If the store fails or the network cannot be used.
    pub(crate) fn first_orders(&mut self, run: &Opened) -> anyhow::Result<Orders> {
        let look_every = Duration::from_secs_f64(run.config.loop_config.look_seconds);
        for _ in 0..LOOKS_FOR_WEIGHTS {
            if let Some(orders) = self.orders(run, "")? {
                return Ok(orders);
            }
            pause(look_every, || run.stop.load(Ordering::SeqCst));
        }
        run.watch
            .say("the trainer's weights are missing or damaged: playing with the champion until there are newer ones");
        let champions = self.without_trainer(run)?;
        self.orders = Some(champions.clone());
        Ok(self.orders(run, "")?.unwrap_or(champions))
    }

    /// The current orders for the worker with this name. `None` if it has no network yet and the trainer's weights are
    /// damaged or already deleted; a later call will find newer ones.
    ///
    /// # Errors
    /// If the store fails or the network cannot be used.
    pub(crate) fn orders(&mut self, run: &Opened, worker: &str) -> anyhow::Result<Option<Orders>> {
        let orders = match Notice::<TrainerSays>::read(&run.store, TRAINER)? {
            Some(notice) => self.read_from(run, &notice, worker)?,
            None => Some(self.without_trainer(run)?),
        };
        if let Some(orders) = &orders {
            self.orders = Some(orders.clone());
        }
        Ok(orders)
    }

    fn read_from(
        &mut self,
        run: &Opened,
        notice: &Notice<TrainerSays>,
        worker: &str,
    ) -> anyhow::Result<Option<Orders>> {
        let says = &notice.says;
        let model = match (self.model(run, says)?, &self.orders) {
            (Some(model), _) => model,
            (None, Some(before)) => now(run, &before.model, says)?,
            (None, None) => return Ok(None),
        };
        let listed = says.workers.get(worker);
        Ok(Some(Orders {
            model,
            // The trainer gives room only to workers that it knows about.
            room: listed.map_or(0, |_| says.room),
            workers: says.workers.len().max(1),
            seen: listed.and_then(|taken| taken.sequence),
            finished: says.finished,
            trainer: match self.trainer(run, notice) {
                Trainer::Works if listed.is_none() => Trainer::Unaware,
                trainer => trainer,
            },
        }))
    }

    fn trainer(&mut self, run: &Opened, notice: &Notice<TrainerSays>) -> Trainer {
        let (name, host) = (&notice.author.name, &notice.author.host);
        if notice.ended {
            return Trainer::Ended(host.clone());
        }
        match &self.heard {
            Some((known, beat, since)) if (known, *beat) == (name, notice.beat) => {
                let silent = since.elapsed();
                match silent >= silence(run.config.loop_config.look_seconds) {
                    true => Trainer::Silent(silent, host.clone()),
                    false => Trainer::Works,
                }
            }
            known => {
                let own = env!("CARGO_PKG_VERSION");
                if known.is_none() && notice.author.version != own {
                    run.watch.say(&format!(
                        "the trainer is Tengen {}, this worker is {own}: if games are refused, use the same version",
                        notice.author.version
                    ));
                }
                self.heard = Some((name.clone(), notice.beat, Instant::now()));
                Trainer::Works
            }
        }
    }

    /// The network that the trainer names, with the trainer's other settings for self-play.
    fn model(&mut self, run: &Opened, says: &TrainerSays) -> anyhow::Result<Option<ModelUpdate>> {
        let name = match (&says.weights, &says.champion) {
            (Some(place), _) if !run.config.loop_config.champions_only => {
                format!("g{:06}-step{}", says.generation, place.step)
            }
            (_, Some((_, champion))) => champion.clone(),
            (_, None) => run.champion()?.to_string(),
        };
        // Another generation of the same weights is the same network.
        if let Some(before) = self.orders.as_ref().map(|orders| &orders.model)
            && step_of(&before.model_id) == step_of(&name)
        {
            return now(run, before, says).map(Some);
        }
        let weights = match name.parse::<ModelId>() {
            Ok(id) => Some(run.weights(&id)?),
            Err(_) => self.followed_weights(run, says)?,
        };
        let Some(weights) = weights else { return Ok(None) };
        selfplay::update(run, &weights, says.generation, name, progress(says), komi(says)?).map(Some)
    }

    /// The weights that the trainer has published for self-play. `None` if they are damaged, or deleted because newer
    /// ones have replaced them.
    fn followed_weights(&mut self, run: &Opened, says: &TrainerSays) -> anyhow::Result<Option<Weights>> {
        let place = says.weights.as_ref().context("the trainer names no weights")?;
        let Some(bytes) = run.store.files().get(&place.path)? else {
            return Ok(None);
        };
        let found = sha256_hex(&bytes);
        if found != place.sha256 {
            if self.damaged.replace(place.path.clone()).as_ref() != Some(&place.path) {
                tracing::warn!(
                    "{}: expected SHA-256 {}, found {found}: waiting for the next weights",
                    place.path,
                    place.sha256
                );
            }
            return Ok(None);
        }
        Ok(Some(Weights::from_safetensors(&bytes)?))
    }

    /// The orders before any trainer has written a notice: play with the champion until there are enough games for
    /// training to start.
    fn without_trainer(&mut self, run: &Opened) -> anyhow::Result<Orders> {
        let settings = &run.config.loop_config;
        let workers = run.store.files().modified(WORKERS)?.len().max(1);
        let model = match self.orders.take() {
            Some(orders) => orders.model,
            None => {
                let progress = Progress {
                    positions: self.positions,
                    rejected: 0,
                    spent: 0.0,
                };
                selfplay::champion_update(run, progress)?
            }
        };
        Ok(Orders {
            model,
            room: (settings.start_positions + settings.lead_positions).saturating_sub(self.positions),
            workers,
            seen: None,
            finished: false,
            trainer: Trainer::Missing,
        })
    }
}

/// The network already in use, with the trainer's current settings for self-play.
fn now(run: &Opened, before: &ModelUpdate, says: &TrainerSays) -> anyhow::Result<ModelUpdate> {
    Ok(ModelUpdate {
        generation: says.generation,
        ..selfplay::kept(run, before, progress(says), komi(says)?)
    })
}

fn progress(says: &TrainerSays) -> Progress {
    Progress {
        positions: says.positions,
        rejected: says.rejected,
        spent: says.spent,
    }
}

fn komi(says: &TrainerSays) -> anyhow::Result<FairKomi> {
    FairKomi::try_from(says.fair_komi.clone()).map_err(anyhow::Error::msg)
}

/// The part of a network's name that does not depend on the generation.
fn step_of(name: &str) -> &str {
    name.split_once("-step").map_or(name, |(_, step)| step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{author, testing};
    use tengen_report::notices::WeightsPlace;

    #[test]
    fn without_usable_weights_a_worker_plays_with_the_champion() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = testing::run(folder.path());
        let place = WeightsPlace {
            path: "fleet/weights/000000007.safetensors".to_owned(),
            sha256: "0".repeat(64),
            step: 7,
        };
        let says = TrainerSays {
            weights: Some(place.clone()),
            generation: 3,
            ..TrainerSays::default()
        };
        let (author, _) = author::own().expect("a name");
        let notice = Notice::new(&author, 1, true, says);
        notice.write(&run.store, TRAINER).expect("the store works");
        let champion = run.champion().expect("a champion").to_string();
        let check = || {
            let mut follow = Follow::new(&run).expect("the store works");
            let first = follow.first_orders(&run).expect("orders");
            assert_eq!((first.model.model_id, first.model.generation), (champion.clone(), 3));
            assert_eq!(first.trainer, Trainer::Ended(author.host.clone()));
            let next = follow.orders(&run, "worker").expect("the store works");
            assert_eq!(next.expect("orders").model.model_id, champion);
        };
        check();
        let damaged = run.store.files().put_new(&place.path, "damaged");
        damaged.expect("the store works");
        check();
    }
}
