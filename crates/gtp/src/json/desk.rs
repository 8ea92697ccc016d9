//! The desk where queries come in and answers go out.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tengen_rules::{Komi, Position, Rules};

use super::actions::{self, Action};
use super::answer;
use super::fields::{Complaint, Fields, shown};
use super::query::{Asked, Query};
use super::settings::Settings;
use crate::analysis::PositionAnalysis;

/// Takes lines of KataGo's analysis protocol, keeps what is to be analyzed, and writes the answers.
///
/// Every job is answered once for good: by [`answer`](Desk::answer) with what was found, by [`fail`](Desk::fail) with an
/// error, or by [`let_go`](Desk::let_go) where it was stopped before anything was done; it is gone then. Any bytes are
/// answered; nothing panics.
///
/// ```
/// use tengen_gtp::json::{Defaults, Desk, Identity};
/// let mut desk = Desk::new(Identity::default(), Defaults::default());
/// let line = br#"{"id":"a","moves":[["B","C3"]],"rules":"tromp-taylor","boardXSize":5,"boardYSize":5}"#;
/// assert!(desk.handle(line).replies.is_empty());
/// let job = desk.most_urgent(1)[0];
/// assert_eq!(desk.job(job).unwrap().turn, 1);
/// ```
pub struct Desk {
    identity: Identity,
    defaults: Defaults,
    jobs: Vec<Job>,
    next_number: u64,
}

/// Who answers.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The version of the program.
    pub version: String,
    /// The name of the network.
    pub model: String,
    /// Most positions that the network is asked about at once.
    pub batch: usize,
}

/// What holds where a query says nothing else.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// How positions are searched and whose chances are told.
    pub settings: Settings,
    /// Points for White.
    pub komi: Komi,
    /// Rules that are followed whatever a query says; none to refuse what cannot be played here.
    pub rules: Option<Rules>,
}

/// One position to analyze.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name, in the order of arrival.
    pub number: u64,
    /// The question.
    pub query: Arc<Query>,
    /// How many moves of the game were played.
    pub turn: usize,
    /// The position, in which the game goes on.
    pub position: Position,
    /// Whether its analysis is to end with what it has.
    pub stopped: bool,
    priority: i64,
}

/// What a line brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Handled {
    /// Lines to write out at once, each without its end.
    pub replies: Vec<String>,
    /// Whether evaluations are to be forgotten.
    pub clear_cache: bool,
}

impl Desk {
    /// A desk without jobs.
    pub fn new(identity: Identity, defaults: Defaults) -> Desk {
        Desk {
            identity,
            defaults,
            jobs: Vec::new(),
            next_number: 0,
        }
    }

    /// Takes one line, without or with its end; one that holds nothing but blanks asks nothing.
    pub fn handle(&mut self, line: &[u8]) -> Handled {
        if line.trim_ascii().is_empty() {
            return Handled::default();
        }
        let object = match serde_json::from_slice(line) {
            Ok(Value::Object(object)) => object,
            Ok(other) => return refusal(format!("expected a JSON object on each line, found {}", shown(&other))),
            Err(error) => return refusal(format!("expected a JSON object on each line: {error}")),
        };
        match self.take(&object) {
            Ok(handled) => handled,
            Err(complaint) => Handled {
                replies: vec![complain("error", Fields(&object).text("id").ok().flatten(), complaint)],
                ..Handled::default()
            },
        }
    }

    /// Refuses a line that was too long to be read whole.
    pub fn refuse_long_line(&self, most_bytes: usize) -> String {
        complain(
            "error",
            None,
            Complaint {
                field: None,
                message: format!("expected lines of fewer than {most_bytes} bytes; this one was not read"),
            },
        )
    }

    fn take(&mut self, object: &Map<String, Value>) -> Result<Handled, Complaint> {
        let fields = Fields(object);
        fields.required("id", "a string that names the query")?;
        let id = fields.text("id")?.unwrap_or_default().to_owned();
        if object.contains_key("action") {
            return self.act(object.clone());
        }
        let asked = Asked::read(id.clone(), object, &self.defaults)?;
        let query = Arc::new(asked.query);
        for (turn, priority, position) in asked.positions {
            self.jobs.push(Job {
                number: self.next_number,
                query: query.clone(),
                turn,
                position,
                stopped: false,
                priority,
            });
            self.next_number += 1;
        }
        let warnings = asked.warnings.into_iter();
        Ok(Handled {
            replies: warnings
                .map(|warning| complain("warning", Some(&id), warning))
                .collect(),
            clear_cache: false,
        })
    }

    fn act(&mut self, mut object: Map<String, Value>) -> Result<Handled, Complaint> {
        let action = actions::read(&mut object, &self.identity)?;
        if let Action::Terminate { id, turns } = &action {
            let meant = |job: &Job| {
                id.as_ref().is_none_or(|id| *id == job.query.id)
                    && turns.as_ref().is_none_or(|turns| turns.contains(&(job.turn as i64)))
            };
            let meant = self.jobs.iter_mut().filter(|job| meant(job));
            meant.for_each(|job| job.stopped = true);
        }
        Ok(Handled {
            replies: vec![Value::Object(object).to_string()],
            clear_cache: matches!(action, Action::ClearCache),
        })
    }

    /// Whether nothing is left to do.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// A job that was not answered for good yet.
    pub fn job(&self, number: u64) -> Option<&Job> {
        self.jobs.iter().find(|job| job.number == number)
    }

    /// The numbers of at most `count` jobs that come first: stopped ones, then those of the highest priority, then the oldest.
    pub fn most_urgent(&self, count: usize) -> Vec<u64> {
        let mut order: Vec<&Job> = self.jobs.iter().collect();
        order.sort_by_key(|job| (!job.stopped, std::cmp::Reverse(job.priority), job.number));
        order.iter().take(count).map(|job| job.number).collect()
    }

    /// The line for what a search has found so far, or for good, which ends the job; none where there is no such job.
    pub fn answer(&mut self, number: u64, analysis: &PositionAnalysis, for_good: bool) -> Option<String> {
        let line = answer::answer(self.job(number)?, analysis, !for_good).to_string();
        if for_good {
            self.remove(number);
        }
        Some(line)
    }

    /// The line that ends a job on which nothing was done.
    pub fn let_go(&mut self, number: u64) -> Option<String> {
        let line = answer::nothing(self.job(number)?).to_string();
        self.remove(number);
        Some(line)
    }

    /// The line that ends a job that could not be done.
    pub fn fail(&mut self, number: u64, reason: &str) -> Option<String> {
        let job = self.job(number)?;
        let line =
            json!({"error": reason, "id": job.query.id, "turnNumber": job.turn, "isDuringSearch": false}).to_string();
        self.remove(number);
        Some(line)
    }

    fn remove(&mut self, number: u64) {
        self.jobs.retain(|job| job.number != number);
    }
}

fn refusal(message: String) -> Handled {
    Handled {
        replies: vec![complain("error", None, Complaint { field: None, message })],
        ..Handled::default()
    }
}

/// A line with an error or a warning.
fn complain(kind: &str, id: Option<&str>, complaint: Complaint) -> String {
    let mut object = Map::new();
    object.insert(kind.to_owned(), Value::String(complaint.message));
    let known = [("field", complaint.field), ("id", id.map(str::to_owned))];
    for (key, value) in known {
        if let Some(value) = value {
            object.insert(key.to_owned(), Value::String(value));
        }
    }
    Value::Object(object).to_string()
}
