//! Does a candidate replace the champion?

use serde::{Deserialize, Serialize};
use tengen_rng as rng;
use tengen_rules::{Komi, Rules, Size};

use crate::openings::Openings;
use crate::result::MatchResult;
use crate::settings::{AColor, MatchConfig, Refusal};
use crate::sprt::{SprtConfig, SprtState};

/// What the gate decides when the games run out before the sequential test does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// Promote when the candidate has made at least half the points.
    #[default]
    PromoteIfHalf,
    /// Promote when the candidate has made more than half the points.
    PromoteIfAhead,
    /// Reject: only the test promotes.
    Reject,
}

/// How a candidate is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateConfig {
    /// Promote every candidate without playing. Usual: false; true for runs that want no gate.
    pub always_promote: bool,
    /// Most games played, rounded down to whole pairs. Usual: 40 to 400. More decides closer cases, at their price.
    pub games: usize,
    /// Visits per move of both players. Usual: 16 to 100; the cli makes the players by it. More is nearer to serious play and slower.
    pub visits: u32,
    /// Opening moves, shared by the two games of a pair. Usual: `first-moves+random:1` on small boards, `random:6` on large ones. The
    /// players themselves play without chance, so openings that come again give the same games again.
    pub openings: Openings,
    /// The sequential test.
    pub sprt: SprtConfig,
    /// Pairs between two looks of the test. Usual: 8 to 32. Fewer stop sooner, more fill the batches better.
    pub pairs_per_look: usize,
    /// What is decided when the games run out first: `promote_if_half`, `promote_if_ahead` or `reject`.
    pub at_limit: AtLimit,
    /// Champions before the present one that the candidate must also stand up to before it is promoted: those 1, 2, 4, … promotions
    /// back. Usual: 1 to 3; 0 = none. More guards better against forgetting what once was known, at the price of their games.
    pub older_champions: usize,
    /// Games against each of them, rounded down to whole pairs. Usual: 16 to 40. The candidate is kept out when they show, by the 95 %
    /// interval, that it is the weaker: more games see smaller setbacks.
    pub older_games: usize,
    /// Games played side by side. Usual: 32 to 256. More fills the network's batches better.
    pub parallel: usize,
    /// Plies after which a game stops without a result. 0 = four times the area of the board plus 40.
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

    /// The match against an older champion, the `number`-th, that follows the gate's match `first`.
    pub fn older_config(&self, first: &MatchConfig, number: usize) -> MatchConfig {
        MatchConfig {
            games: self.older_games - self.older_games % 2,
            seed: rng::fold(first.seed, &[number as u64 + 1]),
            sprt: None,
            ..first.clone()
        }
    }

    /// The places of the older champions that a candidate meets, in a list of all champions, oldest first, of which the last is the
    /// present one: those 1, 2, 4, … places before it.
    pub fn older_places(&self, champions: usize) -> Vec<usize> {
        let present = champions.saturating_sub(1);
        let back = (0..usize::BITS).map(|power| 1usize << power);
        back.take_while(|back| *back <= present)
            .take(self.older_champions)
            .map(|back| present - back)
            .collect()
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    /// A sentence naming the first field that is wrong.
    pub fn validate(&self) -> Result<(), String> {
        if self.older_champions > 0 && self.older_games < 8 {
            return Err(format!(
                "gate.older_games must be at least 8, not {}: fewer show nothing; or set gate.older_champions to 0",
                self.older_games
            ));
        }
        if self.games < 2 {
            return Err(format!("gate.games must be at least 2, not {}", self.games));
        }
        if self.parallel == 0 {
            return Err("gate.parallel must be at least 1".to_owned());
        }
        if self.visits == 0 {
            return Err("gate.visits must be at least 1".to_owned());
        }
        if self.openings.book.is_some() {
            return Err("gate.openings must be none, first-moves or random, not a book".to_owned());
        }
        self.sprt.validate().map_err(|reason| format!("gate.sprt: {reason}"))
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The candidate becomes champion.
    Promote,
    /// The champion stays.
    Reject,
    /// The match was stopped before it could decide: ask again.
    Undecided,
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateReason {
    /// The settings promote every candidate.
    AlwaysPromote,
    /// The sequential test has accepted "stronger".
    TestAccepted,
    /// The sequential test has accepted "not stronger".
    TestRejected,
    /// The games ran out, and the rule for that case decides.
    GameLimit,
    /// The candidate has passed, but is weaker than an older champion: it has forgotten something.
    Forgot,
    /// The match was stopped.
    Stopped,
}

impl GateReason {
    /// The reason as verdicts write it.
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

/// The gate's verdict with every number it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateVerdict {
    /// What is to be done.
    pub decision: Decision,
    /// Why.
    pub reason: GateReason,
    /// Name of the candidate.
    pub candidate: String,
    /// Name of the champion.
    pub champion: String,
    /// All settings.
    pub config: GateConfig,
    /// The match, with the candidate as A and the champion as B; `None` where none was needed.
    pub result: Option<MatchResult>,
    /// The matches against older champions, in which the candidate is A; verdicts of early versions lack them.
    #[serde(default)]
    pub older: Vec<OlderMatch>,
}

/// How a candidate stood up to an older champion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OlderMatch {
    /// Name of the older champion.
    pub champion: String,
    /// Whether the 95 % interval shows that the candidate is the weaker.
    pub weaker: bool,
    /// The match.
    pub result: MatchResult,
}

impl GateVerdict {
    /// The verdict over a candidate's match against the champion, with the candidate as A; without a match the
    /// candidate is promoted. One that is to be promoted then meets older champions: [`GateVerdict::add_older`].
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

    /// Takes a match against an older champion into account: a candidate that is the weaker is kept out.
    pub fn add_older(&mut self, champion: String, result: MatchResult) {
        let weaker = result.games > 0 && result.estimate.elo_high < 0.0;
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

    /// Whether the candidate becomes champion.
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
    let score = result.a_score();
    let promote = match at_limit {
        AtLimit::PromoteIfHalf => score >= 0.5,
        AtLimit::PromoteIfAhead => score > 0.5,
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
    fn reasons_are_named_as_they_are_written() {
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
    fn older_champions_lie_further_and_further_back() {
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
