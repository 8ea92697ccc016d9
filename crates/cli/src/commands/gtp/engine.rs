//! The mind behind the GTP session: a search with a network or without, or the random player.

use super::sgf;
use super::thinking::{Stop, Thinking};
use crate::analysis::{analysis_of, random_ownership, root_moves};
use std::time::{Duration, Instant};
use tengen_evaluator::{Answer, Player, RandomPlayer};
use tengen_gtp::{AnalyzeRequest, Engine, EngineError, Genmove, LoadedGame, Pondered, PositionAnalysis, Turn, Watcher};
use tengen_rules::{Color, Move, Position, Size};
use tengen_search::rng::{self, Rng};
use tengen_search::{Predictor, Search, finishing_move, playout_ownership};

/// Visits of a move where neither visits nor a time are given.
const USUAL_VISITS: u32 = 100;

/// How long a live analysis thinks before it looks for the next line.
const MOMENT: Duration = Duration::from_millis(10);

/// Visits behind the status of stones.
const STATUS_VISITS: u32 = 32;

/// Random games behind the status of stones.
const STATUS_GAMES: u32 = 400;

/// What chooses the moves.
pub(super) enum Mind {
    /// The random player of matches.
    Random,
    /// Search over a predictor.
    Network(Box<dyn Predictor>),
}

/// How the engine plays; all of it can be changed in a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Manner {
    /// Most visits per move.
    pub(super) visits: Option<u32>,
    /// Most seconds per move.
    pub(super) seconds: Option<f64>,
    /// Whether it captures everything dead before it passes.
    pub(super) finish: bool,
}

/// Chooses moves for a [`tengen_gtp::Session`].
pub(super) struct Thinker {
    mind: Mind,
    name: String,
    manner: Manner,
    seed: u64,
    rng: Rng,
    thinking: Thinking,
}

impl Thinker {
    /// A player that goes by this name and plays in this manner.
    pub(super) fn new(mind: Mind, name: String, manner: Manner, seed: u64) -> Thinker {
        Thinker {
            mind,
            name,
            manner,
            seed,
            rng: rng::stream(seed, &[]),
            thinking: Thinking::new(),
        }
    }

    /// The move of the random player of matches, who spares his own eyes.
    fn random_move(&mut self, turn: &Turn<'_>) -> Result<Move, EngineError> {
        let seed = rng::bits(&mut self.rng);
        let turn = tengen_evaluator::Turn {
            slot: 0,
            game: 0,
            seed,
            position: turn.position,
            komi: turn.komi,
        };
        let answers = RandomPlayer::default().choose(&[turn]);
        match answers.map_err(|error| EngineError::Failed(error.to_string()))?.first() {
            Some(Answer::Play(choice)) => Ok(choice.mv),
            _ => Ok(Move::Pass),
        }
    }

    /// Where the search of this turn ends: at the given visits and seconds, within the budget of the clock.
    fn stop(&self, turn: &Turn<'_>, start: Instant) -> Stop {
        let budget = turn.clock.budget(turn.color(), own_moves_to_come(turn.position));
        let seconds = [budget, self.manner.seconds].into_iter().flatten().reduce(f64::min);
        let usual = if seconds.is_some() { u32::MAX } else { USUAL_VISITS };
        Stop {
            visits: self.manner.visits.unwrap_or(usual),
            at: seconds.map(|seconds| start + Duration::from_secs_f64(seconds.min(1e7))),
        }
    }

    /// The move a search finds, with all it knows.
    fn search_move(
        &mut self,
        turn: &Turn<'_>,
        start: Instant,
        watcher: Option<Watcher<'_>>,
    ) -> Result<(Move, PositionAnalysis), EngineError> {
        let stop = self.stop(turn, start);
        let Mind::Network(predictor) = &mut self.mind else {
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
        let search = self
            .thinking
            .think(predictor.as_mut(), (turn.position, turn.komi), stop, &mut progress)?;
        Ok((search.result().best, analysis_of(search, search.candidates())))
    }
}

impl Engine for Thinker {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn version(&self) -> String {
        let mind = match &self.mind {
            Mind::Random => "random".to_owned(),
            Mind::Network(predictor) => predictor.name(),
        };
        format!("{} ({mind})", env!("CARGO_PKG_VERSION"))
    }

    fn new_game(&mut self, _size: Size) {
        self.thinking.new_game();
    }

    fn genmove(&mut self, turn: &Turn<'_>, watcher: Option<Watcher<'_>>) -> Result<Genmove, EngineError> {
        let start = Instant::now();
        let (mut mv, analysis) = match self.mind {
            Mind::Random => (self.random_move(turn)?, None),
            Mind::Network(_) => {
                let (mv, analysis) = self.search_move(turn, start, watcher)?;
                (mv, Some(analysis))
            }
        };
        let nears_the_end = mv == Move::Pass || turn.position.last_move() == Some(Move::Pass);
        if (self.manner.finish || turn.cleanup) && nears_the_end {
            mv = finishing_move(turn.position, mv, self.seed);
        }
        Ok(Genmove {
            mv: Some(mv),
            analysis,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn can_analyze(&self) -> bool {
        matches!(self.mind, Mind::Network(_))
    }

    fn ponder(&mut self, turn: &Turn<'_>, request: &AnalyzeRequest) -> Result<Pondered, EngineError> {
        let Mind::Network(predictor) = &mut self.mind else {
            return Err(no_search());
        };
        let allowed = root_moves(turn.position, &request.restrictions);
        let about = (turn.position, turn.komi);
        let more = self.thinking.ponder(predictor.as_mut(), about, allowed, MOMENT)?;
        Ok(if more { Pondered::More } else { Pondered::Enough })
    }

    fn analysis(&mut self, turn: &Turn<'_>, request: &AnalyzeRequest) -> Result<PositionAnalysis, EngineError> {
        let color = turn.color();
        let Some(search) = self.thinking.at(turn.position, turn.komi) else {
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

    /// The mean of what random games and, where there is a network that says so, the search expect.
    fn ownership(&mut self, turn: &Turn<'_>) -> Result<Option<Vec<f32>>, EngineError> {
        let sign = if turn.color() == Color::Black { 1.0 } else { -1.0 };
        let mut expected = playout_ownership(turn.position, STATUS_GAMES, self.seed);
        let Mind::Network(predictor) = &mut self.mind else {
            return Ok(Some(expected));
        };
        let stop = Stop {
            visits: STATUS_VISITS,
            at: None,
        };
        let about = (turn.position, turn.komi);
        let search = self.thinking.think(predictor.as_mut(), about, stop, &mut |_| {})?;
        let searched = search.result().ownership.unwrap_or_default();
        for (value, searched) in expected.iter_mut().zip(searched) {
            *value = (*value + sign * searched) / 2.0;
        }
        Ok(Some(expected))
    }

    fn forget(&mut self) {
        self.thinking.forget();
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        fn text<T: ToString>(value: &Option<T>) -> String {
            value.as_ref().map_or("none".to_owned(), T::to_string)
        }
        vec![
            ("maxVisits", text(&self.manner.visits)),
            ("maxTime", text(&self.manner.seconds)),
            ("finish", self.manner.finish.to_string()),
        ]
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        let wrong = |expected: &str| EngineError::Failed(format!("{name} takes {expected}, found {value}"));
        let none = value == "none";
        match name {
            "maxVisits" => {
                let visits = value.parse().ok();
                self.manner.visits = (none || visits.is_some())
                    .then_some(visits)
                    .ok_or_else(|| wrong("a whole number or none"))?;
            }
            "maxTime" => {
                let seconds = value.parse().ok().filter(|seconds| (0.0..=1e7).contains(seconds));
                self.manner.seconds = (none || seconds.is_some())
                    .then_some(seconds)
                    .ok_or_else(|| wrong("seconds or none"))?;
            }
            _ => {
                self.manner.finish = value.parse().map_err(|_| wrong("true or false"))?;
            }
        }
        Ok(())
    }

    fn random_seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn set_random_seed(&mut self, seed: u64) {
        self.seed = seed;
        self.rng = rng::stream(seed, &[]);
    }

    fn load_game(&mut self, path: &str, move_number: Option<usize>) -> Result<LoadedGame, EngineError> {
        sgf::load(path, move_number).map_err(|error| EngineError::Failed(format!("{error:#}")))
    }
}

fn no_search() -> EngineError {
    EngineError::Unsupported("a search".to_owned())
}

/// How many moves a player may still have to make: half of what is left when the board fills up, and never just the last.
fn own_moves_to_come(position: &Position) -> usize {
    let area = position.size().area();
    (area.saturating_sub(position.ply()) / 2).max(area / 8) + 2
}

fn interval(request: &AnalyzeRequest) -> Duration {
    Duration::from_millis(10 * u64::from(request.interval_cs))
}
