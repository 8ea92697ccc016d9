//! Many games in lockstep: in every round, each game needs one evaluation, and one network call provides them all.

use std::collections::VecDeque;
use std::sync::Arc;

use tengen_records::GameRecord;
use tengen_rng as rng;
use tengen_rules::{Komi, SettingError};
use tengen_search::{
    EvaluationCache, Job, PredictError, Predictor, Request, Round, Search, SearchConfig, Step, canvas_of,
};

use crate::config::{SelfPlayConfig, Settings};
use crate::counters::Counters;
use crate::forks::EarlierGames;
use crate::game::{Game, GameAddress, Progress, RunIdentity, Terms};
use crate::model::ModelUpdate;
use crate::snapshot::{GameSnapshot, GroupSnapshot, SnapshotError};

/// A finished or abandoned game and its place in the run.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedGame {
    /// The place of the game in the run.
    pub address: GameAddress,
    /// The record of the game.
    pub record: GameRecord,
}

/// The maximum number of searches that a slot may finish in one step. On tiny boards, the cache eventually has every
/// position, and a step would play games forever without a request.
const MAX_SEARCHES_PER_STEP: usize = 8;

/// A group of games played in lockstep by one thread at a time.
///
/// Its games and batches depend only on the run's seed, its own number, the settings and the models, not on the thread
/// that runs it or on other groups. Each game has its own random streams, so games do not depend on each other either,
/// unless the network's output depends on the batch.
///
/// A game that ends is replaced by the next one. No game is discarded because of its length, so counting games as they
/// end favors short ones only at the very start of a run.
pub struct Group {
    run: RunIdentity,
    settings: Arc<Settings>,
    session: u64,
    number: u64,
    model: ModelUpdate,
    slots: Vec<Slot>,
    /// Games from a snapshot that are waiting for a slot.
    queue: VecDeque<Game>,
    /// Earlier games that new ones may begin from; empty if none do.
    earlier: EarlierGames,
    next_index: u64,
    /// The total number of games to begin; `None` for no limit.
    quota: Option<u64>,
    cache: EvaluationCache,
    /// The requests of the current step with the numbers of their slots; kept for its memory.
    requests: Vec<(usize, Request)>,
    round: Round,
    finished: Vec<FinishedGame>,
    counters: Arc<Counters>,
}

/// A place for a game; the search is reused from game to game.
struct Slot {
    search: Search,
    game: Option<Game>,
}

impl AsMut<Search> for Slot {
    fn as_mut(&mut self) -> &mut Search {
        &mut self.search
    }
}

/// The identity and quota of a group.
#[derive(Clone, Debug)]
pub struct GroupSetup {
    /// What all games of the run have in common.
    pub run: RunIdentity,
    /// The session number in the addresses of new games.
    pub session: u64,
    /// The group's number in the addresses of new games.
    pub number: u64,
    /// The total number of games to begin; `None` for no limit.
    pub quota: Option<u64>,
}

impl Group {
    /// A group that has not begun a game yet.
    ///
    /// # Errors
    /// [`SettingError`] if a setting is invalid.
    pub fn new(
        config: &SelfPlayConfig,
        setup: GroupSetup,
        model: ModelUpdate,
        counters: Arc<Counters>,
    ) -> Result<Self, SettingError> {
        Ok(Self::with_settings(
            Arc::new(Settings::for_rules(config, setup.run.rules)?),
            setup,
            model,
            counters,
        ))
    }

    pub(crate) fn with_settings(
        settings: Arc<Settings>,
        setup: GroupSetup,
        model: ModelUpdate,
        counters: Arc<Counters>,
    ) -> Self {
        let cache = EvaluationCache::new((settings.config.cache_mib as usize) << 20);
        Self {
            run: setup.run,
            settings,
            session: setup.session,
            number: setup.number,
            model,
            slots: Vec::new(),
            queue: VecDeque::new(),
            earlier: EarlierGames::default(),
            next_index: 0,
            quota: setup.quota,
            cache,
            requests: Vec::new(),
            round: Round::new(),
            finished: Vec::new(),
            counters,
        }
    }

    /// Uses another network, visits or fair komi from now on; games in flight continue.
    pub fn set_model(&mut self, model: ModelUpdate) {
        if model.model_id != self.model.model_id {
            self.cache.clear();
        }
        self.model = model;
    }

    /// Whether all games of the quota are finished.
    pub fn is_done(&self) -> bool {
        self.queue.is_empty() && self.quota_is_spent() && self.slots.iter().all(|slot| slot.game.is_none())
    }

    fn quota_is_spent(&self) -> bool {
        self.quota.is_some_and(|quota| self.next_index >= quota)
    }

    /// The number of games in flight.
    pub fn games_in_flight(&self) -> usize {
        self.queue.len() + self.slots.iter().filter(|slot| slot.game.is_some()).count()
    }

    /// Advances every game to its next position that needs the network, and returns these positions as a job with this
    /// ticket; `None` if no game needs it. [`absorb`](Self::absorb) must follow before the next call, unless the job
    /// failed: its positions are then collected again.
    pub fn descend<P: Predictor + ?Sized>(&mut self, ticket: usize, predictor: &P) -> Option<Job> {
        let hits_before = self.cache.hits();
        self.fill_slots();
        self.requests.clear();
        for number in 0..self.slots.len() {
            if let Some(request) = self.advance(number) {
                self.requests.push((number, request));
            }
        }
        Counters::add(&self.counters.cache_hits, self.cache.hits() - hits_before);
        let searches = self.requests.iter().map(|&(number, _)| &self.slots[number].search);
        let canvas = canvas_of(searches.map(|search| search.position().size()));
        self.round.begin(canvas.unwrap_or(self.settings.sizes[0]), predictor);
        for (number, request) in self.requests.drain(..) {
            self.round.ask(number, &self.slots[number].search, request);
        }
        self.round.take(ticket)
    }

    /// Passes the predictions of the job from [`descend`](Self::descend) to the games.
    ///
    /// # Errors
    /// If the predictions are broken. The group remains valid.
    pub fn absorb(&mut self, job: Job) -> Result<(), PredictError> {
        let round = self.round.absorb(job, &mut self.slots, &mut self.cache)?;
        Counters::add(&self.counters.batches, round.batches);
        Counters::add(&self.counters.evaluations, round.evaluations);
        Counters::add(&self.counters.cache_hits, round.cache_hits);
        Ok(())
    }

    /// Descends, calls the predictor, absorbs its predictions, and returns the games that ended in the process.
    ///
    /// # Errors
    /// An error of the predictor. The group remains valid and can take a step with another predictor.
    pub fn step<P: Predictor + ?Sized>(&mut self, predictor: &mut P) -> Result<Vec<FinishedGame>, PredictError> {
        if let Some(mut job) = self.descend(0, predictor) {
            predictor.predict(&job.inputs, &mut job.predictions)?;
            self.absorb(job)?;
        }
        Ok(self.take_finished())
    }

    /// The games that ended since the last call.
    pub fn take_finished(&mut self) -> Vec<FinishedGame> {
        std::mem::take(&mut self.finished)
    }

    /// The group's number in the addresses of new games.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The counters that this group adds to.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Creates the slots of a new group.
    fn fill_slots(&mut self) {
        let count = self.settings.games_per_group() as usize;
        while self.slots.len() < count {
            let Some(game) = self.next_game() else { return };
            let config = SearchConfig {
                visits: 0,
                ..self.settings.config.search.clone()
            };
            let mut search = Search::new(config, &game.position, Komi::from_half_points(0), rng::stream(0, &[]));
            game.start_search(&mut search, &self.settings, &self.run, terms(&self.model));
            self.slots.push(Slot {
                search,
                game: Some(game),
            });
        }
    }

    /// The next game for a free slot: one from a snapshot, or a new one.
    fn next_game(&mut self) -> Option<Game> {
        if let Some(game) = self.queue.pop_front() {
            return Some(game);
        }
        if self.quota_is_spent() {
            return None;
        }
        let address = GameAddress {
            session: self.session,
            group: self.number,
            index: self.next_index,
        };
        self.next_index += 1;
        let start = (terms(&self.model), &self.earlier);
        Some(Game::begin(address, &self.settings, &self.run, start))
    }

    /// Runs one slot until it has a request; `None` if it has no game or the cache answers all of this step's searches.
    fn advance(&mut self, number: usize) -> Option<Request> {
        for _ in 0..MAX_SEARCHES_PER_STEP {
            let slot = &mut self.slots[number];
            slot.game.as_ref()?;
            if let Step::Evaluate(request) = slot.search.step(&mut self.cache) {
                return Some(request);
            }
            self.use_result(number);
        }
        None
    }

    /// Plays the move of a finished search and starts the next search, in the same game or the next one.
    fn use_result(&mut self, number: usize) {
        let slot = &mut self.slots[number];
        let Some(game) = &mut slot.game else { return };
        let plies_before = game.plies.len();
        let progress = game.advance(&slot.search, &self.settings, &self.run, self.model.visits);
        Counters::add(&self.counters.visits, u64::from(slot.search.visits_done()));
        match progress {
            Progress::GoesOn => {
                Counters::add(&self.counters.plies, (game.plies.len() - plies_before) as u64);
            }
            Progress::Ended(record) => {
                let address = game.address;
                self.count_end(&record);
                let opening = &self.settings.config.opening;
                if opening.repeats_games() && record.is_finished() {
                    self.earlier.add(&record, opening.surprise_share > 0.0);
                }
                self.finished.push(FinishedGame {
                    address,
                    record: *record,
                });
                self.slots[number].game = self.next_game();
            }
        }
        let slot = &mut self.slots[number];
        if let Some(game) = &slot.game {
            game.start_search(&mut slot.search, &self.settings, &self.run, terms(&self.model));
        }
    }

    fn count_end(&self, record: &GameRecord) {
        Counters::add(&self.counters.plies, 1);
        if record.is_finished() {
            let searched = record.plies.len() - usize::from(record.opening_plies);
            Counters::add(&self.counters.games, 1);
            Counters::add(&self.counters.positions, searched as u64);
        } else {
            Counters::add(&self.counters.unfinished, 1);
        }
    }

    /// A snapshot of the games in flight, to resume them later. Searches in progress are not included and are repeated.
    pub fn snapshot(&self) -> GroupSnapshot {
        let games = self
            .slots
            .iter()
            .filter_map(|slot| slot.game.as_ref())
            .chain(&self.queue);
        GroupSnapshot {
            session: self.session,
            number: self.number,
            next_index: self.next_index,
            games: games.map(GameSnapshot::of).collect(),
            earlier: self.earlier.clone(),
        }
    }

    /// Restores a snapshot: its games and its place in the run.
    ///
    /// # Errors
    /// [`SnapshotError`] if a game in it cannot be replayed; the group is then unchanged.
    pub fn restore(&mut self, snapshot: &GroupSnapshot) -> Result<(), SnapshotError> {
        self.adopt(&snapshot.games)?;
        self.session = snapshot.session;
        self.number = snapshot.number;
        self.next_index = snapshot.next_index;
        self.remember(snapshot);
        Ok(())
    }

    /// Begins new games from the earlier games that this group remembered.
    pub(crate) fn remember(&mut self, snapshot: &GroupSnapshot) {
        self.earlier.clone_from(&snapshot.earlier);
    }

    /// Adds games in flight, which are resumed before new games begin.
    ///
    /// # Errors
    /// [`SnapshotError`] if a game cannot be replayed; the group is then unchanged.
    pub fn adopt(&mut self, games: &[GameSnapshot]) -> Result<(), SnapshotError> {
        let restored = games.iter().map(|game| game.restore(self.run.rules));
        let games = restored.collect::<Result<Vec<_>, _>>()?;
        self.queue.extend(games);
        Ok(())
    }
}

fn terms(model: &ModelUpdate) -> Terms<'_> {
    Terms {
        model_id: &model.model_id,
        visits: model.visits,
        positions: model.positions,
        spent: model.spent,
        fair_komi: &model.fair_komi,
    }
}
