//! What a game teaches a network: its moves or the policies stored with it, and what is known of its result.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use tengen_records::{Comparison, EndReason, GameRecord, OPENING, SgfResult};
use tengen_rules::{Color, Outcome, Rules, Size};

/// What the policy learns from a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyFrom {
    /// The moves that were played, at every ply that a player chose.
    #[default]
    Played,
    /// The policy targets stored with the plies, at every ply with a target and a weight above 0.
    Labels,
}

/// What the value learns from a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueFrom {
    /// The result of counting the final position, if the game was played out.
    #[default]
    Counted,
    /// The result that the game's file states, whether a score, a resignation, or a loss on time.
    Claimed,
    /// The values stored with the plies, at every ply that was searched.
    Labels,
    /// The values stored with the plies and the counted result, in the proportion `samples.result_share`, as in runs.
    Mixed,
}

/// What the ownership learns from a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnershipFrom {
    /// The owners found by counting the final position, if the game was played out.
    #[default]
    Counted,
    /// The owners that a teacher expects, at every ply that has them; elsewhere, those found by counting the final
    /// position, if the game was played out.
    Labels,
}

/// What games of one origin teach.
#[derive(Clone, Debug, PartialEq)]
pub struct Teaching {
    /// What the policy learns.
    pub policy: PolicyFrom,
    /// What the value learns.
    pub value: ValueFrom,
    /// What the ownership learns.
    pub ownership: OwnershipFrom,
    /// The boards of the games; games on other boards are left out.
    pub sizes: Vec<Size>,
    /// The rules of the games; games under other rules are left out.
    pub rules: Rules,
}

/// How many games are used for what, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Census {
    /// They teach policy, value, margin and owners: the final position was counted.
    pub counted: u64,
    /// They teach policy and value, but no margin, and no owners except those that a teacher expects: only the winner
    /// or the values of plies are known.
    pub valued: u64,
    /// They teach only the policy, and the owners that a teacher expects: nothing is known of their result.
    pub policy_only: u64,
    /// Left out: they have no ply to learn from.
    pub empty: u64,
    /// Left out: on another board.
    pub other_board: u64,
    /// Left out: under other rules.
    pub other_rules: u64,
}

impl Census {
    /// The sum of two censuses.
    #[must_use]
    pub fn plus(self, other: Census) -> Census {
        Census {
            counted: self.counted + other.counted,
            valued: self.valued + other.valued,
            policy_only: self.policy_only + other.policy_only,
            empty: self.empty + other.empty,
            other_board: self.other_board + other.other_board,
            other_rules: self.other_rules + other.other_rules,
        }
    }

    /// Number of games that are learned from.
    pub fn taught(&self) -> u64 {
        self.counted + self.valued + self.policy_only
    }

    /// Number of games that are left out.
    pub fn left_out(&self) -> u64 {
        self.empty + self.other_board + self.other_rules
    }
}

/// The plies of a game at which the value has a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Valued {
    None,
    All,
    /// Those that were searched.
    Searched,
}

/// A game and what it teaches.
pub(crate) struct Lesson<'a> {
    /// The game; its plies hold the policy targets, values, and weights to learn from.
    pub(crate) record: Cow<'a, GameRecord>,
    /// Black's margin on the board in points, without komi, if margin and owners are learned.
    pub(crate) board_margin: Option<i32>,
    /// The result from Black's view, 1, 0 or -1; 0 also if it is unknown.
    pub(crate) result: i8,
    /// Weight of the result in the value target, 0 to 1; `None` means [`SampleConfig::result_share`].
    ///
    /// [`SampleConfig::result_share`]: crate::SampleConfig::result_share
    pub(crate) result_share: Option<f32>,
    /// The plies with a value target.
    pub(crate) valued: Valued,
    /// What the ownership learns.
    pub(crate) ownership: OwnershipFrom,
}

impl<'a> Lesson<'a> {
    /// What a run learns from a game of its own self-play; `None` if the game has no result, or its score includes the
    /// half point of a button, which no board margin has.
    pub(crate) fn of_run(record: &'a GameRecord) -> Option<Lesson<'a>> {
        let board = board_half_points(record);
        if !record.is_finished() || board.is_some_and(|half_points| half_points % 2 != 0) {
            return None;
        }
        Some(Lesson {
            record: Cow::Borrowed(record),
            board_margin: board.map(|half_points| half_points / 2),
            result: sign_of(record.score_half_points.unwrap_or(0)),
            result_share: None,
            valued: if board.is_some() { Valued::All } else { Valued::None },
            ownership: OwnershipFrom::Counted,
        })
    }

    /// What a game teaches. An error means that the game is left out, and counts it.
    pub(crate) fn taught(record: &'a GameRecord, teaching: &Teaching) -> Result<Lesson<'a>, Census> {
        let mut census = Census::default();
        if !teaching.sizes.contains(&record.size) {
            census.other_board = 1;
            return Err(census);
        }
        if record.rules.parse() != Ok(teaching.rules) {
            census.other_rules = 1;
            return Err(census);
        }
        let record = counted_if_settled(record);
        let truth = Truth::of(&record, teaching.value);
        let (result_share, valued) = match (teaching.value, truth.result) {
            (ValueFrom::Counted | ValueFrom::Claimed, Some(_)) => (Some(1.0), Valued::All),
            (ValueFrom::Counted | ValueFrom::Claimed, None) => (Some(0.0), Valued::None),
            (ValueFrom::Mixed, Some(_)) => (None, Valued::Searched),
            (ValueFrom::Labels | ValueFrom::Mixed, _) => (Some(0.0), Valued::Searched),
        };
        let mut lesson = Lesson {
            record,
            board_margin: truth.board_margin,
            result: truth.result.unwrap_or(0),
            result_share,
            valued,
            ownership: teaching.ownership,
        };
        if teaching.policy == PolicyFrom::Played {
            lesson.learn_moves();
        }
        if let (Valued::All, Some(result)) = (valued, truth.result) {
            lesson.value_by_result(result);
        }
        Ok(lesson)
    }

    /// A census of this one game.
    pub(crate) fn census(&self) -> Census {
        let mut census = Census::default();
        let searched = || self.record.plies.iter().any(|ply| ply.root_visits > 0);
        match self.valued {
            _ if self.board_margin.is_some() => census.counted = 1,
            Valued::All => census.valued = 1,
            Valued::Searched if searched() => census.valued = 1,
            Valued::Searched | Valued::None => census.policy_only = 1,
        }
        census
    }

    /// Whether there is a value target at a ply.
    pub(crate) fn has_value(&self, ply: usize) -> bool {
        match self.valued {
            Valued::None => false,
            Valued::All => true,
            Valued::Searched => self.record.plies[ply].root_visits > 0,
        }
    }

    /// The owners that a teacher expects before a ply, see [`tengen_records::PlyRecord::expected_ownership`]; empty if
    /// they are not learned.
    pub(crate) fn expected_ownership(&self, ply: usize) -> &[i8] {
        match self.ownership {
            OwnershipFrom::Labels => &self.record.plies[ply].expected_ownership,
            OwnershipFrom::Counted => &[],
        }
    }

    /// The value that follows the last ply, from Black's view: the result or, if that is not learned, the last value.
    pub(crate) fn value_at_the_end(&self) -> f32 {
        let last = || {
            let ply = (0..self.record.plies.len()).rev().find(|&ply| self.has_value(ply))?;
            let sign = if self.record.mover(ply) == Color::Black {
                1.0
            } else {
                -1.0
            };
            Some(sign * self.record.plies[ply].root_value)
        };
        match self.result_share {
            Some(share) if share <= 0.0 => last().unwrap_or(0.0),
            _ => f32::from(self.result),
        }
    }

    /// Whether the values over the next plies include that of this ply.
    pub(crate) fn is_followed(&self, ply: usize) -> bool {
        self.valued != Valued::Searched || self.record.plies[ply].root_visits > 0
    }

    /// Makes the players' moves the policy targets.
    fn learn_moves(&mut self) {
        let record = self.record.to_mut();
        let (size, opening) = (record.size, usize::from(record.opening_plies));
        for (number, ply) in record.plies.iter_mut().enumerate() {
            let is_chosen = number >= opening && !ply.has(OPENING);
            ply.weight = if is_chosen { 1.0 } else { 0.0 };
            ply.policy = match is_chosen {
                true => vec![(ply.mv.index(size) as u16, 1.0)],
                false => Vec::new(),
            };
        }
    }

    /// Gives every ply the value of the result.
    fn value_by_result(&mut self, result: i8) {
        let record = self.record.to_mut();
        let start = record.setup;
        for (number, ply) in record.plies.iter_mut().enumerate() {
            let sign = match start.mover(number) {
                Color::Black => 1.0,
                Color::White => -1.0,
            };
            ply.root_value = sign * f32::from(result);
        }
    }
}

/// What is known of a game's result.
struct Truth {
    /// The result from Black's view: 1, 0 or -1.
    result: Option<i8>,
    /// Black's margin on the board in points, if the final position shows it.
    board_margin: Option<i32>,
}

impl Truth {
    fn of(record: &GameRecord, value: ValueFrom) -> Truth {
        let counted = record.score_half_points.map(sign_of);
        let claimed = claimed_result(record);
        // Under strict rules, a final position is counted as it is. If the file states another winner, its players
        // agreed which stones were dead without capturing them: the position was not played out, and its count is not
        // their result.
        let is_played_out = Comparison::of(record) != Comparison::OtherWinner;
        let counted = counted.filter(|_| is_played_out);
        let result = match value {
            ValueFrom::Claimed => claimed,
            ValueFrom::Counted | ValueFrom::Labels | ValueFrom::Mixed => counted,
        };
        let shows_margin = counted.is_some() && Comparison::of(record) != Comparison::OtherMargin;
        let board = board_half_points(record).filter(|half_points| half_points % 2 == 0 && shows_margin);
        Truth {
            result,
            board_margin: board
                .map(|half_points| half_points / 2)
                .filter(|_| result.is_some() && result == counted),
        }
    }
}

/// The game with the score of its final position if it stopped before two passes, but only after every point was
/// settled, as when players or programs agree on the end. Otherwise the game as it is.
fn counted_if_settled(record: &GameRecord) -> Cow<'_, GameRecord> {
    let stopped = [
        EndReason::Unfinished,
        EndReason::Resign,
        EndReason::Forfeit,
        EndReason::PlyLimit,
    ];
    if stopped.contains(&record.end_reason)
        && let Ok(last) = record.replay()
        && last.is_settled()
    {
        let mut counted = record.clone();
        counted.set_end(&last, EndReason::Settled);
        return Cow::Owned(counted);
    }
    Cow::Borrowed(record)
}

/// The result that a game's file states, from Black's view; for a game without a file, the result in its record.
fn claimed_result(record: &GameRecord) -> Option<i8> {
    if record.origin.is_none() {
        return record.outcome().map(|outcome| match outcome {
            Outcome::BlackWins => 1,
            Outcome::WhiteWins => -1,
            Outcome::Tie => 0,
        });
    }
    let claim = record.claim();
    match (claim, claim.winner()) {
        (_, Some(Color::Black)) => Some(1),
        (_, Some(Color::White)) => Some(-1),
        (SgfResult::Count { .. }, None) => Some(0),
        _ => None,
    }
}

/// Black's score minus White's without komi, in half points.
fn board_half_points(record: &GameRecord) -> Option<i32> {
    let score = record.score_half_points?;
    Some(score + i32::from(record.komi.half_points()))
}

fn sign_of(score: i32) -> i8 {
    score.signum() as i8
}
