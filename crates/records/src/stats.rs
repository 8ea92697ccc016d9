//! What do many games look like together? Lengths, ends, results by komi, openings, suicides, ko bans.

use std::collections::BTreeMap;

use serde::Serialize;
use tengen_rules::{Color, Move, Outcome, Position};

use crate::changes::GameTotals;
use crate::record::{EXPLORED, FULL_SEARCH, GameRecord, PlyRecord, RecordError};
use crate::shards::GamesOf;
use crate::store::Store;
use crate::store_error::{ShardReadError, StoreError};

/// Plies of an opening that are told apart in [`GameStats::openings`].
const OPENING_PLIES: usize = 2;

/// Wins, ties and losses of games with one komi.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KomiResults {
    /// Games Black won.
    pub black_wins: u64,
    /// Games White won.
    pub white_wins: u64,
    /// Games that were tied.
    pub ties: u64,
    /// Games without a result.
    pub unfinished: u64,
    /// Mean of Black's area minus White's without komi over the scored games, in points.
    pub mean_board_margin: f64,
    /// Games with a score, over which the mean is taken.
    pub scored: u64,
}

/// How long games are, in plies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// The shortest.
    pub min: usize,
    /// Half of the games are no longer.
    pub median: usize,
    /// Nine in ten games are no longer.
    pub p90: usize,
    /// The longest.
    pub max: usize,
    /// The mean.
    pub mean: f64,
}

/// Figures over many games.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GameStats {
    /// Number of games.
    pub games: u64,
    /// Number of positions, which is the number of plies.
    pub positions: u64,
    /// Game lengths.
    pub plies: Lengths,
    /// Games by how they ended.
    pub end_reasons: BTreeMap<String, u64>,
    /// Share of games without a result, 0 to 1.
    pub unfinished_share: f64,
    /// Games by board size.
    pub sizes: BTreeMap<String, u64>,
    /// Results by size and komi, such as `9x9 komi 7`.
    pub komis: BTreeMap<String, KomiResults>,
    /// Games by size and their first two turns, such as `9x9 E5 C3`.
    pub openings: BTreeMap<String, u64>,
    /// Passes played.
    pub passes: u64,
    /// Plays that removed the mover's own stones.
    pub suicides: u64,
    /// Empty points refused by the ko rule, summed over plies; one-stone suicides are among them.
    pub superko_bans: u64,
    /// Positions searched with the full number of visits.
    pub full_search: u64,
    /// Turns chosen for exploration.
    pub explored: u64,
    /// Positions with a policy target.
    pub policy_targets: u64,
    /// Mean entropy of the policy targets, in bits.
    pub mean_policy_entropy: f64,
}

/// Figures of a whole store.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoreStats {
    /// Shards read.
    pub shards: u64,
    /// Shards in quarantine, those found now included.
    pub quarantined: u64,
    /// What was pruned before and is not among the figures.
    pub pruned: GameTotals,
    /// Bytes of the shards read.
    pub bytes: u64,
    /// Bytes per position on disk.
    pub bytes_per_position: f64,
    /// The games.
    pub games: GameStats,
}

/// Gathers figures game by game.
#[derive(Default)]
pub struct StatsCollector {
    stats: GameStats,
    lengths: Vec<usize>,
    entropy: f64,
}

impl StatsCollector {
    /// A collector that has seen nothing.
    pub fn new() -> StatsCollector {
        StatsCollector::default()
    }

    /// Adds a game.
    ///
    /// # Errors
    /// [`RecordError`] when a turn is illegal; then the game counts nowhere.
    pub fn add(&mut self, game: &GameRecord) -> Result<(), RecordError> {
        let mut plies = PlyCounts::default();
        let last = game.replay_with(|position, _, record| plies.add(position, record))?;
        plies.suicides += u64::from(plies.was_suicide(&last));
        let stats = &mut self.stats;
        stats.games += 1;
        stats.positions += game.plies.len() as u64;
        stats.passes += plies.passes;
        stats.suicides += plies.suicides;
        stats.superko_bans += plies.bans;
        self.lengths.push(game.plies.len());
        *stats.end_reasons.entry(game.end_reason.name().to_owned()).or_default() += 1;
        *stats.sizes.entry(game.size.to_string()).or_default() += 1;
        *stats.openings.entry(opening(game)).or_default() += 1;
        let komi = format!("{} komi {}", game.size, game.komi);
        count_result(stats.komis.entry(komi).or_default(), game);
        self.count_flags(game);
        Ok(())
    }

    fn count_flags(&mut self, game: &GameRecord) {
        let count = |flag| game.plies.iter().filter(|ply| ply.has(flag)).count() as u64;
        self.stats.full_search += count(FULL_SEARCH);
        self.stats.explored += count(EXPLORED);
        for ply in game.plies.iter().filter(|ply| !ply.policy.is_empty()) {
            self.stats.policy_targets += 1;
            self.entropy += entropy_bits(&ply.policy);
        }
    }

    /// The figures of all games added.
    pub fn finish(mut self) -> GameStats {
        self.lengths.sort_unstable();
        let stats = &mut self.stats;
        stats.plies = lengths(&self.lengths);
        let unfinished: u64 = stats.komis.values().map(|komi| komi.unfinished).sum();
        stats.unfinished_share = share(unfinished as f64, stats.games);
        stats.mean_policy_entropy = share(self.entropy, stats.policy_targets);
        self.stats
    }
}

impl Store {
    /// Figures of the store's games. Damaged shards go into quarantine and are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails.
    pub fn stats(&self, games: &GamesOf) -> Result<StoreStats, StoreError> {
        let mut stats = StoreStats::default();
        let mut collector = StatsCollector::new();
        let listing = self.list_games(games)?;
        stats.pruned = listing.pruned;
        for shard in listing.shards {
            match self.read_shard(&shard) {
                Ok(games) => {
                    stats.shards += 1;
                    stats.bytes += shard.bytes;
                    for game in &games {
                        collector.add(game).expect("the store has replayed this game");
                    }
                }
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => {}
                Err(ShardReadError::Store(error)) => return Err(error),
            }
        }
        stats.quarantined = self.quarantine_notes()?.len() as u64;
        stats.games = collector.finish();
        stats.bytes_per_position = share(stats.bytes as f64, stats.games.positions);
        Ok(stats)
    }
}

/// Counts over the plies of one game.
#[derive(Default)]
struct PlyCounts {
    passes: u64,
    suicides: u64,
    bans: u64,
    /// The side that made the play before, and its stones before it.
    before_play: Option<(Color, usize)>,
}

impl PlyCounts {
    fn add(&mut self, position: &Position, record: &PlyRecord) {
        self.suicides += u64::from(self.was_suicide(position));
        self.bans += position.superko_banned().len() as u64;
        self.before_play = match record.mv {
            Move::Pass => None,
            Move::Play(_) => Some((position.to_move(), position.stones(position.to_move()).len())),
        };
        self.passes += u64::from(record.mv == Move::Pass);
    }

    /// Whether the play that led to the position removed the stone it placed.
    fn was_suicide(&self, after: &Position) -> bool {
        self.before_play
            .is_some_and(|(mover, before)| after.stones(mover).len() <= before)
    }
}

fn opening(game: &GameRecord) -> String {
    let mut text = game.size.to_string();
    for ply in game.plies.iter().take(OPENING_PLIES) {
        text.push(' ');
        text.push_str(&ply.mv.format(game.size));
    }
    text
}

fn count_result(results: &mut KomiResults, game: &GameRecord) {
    match game.outcome() {
        Some(Outcome::BlackWins) => results.black_wins += 1,
        Some(Outcome::WhiteWins) => results.white_wins += 1,
        Some(Outcome::Tie) => results.ties += 1,
        None => results.unfinished += 1,
    }
    if let Some(score) = game.score_half_points {
        let margin = f64::from(score + i32::from(game.komi.half_points())) / 2.0;
        results.scored += 1;
        results.mean_board_margin += (margin - results.mean_board_margin) / results.scored as f64;
    }
}

fn entropy_bits(policy: &[(u16, f32)]) -> f64 {
    let term = |&(_, p): &(u16, f32)| {
        if p > 0.0 {
            -f64::from(p) * f64::from(p).log2()
        } else {
            0.0
        }
    };
    policy.iter().map(term).sum()
}

fn lengths(sorted: &[usize]) -> Lengths {
    let Some(&max) = sorted.last() else {
        return Lengths::default();
    };
    let at = |tenths: usize| sorted[(sorted.len() - 1) * tenths / 10];
    Lengths {
        min: sorted[0],
        median: at(5),
        p90: at(9),
        max,
        mean: share(sorted.iter().sum::<usize>() as f64, sorted.len() as u64),
    }
}

fn share(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}
