//! What is known of one game: who played it, every turn with what the search thought, how it ended.

use tengen_rules::{
    Area, Color, Ending, Handicap, IllegalMove, Judge, Komi, Move, Outcome, Position, Rules, RulesError, Setup,
    SetupError, Size,
};

use crate::origin::Origin;

/// Flag of a [`PlyRecord`]: the search ran with its full number of visits.
pub const FULL_SEARCH: u8 = 1;
/// Flag of a [`PlyRecord`]: the turn belongs to the opening, was not chosen by the player, and is not trained on.
pub const OPENING: u8 = 2;
/// Flag of a [`PlyRecord`]: the turn was chosen for exploration, not because it was thought best.
pub const EXPLORED: u8 = 4;

/// The start of a game of which nobody says when it began, as in an SGF file without a date: 1970-01-01, which is told
/// nowhere as a date.
pub const UNKNOWN_TIME: i64 = 0;

/// The largest number of handicap stones a record can state.
const MAX_HANDICAP: u16 = 255;

/// How far the probabilities of a policy target may be from a sum of 1.
const POLICY_SUM_TOLERANCE: f32 = 1e-3;

/// Why a game stopped.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndReason {
    /// Two passes in a row: the game is over by the rules and scored.
    TwoPasses,
    /// The game was stopped before two passes because it is settled ([`Position::is_settled`]), and the grid as it
    /// stands was scored.
    Settled,
    /// A long cycle tied the game under rules that say so, whatever the komi; there is no score.
    LongCycle,
    /// Two passes in a row, but the score depends on the life of chains that is not decided: no result.
    UndecidedLife,
    /// The limit on the number of plies was met: the game is unfinished and has no result.
    PlyLimit,
    /// A side resigned: it lost, without a score. It is the side to move after the last ply, or in an imported game
    /// whoever its file claims.
    Resign,
    /// A side forfeited (illegal move, crash, time): it lost, without a score. Which side is told as for
    /// [`EndReason::Resign`].
    Forfeit,
    /// The turns of an imported game stop before it is over by the rules, and nobody gave up: it has no result.
    Unfinished,
}

impl EndReason {
    /// All reasons, in the order of declaration.
    pub const ALL: [EndReason; 8] = [
        EndReason::TwoPasses,
        EndReason::Settled,
        EndReason::LongCycle,
        EndReason::UndecidedLife,
        EndReason::PlyLimit,
        EndReason::Resign,
        EndReason::Forfeit,
        EndReason::Unfinished,
    ];

    /// The name stored in files.
    pub fn name(self) -> &'static str {
        match self {
            EndReason::TwoPasses => "two_passes",
            EndReason::Settled => "settled",
            EndReason::LongCycle => "long_cycle",
            EndReason::UndecidedLife => "undecided_life",
            EndReason::PlyLimit => "ply_limit",
            EndReason::Resign => "resign",
            EndReason::Forfeit => "forfeit",
            EndReason::Unfinished => "unfinished",
        }
    }

    /// The reason of a name stored in files.
    pub fn from_name(name: &str) -> Option<EndReason> {
        EndReason::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// What a game was played for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GameKind {
    /// Training games of one network against itself.
    SelfPlay,
    /// A game of a match between two players, exploration off.
    Match,
    /// A game that others played, read from their file and replayed under our rules.
    Import,
}

impl GameKind {
    /// The name stored in files and folder names.
    pub fn name(self) -> &'static str {
        match self {
            GameKind::SelfPlay => "selfplay",
            GameKind::Match => "match",
            GameKind::Import => "import",
        }
    }

    /// The kind of a name stored in files.
    pub fn from_name(name: &str) -> Option<GameKind> {
        [GameKind::SelfPlay, GameKind::Match, GameKind::Import]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// One turn and what the search found before it. All values are from the view of the side that took the turn.
#[derive(Clone, Debug, PartialEq)]
pub struct PlyRecord {
    /// The turn.
    pub mv: Move,
    /// Bit set of [`FULL_SEARCH`], [`OPENING`], [`EXPLORED`].
    pub flags: u8,
    /// The search's value of the chosen move: probability to win minus probability to lose, -1 to 1.
    pub root_value: f32,
    /// The search's expected margin of the mover after komi, in points.
    pub root_margin: f32,
    /// Visits the root got; 0 when there was no search.
    pub root_visits: u16,
    /// The raw network's value of the position: probability to win minus probability to lose, -1 to 1.
    pub network_value: f32,
    /// Weight of the position in training; 0 keeps it out.
    pub weight: f32,
    /// The search's policy target as (move index, probability); the index is `row * width + column` from the top left,
    /// the number of points for a pass. Sums to 1; empty when there is no target.
    pub policy: Vec<(u16, f32)>,
}

impl PlyRecord {
    /// A turn that nothing is known about and that is not trained on.
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
        }
    }

    /// Whether all bits of `flag` are set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag == flag
    }
}

/// One game.
#[derive(Clone, Debug, PartialEq)]
pub struct GameRecord {
    /// Name of the game, unique in its store.
    pub game_id: String,
    /// The board.
    pub size: Size,
    /// The rules as text that can be read back: the name of a set, or its settings.
    pub rules: String,
    /// Points added to White's score.
    pub komi: Komi,
    /// Black's score minus White's minus komi by the rules' count, in half points; `None` unless the game ended by
    /// two passes or settled.
    pub score_half_points: Option<i32>,
    /// Seed of the game's random choices.
    pub seed: i64,
    /// Name of the model or player that played Black.
    pub black_model: String,
    /// Name of the model or player that played White.
    pub white_model: String,
    /// Name of the configuration the game was played under.
    pub config_id: String,
    /// When the game began, in milliseconds since 1970-01-01 UTC; 0 when nobody says.
    pub start_time_ms: i64,
    /// Why the game stopped.
    pub end_reason: EndReason,
    /// What the game was played for.
    pub kind: GameKind,
    /// Number of plies at the start that were given or drawn at random and are not trained on.
    pub opening_plies: u16,
    /// Stones on the board before the first turn, who takes it, and the handicap.
    pub setup: Setup,
    /// Every turn, that of [`Setup::to_move`] first.
    pub plies: Vec<PlyRecord>,
    /// Owner of every point at the end in reading order: 1 Black, -1 White, 0 neither; under area scoring the areas,
    /// under territory scoring alive chains and territories. Empty unless the game ended by two passes or settled.
    pub ownership: Vec<i8>,
    /// Where an imported game comes from and what its file claims; `None` for our own games.
    pub origin: Option<Box<Origin>>,
}

/// How a record contradicts itself or the rules.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// The rules cannot be read.
    #[error("the record's rules: {0}")]
    UnknownRules(RulesError),
    /// No game can start so.
    #[error("the start of the game: {0}")]
    Setup(#[from] SetupError),
    /// More handicap stones than a record can state.
    #[error("a record states at most {MAX_HANDICAP} handicap stones, but the game has {0}")]
    Handicap(u16),
    /// A turn breaks the rules.
    #[error("ply {ply}: {mv} is illegal: {reason}")]
    IllegalMove {
        /// Ply of the turn, counted from 0.
        ply: usize,
        /// The turn as text.
        mv: String,
        /// Why it is illegal.
        reason: IllegalMove,
    },
    /// The stated end does not fit the turns.
    #[error("the record says the game ended by {stated}, but after its {plies} plies {found}")]
    WrongEnd {
        /// Name of the stated reason.
        stated: &'static str,
        /// Number of plies.
        plies: usize,
        /// How the game stands by the rules.
        found: &'static str,
    },
    /// The stated score is not the score of the final board.
    #[error("the score after komi is {expected:?} half points by count, but the record says {found:?}")]
    WrongScore {
        /// Counted on the final board; `None` when the game has no score.
        expected: Option<i32>,
        /// Stated.
        found: Option<i32>,
    },
    /// The list of owners has a wrong length.
    #[error("ownership must have {expected} entries, but has {found}")]
    OwnershipLength {
        /// Number of points, 0 for a game without a score.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// A stated owner is not the owner on the final board.
    #[error("ownership of point {point} (reading order) is {expected} by count, but the record says {found}")]
    WrongOwner {
        /// Index of the point.
        point: usize,
        /// Counted.
        expected: i8,
        /// Stated.
        found: i8,
    },
    /// More opening plies than plies.
    #[error("the record says {opening} opening plies, but has only {plies} plies")]
    OpeningTooLong {
        /// Stated opening plies.
        opening: usize,
        /// Plies.
        plies: usize,
    },
    /// A number is outside its range or not a number.
    #[error("ply {ply}: {what} must be {range}, but is {found}")]
    OutOfRange {
        /// Ply, counted from 0.
        ply: usize,
        /// Name of the column.
        what: &'static str,
        /// The allowed range in words.
        range: &'static str,
        /// The value found.
        found: f32,
    },
    /// A policy target cannot be one.
    #[error("ply {ply}: policy target: {problem}")]
    BadPolicy {
        /// Ply, counted from 0.
        ply: usize,
        /// What is wrong.
        problem: String,
    },
}

impl GameRecord {
    /// Whether the game has a result that its rules give: a score, by two passes or settled, or a tie by a long cycle.
    pub fn is_finished(&self) -> bool {
        matches!(
            self.end_reason,
            EndReason::TwoPasses | EndReason::Settled | EndReason::LongCycle
        )
    }

    /// Who won; `None` when nobody can say: the ply limit was met, or life is not decided.
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

    /// The side that takes turn `ply`.
    pub fn mover(&self, ply: usize) -> Color {
        self.setup.mover(ply)
    }

    /// States the end of the game: reason, score and ownership follow from the final position if the game is over by
    /// its rules; else it has stopped for the reason given, and has a score only if that is [`EndReason::Settled`] and
    /// the position is.
    pub fn set_end(&mut self, last: &Position, stopped: EndReason) {
        let end = End::of(last, self.komi, stopped);
        self.end_reason = end.reason.unwrap_or(stopped);
        self.score_half_points = end.score_half_points;
        self.ownership = end.ownership;
    }

    /// The start of the game under the record's rules.
    ///
    /// # Errors
    /// [`RecordError::UnknownRules`] when the rules cannot be read; [`RecordError::Setup`] and
    /// [`RecordError::Handicap`] when no game can start so.
    pub fn start(&self) -> Result<Position, RecordError> {
        let rules: Rules = self.rules.parse().map_err(RecordError::UnknownRules)?;
        match self.setup.handicap {
            Handicap::Consecutive(n) | Handicap::WhitePasses(n) | Handicap::Fixed(n) if n > MAX_HANDICAP => {
                Err(RecordError::Handicap(n))
            }
            _ => Ok(Position::starting(self.size, rules, &self.setup)?.between_machines()),
        }
    }

    /// Plays the game again under its rules and returns its last position.
    ///
    /// # Errors
    /// As [`GameRecord::start`], or [`RecordError::IllegalMove`] at the first illegal turn.
    pub fn replay(&self) -> Result<Position, RecordError> {
        self.replay_with(|_, _, _| {})
    }

    /// Plays the game again and shows every turn's position before it: `visit(position, ply, turn)`. Returns the last
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

    /// Checks everything that can be checked: every turn's legality by replay, the numbers' ranges, the policy targets,
    /// the end, the score and the owners by counting the final board. Returns the last position.
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
                    None if self.end_reason == EndReason::Settled => "the game is not over, and not settled either",
                    None => "the game is not over",
                    Some(EndReason::LongCycle) => "a long cycle has tied the game",
                    Some(EndReason::UndecidedLife) => "the game is over and the life of its chains is not decided",
                    Some(_) => "the game is over and counted",
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

    /// The score after komi, Black minus White, when the game has one.
    pub fn margin_points(&self) -> Option<f32> {
        self.score_half_points.map(|half_points| half_points as f32 / 2.0)
    }

    /// The result in SGF's words: `B+3.5`, `W+R`, `0`, `Void`.
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

/// How a game ends by its last position.
struct End {
    /// `None` while it goes on.
    reason: Option<EndReason>,
    score_half_points: Option<i32>,
    ownership: Vec<i8>,
}

impl End {
    /// The end by the rules, or, where it is claimed and there, that of a settled game.
    fn of(last: &Position, komi: Komi, claimed: EndReason) -> End {
        let mut judge = Judge::default();
        let (reason, count) = match judge.ending(last, komi) {
            None if claimed == EndReason::Settled && last.is_settled() => {
                (Some(EndReason::Settled), judge.count(last, komi))
            }
            None => (None, None),
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

/// Owner of every point in reading order: 1 Black, -1 White, 0 neither.
fn ownership(size: Size, owners: &Area) -> Vec<i8> {
    let owner = |point| {
        owners
            .owner(point)
            .map_or(0, |color| if color == Color::Black { 1 } else { -1 })
    };
    size.points().map(owner).collect()
}

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
            "a finite number",
            record.root_margin.is_finite(),
        ),
        (
            "weight",
            record.weight,
            "a finite number, 0 or more",
            record.weight.is_finite() && record.weight >= 0.0,
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
            return bad(format!("move index {index} is beyond the pass, which is {area}"));
        }
        let bit = 1 << (index & 63);
        if seen[index >> 6] & bit != 0 {
            return bad(format!("move index {index} stands there twice"));
        }
        seen[index >> 6] |= bit;
        if (index < area && legal.words()[index >> 6] & bit == 0) || (index == area && !position.is_legal(Move::Pass)) {
            return bad(format!("move index {index} is illegal there"));
        }
        if !(0.0..=1.0).contains(&probability) {
            return bad(format!(
                "probability {probability} of move index {index} is not from 0 to 1"
            ));
        }
        sum += probability;
    }
    if (sum - 1.0).abs() > POLICY_SUM_TOLERANCE {
        return bad(format!("the probabilities sum to {sum}, not 1"));
    }
    Ok(())
}
