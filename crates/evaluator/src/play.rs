//! How is a match played?

use std::ops::{ControlFlow, Range};

use tengen_search::rng;

use crate::game::{FinishedGame, LiveGame};
use crate::player::{Answer, Player, PlayerError, Turn};
use crate::result::MatchResult;
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

/// Plays a match between `a` and `b`.
///
/// Openings come in pairs with colors swapped. With a sequential test, games are played in whole batches of pairs and the test looks
/// after each, so that it never prefers games that end early. A match stopped by the observer says so in
/// [`MatchResult::stopped`]; games in progress are dropped then.
///
/// # Errors
/// [`MatchError::Settings`] for settings that cannot be, [`MatchError::Player`] when a player cannot play at all. What goes wrong in one
/// game is a forfeit in the result.
pub fn run_match(
    config: &MatchConfig,
    a: &mut dyn Player,
    b: &mut dyn Player,
    context: &MatchContext,
    observer: &mut Observer<'_>,
) -> Result<MatchResult, MatchError> {
    config.validate().map_err(MatchError::Settings)?;
    let batch = if config.sprt.is_some() {
        2 * config.look_every()
    } else {
        config.games
    };
    let mut games = Vec::new();
    let mut stopped = false;
    let mut sprt = None;
    let mut next = 0;
    while next < config.games && !stopped {
        let end = (next + batch).min(config.games);
        let (batch, broken) = play_games(config, next..end, a, b, context, observer)?;
        games.extend(batch);
        stopped = broken;
        next = end;
        if let Some(settings) = config.sprt {
            let pairs = MatchResult::pairs_of(&games);
            let look = Sprt::look(settings, &pairs);
            sprt = Some(look);
            stopped |= observer(&MatchEvent::Looked {
                sprt: &look,
                pairs: pairs.pairs(),
            })
            .is_break()
                && next < config.games;
            if look.state != SprtState::Open {
                break;
            }
        }
    }
    let mut result = MatchResult::of(config, [a.name(), b.name()], [a.cost(), b.cost()], games);
    result.stopped = stopped;
    result.sprt = sprt;
    result.a_engine = a.engine();
    result.b_engine = b.engine();
    Ok(result)
}

/// Plays the games with these numbers and returns them in order, and whether the observer has stopped the match. The settings' number of
/// games and sequential test play no part: this is the building block for matches that are continued.
///
/// # Errors
/// [`MatchError::Player`] when a player cannot play at all.
pub fn play_games(
    config: &MatchConfig,
    numbers: Range<usize>,
    a: &mut dyn Player,
    b: &mut dyn Player,
    context: &MatchContext,
    observer: &mut Observer<'_>,
) -> Result<(Vec<FinishedGame>, bool), MatchError> {
    let names = [a.name(), b.name()];
    let slots = config
        .parallel
        .min(a.max_parallel())
        .min(b.max_parallel())
        .min(numbers.len())
        .max(1);
    let mut live: Vec<Option<LiveGame>> = (0..slots).map(|_| None).collect();
    let mut waiting = numbers;
    let mut finished = Vec::new();
    let mut plies = 0;
    let mut stopped = false;
    while !stopped {
        for slot in live.iter_mut().filter(|slot| slot.is_none()) {
            *slot = waiting.next().map(|game| begin(config, game));
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
                finished.push(game);
            }
        }
        stopped |= observer(&MatchEvent::Round { playing, plies }).is_break();
    }
    finished.sort_by_key(|game| game.game);
    let left = live.iter().flatten().count() + waiting.len();
    Ok((finished, stopped && left > 0))
}

fn begin(config: &MatchConfig, game: usize) -> LiveGame {
    const OPENINGS: u64 = 1;
    const PLAYERS: u64 = 2;
    let opening = config
        .openings
        .moves(config.size, rng::fold(config.seed, &[OPENINGS]), config.pair_of(game));
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
