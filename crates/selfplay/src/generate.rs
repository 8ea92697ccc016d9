//! Plays a fixed number of games reproducibly.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_channel::Sender;

use tengen_records::GameRecord;
use tengen_search::{PredictError, Predictor};

use crate::config::{SelfPlayConfig, Settings};
use crate::counters::Counters;
use crate::error::GeneratorError;
use crate::game::{GameAddress, RunIdentity};
use crate::group::{FinishedGame, Group, GroupSetup};
use crate::model::ModelUpdate;
use crate::panic::catch_panic;
use crate::rotation::Rotation;

/// The settings for [`generate`].
#[derive(Clone, Debug)]
pub struct GenerateSetup {
    /// What all games have in common; with [`Clock::Fixed`](crate::Clock::Fixed) the output is byte-identical every
    /// time.
    pub run: RunIdentity,
    /// The session number in the games' addresses; see [`GeneratorSetup::session`](crate::GeneratorSetup::session).
    pub session: u64,
    /// The number of games to play.
    pub games: u64,
    /// The number of worker threads, which affects only the time taken.
    pub threads: usize,
    /// IDs of games that already exist, for example from a call that was killed. They are not passed on, and a group
    /// whose games all exist is not played.
    pub known: BTreeSet<String>,
}

/// Plays a fixed number of games and passes them to `sink` in order of their addresses, group by group.
///
/// The number of groups and of games per group depends only on the settings and the total number of games. Each group
/// starts exactly as many games as it has to deliver and plays all of them to the end. The games are therefore the same
/// for any number of threads, and long games are not excluded, as they would be if the first N games to end were taken.
/// The price is that a group's batches shrink as its last games end.
///
/// Setting `stop` ends it early. Only groups finished by then are passed to `sink`, each in full. Returns the number of
/// games passed to `sink`.
///
/// # Errors
/// [`GeneratorError::Config`] before the first game; [`GeneratorError::Predict`] or [`GeneratorError::Panicked`] for
/// the first worker, in order of their numbers, that failed. All finished groups are passed to `sink` first.
pub fn generate(
    config: &SelfPlayConfig,
    setup: &GenerateSetup,
    model: &ModelUpdate,
    counters: &Arc<Counters>,
    stop: &AtomicBool,
    mut sink: impl FnMut(Vec<GameRecord>),
) -> Result<u64, GeneratorError> {
    let settings = Arc::new(Settings::for_rules(config, setup.run.rules)?);
    let job = Job {
        settings,
        setup,
        model,
        counters,
        stop,
        next_group: AtomicU64::new(0),
    };
    let (sender, results) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..setup.threads.max(1))
            .map(|worker| {
                let (job, sender) = (&job, sender.clone());
                scope.spawn(move || job.work(worker, &sender))
            })
            .collect();
        drop(sender);
        let mut sink = |mut games: Vec<GameRecord>| {
            games.retain(|game| !setup.known.contains(&game.game_id));
            let count = games.len() as u64;
            if count > 0 {
                sink(games);
            }
            count
        };
        let mut early: BTreeMap<u64, Vec<GameRecord>> = BTreeMap::new();
        let (mut next, mut handed_over) = (0, 0);
        for (group, games) in results {
            early.insert(group, games);
            while let Some(games) = early.remove(&next) {
                handed_over += sink(games);
                next += 1;
            }
        }
        // These come after an abandoned group.
        for games in early.into_values() {
            handed_over += sink(games);
        }
        let ends = workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker catches its own panics"));
        ends.collect::<Vec<_>>().into_iter().collect::<Result<(), _>>()?;
        Ok(handed_over)
    })
}

/// The state shared by the workers of one call.
struct Job<'a> {
    settings: Arc<Settings>,
    setup: &'a GenerateSetup,
    model: &'a ModelUpdate,
    counters: &'a Arc<Counters>,
    stop: &'a AtomicBool,
    next_group: AtomicU64,
}

impl Job<'_> {
    /// The games of a full group: few enough to have groups for all threads, but enough for efficient batches.
    fn games_per_group(&self) -> u64 {
        let side_by_side = u64::from(self.settings.games_per_group());
        self.setup
            .games
            .div_ceil(8)
            .max(side_by_side / 4)
            .min(4 * side_by_side)
            .max(1)
    }

    /// Plays until no group is left. Once a worker has failed, no worker starts another group.
    fn work(&self, worker: usize, results: &Sender<(u64, Vec<GameRecord>)>) -> Result<(), GeneratorError> {
        let result = match catch_panic(|| self.play_groups(worker, results)) {
            Ok(played) => played.map_err(|error| GeneratorError::Predict { worker, error }),
            Err(message) => Err(GeneratorError::Panicked { worker, message }),
        };
        if result.is_err() {
            self.next_group.store(u64::MAX / 2, Ordering::Relaxed);
        }
        result
    }

    /// Plays one set of groups after another until none is left, as many groups at a time as the predictor's depth.
    fn play_groups(&self, worker: usize, results: &Sender<(u64, Vec<GameRecord>)>) -> Result<(), PredictError> {
        let mut predictor = (self.model.predictor)(worker)?;
        loop {
            let next = (0..predictor.depth()).map_while(|_| self.next_group(results));
            let groups: Vec<Group> = next.collect();
            if groups.is_empty() {
                return Ok(());
            }
            self.play(Rotation::new(groups), &mut predictor, results)?;
        }
    }

    /// The next group with games to play; skips groups whose games all exist.
    fn next_group(&self, results: &Sender<(u64, Vec<GameRecord>)>) -> Option<Group> {
        loop {
            let number = self.next_group.fetch_add(1, Ordering::Relaxed);
            let begun = number.saturating_mul(self.games_per_group());
            if begun >= self.setup.games || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let quota = self.games_per_group().min(self.setup.games - begun);
            if !self.is_known(number, quota) {
                return Some(self.group(number, quota));
            }
            drop(results.send((number, Vec::new())));
        }
    }

    /// Whether all games of a group exist already.
    fn is_known(&self, group: u64, quota: u64) -> bool {
        let session = self.setup.session;
        let mut ids = (0..quota).map(|index| {
            let address = GameAddress { session, group, index };
            address.game_id(self.setup.run.seed)
        });
        ids.all(|id| self.setup.known.contains(&id))
    }

    fn group(&self, number: u64, quota: u64) -> Group {
        let setup = GroupSetup {
            run: self.setup.run.clone(),
            session: self.setup.session,
            number,
            quota: Some(quota),
        };
        Group::with_settings(self.settings.clone(), setup, self.model.clone(), self.counters.clone())
    }

    /// Plays all games of these groups, unless stopped, and passes on those of each finished group in index order.
    fn play(
        &self,
        mut rotation: Rotation,
        predictor: &mut dyn Predictor,
        results: &Sender<(u64, Vec<GameRecord>)>,
    ) -> Result<(), PredictError> {
        let numbers = rotation.groups().iter().map(Group::number);
        let mut finished: BTreeMap<u64, Vec<FinishedGame>> = numbers.map(|number| (number, Vec::new())).collect();
        while !rotation.is_done() && !self.stop.load(Ordering::Relaxed) {
            for game in rotation.turn(predictor)? {
                finished.entry(game.address.group).or_default().push(game);
            }
            for group in rotation.groups().iter().filter(|group| group.is_done()) {
                if let Some(mut games) = finished.remove(&group.number()) {
                    games.sort_unstable_by_key(|game| game.address);
                    let records = games.into_iter().map(|game| game.record).collect();
                    drop(results.send((group.number(), records)));
                }
            }
        }
        Ok(())
    }
}
