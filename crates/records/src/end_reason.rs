//! Why games stop.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Why a game stopped.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndReason {
    /// Two passes in a row: the game is over under the rules and scored.
    TwoPasses,
    /// The game was stopped before two passes because it is settled
    /// ([`Position::is_settled`](tengen_rules::Position::is_settled)); the current grid was scored.
    Settled,
    /// A long cycle tied the game under rules that say so, regardless of komi; there is no score.
    LongCycle,
    /// Two passes in a row, but the score depends on chains whose life is undecided: no result.
    UndecidedLife,
    /// The game reached its ply limit: it is unfinished and has no result.
    PlyLimit,
    /// A side resigned and lost; there is no score. It is the side to move after the last ply or, in an imported game,
    /// the loser claimed by the file.
    Resign,
    /// A side forfeited (illegal move, crash, time) and lost; there is no score. The loser is determined as for
    /// [`EndReason::Resign`].
    Forfeit,
    /// The moves of an imported game end before the game is over under the rules, and neither side gave up: no result.
    Unfinished,
}

impl EndReason {
    /// All reasons in order of declaration.
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

    /// The name used in files.
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

    /// Looks up a reason by the name used in files.
    pub fn from_name(name: &str) -> Option<EndReason> {
        EndReason::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

impl Serialize for EndReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for EndReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EndReason, D::Error> {
        let name = String::deserialize(deserializer)?;
        EndReason::from_name(&name).ok_or_else(|| de::Error::custom(format!("unknown end reason {name:?}")))
    }
}
