//! Plays matches.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tengen_rng as rng;

use crate::finished_game::{FinishedGame, GameScore};
use crate::game::LiveGame;
use crate::player::{Answer, EngineReport, Player, PlayerCost, PlayerError, Turn};
use crate::result::MatchResult;
use crate::sequence::ConfidenceSequence;
use crate::settings::{MatchConfig, MatchContext};
use crate::sprt::{Sprt, SprtState};

/// Progress of a match, reported to an [`Observer`].
#[derive(Debug)]
pub enum MatchEvent<'a> {
    /// Every game in progress has advanced by one or two plies.
    Round {
        /// Number of games in progress.
        playing: usize,
        /// Plies played in the current batch of games, openings not included.
        plies: u64,
        /// What A and B have spent since they were created.
        costs: [PlayerCost; 2],
        /// The engines behind A and B, for players that are engines.
        engines: &'a [Option<EngineReport>; 2],
    },
    /// A game has ended, with or without a result.
    GameFinished {
        /// The game with its record.
        game: &'a FinishedGame,
    },
    /// The sequential test has examined all pairs so far.
    Looked {
        /// The test's numbers at this look.
        sprt: &'a Sprt,
        /// Number of complete pairs so far.
        pairs: u64,
    },
}

/// Why a match cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// The settings are invalid, for the given reason.
    #[error("match settings: {0}")]
    Settings(String),
    /// A player cannot play at all.
    #[error(transparent)]
    Player(#[from] PlayerError),
}

/// Receives events; [`ControlFlow::Break`] ends the match after the current round.
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

/// Plays the missing games of a match between `a` and `b`. The games in `earlier` were already played; they may come in
/// any order, and duplicates count once.
///
/// Openings come in pairs with colors swapped. With a sequential test, games are played in whole batches of pairs, and
/// the test examines the results only after each batch, so that it never favors games that end early. If the observer
/// or a player stops the match, [`MatchResult::stopped`] is true, and games in progress are dropped. A game depends
/// only on the settings, its number, and the players, so a continued match ends exactly as it would have without the
/// interruption. The records of the games go to the observer and are not kept.
///
/// # Errors
/// [`MatchError::Settings`] for invalid settings, and [`MatchError::Player`] when a player cannot play at all. A
/// failure within one game is a forfeit in the result instead.
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
    let mut progress = Progress::begin();
    let mut stopped = false;
    while let Some(batch) = progress.next_batch(config) {
        let missing: Vec<usize> = batch.filter(|game| !scores.contains_key(game)).collect();
        let (played, broken) = play_games(config, &missing, a, b, context, observer)?;
        scores.extend(played.into_iter().map(|game| (game.summary.game, game)));
        stopped = broken || progress.look(config, &scores, observer);
        if stopped {
            break;
        }
    }
    let games = progress.played(scores);
    let costs = [a.cost() - spent[0], b.cost() - spent[1]];
    let mut result = MatchResult::of(config, [a.name(), b.name()], costs, &games);
    result.stopped = stopped;
    result.sprt = progress.sprt;
    result.a_engine = a.engine();
    result.b_engine = b.engine();
    Ok(result)
}

/// The result of a match from its already played games, or `None` if the match needs more games.
pub fn known_match(config: &MatchConfig, known: Vec<GameScore>, names: [String; 2]) -> Option<MatchResult> {
    let scores = by_number(known);
    let mut progress = Progress::begin();
    while let Some(mut batch) = progress.next_batch(config) {
        if !batch.all(|game| scores.contains_key(&game)) {
            return None;
        }
        progress.look(config, &scores, &mut |_| ControlFlow::Continue(()));
    }
    let mut result = MatchResult::of(config, names, Default::default(), &progress.played(scores));
    result.sprt = progress.sprt;
    Some(result)
}

fn by_number(games: Vec<GameScore>) -> BTreeMap<usize, GameScore> {
    let mut scores = BTreeMap::new();
    for game in games {
        scores.entry(game.summary.game).or_insert(game);
    }
    scores
}

/// How far a match has progressed: in batches of whole pairs if results are checked along the way, otherwise in one
/// batch.
struct Progress {
    next: usize,
    sprt: Option<Sprt>,
    clear: bool,
}

impl Progress {
    fn begin() -> Progress {
        Progress {
            next: 0,
            sprt: None,
            clear: false,
        }
    }

    /// The numbers of the games to play before the next look; `None` when the match is decided.
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

    /// Updates the sequential test and the any-time bounds with the games so far, and returns whether the observer
    /// stops the match.
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

    /// The games of the batches so far, in the order of their numbers.
    fn played(&self, scores: BTreeMap<usize, GameScore>) -> Vec<GameScore> {
        let numbered = scores.into_iter().filter(|(number, _)| *number < self.next);
        numbered.map(|(_, score)| score).collect()
    }
}

/// Plays the games with these numbers. Returns their scores and whether the observer or a player stopped the match.
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
        for is_a in [true, false] {
            let turns = match is_a {
                true => half_round(&mut live, a, config, true),
                false => half_round(&mut live, b, config, false),
            };
            match turns {
                Ok(turns) => plies += turns,
                Err(PlayerError::Stopped) => {
                    stopped = true;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
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

/// Has one player move in every game in which it is to move. Returns the number of turns.
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
        let game = live[slot].as_mut().expect("every turn belongs to a live game");
        game.take(answer, || player.stderr(slot));
    }
    Ok(slots.len() as u64)
}
