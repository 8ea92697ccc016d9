//! How is a match played?

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tengen_rng as rng;

use crate::game::{FinishedGame, GameScore, LiveGame};
use crate::player::{Answer, EngineReport, Player, PlayerCost, PlayerError, Turn};
use crate::result::MatchResult;
use crate::sequence::ConfidenceSequence;
use crate::settings::{AColor, MatchConfig};
use crate::sprt::{Sprt, SprtState};

/// What the records of a match carry besides its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchContext {
    /// Name of the match; the games are called by it and their number.
    pub match_id: String,
    /// Name of the configuration, stored with every game.
    pub config_id: String,
    /// Time stored with every game, in milliseconds since 1970-01-01 UTC. A parameter, so that the same match gives the same bytes.
    pub start_time_ms: i64,
}

/// What happens while a match is played.
#[derive(Debug)]
pub enum MatchEvent<'a> {
    /// Every game in progress has gone on by a turn or two.
    Round {
        /// Games in progress.
        playing: usize,
        /// Turns taken in this match so far.
        plies: u64,
        /// What A and B have spent since they were made.
        costs: [PlayerCost; 2],
        /// What is known of the engines behind A and B.
        engines: &'a [Option<EngineReport>; 2],
    },
    /// A game has ended.
    GameFinished {
        /// The game.
        game: &'a FinishedGame,
    },
    /// The sequential test has looked at all pairs so far.
    Looked {
        /// Its numbers.
        sprt: &'a Sprt,
        /// Pairs seen.
        pairs: u64,
    },
}

/// Why there is no match.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// The settings cannot be.
    #[error("match settings: {0}")]
    Settings(String),
    /// A player cannot go on.
    #[error(transparent)]
    Player(#[from] PlayerError),
}

/// Receives events; [`ControlFlow::Break`] ends the match after the present round.
pub type Observer<'a> = dyn FnMut(&MatchEvent<'_>) -> ControlFlow<()> + 'a;

/// Plays a match between `a` and `b` and keeps all its records in [`MatchResult::records`].
///
/// # Errors
/// See [`continue_match`].
pub fn run_match(
    config: &MatchConfig,
    a: &mut dyn Player,
    b: &mut dyn Player,
    context: &MatchContext,
    observer: &mut Observer<'_>,
) -> Result<MatchResult, MatchError> {
    let mut records = BTreeMap::new();
    let mut keep = |event: &MatchEvent<'_>| {
        if let MatchEvent::GameFinished { game } = event {
            records.insert(game.game, game.record.clone());
        }
        observer(event)
    };
    let mut result = continue_match(config, Vec::new(), a, b, context, &mut keep)?;
    result.records = records.into_values().collect();
    Ok(result)
}

/// Plays what is missing of a match between `a` and `b` of which the games `earlier` are known, in any order; games known twice count
/// once.
///
/// Openings come in pairs with colors swapped. With a sequential test, games are played in whole batches of pairs and the test looks
/// after each, so that it never prefers games that end early. A match stopped by the observer says so in
/// [`MatchResult::stopped`]; games in progress are dropped then. A game depends on the settings, its number and the players
/// only: a match that is continued ends as it would have ended without the pause. The records of the games go to the observer and
/// are not kept.
///
/// # Errors
/// [`MatchError::Settings`] for settings that cannot be, [`MatchError::Player`] when a player cannot play at all. What goes wrong in one
/// game is a forfeit in the result.
pub fn continue_match(
    config: &MatchConfig,
    earlier: Vec<GameScore>,
    a: &mut dyn Player,
    b: &mut dyn Player,
    context: &MatchContext,
    observer: &mut Observer<'_>,
) -> Result<MatchResult, MatchError> {
    config.validate().map_err(MatchError::Settings)?;
    let spent = [a.cost(), b.cost()];
    let mut scores = by_number(earlier);
    let mut course = Course::begin();
    let mut stopped = false;
    while let Some(batch) = course.next_batch(config) {
        let missing: Vec<usize> = batch.filter(|game| !scores.contains_key(game)).collect();
        let (played, broken) = play_games(config, &missing, a, b, context, observer)?;
        scores.extend(played.into_iter().map(|game| (game.summary.game, game)));
        stopped = broken || course.look(config, &scores, observer);
        if stopped {
            break;
        }
    }
    let games = course.played(scores);
    let costs = [a.cost() - spent[0], b.cost() - spent[1]];
    let mut result = MatchResult::of(config, [a.name(), b.name()], costs, &games);
    result.stopped = stopped;
    result.sprt = course.sprt;
    result.a_engine = a.engine();
    result.b_engine = b.engine();
    Ok(result)
}

/// The result of a match of which the games `known` are known, or `None` when some that it needs are missing.
pub fn known_match(config: &MatchConfig, known: Vec<GameScore>, names: [String; 2]) -> Option<MatchResult> {
    let scores = by_number(known);
    let mut course = Course::begin();
    while let Some(mut batch) = course.next_batch(config) {
        if !batch.all(|game| scores.contains_key(&game)) {
            return None;
        }
        course.look(config, &scores, &mut |_| ControlFlow::Continue(()));
    }
    let mut result = MatchResult::of(config, names, Default::default(), &course.played(scores));
    result.sprt = course.sprt;
    Some(result)
}

fn by_number(games: Vec<GameScore>) -> BTreeMap<usize, GameScore> {
    let mut scores = BTreeMap::new();
    for game in games {
        scores.entry(game.summary.game).or_insert(game);
    }
    scores
}

/// How far a match has come: whole batches of pairs where somebody looks after each, else all games at once.
struct Course {
    next: usize,
    sprt: Option<Sprt>,
    clear: bool,
}

impl Course {
    fn begin() -> Course {
        Course {
            next: 0,
            sprt: None,
            clear: false,
        }
    }

    /// The numbers of the games to be played before the next look; none when the match is decided.
    fn next_batch(&mut self, config: &MatchConfig) -> Option<std::ops::Range<usize>> {
        let decided = self.sprt.is_some_and(|sprt| sprt.state != SprtState::Open);
        if decided || self.clear || self.next >= config.games {
            return None;
        }
        let batch = match config.sprt.is_some() || config.until_clear {
            true => 2 * config.look_every(),
            false => config.games,
        };
        let begin = self.next;
        self.next = (begin + batch).min(config.games);
        Some(begin..self.next)
    }

    /// Lets the sequential test and the bounds at any time look at the games so far; returns whether the observer ends the match.
    fn look(&mut self, config: &MatchConfig, scores: &BTreeMap<usize, GameScore>, observer: &mut Observer<'_>) -> bool {
        if config.sprt.is_none() && !config.until_clear {
            return false;
        }
        let pairs = MatchResult::pairs_of(scores.range(..self.next).map(|(_, score)| score));
        self.clear = config.until_clear && ConfidenceSequence::of(&pairs).stronger().is_some();
        let Some(settings) = config.sprt else { return false };
        let look = Sprt::look(settings, &pairs);
        self.sprt = Some(look);
        let event = MatchEvent::Looked {
            sprt: &look,
            pairs: pairs.pairs(),
        };
        observer(&event).is_break() && self.next < config.games
    }

    /// The games of the batches so far, in order.
    fn played(&self, scores: BTreeMap<usize, GameScore>) -> Vec<GameScore> {
        let numbered = scores.into_iter().filter(|(number, _)| *number < self.next);
        numbered.map(|(_, score)| score).collect()
    }
}

/// Plays the games with these numbers and returns their scores, and whether the observer has stopped the match.
fn play_games(
    config: &MatchConfig,
    numbers: &[usize],
    a: &mut dyn Player,
    b: &mut dyn Player,
    context: &MatchContext,
    observer: &mut Observer<'_>,
) -> Result<(Vec<GameScore>, bool), MatchError> {
    let names = [a.name(), b.name()];
    let slots = config
        .parallel
        .min(a.max_parallel())
        .min(b.max_parallel())
        .min(numbers.len())
        .max(1);
    let mut live: Vec<Option<LiveGame>> = (0..slots).map(|_| None).collect();
    let mut waiting = numbers.iter();
    let mut finished = Vec::new();
    let mut plies = 0;
    let mut stopped = false;
    while !stopped {
        for slot in live.iter_mut().filter(|slot| slot.is_none()) {
            *slot = waiting.next().map(|&game| begin(config, game));
        }
        let playing = live.iter().flatten().count();
        if playing == 0 {
            break;
        }
        plies += half_round(&mut live, a, config, true)?;
        plies += half_round(&mut live, b, config, false)?;
        for slot in &mut live {
            if let Some(game) = slot.take_if(|game| game.is_over()) {
                let game = game.finish(config, &names, context);
                stopped |= observer(&MatchEvent::GameFinished { game: &game }).is_break();
                finished.push(GameScore::of(&game));
            }
        }
        let round = MatchEvent::Round {
            playing,
            plies,
            costs: [a.cost(), b.cost()],
            engines: &[a.engine(), b.engine()],
        };
        stopped |= observer(&round).is_break();
    }
    let left = live.iter().flatten().count() + waiting.len();
    Ok((finished, stopped && left > 0))
}

fn begin(config: &MatchConfig, game: usize) -> LiveGame {
    const OPENINGS: u64 = 1;
    const PLAYERS: u64 = 2;
    let opening = config.openings.moves(
        config.size,
        config.rules,
        rng::fold(config.seed, &[OPENINGS]),
        config.pair_of(game),
    );
    let seed = |player| rng::fold(config.seed, &[PLAYERS, game as u64, player]);
    LiveGame::begin(config, game, &opening, [seed(0), seed(1)])
}

/// Lets one player take its turn in every game in which it has to move. Returns the number of turns.
fn half_round(
    live: &mut [Option<LiveGame>],
    player: &mut dyn Player,
    config: &MatchConfig,
    is_a: bool,
) -> Result<u64, PlayerError> {
    let to_move = |game: &LiveGame| !game.is_over() && game.a_to_move() == is_a;
    let turns: Vec<Turn<'_>> = live
        .iter()
        .enumerate()
        .filter_map(|(slot, game)| game.as_ref().filter(|game| to_move(game)).map(|game| (slot, game)))
        .map(|(slot, game)| Turn {
            slot,
            game: game.game as u64,
            seed: game.seeds[usize::from(!is_a)],
            position: &game.position,
            komi: config.komi,
        })
        .collect();
    if turns.is_empty() {
        return Ok(0);
    }
    let slots: Vec<usize> = turns.iter().map(|turn| turn.slot).collect();
    let answers: Vec<Answer> = player.choose(&turns)?;
    for (&slot, answer) in slots.iter().zip(answers) {
        let game = live[slot].as_mut().expect("the game was there before");
        game.take(answer, || player.stderr(slot));
    }
    Ok(slots.len() as u64)
}

/// Whether games of these settings come in pairs.
pub(crate) fn is_paired(config: &MatchConfig) -> bool {
    config.a_color == AColor::Alternate
}
