//! Searches old games again at the pace at which new ones arrive.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tengen_label::{NetworkTeacher, Teacher};
use tengen_records::{GameRecord, now_ms};
use tengen_rng::fold;
use tengen_search::SearchConfig;
use tengen_selfplay::{ModelUpdate, SelfPlayConfig};
use tengen_store::{ShardInfo, Store};

use crate::config::ReanalysisConfig;
use crate::reanalyst::{Choice, ReanalysisError, Reanalyst};

/// Positions of one round: enough to fill batches, few enough that the network does not age meanwhile.
const ROUND: u64 = 1024;

/// How often to check whether a round is due.
const LOOK: Duration = Duration::from_millis(100);

/// The reanalysis of a run in one process: one thread does the work, and the others keep it up to date.
pub struct Reanalyzing {
    terms: Terms,
    /// Positions to train on in the games that this process has played.
    played: AtomicU64,
    evaluations: AtomicU64,
    stop: AtomicBool,
    now: Mutex<Now>,
}

struct Now {
    /// The model that self-play uses.
    model: ModelUpdate,
    /// The trainer's window, and the shards reanalyzed since the trainer last asked.
    window: Vec<ShardInfo>,
    ready: Vec<ShardInfo>,
}

/// The terms of a run's reanalysis.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The run's store.
    pub store: Store,
    /// How much is reanalyzed.
    pub config: ReanalysisConfig,
    /// How self-play searches; reanalysis repeats its full searches.
    pub selfplay: SelfPlayConfig,
    /// Share of the games that is never trained on.
    pub held_out: f64,
    /// The run's seed.
    pub seed: u64,
    /// The number format that networks predict in.
    pub precision: String,
}

impl Reanalyzing {
    /// A reanalysis with nothing done yet, and with the model and the window at the start.
    pub fn new(terms: Terms, model: &ModelUpdate, window: &[ShardInfo]) -> Reanalyzing {
        Reanalyzing {
            terms,
            played: AtomicU64::new(0),
            evaluations: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            now: Mutex::new(Now {
                model: model.clone(),
                window: window.to_vec(),
                ready: Vec::new(),
            }),
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a game of self-play.
    pub fn see(&self, game: &GameRecord) {
        self.played.fetch_add(rows(game), Ordering::Relaxed);
    }

    /// Switches to the model that self-play uses now.
    pub fn set_model(&self, model: &ModelUpdate) {
        self.now().model = model.clone();
    }

    /// Sets the window to draw from; returns the shards reanalyzed since the last call.
    pub fn exchange(&self, window: &[ShardInfo]) -> Vec<ShardInfo> {
        let mut now = self.now();
        let same = |now: &Now| now.window.len() == window.len() && now.window.last() == window.last();
        if !same(&now) {
            now.window = window.to_vec();
        }
        std::mem::take(&mut now.ready)
    }

    /// Evaluations of the network so far.
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// Ends [`Reanalyzing::work`] soon, even within a round.
    pub fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Reanalyzes until [`Reanalyzing::end`] is called: for every position played, as many as the share asks for.
    ///
    /// # Errors
    /// If a store or the network fails.
    pub fn work(&self) -> Result<(), ReanalysisError> {
        let Terms { config, selfplay, .. } = &self.terms;
        let choice = Choice {
            density: selfplay.full_share,
            decided_value: selfplay.decided_value,
            held_out: self.terms.held_out,
            seed: fold(self.terms.seed, &[now_ms()]),
        };
        let mut reanalyst = Reanalyst::open(&self.terms.store, choice)?;
        let mut done = 0.0;
        while !self.stop.load(Ordering::Relaxed) {
            let due = self.played.load(Ordering::Relaxed) as f64 * config.per_row() - done;
            if due < ROUND as f64 {
                std::thread::sleep(LOOK);
                continue;
            }
            let (model, window) = {
                let now = self.now();
                (now.model.clone(), now.window.clone())
            };
            let round = reanalyst.round(&window, ROUND, &self.teacher(model), &self.stop)?;
            // A round with nothing to reanalyze counts as done, so that it is not made up for later all at once.
            done += round.as_ref().map_or(ROUND as f64, |round| round.rows as f64);
            if let Some(round) = round {
                self.evaluations.fetch_add(round.evaluations, Ordering::Relaxed);
                self.now().ready.extend(round.shard);
            }
        }
        Ok(())
    }

    /// A teacher that searches as self-play does, with the noise of its full searches.
    fn teacher(&self, model: ModelUpdate) -> Teacher {
        let Terms {
            selfplay, precision, ..
        } = &self.terms;
        let predictor = model.predictor;
        Teacher::Network(NetworkTeacher {
            name: model.model_id,
            weights_sha256: None,
            precision: precision.clone(),
            search: SearchConfig {
                visits: model.visits,
                ..selfplay.search.clone()
            },
            noise: selfplay.noise_at(model.positions, model.spent),
            threads: 1,
            predictors: Box::new(move |thread| predictor(thread)),
        })
    }
}

/// Positions of a game that are trained on.
fn rows(game: &GameRecord) -> u64 {
    match game.is_finished() {
        true => game.plies.iter().filter(|ply| ply.weight > 0.0).count() as u64,
        false => 0,
    }
}
