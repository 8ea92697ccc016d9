//! The gate: whether a candidate replaces the champion.

use serde::{Deserialize, Serialize};

use tengen_rng as rng;
use tengen_rules::{Komi, Rules, SettingError, Size, check_setting};

use crate::openings::Openings;
use crate::result::MatchResult;
use crate::settings::{AColor, MatchConfig, Refusal};
use crate::sprt::{SprtConfig, SprtState};

/// What the gate decides when the games run out before the sequential test does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// Promote when the candidate has scored at least half the points.
    #[default]
    PromoteIfHalf,
    /// Promote when the candidate has scored more than half the points.
    PromoteIfAhead,
    /// Reject: only the sequential test promotes.
    Reject,
}

/// How the gate decides on a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateConfig {
    /// Promote every candidate without playing. Usual: false; true for runs that want no gate.
    pub always_promote: bool,
    /// Maximum number of games, rounded down to whole pairs. Usual: 40 to 400. More games decide closer cases but take
    /// longer.
    pub games: usize,
    /// Visits per move for both players, applied by the caller that builds them. Usual: 16 to 100. More visits are
    /// closer to serious play and slower.
    pub visits: u32,
    /// Opening moves, shared by the two games of a pair. Usual: `first-moves+random:1` on small boards, `random:6` on
    /// large ones. The players themselves are deterministic, so a repeated opening gives a repeated game.
    pub openings: Openings,
    /// Hypotheses and error rates of the sequential test.
    pub sprt: SprtConfig,
    /// Pairs between two looks of the test. Usual: 8 to 32, on a GPU 50. Fewer pairs stop sooner; more fill the batches
    /// better, because at most twice as many games are played at a time.
    pub pairs_per_look: usize,
    /// The decision when the games run out before the test decides: `promote_if_half`, `promote_if_ahead`, or `reject`.
    pub at_limit: AtLimit,
    /// Number of older champions that the candidate must not be weaker than: those 1, 2, 4, … promotions before the
    /// current one. Usual: 1 to 3; 0 means none. More champions protect better against forgetting but cost more games.
    pub older_champions: usize,
    /// Games against each older champion, rounded down to whole pairs. Usual: 16 to 40. The candidate is rejected when
    /// the 95% interval shows that it is weaker; more games reveal smaller setbacks.
    pub older_games: usize,
    /// Games played in parallel. Usual: 32 to 256. More games fill the network's batches better.
    pub parallel: usize,
    /// Plies after which a game stops without a result. 0 means four times the board area plus 40.
    pub max_plies: usize,
}

impl Default for GateConfig {
    fn default() -> GateConfig {
        GateConfig {
            always_promote: false,
            games: 120,
            visits: 32,
            openings: Openings {
                first_moves: true,
                random_plies: 1,
                book: None,
            },
            sprt: SprtConfig {
                min_pairs: 8,
                ..SprtConfig::default()
            },
            pairs_per_look: 12,
            at_limit: AtLimit::PromoteIfHalf,
            older_champions: 2,
            older_games: 16,
            parallel: 64,
            max_plies: 0,
        }
    }
}

impl GateConfig {
    /// The match that the gate plays on this board under these rules.
    pub fn match_config(&self, size: Size, rules: Rules, komi: Komi, seed: u64) -> MatchConfig {
        MatchConfig {
            size,
            rules,
            komi,
            games: self.games - self.games % 2,
            openings: self.openings.clone(),
            a_color: AColor::Alternate,
            seed,
            parallel: self.parallel,
            max_plies: self.max_plies,
            refused_moves: Refusal::Loss,
            sprt: Some(self.sprt),
            until_clear: false,
            pairs_per_look: self.pairs_per_look,
        }
    }

    /// The match against the older champion with this number, played after the gate's match `first`.
    pub fn older_config(&self, first: &MatchConfig, number: usize) -> MatchConfig {
        MatchConfig {
            games: self.older_games - self.older_games % 2,
            seed: rng::fold(first.seed, &[number as u64 + 1]),
            sprt: None,
            ..first.clone()
        }
    }

    /// The indices of the older champions that a candidate plays: 1, 2, 4, … places before the current champion, which
    /// is the last in a list of `champions` champions, oldest first.
    pub fn older_places(&self, champions: usize) -> Vec<usize> {
        let current = champions.saturating_sub(1);
        let back = (0..usize::BITS).map(|power| 1usize << power);
        back.take_while(|back| *back <= current)
            .take(self.older_champions)
            .map(|back| current - back)
            .collect()
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    /// [`SettingError`] naming the first invalid field.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_setting("gate.games", self.games, 2..)?;
        check_setting("gate.visits", self.visits, 1..)?;
        check_setting("gate.parallel", self.parallel, 1..)?;
        if self.older_champions > 0 && self.older_games < 8 {
            let expected = "8 or more (fewer prove nothing), or gate.older_champions 0";
            return Err(SettingError::new("gate.older_games", self.older_games, expected));
        }
        if self.openings.book.is_some() {
            let expected = "none, first-moves or random, not a book";
            return Err(SettingError::new("gate.openings", &self.openings, expected));
        }
        self.sprt.validate().map_err(|error| error.under("gate.sprt"))
    }
}

/// What happens to the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The candidate becomes the champion.
    Promote,
    /// The candidate is rejected, and the champion stays.
    Reject,
    /// The match was stopped before it could decide and must be played again.
    Undecided,
}

/// What a gate's decision is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateReason {
    /// The settings promote every candidate.
    AlwaysPromote,
    /// The sequential test has accepted "stronger".
    TestAccepted,
    /// The sequential test has accepted "not stronger".
    TestRejected,
    /// The games ran out, and [`GateConfig::at_limit`] decided.
    GameLimit,
    /// The candidate passed the test but is weaker than an older champion, so it has forgotten something.
    Forgot,
    /// The match was stopped before it could decide.
    Stopped,
}

impl GateReason {
    /// The reason's name in files, such as `game_limit`.
    pub fn name(self) -> &'static str {
        match self {
            GateReason::AlwaysPromote => "always_promote",
            GateReason::TestAccepted => "test_accepted",
            GateReason::TestRejected => "test_rejected",
            GateReason::GameLimit => "game_limit",
            GateReason::Forgot => "forgot",
            GateReason::Stopped => "stopped",
        }
    }
}

/// The gate's verdict with every number it is based on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateVerdict {
    /// Whether the candidate becomes the champion.
    pub decision: Decision,
    /// What the decision is based on.
    pub reason: GateReason,
    /// Name of the candidate, which is its model id.
    pub candidate: String,
    /// Name of the champion, which is its model id.
    pub champion: String,
    /// The settings of the gate.
    pub config: GateConfig,
    /// The match, with the candidate as A and the champion as B; `None` if no match was needed.
    pub result: Option<MatchResult>,
    /// The matches against older champions, in which the candidate is A; verdicts of early versions lack them.
    #[serde(default)]
    pub older: Vec<OlderMatch>,
}

/// The result of a candidate against an older champion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OlderMatch {
    /// Name of the older champion, which is its model id.
    pub champion: String,
    /// Whether the 95% interval shows that the candidate is weaker.
    pub weaker: bool,
    /// The match, with the candidate as A.
    pub result: MatchResult,
}

impl GateVerdict {
    /// The verdict on a candidate's match against the champion, with the candidate as A; without a match, the candidate
    /// is promoted. A candidate that would be promoted then plays older champions: [`GateVerdict::add_older`].
    pub fn of(config: &GateConfig, candidate: &str, champion: &str, result: Option<MatchResult>) -> GateVerdict {
        let (decision, reason) = match &result {
            Some(result) => decide(config.at_limit, result),
            None => (Decision::Promote, GateReason::AlwaysPromote),
        };
        GateVerdict {
            decision,
            reason,
            candidate: candidate.to_owned(),
            champion: champion.to_owned(),
            config: config.clone(),
            result,
            older: Vec::new(),
        }
    }

    /// Accounts for a match against an older champion: a weaker candidate is rejected.
    pub fn add_older(&mut self, champion: String, result: MatchResult) {
        let weaker = result.estimate.elo_high.is_some_and(|high| high < 0.0);
        (self.decision, self.reason) = match (result.stopped, weaker) {
            (true, _) => (Decision::Undecided, GateReason::Stopped),
            (_, true) => (Decision::Reject, GateReason::Forgot),
            _ => (self.decision, self.reason),
        };
        self.older.push(OlderMatch {
            champion,
            weaker,
            result,
        });
    }

    /// Whether the candidate becomes the champion.
    pub fn promotes(&self) -> bool {
        self.decision == Decision::Promote
    }
}

fn decide(at_limit: AtLimit, result: &MatchResult) -> (Decision, GateReason) {
    match result.sprt.map(|sprt| sprt.state) {
        Some(SprtState::Accepted) => return (Decision::Promote, GateReason::TestAccepted),
        Some(SprtState::Rejected) => return (Decision::Reject, GateReason::TestRejected),
        _ if result.stopped => return (Decision::Undecided, GateReason::Stopped),
        _ => {}
    }
    // Without a single result, nothing speaks for the candidate.
    let score = (result.games > 0).then(|| result.a_score());
    let promote = match at_limit {
        AtLimit::PromoteIfHalf => score >= Some(0.5),
        AtLimit::PromoteIfAhead => score > Some(0.5),
        AtLimit::Reject => false,
    };
    (
        if promote { Decision::Promote } else { Decision::Reject },
        GateReason::GameLimit,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_reasons_match_their_serialization() {
        for reason in [
            GateReason::AlwaysPromote,
            GateReason::TestAccepted,
            GateReason::TestRejected,
            GateReason::GameLimit,
            GateReason::Forgot,
            GateReason::Stopped,
        ] {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }

    #[test]
    fn older_champions_are_at_doubling_distances() {
        let places = |older_champions, champions| {
            let config = GateConfig {
                older_champions,
                ..GateConfig::default()
            };
            config.older_places(champions)
        };
        assert_eq!(places(3, 12), [10, 9, 7]);
        assert_eq!(places(9, 6), [4, 3, 1]);
        assert_eq!(places(2, 2), [0]);
        assert_eq!((places(2, 1), places(2, 0), places(0, 9)), (vec![], vec![], vec![]));
    }
}
