//! The mind behind the GTP session: a search with a network or without, or the random player.

use super::sgf;
use std::time::{Duration, Instant};
use tengen_evaluator::{Answer, Player, RandomPlayer};
use tengen_gtp::{AnalyzeRequest, AnalyzedMove, Engine, EngineError, Genmove, LoadedGame, PositionAnalysis, Turn};
use tengen_rules::{Color, Komi, Move, Outcome, Position};
use tengen_search::rng::{self, Rng};
use tengen_search::{EvaluationCache, Lockstep, Predictor, Search, SearchConfig, SearchResult};

/// Memory for evaluations that come up again, bytes.
const CACHE_BYTES: usize = 64 << 20;

/// Moves that a live analysis looks at in depth.
const ANALYZED_MOVES: usize = 8;

/// Visits that a live analysis gives each move at first; they double from report to report.
const FIRST_VISITS: u32 = 16;

/// Where the doubling ends, so that the memory stays bounded.
const MOST_VISITS: u32 = 1 << 14;

/// What chooses the moves.
pub(super) enum Mind {
    /// The random player of matches.
    Random,
    /// Search over a predictor.
    Network(Box<dyn Predictor>),
}

impl Mind {
    /// Its name for people.
    fn name(&self) -> String {
        match self {
            Mind::Random => "random".to_owned(),
            Mind::Network(predictor) => predictor.name(),
        }
    }
}

/// Chooses moves for a [`tengen_gtp::Session`].
pub(super) struct Thinker {
    mind: Mind,
    visits: u32,
    rng: Rng,
    cache: EvaluationCache,
    lockstep: Lockstep,
    analysis: Option<Progress>,
}

/// How far the live analysis of one position has come.
struct Progress {
    /// Which position: its colouring, side to move, turns, komi.
    of: (u128, Color, usize, Komi),
    /// Visits each move gets next.
    visits: u32,
}

impl Thinker {
    /// A player that makes this many visits per move.
    pub(super) fn new(mind: Mind, visits: u32, seed: u64) -> Thinker {
        Thinker {
            mind,
            visits,
            rng: rng::stream(seed, &[]),
            cache: EvaluationCache::new(CACHE_BYTES),
            lockstep: Lockstep::new(),
            analysis: None,
        }
    }

    /// Searches one position.
    fn search(&mut self, position: &Position, komi: Komi, visits: u32, ownership: bool) -> Searched {
        let Mind::Network(predictor) = &mut self.mind else {
            return Err(no_network());
        };
        let config = SearchConfig {
            ownership,
            ..SearchConfig::for_play(visits)
        };
        let mut search = Search::new(config, position, komi, rng::stream(0, &[]));
        self.lockstep
            .run(&mut [&mut search], predictor.as_mut(), &mut self.cache)
            .map_err(|error| EngineError::Failed(error.to_string()))?;
        Ok(search.result())
    }

    /// The move of the random player of matches, who spares his own eyes.
    fn random_move(&mut self, turn: &Turn<'_>) -> Result<Genmove, EngineError> {
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
            Some(Answer::Play(choice)) => Ok(Genmove::plain(choice.mv)),
            _ => Ok(Genmove::plain(Move::Pass)),
        }
    }

    /// What follows each of these moves, all searched side by side with `visits` each.
    fn look_ahead(&mut self, turn: &Turn<'_>, moves: &[(Move, f32)], visits: u32) -> Analyzed {
        let Mind::Network(predictor) = &mut self.mind else {
            return Err(no_network());
        };
        let after = |mv: Move| {
            let mut position = turn.position.clone();
            position.play_unchecked(mv);
            position
        };
        let positions: Vec<Position> = moves.iter().map(|&(mv, _)| after(mv)).collect();
        let open: Vec<usize> = (0..positions.len())
            .filter(|&index| !positions[index].is_over())
            .collect();
        let start = |&index: &usize| {
            Search::new(
                SearchConfig::for_play(visits),
                &positions[index],
                turn.komi,
                rng::stream(0, &[]),
            )
        };
        let mut searches: Vec<Search> = open.iter().map(start).collect();
        self.lockstep
            .run(&mut searches, predictor.as_mut(), &mut self.cache)
            .map_err(|error| EngineError::Failed(error.to_string()))?;
        let mut results = open.iter().zip(&searches);
        let mut analyzed = Vec::new();
        for (index, &(mv, prior)) in moves.iter().enumerate() {
            analyzed.push(match positions[index].is_over() {
                true => ended(mv, prior, &positions[index], turn),
                false => {
                    let (_, search) = results.next().expect("every open position was searched");
                    continued(mv, prior, &search.result())
                }
            });
        }
        Ok(analyzed)
    }

    /// The visits per move of the next report on this turn.
    fn next_visits(&mut self, turn: &Turn<'_>) -> u32 {
        let position = turn.position;
        let of = (position.hash(), position.to_move(), position.ply(), turn.komi);
        match &mut self.analysis {
            Some(progress) if progress.of == of => progress.visits = (progress.visits * 2).min(MOST_VISITS),
            other => {
                *other = Some(Progress {
                    of,
                    visits: FIRST_VISITS,
                })
            }
        }
        self.analysis.as_ref().map_or(FIRST_VISITS, |progress| progress.visits)
    }
}

type Searched = Result<SearchResult, EngineError>;
type Analyzed = Result<Vec<AnalyzedMove>, EngineError>;

impl Engine for Thinker {
    fn name(&self) -> String {
        "Tengen".to_owned()
    }

    fn version(&self) -> String {
        format!(
            "{} ({}, {} visits)",
            env!("CARGO_PKG_VERSION"),
            self.mind.name(),
            self.visits
        )
    }

    fn genmove(&mut self, turn: &Turn<'_>) -> Result<Genmove, EngineError> {
        if let Mind::Random = self.mind {
            return self.random_move(turn);
        }
        let result = self.search(turn.position, turn.komi, self.visits, false)?;
        let best = AnalyzedMove {
            mv: result.best,
            visits: result.total_visits,
            winrate: winrate(result.value),
            score_lead: result.margin,
            prior: policy_of(&result, result.best, turn.position),
            pv: result.pv.clone(),
        };
        let analysis = PositionAnalysis {
            visits: result.total_visits,
            winrate: best.winrate,
            score_lead: best.score_lead,
            moves: vec![best],
            ownership: None,
        };
        Ok(Genmove {
            mv: Some(result.best),
            analysis: Some(analysis),
        })
    }

    fn can_analyze(&self) -> bool {
        matches!(self.mind, Mind::Network(_))
    }

    fn analyze(&mut self, turn: &Turn<'_>, request: &AnalyzeRequest) -> Result<PositionAnalysis, EngineError> {
        let start = Instant::now();
        let visits = self.next_visits(turn);
        let root = self.search(turn.position, turn.komi, visits, request.ownership)?;
        let size = turn.position.size();
        let mut moves: Vec<(Move, f32)> = root
            .policy
            .iter()
            .filter_map(|&(index, share)| Some((Move::from_index(size, usize::from(index))?, share)))
            .collect();
        moves.sort_by(|a, b| (b.0 == root.best).cmp(&(a.0 == root.best)).then(b.1.total_cmp(&a.1)));
        moves.truncate(ANALYZED_MOVES.max(request.min_moves).min(request.max_moves.max(1)));
        let analyzed = self.look_ahead(turn, &moves, visits)?;
        // Reports come no faster than asked for; what takes longer comes when it is done.
        let interval = Duration::from_millis(10 * u64::from(request.interval_cs.min(500)));
        std::thread::sleep(interval.saturating_sub(start.elapsed()));
        Ok(PositionAnalysis {
            visits: root.total_visits + analyzed.iter().map(|mv| mv.visits).sum::<u32>(),
            winrate: winrate(root.value),
            score_lead: root.margin,
            moves: analyzed,
            ownership: root.ownership,
        })
    }

    fn load_game(&mut self, path: &str, move_number: Option<usize>) -> Result<LoadedGame, EngineError> {
        sgf::load(path, move_number).map_err(|error| EngineError::Failed(format!("{error:#}")))
    }
}

fn no_network() -> EngineError {
    EngineError::Unsupported("a search".to_owned())
}

/// A chance to win, 0 to 1, from P(win) - P(loss); a tie counts half.
fn winrate(value: f32) -> f32 {
    (1.0 + value) / 2.0
}

/// The share of a move in the improved policy.
fn policy_of(result: &SearchResult, mv: Move, position: &Position) -> f32 {
    let index = mv.index(position.size());
    result
        .policy
        .iter()
        .find(|&&(other, _)| usize::from(other) == index)
        .map_or(0.0, |&(_, share)| share)
}

/// A move after which the game goes on, from the search of what follows; seen by the one who makes the move.
fn continued(mv: Move, prior: f32, reply: &SearchResult) -> AnalyzedMove {
    let pv = [mv].into_iter().chain(reply.pv.iter().copied()).collect();
    let (winrate, score_lead) = (winrate(-reply.value), -reply.margin);
    AnalyzedMove {
        mv,
        visits: reply.total_visits + 1,
        winrate,
        score_lead,
        prior,
        pv,
    }
}

/// A pass that ends the game: its result is exact.
fn ended(mv: Move, prior: f32, position: &Position, turn: &Turn<'_>) -> AnalyzedMove {
    let margin = position.margin(turn.komi);
    let mover = turn.color();
    let winrate = match margin.outcome() {
        Outcome::Tie => 0.5,
        Outcome::BlackWins => f32::from(u8::from(mover == Color::Black)),
        Outcome::WhiteWins => f32::from(u8::from(mover == Color::White)),
    };
    let score_lead = match mover {
        Color::Black => margin.points(),
        Color::White => -margin.points(),
    };
    AnalyzedMove {
        mv,
        visits: 1,
        winrate,
        score_lead,
        prior,
        pv: Vec::new(),
    }
}
