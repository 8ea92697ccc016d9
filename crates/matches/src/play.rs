//! Plays a match and publishes its games as they finish, or completes one that was interrupted.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use tengen_evaluator::{
    Fault, FinishedGame, GameScore, MatchConfig, MatchContext, MatchEvent, MatchResult, Player, PlayerCost,
    continue_match, known_match,
};
use tengen_records::{GameRecord, now_ms};

use crate::folder::{Begun, Counted, Folder, Known, Part, Spec, Spent};

/// Number of games per shard.
const SHARD_GAMES: usize = 128;
/// A shard is published when its first game is this old, which bounds what a kill can lose.
const SHARD_AGE: Duration = Duration::from_secs(5);

/// A match to play or to complete.
pub struct Job<'a> {
    /// The settings of the match, which every game follows.
    pub config: &'a MatchConfig,
    /// The stored description of the match.
    pub spec: &'a Spec,
    /// Where to publish the match; `None` publishes nothing.
    pub folder: Option<&'a Folder>,
    /// Creates the two players when they are needed.
    pub players: &'a dyn Fn() -> anyhow::Result<[Box<dyn Player>; 2]>,
    /// Returns whether the match should stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Receives messages for the user.
    pub say: &'a dyn Fn(&str),
}

/// Plays the missing games of a match. Calls `show` for every game, loaded or played.
///
/// # Errors
/// If the folder holds another match or cannot be written, or if a player cannot play at all.
pub fn play(job: &Job<'_>, show: &mut dyn FnMut(&GameScore)) -> anyhow::Result<MatchResult> {
    let begun = job.folder.map(|folder| folder.begun(job.spec)).transpose()?.flatten();
    let known = match (job.folder, &begun) {
        (Some(folder), Some(_)) => folder.known(job.config)?,
        _ => Known::default(),
    };
    known.damaged.iter().for_each(|line| (job.say)(line));
    if let Some(begun) = &begun
        && let Some(mut result) = known_match(job.config, known.scores.clone(), begun.names.clone())
    {
        set_spent(&mut result, known.spent);
        // Earlier versions only recorded the engines at the start of the match.
        let [a, b] = begun.engines.clone();
        result.a_engine = result.a_engine.or(a);
        result.b_engine = result.b_engine.or(b);
        return finish(job, result);
    }
    let mut players = (job.players)()?;
    let names = [players[0].name(), players[1].name()];
    if let Some(begun) = &begun {
        require_same(begun, &names)?;
    }
    let begun = match job.folder {
        Some(folder) => Some(folder.begin(job.spec, &players)?),
        None => None,
    };
    let run = MatchRun {
        config: job.config,
        folder: job.folder,
        config_id: "match",
        start_time_ms: begun.map_or(0, |begun| begun.start_time_ms),
        stop: job.stop,
    };
    let [a, b] = &mut players;
    let result = play_missing(&run, known, [&mut **a, &mut **b], show)?;
    finish(job, result)
}

fn require_same(begun: &Begun, names: &[String; 2]) -> anyhow::Result<()> {
    for (was, is) in begun.names.iter().zip(names) {
        if was != is {
            bail!("the match started with the player {was}, but now it is {is}; use the original one or a new folder");
        }
    }
    Ok(())
}

/// A match that has started.
pub(crate) struct MatchRun<'a> {
    pub(crate) config: &'a MatchConfig,
    /// Where to publish the games; `None` publishes nothing.
    pub(crate) folder: Option<&'a Folder>,
    /// Identifies the configuration in every game.
    pub(crate) config_id: &'a str,
    /// The start of the match in milliseconds since 1970-01-01 UTC.
    pub(crate) start_time_ms: i64,
    /// Returns whether the match should stop.
    pub(crate) stop: &'a dyn Fn() -> bool,
}

/// Plays the missing games of a match and publishes them, but does not write its result. Calls `show` for every game,
/// loaded or played.
pub(crate) fn play_missing(
    run: &MatchRun<'_>,
    known: Known,
    [a, b]: [&mut dyn Player; 2],
    show: &mut dyn FnMut(&GameScore),
) -> anyhow::Result<MatchResult> {
    known.scores.iter().for_each(&mut *show);
    let context = MatchContext {
        match_id: run.folder.map_or("match", Folder::games_of).to_owned(),
        config_id: run.config_id.to_owned(),
        start_time_ms: run.start_time_ms,
    };
    // Exclude what the same player spent in earlier matches.
    let before = [a.cost(), b.cost()];
    let since = |[a, b]: [PlayerCost; 2]| [a - before[0], b - before[1]];
    let mut publisher = run.folder.map(Publisher::new);
    let mut failed = None;
    let mut observer = |event: &MatchEvent<'_>| {
        let taken = match event {
            MatchEvent::GameFinished { game } => {
                show(&GameScore::of(game));
                publisher.as_mut().map_or(Ok(()), |publisher| publisher.take(game))
            }
            MatchEvent::Round { costs, engines, .. } => {
                let spent = || Spent {
                    costs: since(*costs),
                    engines: <[_; 2]>::clone(engines),
                };
                publisher.as_mut().map_or(Ok(()), |publisher| publisher.look(&spent))
            }
            MatchEvent::Looked { .. } => Ok(()),
        };
        failed = failed.take().or(taken.err());
        match failed.is_some() || (run.stop)() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let result = continue_match(run.config, known.scores, a, b, &context, &mut observer);
    if let Some(error) = failed {
        return Err(error).context("cannot publish the games of the match");
    }
    if let Some(publisher) = &mut publisher {
        // Publish the finished games even if a player has failed.
        publisher.flush(Spent {
            costs: since([a.cost(), b.cost()]),
            engines: [a.engine(), b.engine()],
        })?;
    }
    let mut result = result?;
    let spent_now = Spent {
        costs: [result.a_cost, result.b_cost],
        engines: [result.a_engine.take(), result.b_engine.take()],
    };
    set_spent(&mut result, known.spent.then(spent_now));
    Ok(result)
}

/// Records in the result what all processes together have spent on the match.
pub(crate) fn set_spent(result: &mut MatchResult, spent: Spent) {
    [result.a_cost, result.b_cost] = spent.costs;
    [result.a_engine, result.b_engine] = spent.engines;
}

fn finish(job: &Job<'_>, result: MatchResult) -> anyhow::Result<MatchResult> {
    match job.folder {
        Some(folder) if !result.stopped => {
            folder.finish(&result, &[Counted::of(folder, &result)])?;
        }
        _ => {}
    }
    Ok(result)
}

/// Collects finished games and publishes them in shards.
struct Publisher<'a> {
    folder: &'a Folder,
    session: String,
    number: u64,
    games: Vec<GameRecord>,
    faults: BTreeMap<usize, Fault>,
    since: Instant,
}

impl<'a> Publisher<'a> {
    fn new(folder: &'a Folder) -> Publisher<'a> {
        Publisher {
            folder,
            session: format!("{}-{}", now_ms(), std::process::id()),
            number: 0,
            games: Vec::new(),
            faults: BTreeMap::new(),
            since: Instant::now(),
        }
    }

    fn take(&mut self, game: &FinishedGame) -> anyhow::Result<()> {
        if self.games.is_empty() {
            self.since = Instant::now();
        }
        self.games.push(game.record.clone());
        if let Some(fault) = &game.fault {
            self.faults.insert(game.game, fault.clone());
        }
        Ok(())
    }

    fn look(&mut self, spent: &dyn Fn() -> Spent) -> anyhow::Result<()> {
        match self.games.len() >= SHARD_GAMES || (!self.games.is_empty() && self.since.elapsed() >= SHARD_AGE) {
            true => self.flush(spent()),
            false => Ok(()),
        }
    }

    fn flush(&mut self, spent: Spent) -> anyhow::Result<()> {
        if self.games.is_empty() {
            return Ok(());
        }
        self.folder.publish(&Part {
            session: &self.session,
            number: self.number,
            games: &self.games,
            faults: std::mem::take(&mut self.faults),
            spent,
        })?;
        self.games.clear();
        self.number += 1;
        Ok(())
    }
}
