//! Writing what a search knows as JSON.

use serde_json::{Map, Value, json};
use tengen_rules::{Color, Move, Size};

use super::desk::Job;
use super::hashes;
use crate::analysis::{AnalyzedMove, PositionAnalysis};

/// The answer to a job: the analysis, seen as its query wants it.
pub(super) fn answer(job: &Job, analysis: &PositionAnalysis, is_during_search: bool) -> Value {
    let query = &job.query;
    let seen = Seen {
        turned: query.settings.viewpoint.turns(job.position.to_move()),
    };
    let considered = |(order, mv): &(usize, &AnalyzedMove)| mv.visits > 0 || *order == 0;
    let moves = analysis.moves.iter().enumerate().filter(considered);
    let mut answer = head(job, is_during_search);
    let infos: Vec<Value> = moves.map(|(order, mv)| seen.move_info(job, order, mv)).collect();
    answer.insert("moveInfos".to_owned(), Value::Array(infos));
    answer.insert("rootInfo".to_owned(), seen.root_info(job, analysis));
    if let Some(ownership) = analysis.ownership.as_ref().filter(|_| query.ownership) {
        answer.insert("ownership".to_owned(), seen.map(ownership));
    }
    if let Some(policy) = analysis.policy.as_ref().filter(|_| query.policy) {
        let policy = policy.iter().map(|&probability| number(probability)).collect();
        answer.insert("policy".to_owned(), Value::Array(policy));
    }
    Value::Object(answer)
}

/// The last answer to a job on which nothing was done.
pub(super) fn nothing(job: &Job) -> Value {
    let mut answer = head(job, false);
    answer.insert("noResults".to_owned(), Value::Bool(true));
    Value::Object(answer)
}

fn head(job: &Job, is_during_search: bool) -> Map<String, Value> {
    [
        ("id".to_owned(), json!(job.query.id)),
        ("turnNumber".to_owned(), json!(job.turn)),
        ("isDuringSearch".to_owned(), json!(is_during_search)),
    ]
    .into_iter()
    .collect()
}

/// Turns what the side to move sees into what the client wants to see.
struct Seen {
    turned: bool,
}

impl Seen {
    fn chance(&self, chance: f32) -> Value {
        number(if self.turned { 1.0 - chance } else { chance })
    }

    fn amount(&self, amount: f32) -> Value {
        number(if self.turned { -amount } else { amount })
    }

    fn map(&self, values: &[f32]) -> Value {
        values.iter().map(|&value| self.amount(value)).collect()
    }

    fn move_info(&self, job: &Job, order: usize, mv: &AnalyzedMove) -> Value {
        let (size, query) = (job.position.size(), &job.query);
        let own = [mv.mv];
        let pv = if mv.pv.is_empty() { &own[..] } else { &mv.pv };
        let shown = query.settings.pv_length.saturating_add(1);
        let lead = self.amount(mv.score_lead);
        let mut info = json!({
            "move": mv.mv.format(size),
            "order": order,
            "visits": mv.visits,
            "winrate": self.chance(mv.winrate),
            "lcb": self.chance(mv.lcb),
            "scoreLead": lead,
            "scoreMean": lead,
            "scoreSelfplay": lead,
            "utility": self.amount(mv.utility),
            "prior": number(mv.prior),
            "pv": names(&pv[..pv.len().min(shown)], size),
        });
        if query.pv_visits {
            info["pvVisits"] = mv.pv_visits.iter().take(shown).copied().collect();
        }
        if let Some(ownership) = mv.ownership.as_ref().filter(|_| query.moves_ownership) {
            info["ownership"] = self.map(ownership);
        }
        info
    }

    fn root_info(&self, job: &Job, analysis: &PositionAnalysis) -> Value {
        let [this, shared] = hashes::names(&job.position);
        let lead = self.amount(analysis.score_lead);
        json!({
            "currentPlayer": match job.position.to_move() {
                Color::Black => "B",
                Color::White => "W",
            },
            "visits": analysis.visits.saturating_add(1),
            "winrate": self.chance(analysis.winrate),
            "scoreLead": lead,
            "scoreSelfplay": lead,
            "utility": self.amount(analysis.utility),
            "rawWinrate": self.chance(analysis.raw_winrate),
            "rawLead": self.amount(analysis.raw_lead),
            "thisHash": this,
            "symHash": shared,
        })
    }
}

fn names(moves: &[Move], size: Size) -> Value {
    moves.iter().map(|mv| mv.format(size)).collect()
}

/// A number with six digits after the point; 0 for what is none.
fn number(value: f32) -> Value {
    let rounded = (f64::from(value) * 1e6).round() / 1e6;
    // Adding 0 makes a positive zero of a negative one.
    json!(if rounded.is_finite() { rounded + 0.0 } else { 0.0 })
}
