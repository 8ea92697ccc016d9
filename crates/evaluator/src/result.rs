//! The result of a match: points, statistics, faults, and games.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use tengen_records::GameRecord;
use tengen_rules::Color;

use crate::elo::EloEstimate;
use crate::finished_game::{FaultReport, GameScore, GameSummary, Side};
use crate::pentanomial::Pentanomial;
use crate::player::{EngineReport, PlayerCost};
use crate::sequence::ConfidenceSequence;
use crate::settings::{MatchConfig, is_paired};
use crate::sprt::Sprt;

/// The result of a match with all its numbers.
///
/// Only games with a result count: `games` = A's wins + ties + losses, and `a_points + b_points == games`. Forfeits
/// count as losses. Unfinished games (ply limit) and void games are counted separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchResult {
    /// Name of player A.
    pub a: String,
    /// Name of player B.
    pub b: String,
    /// The board size as text, such as `9x9`.
    pub size: String,
    /// Points added to White's area, as text.
    pub komi: String,
    /// The settings of the match.
    pub config: MatchConfig,
    /// Number of games with a result.
    pub games: usize,
    /// A's wins plus half the ties.
    pub a_points: f64,
    /// B's wins plus half the ties.
    pub b_points: f64,
    /// A's results in all games.
    pub a_total: WinTieLoss,
    /// A's results as Black.
    pub a_black: WinTieLoss,
    /// A's results as White.
    pub a_white: WinTieLoss,
    /// Number of different games, with or without a result, where A's color counts and mirror images are the same game:
    /// without random openings, players that always play the same repeat their games. `None` in results of early
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_games: Option<usize>,
    /// A's results in all games but the copies that are no new evidence: of a pair of games that repeats an earlier
    /// one, or, if games do not come in pairs, of a single game. `None` in results of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_distinct: Option<WinTieLoss>,
    /// Whole pairs by A's points in them: 0, ½, 1, 1½, 2. A pair that repeats both games of an earlier one is no new
    /// evidence and does not count. All 0 if games do not come in pairs.
    pub pentanomial: Pentanomial,
    /// Elo difference of A over B with its interval, and the likelihood of superiority.
    #[serde(flatten)]
    pub estimate: EloEstimate,
    /// Bounds on the score that hold throughout the match simultaneously, so they remain valid under optional stopping.
    #[serde(default)]
    pub any_time: ConfidenceSequence,
    /// The sequential test's last look, if there is a test.
    pub sprt: Option<Sprt>,
    /// Games that either player lost by an illegal move, a crash, a timeout, or an invalid answer.
    pub faults: usize,
    /// The `faults` of player A.
    pub a_faults: usize,
    /// The `faults` of player B.
    pub b_faults: usize,
    /// Games that reached the ply limit; they have no result.
    pub unfinished: usize,
    /// Games that do not count because an engine refused a legal move.
    pub void: usize,
    /// Games that ended by resignation.
    pub resigned: usize,
    /// Mean margin of counted boards in points, Black minus White minus komi; `None` if there are none.
    pub mean_black_margin: Option<f64>,
    /// Mean margin of counted boards in points after komi, positive when A is ahead; `None` if there are none.
    pub mean_a_margin: Option<f64>,
    /// Games that A won owning every point of the board.
    pub a_full_board_wins: usize,
    /// Games that B won owning every point of the board.
    pub b_full_board_wins: usize,
    /// Mean number of plies of all games; 0 if there are none.
    pub mean_plies: f64,
    /// What A spent on this match.
    pub a_cost: PlayerCost,
    /// What B spent on this match.
    pub b_cost: PlayerCost,
    /// The program behind A, if A is an engine.
    pub a_engine: Option<EngineReport>,
    /// The program behind B, if B is an engine.
    pub b_engine: Option<EngineReport>,
    /// Whether the match was stopped before its end.
    pub stopped: bool,
    /// Every fault with its reason, including those of void games.
    pub fault_reports: Vec<FaultReport>,
    /// A summary of every game, in order.
    pub game_list: Vec<GameSummary>,
    /// Complete records of all games, in order; only [`run_match`](crate::run_match) keeps them.
    #[serde(skip)]
    pub records: Vec<GameRecord>,
}

/// Numbers of wins, ties, and losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WinTieLoss {
    /// Games won.
    pub wins: u64,
    /// Games tied.
    pub ties: u64,
    /// Games lost.
    pub losses: u64,
}

impl WinTieLoss {
    /// Total number of games.
    pub fn games(&self) -> u64 {
        self.wins + self.ties + self.losses
    }

    /// Wins plus half the ties.
    pub fn points(&self) -> f64 {
        self.wins as f64 + self.ties as f64 / 2.0
    }

    fn add(&mut self, points: f64) {
        match points {
            1.0 => self.wins += 1,
            0.0 => self.losses += 1,
            _ => self.ties += 1,
        }
    }
}

impl MatchResult {
    /// Summarizes games, which must be in the order of their numbers. `names` and `costs` are those of A and B.
    pub fn of(config: &MatchConfig, names: [String; 2], costs: [PlayerCost; 2], games: &[GameScore]) -> MatchResult {
        let [a, b] = names;
        let (pentanomial, distinct) = if is_paired(config) {
            (MatchResult::pairs_of(games), without_copied_pairs(games))
        } else {
            (Pentanomial::default(), without_copies(games))
        };
        let (a_black, a_white) = (by_color(games, Color::Black), by_color(games, Color::White));
        let total = WinTieLoss {
            wins: a_black.wins + a_white.wins,
            ties: a_black.ties + a_white.ties,
            losses: a_black.losses + a_white.losses,
        };
        let fault_reports: Vec<FaultReport> = games.iter().filter_map(|game| game.fault.clone()).collect();
        let faults_of = |player| {
            fault_reports
                .iter()
                .filter(|report| report.player == player && !report.void)
                .count()
        };
        let (a_faults, b_faults) = (faults_of(Side::A), faults_of(Side::B));
        let count = |fits: fn(&GameScore) -> bool| games.iter().filter(|game| fits(game)).count();
        let full_boards = |is_a: bool| games.iter().filter(|game| won_full_board(game, is_a)).count();
        let margins = || {
            games
                .iter()
                .filter_map(|game| game.black_margin.map(|margin| (game.a_color, margin)))
        };
        let for_a = |(color, margin): (Color, f64)| if color == Color::Black { margin } else { -margin };
        MatchResult {
            a,
            b,
            size: config.size.to_string(),
            komi: config.komi.to_string(),
            config: config.clone(),
            games: total.games() as usize,
            a_points: total.points(),
            b_points: total.games() as f64 - total.points(),
            a_total: total,
            a_black,
            a_white,
            distinct_games: Some(games.iter().map(|game| game.sequence).collect::<BTreeSet<_>>().len()),
            a_distinct: Some(distinct),
            pentanomial,
            estimate: EloEstimate::without_repeats(&total, &distinct, &pentanomial),
            any_time: ConfidenceSequence::of(&independent(&pentanomial, &distinct)),
            sprt: None,
            faults: a_faults + b_faults,
            a_faults,
            b_faults,
            unfinished: count(|game| game.unfinished),
            void: count(|game| game.void),
            resigned: count(|game| game.resigned),
            mean_black_margin: mean(margins().map(|(_, margin)| margin)),
            mean_a_margin: mean(margins().map(for_a)),
            a_full_board_wins: full_boards(true),
            b_full_board_wins: full_boards(false),
            mean_plies: mean(games.iter().map(|game| game.summary.plies as f64)).unwrap_or(0.0),
            a_cost: costs[0],
            b_cost: costs[1],
            a_engine: None,
            b_engine: None,
            stopped: false,
            fault_reports,
            game_list: games.iter().map(|game| game.summary.clone()).collect(),
            records: Vec::new(),
        }
    }

    /// Counts the different pairs in which both games count. Games must be in the order of their numbers.
    pub fn pairs_of<'a>(games: impl IntoIterator<Item = &'a GameScore>) -> Pentanomial {
        let mut pairs = Pentanomial::default();
        let mut seen = BTreeSet::new();
        for ([first, second], [a_first, a_second]) in whole_pairs(games) {
            if seen.insert((first.sequence, second.sequence)) {
                pairs.add(a_first, a_second);
            }
        }
        pairs
    }

    /// The results to rate players by: those of different games, or of all games if only these are known.
    pub fn evidence(&self) -> WinTieLoss {
        self.a_distinct.unwrap_or(self.a_total)
    }

    /// A's mean points per game, 0 to 1; ½ if there are no games.
    pub fn a_score(&self) -> f64 {
        if self.games == 0 {
            0.5
        } else {
            self.a_points / self.games as f64
        }
    }
}

/// The pairs in which both games count, with A's points. Games must be in the order of their numbers.
fn whole_pairs<'a>(
    games: impl IntoIterator<Item = &'a GameScore>,
) -> impl Iterator<Item = ([&'a GameScore; 2], [f64; 2])> {
    let mut first: Option<&GameScore> = None;
    games.into_iter().filter_map(move |second| {
        let Some(other) = first.take().filter(|first| first.summary.pair == second.summary.pair) else {
            first = Some(second);
            return None;
        };
        Some(([other, second], [other.summary.a_points?, second.summary.a_points?]))
    })
}

/// A's results in all games but those of pairs that repeat both games of an earlier one.
fn without_copied_pairs(games: &[GameScore]) -> WinTieLoss {
    let mut seen = BTreeSet::new();
    let copied: BTreeSet<usize> = whole_pairs(games)
        .filter(|([first, second], _)| !seen.insert((first.sequence, second.sequence)))
        .map(|([first, _], _)| first.summary.pair)
        .collect();
    sum(games.iter().filter(|game| !copied.contains(&game.summary.pair)))
}

/// A's results in the first of all games with the same moves and colors.
fn without_copies(games: &[GameScore]) -> WinTieLoss {
    let mut seen = BTreeSet::new();
    sum(games
        .iter()
        .filter(|game| game.summary.a_points.is_some() && seen.insert(game.sequence)))
}

/// Independent results: whole pairs, or single games, none of which is a copy, if there are no pairs.
pub(crate) fn independent(pairs: &Pentanomial, distinct: &WinTieLoss) -> Pentanomial {
    match pairs.pairs() {
        0 => Pentanomial {
            counts: [distinct.losses, 0, distinct.ties, 0, distinct.wins],
        },
        _ => *pairs,
    }
}

fn by_color(games: &[GameScore], color: Color) -> WinTieLoss {
    sum(games.iter().filter(|game| game.a_color == color))
}

/// A's results in some games.
fn sum<'a>(games: impl Iterator<Item = &'a GameScore>) -> WinTieLoss {
    let mut sum = WinTieLoss::default();
    games
        .filter_map(|game| game.summary.a_points)
        .for_each(|points| sum.add(points));
    sum
}

fn won_full_board(game: &GameScore, is_a: bool) -> bool {
    game.full_board_winner
        .is_some_and(|winner| (winner == game.a_color) == is_a)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
