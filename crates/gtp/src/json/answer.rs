//! Writing the results of a search as JSON.

use serde_json::{Map, Value, json};

use tengen_rules::{Color, Move, Size};

use super::hashes;
use super::job::Job;
use crate::analysis::{AnalyzedMove, PositionAnalysis};

/// The answer to a job: the analysis from the viewpoint that its query requests.
pub(super) fn answer(job: &Job, analysis: &PositionAnalysis, is_during_search: bool) -> Value {
    let query = &job.query;
    let converter = Converter {
        flip: query.settings.viewpoint.flips(job.position.to_move()),
    };
    let considered = |(order, mv): &(usize, &AnalyzedMove)| mv.visits > 0 || *order == 0;
    let moves = analysis.moves.iter().enumerate().filter(considered);
    let mut answer = head(job, is_during_search);
    let infos: Vec<Value> = moves.map(|(order, mv)| converter.move_info(job, order, mv)).collect();
    answer.insert("moveInfos".to_owned(), Value::Array(infos));
    answer.insert("rootInfo".to_owned(), converter.root_info(job, analysis));
    if let Some(ownership) = analysis.ownership.as_ref().filter(|_| query.ownership) {
        answer.insert("ownership".to_owned(), converter.map(ownership));
    }
    if let Some(policy) = analysis.policy.as_ref().filter(|_| query.policy) {
        let policy = policy.iter().map(|&probability| number(probability)).collect();
        answer.insert("policy".to_owned(), Value::Array(policy));
    }
    Value::Object(answer)
}

/// The final answer to a job that was stopped before its search started.
pub(super) fn no_results(job: &Job) -> Value {
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

/// Converts values from the viewpoint of the side to move to the requested viewpoint.
struct Converter {
    flip: bool,
}

impl Converter {
    fn probability(&self, probability: f32) -> Value {
        number(if self.flip { 1.0 - probability } else { probability })
    }

    fn signed(&self, value: f32) -> Value {
        number(if self.flip { -value } else { value })
    }

    fn map(&self, values: &[f32]) -> Value {
        values.iter().map(|&value| self.signed(value)).collect()
    }

    fn move_info(&self, job: &Job, order: usize, mv: &AnalyzedMove) -> Value {
        let (size, query) = (job.position.size(), &job.query);
        let own = [mv.mv];
        let pv = if mv.pv.is_empty() { &own[..] } else { &mv.pv };
        let shown = query.settings.pv_length.saturating_add(1);
        let lead = self.signed(mv.score_lead);
        let mut info = json!({
            "move": mv.mv.format(size),
            "order": order,
            "visits": mv.visits,
            "winrate": self.probability(mv.winrate),
            "lcb": self.probability(mv.lcb),
            "scoreLead": lead,
            "scoreMean": lead,
            "scoreSelfplay": lead,
            "utility": self.signed(mv.utility),
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
        let lead = self.signed(analysis.score_lead);
        json!({
            "currentPlayer": match job.position.to_move() {
                Color::Black => "B",
                Color::White => "W",
            },
            "visits": analysis.visits.saturating_add(1),
            "winrate": self.probability(analysis.winrate),
            "scoreLead": lead,
            "scoreSelfplay": lead,
            "utility": self.signed(analysis.utility),
            "rawWinrate": self.probability(analysis.raw_winrate),
            "rawLead": self.signed(analysis.raw_lead),
            "thisHash": this,
            "symHash": shared,
        })
    }
}

fn names(moves: &[Move], size: Size) -> Value {
    moves.iter().map(|mv| mv.format(size)).collect()
}

/// A number rounded to six decimal places; 0 if it is not finite.
fn number(value: f32) -> Value {
    let rounded = (f64::from(value) * 1e6).round() / 1e6;
    // Adding 0 turns a negative zero into a positive one.
    json!(if rounded.is_finite() { rounded + 0.0 } else { 0.0 })
}
