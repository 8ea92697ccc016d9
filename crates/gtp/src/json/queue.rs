//! The queue of queries waiting for an answer.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::actions::{self, Action};
use super::answer;
use super::fields::{Fields, Problem, shown};
use super::job::Job;
use super::query::ParsedQuery;
use super::settings::{Defaults, Identity};
use crate::analysis::PositionAnalysis;

/// Takes lines of KataGo's analysis protocol, queues the positions to analyze, and writes the answers.
///
/// Every job gets exactly one final answer, which removes it: the result from [`answer`](QueryQueue::answer), an error
/// from [`fail`](QueryQueue::fail), or an empty answer from
/// [`end_without_results`](QueryQueue::end_without_results) if it was stopped before its search started. Any input gets
/// an answer, and none causes a panic.
///
/// ```
/// use tengen_gtp::json::{Defaults, QueryQueue, Identity};
/// let mut queue = QueryQueue::new(Identity::default(), Defaults::default());
/// let line = br#"{"id":"a","moves":[["B","C3"]],"rules":"tromp-taylor","boardXSize":5,"boardYSize":5}"#;
/// assert!(queue.handle(line).replies.is_empty());
/// let job = queue.most_urgent(1)[0];
/// assert_eq!(queue.job(job).unwrap().turn, 1);
/// ```
pub struct QueryQueue {
    identity: Identity,
    defaults: Defaults,
    jobs: Vec<Job>,
    next_number: u64,
}

/// The outcome of one line of input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Handled {
    /// Lines to write immediately, each without its line ending.
    pub replies: Vec<String>,
    /// Whether to clear the cache of evaluations.
    pub clear_cache: bool,
}

impl QueryQueue {
    /// An empty queue of an engine with this identity and these default settings.
    pub fn new(identity: Identity, defaults: Defaults) -> QueryQueue {
        QueryQueue {
            identity,
            defaults,
            jobs: Vec::new(),
            next_number: 0,
        }
    }

    /// Handles one line, with or without its line ending; a blank line is ignored.
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
            Err(problem) => Handled {
                replies: vec![problem_line(
                    "error",
                    Fields(&object).text("id").ok().flatten(),
                    problem,
                )],
                ..Handled::default()
            },
        }
    }

    /// The error for a line that was too long to be read.
    pub fn reject_long_line(&self, max_bytes: usize) -> String {
        problem_line(
            "error",
            None,
            Problem {
                field: None,
                message: format!("expected lines of fewer than {max_bytes} bytes; ignored a longer line"),
            },
        )
    }

    fn take(&mut self, object: &Map<String, Value>) -> Result<Handled, Problem> {
        let fields = Fields(object);
        fields.required("id", "a string that names the query")?;
        let id = fields.text("id")?.unwrap_or_default().to_owned();
        if object.contains_key("action") {
            return self.act(object.clone());
        }
        let asked = ParsedQuery::read(id.clone(), object, &self.defaults)?;
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
                .map(|warning| problem_line("warning", Some(&id), warning))
                .collect(),
            clear_cache: false,
        })
    }

    fn act(&mut self, mut object: Map<String, Value>) -> Result<Handled, Problem> {
        let action = actions::read(&mut object, &self.identity)?;
        if let Action::Terminate { id, turns } = &action {
            let selected = |job: &Job| {
                id.as_ref().is_none_or(|id| *id == job.query.id)
                    && turns.as_ref().is_none_or(|turns| turns.contains(&(job.turn as i64)))
            };
            let selected = self.jobs.iter_mut().filter(|job| selected(job));
            selected.for_each(|job| job.stopped = true);
        }
        Ok(Handled {
            replies: vec![Value::Object(object).to_string()],
            clear_cache: matches!(action, Action::ClearCache),
        })
    }

    /// Whether no jobs are left.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// A job that has not received its final answer yet.
    pub fn job(&self, number: u64) -> Option<&Job> {
        self.jobs.iter().find(|job| job.number == number)
    }

    /// The numbers of the `count` most urgent jobs: stopped jobs first, then by priority, then by age.
    pub fn most_urgent(&self, count: usize) -> Vec<u64> {
        let mut order: Vec<&Job> = self.jobs.iter().collect();
        order.sort_by_key(|job| (!job.stopped, std::cmp::Reverse(job.priority), job.number));
        order.iter().take(count).map(|job| job.number).collect()
    }

    /// The answer with a search's results so far, or its final results, which remove the job; `None` if there is no
    /// such job.
    pub fn answer(&mut self, number: u64, analysis: &PositionAnalysis, is_final: bool) -> Option<String> {
        let line = answer::answer(self.job(number)?, analysis, !is_final).to_string();
        if is_final {
            self.remove(number);
        }
        Some(line)
    }

    /// The final answer to a job that was stopped before its search started, which removes it.
    pub fn end_without_results(&mut self, number: u64) -> Option<String> {
        let line = answer::no_results(self.job(number)?).to_string();
        self.remove(number);
        Some(line)
    }

    /// The final answer to a job that failed, which removes it.
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
        replies: vec![problem_line("error", None, Problem { field: None, message })],
        ..Handled::default()
    }
}

/// A reply with an error or a warning.
fn problem_line(kind: &str, id: Option<&str>, problem: Problem) -> String {
    let mut object = Map::new();
    object.insert(kind.to_owned(), Value::String(problem.message));
    let known = [("field", problem.field), ("id", id.map(str::to_owned))];
    for (key, value) in known {
        if let Some(value) = value {
            object.insert(key.to_owned(), Value::String(value));
        }
    }
    Value::Object(object).to_string()
}
