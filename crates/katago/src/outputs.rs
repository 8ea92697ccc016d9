//! What the numbers at the end of a network mean.

use tengen_encoding::Trail;
use tengen_rules::{KoRule, Scoring};

use crate::error::FileError;
use crate::reader::Reader;

/// What a network's margins are multiplied by to get points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multipliers {
    /// For the mean of the final margin in games of self-play.
    pub score_mean: f32,
    /// For the lead.
    pub lead: f32,
}

/// The first version whose files state them.
const STATED_SINCE: i64 = 13;

impl Multipliers {
    /// Reads seven multipliers, of which two are used. Before version 13, they are the same for all networks.
    pub(crate) fn read(reader: &mut Reader, version: i64) -> Result<Multipliers, FileError> {
        if version < STATED_SINCE {
            return Ok(Multipliers {
                score_mean: 20.0,
                lead: 20.0,
            });
        }
        let mut stated = [0.0_f32; 7];
        for value in &mut stated {
            *value = reader.number("a multiplier")?;
            if !(*value > 0.0 && value.is_finite()) {
                return Err(reader.invalid("a positive multiplier", value.to_string()));
            }
        }
        let [_, score_mean, _, lead, ..] = stated;
        Ok(Multipliers { score_mean, lead })
    }
}

/// What a network says about the end of the game, from the viewpoint of the side to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Probability of a win.
    pub win: f32,
    /// Probability of a loss.
    pub loss: f32,
    /// Probability that a long cycle leaves the game without a result.
    pub no_result: f32,
    /// The lead in points after komi: the komi that would make the game even. Margins of our own networks are compared
    /// with this.
    pub lead: f32,
    /// Mean of the final margin in points after komi in KataGo's games against itself.
    pub score_mean: f32,
}

impl Multipliers {
    /// Reads the logits of win, loss, and no result, and the numbers for margins, of the position of a trail.
    pub fn outcome(&self, trail: &Trail, [win, loss, none]: [f32; 3], mean: f32, lead: f32) -> Outcome {
        let none = if may_end_without_result(trail) {
            none
        } else {
            f32::NEG_INFINITY
        };
        let largest = win.max(loss).max(none);
        let [win, loss, none] = [win, loss, none].map(|logit| f64::from(logit - largest).exp());
        let sum = win + loss + none;
        let no_result = none / sum;
        let points =
            |value: f32, multiplier: f32| (f64::from(value) * f64::from(multiplier) * (1.0 - no_result)) as f32;
        Outcome {
            win: (win / sum) as f32,
            loss: (loss / sum) as f32,
            no_result: no_result as f32,
            lead: points(lead, self.lead),
            score_mean: points(mean, self.score_mean),
        }
    }
}

/// Whether the rules know games without a result: those without superko, and those with territory scoring.
fn may_end_without_result(trail: &Trail) -> bool {
    matches!(trail.rules.ko, KoRule::Basic | KoRule::Fixed) || trail.rules.scoring == Scoring::Territory
}
