//! The engine behind the GTP session: a search with or without a network, or a player that needs no predictor.

mod play_options;
mod quit;
mod raw;
mod sgf;

use std::time::{Duration, Instant};

use tengen_evaluator::{Answer, Player};
use tengen_gtp::{
    AnalyzeRequest, Engine, EngineError, Game, Genmove, LoadedGame, Pondered, PositionAnalysis, RawNetwork, Turn,
    Watcher,
};
use tengen_matches::TrainedOn;
use tengen_rng::{self as rng, Rng};
use tengen_rules::{Color, Komi, Move, Position, Rules, Size};
use tengen_search::{
    GameSearch, PONDER_BYTES, PredictError, Predictor, Search, Stop, TREE_BYTES, finishing_move, playout_ownership,
};

use crate::analysis::{analysis_of, random_ownership, root_moves};

pub use play_options::{DEFAULT_TEMPERATURE_PLIES, PlayOptions, Resign, Temperature, temperature};
pub use quit::Quit;

/// Visits per move if neither visits nor a time limit is set.
const DEFAULT_VISITS: u32 = 100;

/// How long a live analysis searches before it checks for the next line.
const MOMENT: Duration = Duration::from_millis(10);

/// Visits spent on determining the status of stones.
const STATUS_VISITS: u32 = 32;

/// Random games played to determine the status of stones.
const STATUS_GAMES: u32 = 400;

/// What chooses the moves.
pub enum MoveSource {
    /// A player that chooses its moves without a predictor, as in matches.
    Player(Box<dyn Player>),
    /// A search over a predictor.
    Network(Box<dyn Predictor>),
}

/// What an engine begins with.
pub struct EngineSetup {
    /// What chooses the moves.
    pub source: MoveSource,
    /// Leaves of the tree that the network evaluates in one call, at least 1.
    pub leaves: usize,
    /// What the network was trained on; the engine warns about other boards, rules, and komi.
    pub training: TrainedOn,
    /// The name reported to the controller.
    pub name: String,
    /// How the engine plays until the session changes it.
    pub options: PlayOptions,
    /// Seed of everything random in the engine.
    pub seed: u64,
    /// Ends a search in progress.
    pub quit: Quit,
    /// Tells the user something that the protocol has no place for.
    pub say: fn(&str),
}

/// Chooses moves for a [`tengen_gtp::Session`].
pub struct TengenEngine {
    source: MoveSource,
    name: String,
    options: PlayOptions,
    quit: Quit,
    seed: u64,
    rng: Rng,
    say: fn(&str),
    game_search: GameSearch,
    training: TrainedOn,
    warnings: Vec<String>,
    /// For each color, the ply of its last hopeless turn and the number of hopeless turns in a row.
    hopeless: [(usize, u32); 2],
}

impl TengenEngine {
    /// An engine at the beginning of its first game.
    pub fn new(setup: EngineSetup) -> TengenEngine {
        TengenEngine {
            source: setup.source,
            training: setup.training,
            warnings: Vec::new(),
            hopeless: [(0, 0); 2],
            name: setup.name,
            game_search: GameSearch::new(setup.leaves),
            options: setup.options,
            quit: setup.quit,
            seed: setup.seed,
            rng: rng::stream(setup.seed, &[]),
            say: setup.say,
        }
    }

    /// The move of the player, if the engine is one.
    fn players_move(&mut self, turn: &Turn<'_>) -> Option<Result<Move, EngineError>> {
        let MoveSource::Player(player) = &mut self.source else {
            return None;
        };
        let turn = tengen_evaluator::Turn {
            slot: 0,
            game: 0,
            seed: rng::bits(&mut self.rng),
            position: turn.position,
            komi: turn.komi,
        };
        let answers = player.choose(&[turn]);
        Some(
            answers
                .map_err(|error| EngineError::Failed(error.to_string()))
                .map(|answers| match answers.first() {
                    Some(Answer::Play(choice)) => choice.mv,
                    _ => Move::Pass,
                }),
        )
    }

    /// When the search for this turn ends: at the configured visits and seconds, within the clock's budget.
    fn stop(&self, turn: &Turn<'_>, start: Instant) -> Stop {
        let budget = turn.clock.budget(turn.color(), own_moves_to_come(turn.position));
        let seconds = [budget, self.options.seconds].into_iter().flatten().reduce(f64::min);
        let usual = if seconds.is_some() { u32::MAX } else { DEFAULT_VISITS };
        Stop {
            visits: self.options.visits.unwrap_or(usual),
            at: seconds.map(|seconds| start + Duration::from_secs_f64(seconds.min(1e7))),
        }
    }

    /// The move that the search chooses, with its analysis.
    fn search_move(
        &mut self,
        turn: &Turn<'_>,
        start: Instant,
        watcher: Option<Watcher<'_>>,
    ) -> Result<(Move, PositionAnalysis), EngineError> {
        let stop = self.stop(turn, start);
        let MoveSource::Network(predictor) = &mut self.source else {
            return Err(no_search());
        };
        let mut reported = start;
        let mut watcher = watcher;
        let mut progress = |search: &Search| {
            let Some(watcher) = &mut watcher else { return };
            if reported.elapsed() >= interval(watcher.request) {
                reported = Instant::now();
                (watcher.report)(&analysis_of(search, search.candidates()));
            }
        };
        let quit = &self.quit;
        let search = self
            .game_search
            .search(predictor.as_mut(), (turn.position, turn.komi), stop, &mut |search| {
                progress(search);
                quit.interrupts(start)
            })
            .map_err(failed)?;
        let best = search.result().best;
        let ply = turn.position.ply();
        let drawn = self
            .options
            .temperature
            .draw(&search.result(), turn.position.size(), ply, &mut self.rng);
        Ok((
            if turn.will_be_played { drawn } else { best },
            analysis_of(search, search.candidates()),
        ))
    }

    /// Whether to resign, because this turn completes the required number of hopeless turns in a row. The win
    /// probability is that after the chosen move.
    fn should_resign(&mut self, turn: &Turn<'_>, analysis: &PositionAnalysis, mv: Move) -> bool {
        let Some(resign) = self.options.resign.filter(|_| turn.will_be_played && !turn.cleanup) else {
            return false;
        };
        let chosen = analysis.moves.iter().find(|candidate| candidate.mv == mv);
        let winrate = chosen.map_or(analysis.winrate, |candidate| candidate.winrate);
        let ply = turn.position.ply();
        let (last, turns) = &mut self.hopeless[turn.color().index()];
        // After an undo or a restart the streak begins again.
        let before = if *last < ply { *turns } else { 0 };
        (*last, *turns) = (ply, if winrate < resign.below { before + 1 } else { 0 });
        *turns >= resign.turns
    }
}

impl Engine for TengenEngine {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn version(&self) -> String {
        let source = match &self.source {
            MoveSource::Player(player) => player.name(),
            MoveSource::Network(predictor) => predictor.name(),
        };
        format!("{} ({source})", env!("CARGO_PKG_VERSION"))
    }

    fn new_game(&mut self, _size: Size) {
        self.game_search.new_game();
        self.hopeless = [(0, 0); 2];
    }

    fn set_conditions(&mut self, size: Size, rules: Rules, komi: Komi) {
        let warnings = self.training.warnings(size, rules, komi);
        for news in warnings.iter().filter(|warning| !self.warnings.contains(warning)) {
            (self.say)(&format!("warning: {news}"));
        }
        self.warnings = warnings;
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn ponders(&self) -> bool {
        self.options.ponder && self.can_analyze()
    }

    fn genmove(&mut self, turn: &Turn<'_>, watcher: Option<Watcher<'_>>) -> Result<Genmove, EngineError> {
        let start = Instant::now();
        let (mut mv, analysis) = match self.players_move(turn) {
            Some(mv) => (mv?, None),
            None => {
                let (mv, analysis) = self.search_move(turn, start, watcher)?;
                (mv, Some(analysis))
            }
        };
        if analysis
            .as_ref()
            .is_some_and(|analysis| self.should_resign(turn, analysis, mv))
        {
            return Ok(Genmove {
                mv: None,
                analysis,
                seconds: start.elapsed().as_secs_f64(),
            });
        }
        let nears_the_end = mv == Move::Pass || turn.position.last_move() == Some(Move::Pass);
        if (self.options.finish || turn.cleanup) && nears_the_end {
            mv = finishing_move(turn.position, mv, self.seed);
        }
        Ok(Genmove {
            mv: Some(mv),
            analysis,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn can_analyze(&self) -> bool {
        matches!(self.source, MoveSource::Network(_))
    }

    fn ponder(&mut self, turn: &Turn<'_>, request: &AnalyzeRequest) -> Result<Pondered, EngineError> {
        let MoveSource::Network(predictor) = &mut self.source else {
            return Err(no_search());
        };
        let allowed = root_moves(turn.position, &request.restrictions);
        let about = (turn.position, turn.komi);
        // With pondering on, the tree keeps growing during the opponent's turn.
        let most_bytes = if self.options.ponder { PONDER_BYTES } else { TREE_BYTES };
        let limits = (MOMENT, most_bytes);
        let more = self.game_search.ponder(predictor.as_mut(), about, allowed, limits);
        let more = more.map_err(failed)?;
        Ok(if more { Pondered::More } else { Pondered::Enough })
    }

    fn analysis(&mut self, turn: &Turn<'_>, request: &AnalyzeRequest) -> Result<PositionAnalysis, EngineError> {
        let color = turn.color();
        let Some(search) = self.game_search.at(turn.position, turn.komi) else {
            return Ok(PositionAnalysis::default());
        };
        let mut candidates = search.candidates();
        candidates.retain(|candidate| request.restrictions.allow(color, candidate.mv));
        let mut analysis = analysis_of(search, candidates);
        if request.ownership && analysis.ownership.is_none() {
            analysis.ownership = Some(random_ownership(turn.position, turn.color(), self.seed));
        }
        Ok(analysis)
    }

    /// The mean of the ownership from random games and, if the network predicts ownership, from the search.
    fn ownership(&mut self, turn: &Turn<'_>) -> Result<Option<Vec<f32>>, EngineError> {
        let sign = if turn.color() == Color::Black { 1.0 } else { -1.0 };
        let mut expected = playout_ownership(turn.position, STATUS_GAMES, self.seed);
        let MoveSource::Network(predictor) = &mut self.source else {
            return Ok(Some(expected));
        };
        let stop = Stop {
            visits: STATUS_VISITS,
            at: None,
        };
        let about = (turn.position, turn.komi);
        let search = self
            .game_search
            .search(predictor.as_mut(), about, stop, &mut |_| false)
            .map_err(failed)?;
        let searched = search.result().ownership.unwrap_or_default();
        for (value, searched) in expected.iter_mut().zip(searched) {
            *value = (*value + sign * searched) / 2.0;
        }
        Ok(Some(expected))
    }

    fn clear_cache(&mut self) {
        self.game_search.forget();
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        self.options.parameters()
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        self.options.set(name, value).map_err(EngineError::Failed)
    }

    fn raw_network(&mut self, turn: &Turn<'_>, symmetry: usize) -> Result<RawNetwork, EngineError> {
        let MoveSource::Network(predictor) = &mut self.source else {
            return Err(no_search());
        };
        raw::judge(predictor.as_mut(), turn, symmetry)
    }

    fn random_seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn set_random_seed(&mut self, seed: u64) {
        self.seed = seed;
        self.rng = rng::stream(seed, &[]);
    }

    fn load_game(&mut self, path: &str, move_number: Option<usize>) -> Result<LoadedGame, EngineError> {
        sgf::load(path, move_number, self.say).map_err(|error| EngineError::Failed(format!("{error:#}")))
    }

    fn save_game(&mut self, game: &Game, result: &str, path: Option<&str>) -> Result<String, EngineError> {
        sgf::save(game, result, path).map_err(|error| EngineError::Failed(format!("{error:#}")))
    }
}

fn failed(error: PredictError) -> EngineError {
    EngineError::Failed(error.to_string())
}

fn no_search() -> EngineError {
    EngineError::Unsupported("a search".to_owned())
}

/// Estimated number of moves this player still has to make: half of the points not yet played, but at least a minimum.
fn own_moves_to_come(position: &Position) -> usize {
    let area = position.size().area();
    (area.saturating_sub(position.ply()) / 2).max(area / 8) + 2
}

fn interval(request: &AnalyzeRequest) -> Duration {
    Duration::from_millis(10 * u64::from(request.interval_cs))
}
