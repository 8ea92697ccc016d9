//! The record of one game: who played it, every ply with its search results, and how it ended.

use tengen_rules::{
    Area, Color, Ending, Handicap, IllegalMove, Judge, Komi, Move, Outcome, Position, Rules, RulesError, Scoring,
    Setup, SetupError, Size,
};

use crate::claimed_result::SgfResult;
use crate::end_reason::EndReason;
use crate::origin::Origin;

/// Flag of a [`PlyRecord`]: the search ran with its full number of visits.
pub const FULL_SEARCH: u8 = 1;
/// Flag of a [`PlyRecord`]: the ply belongs to the opening, was not chosen by the player, and is not trained on.
pub const OPENING: u8 = 2;
/// Flag of a [`PlyRecord`]: the move was chosen for exploration, not because the search considered it best.
pub const EXPLORED: u8 = 4;

/// Start time of a game whose date is unknown, as in an SGF file without a date: 1970-01-01, which is never shown as a
/// date.
pub const UNKNOWN_TIME: i64 = 0;

/// Maximum number of handicap stones a record can hold.
const MAX_HANDICAP: u16 = 255;

/// Certainty in [`PlyRecord::expected_ownership`], in percent.
const CERTAIN: i8 = 100;

/// How far the sum of a policy target's probabilities may be from 1.
const POLICY_SUM_TOLERANCE: f32 = 1e-3;

/// The purpose a game was played for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GameKind {
    /// A training game of one network against itself.
    SelfPlay,
    /// A game of a match between two players, without exploration.
    Match,
    /// A game imported from an SGF file and replayed under our rules.
    Import,
}

impl GameKind {
    /// The name used in files and folder names.
    pub fn name(self) -> &'static str {
        match self {
            GameKind::SelfPlay => "selfplay",
            GameKind::Match => "match",
            GameKind::Import => "import",
        }
    }

    /// Looks up a kind by the name used in files.
    pub fn from_name(name: &str) -> Option<GameKind> {
        [GameKind::SelfPlay, GameKind::Match, GameKind::Import]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// One ply and what the search found before it. All values are from the view of the side that played it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlyRecord {
    /// The move or pass played.
    pub mv: Move,
    /// Bit set of [`FULL_SEARCH`], [`OPENING`], [`EXPLORED`].
    pub flags: u8,
    /// The search value of the chosen move: win probability minus loss probability, -1 to 1.
    pub root_value: f32,
    /// The search's expected margin for the mover after komi, in points.
    pub root_margin: f32,
    /// Root visits; 0 if there was no search.
    pub root_visits: u16,
    /// The raw network's value of the position: win probability minus loss probability, -1 to 1.
    pub network_value: f32,
    /// Training weight of the position; 0 excludes it.
    pub weight: f32,
    /// The search's policy target as (move index, probability); the index is `row * width + column` from the top left,
    /// and the number of points for a pass. The probabilities sum to 1; empty if there is no target.
    pub policy: Vec<(u16, f32)>,
    /// The owner that a teacher expects for every point at the end of the game, in row-major order, in percent from 100
    /// (surely Black's) to -100 (surely White's), whoever is to move; empty if nobody said.
    pub expected_ownership: Vec<i8>,
}

impl PlyRecord {
    /// A ply without search data that is not trained on.
    pub fn bare(mv: Move) -> PlyRecord {
        PlyRecord {
            mv,
            flags: 0,
            root_value: 0.0,
            root_margin: 0.0,
            root_visits: 0,
            network_value: 0.0,
            weight: 0.0,
            policy: Vec::new(),
            expected_ownership: Vec::new(),
        }
    }

    /// Whether all bits of `flag` are set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag == flag
    }
}

/// One game with everything known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct GameRecord {
    /// Id of the game, unique in its store.
    pub game_id: String,
    /// Board size.
    pub size: Size,
    /// The rules in a form that can be parsed: the name of a rule set, or its settings.
    pub rules: String,
    /// Komi, added to White's score.
    pub komi: Komi,
    /// Black's score minus White's score and komi under the rules, in half points; `None` unless the game ended by two
    /// passes or was settled.
    pub score_half_points: Option<i32>,
    /// Seed of the game's random choices.
    pub seed: i64,
    /// Name of the model or player that played Black.
    pub black_model: String,
    /// Name of the model or player that played White.
    pub white_model: String,
    /// Name of the configuration the game was played with.
    pub config_id: String,
    /// When the game started, in milliseconds since 1970-01-01 UTC; 0 if unknown.
    pub start_time_ms: i64,
    /// Why the game stopped; decides whether it has a result.
    pub end_reason: EndReason,
    /// The purpose the game was played for.
    pub kind: GameKind,
    /// Number of leading plies that were given or drawn at random and are not trained on.
    pub opening_plies: u16,
    /// Stones on the board before the first ply, the side to move, and the handicap.
    pub setup: Setup,
    /// All plies in order, starting with that of [`Setup::to_move`].
    pub plies: Vec<PlyRecord>,
    /// Owner of every point of the final position in row-major order: 1 Black, -1 White, 0 neither. Area scoring uses
    /// the areas; territory scoring uses living chains and territories. Empty unless the game ended by two passes or
    /// was settled.
    pub ownership: Vec<i8>,
    /// The source of an imported game and what its file claims; `None` for our own games.
    pub origin: Option<Box<Origin>>,
}

/// How a record contradicts itself or the rules.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// The rules cannot be parsed.
    #[error("the record's rules: {0}")]
    UnknownRules(RulesError),
    /// The setup is not a valid start of a game.
    #[error("the start of the game: {0}")]
    Setup(#[from] SetupError),
    /// More handicap stones than a record can hold.
    #[error("a record can hold at most {MAX_HANDICAP} handicap stones, but the game has {0}")]
    Handicap(u16),
    /// A move is illegal under the rules.
    #[error("ply {ply}: {mv} is illegal: {reason}")]
    IllegalMove {
        /// Ply of the move, counted from 0.
        ply: usize,
        /// The move as text.
        mv: String,
        /// Why the move is illegal.
        reason: IllegalMove,
    },
    /// The stated end reason does not fit the moves.
    #[error("the record says the game ended by {stated}, but after its {plies} plies {found}")]
    WrongEnd {
        /// Name of the stated reason.
        stated: &'static str,
        /// Number of plies.
        plies: usize,
        /// The actual state of the game under the rules.
        found: &'static str,
    },
    /// The stated score differs from the score of the final board.
    #[error("the score after komi counts to {expected:?} half points, but the record says {found:?}")]
    WrongScore {
        /// The score counted on the final board; `None` if the game has no score.
        expected: Option<i32>,
        /// The stated score.
        found: Option<i32>,
    },
    /// The ownership list has the wrong length.
    #[error("ownership must have {expected} entries, but has {found}")]
    OwnershipLength {
        /// Number of points; 0 for a game without a score.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// A stated owner differs from the owner on the final board.
    #[error("ownership of point {point} (row-major order) counts to {expected}, but the record says {found}")]
    WrongOwner {
        /// Index of the point.
        point: usize,
        /// The counted owner.
        expected: i8,
        /// The stated owner.
        found: i8,
    },
    /// The record states more opening plies than it has plies.
    #[error("the record says {opening} opening plies, but has only {plies} plies")]
    OpeningTooLong {
        /// Stated number of opening plies.
        opening: usize,
        /// Number of plies.
        plies: usize,
    },
    /// A number is out of range or NaN.
    #[error("ply {ply}: {what} must be {range}, but is {found}")]
    OutOfRange {
        /// Ply, counted from 0.
        ply: usize,
        /// Name of the column.
        what: &'static str,
        /// The allowed range, for messages.
        range: &'static str,
        /// The value found.
        found: f32,
    },
    /// A map of expected owners has the wrong length.
    #[error("ply {ply}: expected_ownership must have no entry or {expected}, one for each point, but has {found}")]
    ExpectedOwnershipLength {
        /// Ply, counted from 0.
        ply: usize,
        /// Number of points.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// A policy target is invalid.
    #[error("ply {ply}: policy target: {problem}")]
    BadPolicy {
        /// Ply, counted from 0.
        ply: usize,
        /// Description of the problem.
        problem: String,
    },
}

impl GameRecord {
    /// The result that the game's file claims, restated for the record's komi if the file claims another one.
    pub fn claim(&self) -> SgfResult {
        let origin = self.origin.as_ref();
        origin.map_or(SgfResult::Unknown, |origin| origin.claim_at(self.komi))
    }

    /// Whether the rules give the game a result: a score (two passes or settled), or a tie by a long cycle.
    pub fn is_finished(&self) -> bool {
        matches!(
            self.end_reason,
            EndReason::TwoPasses | EndReason::Settled | EndReason::LongCycle
        )
    }

    /// The winner or a tie; `None` if the result is unknown because of the ply limit or undecided life.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.end_reason {
            EndReason::TwoPasses | EndReason::Settled => self.score_half_points.map(|score| match score.signum() {
                1 => Outcome::BlackWins,
                -1 => Outcome::WhiteWins,
                _ => Outcome::Tie,
            }),
            EndReason::LongCycle => Some(Outcome::Tie),
            EndReason::PlyLimit | EndReason::UndecidedLife | EndReason::Unfinished => None,
            EndReason::Resign | EndReason::Forfeit => {
                let claimed = self.origin.as_ref().and_then(|origin| origin.claim().winner());
                Some(match claimed.unwrap_or(self.mover(self.plies.len()).opposite()) {
                    Color::Black => Outcome::BlackWins,
                    Color::White => Outcome::WhiteWins,
                })
            }
        }
    }

    /// The side that plays ply `ply`.
    pub fn mover(&self, ply: usize) -> Color {
        self.setup.mover(ply)
    }

    /// Sets the end of the game. If the game is over under its rules, the reason, score and ownership follow from the
    /// final position. Otherwise the reason is `stopped`, and the game has a score only if that is
    /// [`EndReason::Settled`] and the position is indeed settled.
    pub fn set_end(&mut self, last: &Position, stopped: EndReason) {
        let end = End::of(last, self.komi, stopped);
        self.end_reason = end.reason.unwrap_or(stopped);
        self.score_half_points = end.score_half_points;
        self.ownership = end.ownership;
    }

    /// The starting position under the record's rules.
    ///
    /// # Errors
    /// [`RecordError::UnknownRules`] if the rules cannot be parsed; [`RecordError::Setup`] and
    /// [`RecordError::Handicap`] if the setup is invalid.
    pub fn start(&self) -> Result<Position, RecordError> {
        let rules: Rules = self.rules.parse().map_err(RecordError::UnknownRules)?;
        match self.setup.handicap {
            Handicap::Consecutive(n) | Handicap::WhitePasses(n) | Handicap::Fixed(n) if n > MAX_HANDICAP => {
                Err(RecordError::Handicap(n))
            }
            _ => Ok(Position::starting(self.size, rules, &self.setup)?.between_machines()),
        }
    }

    /// Replays the game under its rules and returns the final position.
    ///
    /// # Errors
    /// As [`GameRecord::start`], or [`RecordError::IllegalMove`] at the first illegal move.
    pub fn replay(&self) -> Result<Position, RecordError> {
        self.replay_with(|_, _, _| {})
    }

    /// Replays the game, calling `visit(position, ply, turn)` with the position before each ply. Returns the final
    /// position.
    ///
    /// # Errors
    /// As [`GameRecord::replay`].
    pub fn replay_with(&self, mut visit: impl FnMut(&Position, usize, &PlyRecord)) -> Result<Position, RecordError> {
        let mut position = self.start()?;
        for (ply, record) in self.plies.iter().enumerate() {
            visit(&position, ply, record);
            self.play(&mut position, ply, record)?;
        }
        Ok(position)
    }

    fn play(&self, position: &mut Position, ply: usize, record: &PlyRecord) -> Result<(), RecordError> {
        position.try_play(record.mv).map_err(|reason| RecordError::IllegalMove {
            ply,
            mv: record.mv.format(self.size),
            reason,
        })
    }

    /// Checks everything that can be checked: the legality of every move by replay, the range of every number, the
    /// policy targets, and the end, score and owners by counting the final board. Returns the final position.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn validate(&self) -> Result<Position, RecordError> {
        if usize::from(self.opening_plies) > self.plies.len() {
            let (opening, plies) = (usize::from(self.opening_plies), self.plies.len());
            return Err(RecordError::OpeningTooLong { opening, plies });
        }
        let mut position = self.start()?;
        for (ply, record) in self.plies.iter().enumerate() {
            check_numbers(ply, record)?;
            check_policy(ply, record, &position)?;
            check_expected_ownership(ply, record, self.size)?;
            self.play(&mut position, ply, record)?;
        }
        self.check_end(&position)?;
        Ok(position)
    }

    fn check_end(&self, last: &Position) -> Result<(), RecordError> {
        let end = End::of(last, self.komi, self.end_reason);
        let by_position = matches!(
            self.end_reason,
            EndReason::TwoPasses | EndReason::Settled | EndReason::LongCycle | EndReason::UndecidedLife
        );
        if end.reason != by_position.then_some(self.end_reason) {
            return Err(RecordError::WrongEnd {
                stated: self.end_reason.name(),
                plies: self.plies.len(),
                found: match end.reason {
                    None if self.end_reason == EndReason::Settled => "the game is neither over nor settled",
                    None => "the game is not over",
                    Some(EndReason::LongCycle) => "a long cycle has tied the game",
                    Some(EndReason::UndecidedLife) => "the game is over and the life of some chains is undecided",
                    Some(_) => "the game is over and scored",
                },
            });
        }
        let expected = end.score_half_points;
        if expected != self.score_half_points {
            return Err(RecordError::WrongScore {
                expected,
                found: self.score_half_points,
            });
        }
        let owners = end.ownership;
        if owners.len() != self.ownership.len() {
            return Err(RecordError::OwnershipLength {
                expected: owners.len(),
                found: self.ownership.len(),
            });
        }
        match owners.iter().zip(&self.ownership).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(point) => Err(RecordError::WrongOwner {
                point,
                expected: owners[point],
                found: self.ownership[point],
            }),
        }
    }

    /// The score after komi, Black minus White, in points, if the game has one.
    pub fn margin_points(&self) -> Option<f32> {
        self.score_half_points.map(|half_points| half_points as f32 / 2.0)
    }

    /// The result in SGF notation: `B+3.5`, `W+R`, `0`, `Void`.
    pub fn result_text(&self) -> String {
        let winner = match self.outcome() {
            None => return "Void".to_owned(),
            Some(Outcome::Tie) => return "0".to_owned(),
            Some(Outcome::BlackWins) => 'B',
            Some(Outcome::WhiteWins) => 'W',
        };
        match self.end_reason {
            EndReason::Resign => format!("{winner}+R"),
            EndReason::Forfeit => format!("{winner}+F"),
            _ => format!("{winner}+{}", self.margin_points().unwrap_or_default().abs()),
        }
    }
}

/// How a game ends according to its final position.
struct End {
    /// `None` while the game is in progress.
    reason: Option<EndReason>,
    score_half_points: Option<i32>,
    ownership: Vec<i8>,
}

impl End {
    /// The end under the rules or, if `claimed` says so and the position is settled, that of a settled game.
    ///
    /// A claim of undecided life is accepted under territory scoring whatever the search finds now: an earlier version
    /// may have decided less, and a game without a result stays without one.
    fn of(last: &Position, komi: Komi, claimed: EndReason) -> End {
        let mut judge = Judge::default();
        let (reason, count) = match judge.ending(last, komi) {
            None if claimed == EndReason::Settled && last.is_settled() => {
                (Some(EndReason::Settled), judge.count(last, komi))
            }
            None => (None, None),
            Some(Ending::Counted(_))
                if claimed == EndReason::UndecidedLife && last.rules().scoring == Scoring::Territory =>
            {
                (Some(EndReason::UndecidedLife), None)
            }
            Some(Ending::Counted(count)) => (Some(EndReason::TwoPasses), Some(count)),
            Some(Ending::TiedByCycle) => (Some(EndReason::LongCycle), None),
            Some(Ending::UndecidedLife) => (Some(EndReason::UndecidedLife), None),
        };
        End {
            reason,
            score_half_points: count.map(|count| count.margin.half_points()),
            ownership: count.map_or(Vec::new(), |count| ownership(last.size(), &count.owners)),
        }
    }
}

/// Owner of every point in row-major order: 1 Black, -1 White, 0 neither.
fn ownership(size: Size, owners: &Area) -> Vec<i8> {
    let owner = |point| {
        owners
            .owner(point)
            .map_or(0, |color| if color == Color::Black { 1 } else { -1 })
    };
    size.points().map(owner).collect()
}

/// Largest expected margin in points; no board and no komi comes near it.
const MAX_MARGIN: f32 = 100_000.0;

/// Largest training weight; ours are at most 1.
const MAX_WEIGHT: f32 = 65_536.0;

fn check_numbers(ply: usize, record: &PlyRecord) -> Result<(), RecordError> {
    let unit = "a number from -1 to 1";
    let checks = [
        (
            "root_value",
            record.root_value,
            unit,
            (-1.0..=1.0).contains(&record.root_value),
        ),
        (
            "network_value",
            record.network_value,
            unit,
            (-1.0..=1.0).contains(&record.network_value),
        ),
        (
            "root_margin",
            record.root_margin,
            "a number from -100000 to 100000",
            record.root_margin.abs() <= MAX_MARGIN,
        ),
        (
            "weight",
            record.weight,
            "a number from 0 to 65536",
            (0.0..=MAX_WEIGHT).contains(&record.weight),
        ),
        (
            "flags",
            record.flags.into(),
            "a sum of 1, 2 and 4",
            record.flags & !(FULL_SEARCH | OPENING | EXPLORED) == 0,
        ),
    ];
    match checks.into_iter().find(|check| !check.3) {
        None => Ok(()),
        Some((what, found, range, _)) => Err(RecordError::OutOfRange {
            ply,
            what,
            range,
            found,
        }),
    }
}

fn check_expected_ownership(ply: usize, record: &PlyRecord, size: Size) -> Result<(), RecordError> {
    let map = &record.expected_ownership;
    if !map.is_empty() && map.len() != size.area() {
        return Err(RecordError::ExpectedOwnershipLength {
            ply,
            expected: size.area(),
            found: map.len(),
        });
    }
    match map.iter().find(|owner| !(-CERTAIN..=CERTAIN).contains(*owner)) {
        None => Ok(()),
        Some(&owner) => Err(RecordError::OutOfRange {
            ply,
            what: "expected_ownership",
            range: "percent from -100 to 100",
            found: owner.into(),
        }),
    }
}

fn check_policy(ply: usize, record: &PlyRecord, position: &Position) -> Result<(), RecordError> {
    if record.policy.is_empty() {
        return Ok(());
    }
    let bad = |problem: String| Err(RecordError::BadPolicy { ply, problem });
    let area = position.size().area();
    let legal = position.legal_points();
    let mut seen = [0u64; 6];
    let mut sum = 0.0;
    for &(index, probability) in &record.policy {
        let index = usize::from(index);
        if index > area {
            return bad(format!(
                "move index {index} is greater than {area}, the index of a pass"
            ));
        }
        let bit = 1 << (index & 63);
        if seen[index >> 6] & bit != 0 {
            return bad(format!("move index {index} occurs twice"));
        }
        seen[index >> 6] |= bit;
        if (index < area && legal.words()[index >> 6] & bit == 0) || (index == area && !position.is_legal(Move::Pass)) {
            return bad(format!("move index {index} is illegal in this position"));
        }
        if !(0.0..=1.0).contains(&probability) {
            return bad(format!(
                "probability {probability} of move index {index} is not between 0 and 1"
            ));
        }
        sum += probability;
    }
    if (sum - 1.0).abs() > POLICY_SUM_TOLERANCE {
        return bad(format!("the probabilities sum to {sum}, not 1"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record of these moves on a board under these rules, claiming undecided life.
    fn undecided(size: &str, rules: Rules, moves: &str) -> GameRecord {
        let size: Size = size.parse().unwrap();
        let mv = |text| PlyRecord::bare(Move::parse(size, text).unwrap());
        GameRecord {
            game_id: "game".to_owned(),
            size,
            rules: rules.to_string(),
            komi: Komi::ZERO,
            score_half_points: None,
            seed: 0,
            black_model: "a".to_owned(),
            white_model: "b".to_owned(),
            config_id: String::new(),
            start_time_ms: 0,
            end_reason: EndReason::UndecidedLife,
            kind: GameKind::Match,
            opening_plies: 0,
            setup: Setup::EVEN,
            plies: moves.split(' ').map(mv).collect(),
            ownership: Vec::new(),
            origin: None,
        }
    }

    #[test]
    fn games_that_an_earlier_version_could_not_decide_stay_valid() {
        let moves = "B1 pass C1 pass pass";
        let mut game = undecided("4x1", Rules::japanese2008(), moves);
        game.validate().unwrap();
        assert_eq!(game.outcome(), None);
        let last = game.replay().unwrap();
        game.set_end(&last, EndReason::TwoPasses);
        assert_eq!(
            (game.end_reason, game.score_half_points),
            (EndReason::TwoPasses, Some(4))
        );
        // Area scoring always decides, and a game in progress is not over.
        for wrong in [
            undecided("4x1", Rules::tromp_taylor(), moves),
            undecided("4x1", Rules::japanese2008(), "B1 pass C1"),
        ] {
            assert!(matches!(wrong.validate(), Err(RecordError::WrongEnd { .. })));
        }
    }
}
