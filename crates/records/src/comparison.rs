//! How does the counted result of an imported game compare with the one its file claims?

use tengen_rules::Color;

use crate::claimed_result::SgfResult;
use crate::record::{EndReason, GameRecord};

/// The result by the rules beside the one the file claims.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    /// Counted: the claim is the same count, or names the same winner without one.
    Agrees,
    /// Counted: the same winner, another margin.
    OtherMargin,
    /// Counted: another winner.
    OtherWinner,
    /// Counted, but the file claims no count and no winner by one.
    NoClaim,
    /// Not counted: one side resigned, as the file claims.
    Resignation,
    /// Not counted: one side's time was up or it forfeited, as the file claims.
    Forfeit,
    /// Not counted: the turns stop before the game is over by the rules, whatever the file claims.
    Unfinished,
    /// Over, but without a count: a long cycle, or life that is not decided.
    NoCount,
}

impl Comparison {
    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Comparison::Agrees => "agrees",
            Comparison::OtherMargin => "other_margin",
            Comparison::OtherWinner => "other_winner",
            Comparison::NoClaim => "no_claim",
            Comparison::Resignation => "resignation",
            Comparison::Forfeit => "forfeit",
            Comparison::Unfinished => "unfinished",
            Comparison::NoCount => "no_count",
        }
    }

    /// Compares the result of a record with what its file claims.
    pub fn of(record: &GameRecord, claim: SgfResult) -> Comparison {
        let Some(half_points) = record.score_half_points else {
            return match record.end_reason {
                EndReason::Resign => Comparison::Resignation,
                EndReason::Forfeit => Comparison::Forfeit,
                EndReason::Unfinished => Comparison::Unfinished,
                _ => Comparison::NoCount,
            };
        };
        let winner = match half_points.signum() {
            1 => Some(Color::Black),
            -1 => Some(Color::White),
            _ => None,
        };
        match claim {
            SgfResult::Count { hundredths } if hundredths == half_points * 50 => Comparison::Agrees,
            SgfResult::Count { .. } if claim.winner() == winner => Comparison::OtherMargin,
            SgfResult::Won(_) if claim.winner() == winner => Comparison::Agrees,
            SgfResult::Count { .. } | SgfResult::Won(_) => Comparison::OtherWinner,
            _ => Comparison::NoClaim,
        }
    }
}
