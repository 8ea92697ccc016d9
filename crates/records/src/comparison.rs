//! Comparison of the counted result of an imported game with the result that its file claims.

use tengen_rules::Color;

use crate::claimed_result::SgfResult;
use crate::end_reason::EndReason;
use crate::record::GameRecord;

/// How the claimed result compares with the result under the rules.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    /// Scored: the claim has the same score, or names the same winner without a score.
    Agrees,
    /// Scored: same winner, different margin.
    OtherMargin,
    /// Scored: different winner.
    OtherWinner,
    /// Scored, but the file claims no score and no winner by score.
    NoClaim,
    /// Not scored: one side resigned according to the file.
    Resignation,
    /// Not scored: one side lost on time or forfeited according to the file.
    Forfeit,
    /// Not scored: the turns end before the game is over under the rules, whatever the file claims.
    Unfinished,
    /// Over, but without a score: a long cycle, or undecided life.
    NoCount,
}

impl Comparison {
    /// The name used in tables and JSON.
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

    /// Compares the result of a record with its file's claim, both at the komi of the record.
    pub fn of(record: &GameRecord) -> Comparison {
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
        let claim = record.claim();
        match claim {
            SgfResult::Count { hundredths } if hundredths == half_points * 50 => Comparison::Agrees,
            SgfResult::Count { .. } if claim.winner() == winner => Comparison::OtherMargin,
            SgfResult::Won(_) if claim.winner() == winner => Comparison::Agrees,
            SgfResult::Count { .. } | SgfResult::Won(_) => Comparison::OtherWinner,
            _ => Comparison::NoClaim,
        }
    }
}
