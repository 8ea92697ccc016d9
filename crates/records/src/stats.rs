//! Statistics over many games: lengths, end reasons, results by komi, openings, suicides, ko bans.

use std::collections::BTreeMap;

use serde::Serialize;

use tengen_rules::{Color, Move, Outcome, Position};

use crate::opening_tree::{OpeningTree, Openings, TreeShape};
use crate::record::{EXPLORED, FULL_SEARCH, GameRecord, PlyRecord, RecordError};

/// Number of plies whose policy targets are combined into one entry of [`GameStats::entropy_by_ply`].
const ENTROPY_PLIES: usize = 10;

/// Entropies are summed in units of 1 bit divided by this, so that the order of games does not change a sum.
const ENTROPY_PARTS: f64 = (1u64 << 32) as f64;

/// Wins, ties and losses of games with one komi.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KomiResults {
    /// Number of games Black won.
    pub black_wins: u64,
    /// Number of games White won.
    pub white_wins: u64,
    /// Number of tied games.
    pub ties: u64,
    /// Number of games without a result.
    pub unfinished: u64,
    /// Mean of Black's area minus White's area, without komi, over the scored games, in points.
    pub mean_board_margin: f64,
    /// Number of games with a score, over which the mean is taken.
    pub scored: u64,
}

/// Distribution of game lengths, in plies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// Plies of the shortest game.
    pub min: usize,
    /// Median number of plies.
    pub median: usize,
    /// 90th percentile of the number of plies.
    pub p90: usize,
    /// Plies of the longest game.
    pub max: usize,
    /// Mean number of plies.
    pub mean: f64,
}

/// Statistics over many games: results, lengths, passes and policy targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GameStats {
    /// Number of games.
    pub games: u64,
    /// Number of positions, which is the number of plies.
    pub positions: u64,
    /// Distribution of game lengths.
    pub plies: Lengths,
    /// Number of games by end reason.
    pub end_reasons: BTreeMap<String, u64>,
    /// Share of games without a result, 0 to 1.
    pub unfinished_share: f64,
    /// Number of games by board size.
    pub sizes: BTreeMap<String, u64>,
    /// Results by size and komi, such as `9x9 komi 7`.
    pub komis: BTreeMap<String, KomiResults>,
    /// First moves by board size, with mirror images combined.
    pub openings: BTreeMap<String, OpeningTree>,
    /// Self-play generations in ascending order; match games belong to none.
    pub generations: Vec<GenerationStats>,
    /// Number of passes among all plies.
    pub passes: u64,
    /// Number of plays that removed the mover's own stones.
    pub suicides: u64,
    /// Empty points banned by the ko rule, summed over plies, including one-stone suicides.
    pub superko_bans: u64,
    /// Number of positions searched with the full number of visits.
    pub full_search: u64,
    /// Number of moves chosen for exploration.
    pub explored: u64,
    /// Number of positions with a policy target.
    pub policy_targets: u64,
    /// Mean entropy of the policy targets, in bits.
    pub mean_policy_entropy: f64,
    /// The same for every ten plies that have targets.
    pub entropy_by_ply: Vec<EntropyAtPly>,
}

/// Entropy of the policy targets in a range of plies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EntropyAtPly {
    /// The first of the ten plies, counted from 0.
    pub from_ply: usize,
    /// Number of policy targets in the range.
    pub targets: u64,
    /// Mean entropy of the policy targets, in bits.
    pub mean_bits: f64,
}

/// Statistics of one self-play generation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GenerationStats {
    /// The generation number.
    pub generation: u32,
    /// Number of games.
    pub games: u64,
    /// Number of positions.
    pub positions: u64,
    /// Mean game length, in plies.
    pub mean_plies: f64,
    /// Share of games without a result, 0 to 1.
    pub unfinished_share: f64,
    /// Share of the games with a winner that Black won, 0 to 1.
    pub black_share: f64,
    /// Mean entropy of the policy targets, in bits.
    pub mean_policy_entropy: f64,
}

/// Collects statistics game by game. Its size is bounded regardless of the number of games, and the results do not
/// depend on the order of the games.
#[derive(Default)]
pub struct StatsCollector {
    stats: GameStats,
    openings: Openings,
    /// Number of games by number of plies.
    lengths: BTreeMap<usize, u64>,
    komis: BTreeMap<String, Tally>,
    generations: BTreeMap<u32, Tally>,
    /// Policy targets of every ten plies.
    entropies: Vec<Entropy>,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    results: KomiResults,
    /// Sum of margins without komi, in half points.
    half_points: i64,
    positions: u64,
    entropy: Entropy,
}

#[derive(Copy, Clone, Debug, Default)]
struct Entropy {
    targets: u64,
    parts: u128,
}

impl StatsCollector {
    /// Creates an empty collector.
    pub fn new() -> StatsCollector {
        StatsCollector::default()
    }

    /// Adds a game, optionally of a self-play generation. With `full_only`, only policy targets of full searches count.
    ///
    /// # Errors
    /// [`RecordError`] if a move is illegal; the game is then not counted at all.
    pub fn add(&mut self, game: &GameRecord, generation: Option<u32>, full_only: bool) -> Result<(), RecordError> {
        let mut plies = PlyCounts::default();
        let last = game.replay_with(|position, _, record| plies.add(position, record))?;
        plies.suicides += u64::from(plies.was_suicide(&last));
        let entropy = self.add_plies(game, full_only);
        let stats = &mut self.stats;
        stats.games += 1;
        stats.positions += game.plies.len() as u64;
        stats.passes += plies.passes;
        stats.suicides += plies.suicides;
        stats.superko_bans += plies.bans;
        *stats.end_reasons.entry(game.end_reason.name().to_owned()).or_default() += 1;
        *stats.sizes.entry(game.size.to_string()).or_default() += 1;
        *self.lengths.entry(game.plies.len()).or_default() += 1;
        self.openings.add(game);
        let komi = format!("{} komi {}", game.size, game.komi);
        self.komis.entry(komi).or_default().add(game, entropy);
        if let Some(generation) = generation {
            self.generations.entry(generation).or_default().add(game, entropy);
        }
        Ok(())
    }

    /// Counts flags and policy targets; returns the entropy of the game's targets.
    fn add_plies(&mut self, game: &GameRecord, full_only: bool) -> Entropy {
        let count = |flag| game.plies.iter().filter(|ply| ply.has(flag)).count() as u64;
        self.stats.full_search += count(FULL_SEARCH);
        self.stats.explored += count(EXPLORED);
        let mut all = Entropy::default();
        let counts = |ply: &PlyRecord| !ply.policy.is_empty() && (!full_only || ply.has(FULL_SEARCH));
        for (ply, record) in game.plies.iter().enumerate().filter(|(_, ply)| counts(ply)) {
            let entropy = Entropy {
                targets: 1,
                parts: (entropy_bits(&record.policy) * ENTROPY_PARTS).round() as u128,
            };
            let place = ply / ENTROPY_PLIES;
            if self.entropies.len() <= place {
                self.entropies.resize(place + 1, Entropy::default());
            }
            self.entropies[place].merge(entropy);
            all.merge(entropy);
        }
        all
    }

    /// Adds the games of another collector.
    pub fn merge(mut self, mut other: StatsCollector) -> StatsCollector {
        let (stats, theirs) = (&mut self.stats, &mut other.stats);
        stats.games += theirs.games;
        stats.positions += theirs.positions;
        stats.passes += theirs.passes;
        stats.suicides += theirs.suicides;
        stats.superko_bans += theirs.superko_bans;
        stats.full_search += theirs.full_search;
        stats.explored += theirs.explored;
        add_all(&mut stats.end_reasons, std::mem::take(&mut theirs.end_reasons));
        add_all(&mut stats.sizes, std::mem::take(&mut theirs.sizes));
        add_all(&mut self.lengths, other.lengths);
        self.openings.merge(other.openings);
        for (key, tally) in other.komis {
            self.komis.entry(key).or_default().merge(&tally);
        }
        for (key, tally) in other.generations {
            self.generations.entry(key).or_default().merge(&tally);
        }
        if self.entropies.len() < other.entropies.len() {
            self.entropies.resize(other.entropies.len(), Entropy::default());
        }
        for (sum, entropy) in self.entropies.iter_mut().zip(other.entropies) {
            sum.merge(entropy);
        }
        self
    }

    /// The statistics of all games added.
    pub fn finish(self, shape: TreeShape) -> GameStats {
        let mut all = Entropy::default();
        self.entropies.iter().for_each(|&entropy| all.merge(entropy));
        let unfinished: u64 = self.komis.values().map(|tally| tally.results.unfinished).sum();
        let at_ply = |(place, entropy): (usize, &Entropy)| EntropyAtPly {
            from_ply: place * ENTROPY_PLIES,
            targets: entropy.targets,
            mean_bits: entropy.mean_bits(),
        };
        let targets = self.entropies.iter().enumerate();
        GameStats {
            plies: lengths(&self.lengths),
            unfinished_share: share(unfinished as f64, self.stats.games),
            openings: self.openings.trees(shape),
            policy_targets: all.targets,
            mean_policy_entropy: all.mean_bits(),
            entropy_by_ply: targets.filter(|(_, entropy)| entropy.targets > 0).map(at_ply).collect(),
            komis: self
                .komis
                .into_iter()
                .map(|(komi, tally)| (komi, tally.results()))
                .collect(),
            generations: self
                .generations
                .iter()
                .map(|(&number, tally)| tally.generation(number))
                .collect(),
            ..self.stats
        }
    }
}

fn add_all<K: Ord>(sums: &mut BTreeMap<K, u64>, counts: BTreeMap<K, u64>) {
    for (key, count) in counts {
        *sums.entry(key).or_default() += count;
    }
}

impl Tally {
    fn add(&mut self, game: &GameRecord, entropy: Entropy) {
        let results = &mut self.results;
        match game.outcome() {
            Some(Outcome::BlackWins) => results.black_wins += 1,
            Some(Outcome::WhiteWins) => results.white_wins += 1,
            Some(Outcome::Tie) => results.ties += 1,
            None => results.unfinished += 1,
        }
        if let Some(score) = game.score_half_points {
            results.scored += 1;
            self.half_points += i64::from(score + i32::from(game.komi.half_points()));
        }
        self.positions += game.plies.len() as u64;
        self.entropy.merge(entropy);
    }

    fn merge(&mut self, other: &Tally) {
        let (results, theirs) = (&mut self.results, &other.results);
        results.black_wins += theirs.black_wins;
        results.white_wins += theirs.white_wins;
        results.ties += theirs.ties;
        results.unfinished += theirs.unfinished;
        results.scored += theirs.scored;
        self.half_points += other.half_points;
        self.positions += other.positions;
        self.entropy.merge(other.entropy);
    }

    fn results(self) -> KomiResults {
        KomiResults {
            mean_board_margin: share(self.half_points as f64 / 2.0, self.results.scored),
            ..self.results
        }
    }

    fn generation(&self, generation: u32) -> GenerationStats {
        let results = &self.results;
        let won = results.black_wins + results.white_wins;
        let games = won + results.ties + results.unfinished;
        GenerationStats {
            generation,
            games,
            positions: self.positions,
            mean_plies: share(self.positions as f64, games),
            unfinished_share: share(results.unfinished as f64, games),
            black_share: share(results.black_wins as f64, won),
            mean_policy_entropy: self.entropy.mean_bits(),
        }
    }
}

impl Entropy {
    fn merge(&mut self, other: Entropy) {
        self.targets += other.targets;
        self.parts += other.parts;
    }

    fn mean_bits(&self) -> f64 {
        share(self.parts as f64 / ENTROPY_PARTS, self.targets)
    }
}

/// Counts over the plies of one game.
#[derive(Default)]
struct PlyCounts {
    passes: u64,
    suicides: u64,
    bans: u64,
    /// The side that made the previous play, and its stones before it.
    before_play: Option<(Color, usize)>,
}

impl PlyCounts {
    fn add(&mut self, position: &Position, record: &PlyRecord) {
        self.suicides += u64::from(self.was_suicide(position));
        self.bans += position.superko_banned().len() as u64;
        let mover = position.to_move();
        self.before_play = match record.mv {
            Move::Pass => None,
            Move::Play(_) => Some((mover, position.stones(mover).len())),
        };
        self.passes += u64::from(record.mv == Move::Pass);
    }

    /// Whether the play that led to the position removed the stone it placed.
    fn was_suicide(&self, after: &Position) -> bool {
        self.before_play
            .is_some_and(|(mover, before)| after.stones(mover).len() <= before)
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

fn lengths(games: &BTreeMap<usize, u64>) -> Lengths {
    let (Some((&min, _)), Some((&max, _))) = (games.first_key_value(), games.last_key_value()) else {
        return Lengths::default();
    };
    let all: u64 = games.values().sum();
    let at = |tenths: u64| {
        let place = (all - 1) * tenths / 10;
        let mut before = 0;
        let reaches = |&(_, count): &(&usize, &u64)| {
            before += count;
            before > place
        };
        games.iter().find(reaches).map_or(max, |(&length, _)| length)
    };
    let plies: u64 = games.iter().map(|(&length, count)| length as u64 * count).sum();
    Lengths {
        min,
        median: at(5),
        p90: at(9),
        max,
        mean: share(plies as f64, all),
    }
}

/// A part of a whole, 0 where the whole is 0.
pub fn share(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}
