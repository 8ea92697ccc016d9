//! Another engine as the teacher, over KataGo's analysis protocol, with many queries in flight at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use tengen_gtp::json::{ANALYSIS_ENGINE, AnalysisClient};
use tengen_gtp::{CommandLine, ControllerError};

use crate::chunk::Task;
use crate::error::LabelError;
use crate::query::{Asked, label, query};
use crate::teacher::{Desk, Report};

/// Maximum number of queries in flight. The engine decides how many of them it searches at a time.
const OPEN_QUERIES: usize = 128;

/// How long an engine may take to load its network and answer the first queries.
const STARTUP: Duration = Duration::from_secs(600);

/// How long to wait for an answer before checking whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// How long to wait for an answer while there are queries to send.
const GLANCE: Duration = Duration::from_millis(1);

/// An engine that speaks KataGo's analysis protocol.
pub struct EngineTeacher {
    command: CommandLine,
    asked: Asked,
    version: Value,
    models: Value,
    /// The running engine, until a thread takes it.
    client: Mutex<Option<AnalysisClient>>,
}

impl EngineTeacher {
    /// Starts the engine and asks for its version and models. Every position is searched with `visits` visits; with
    /// `ownership`, the engine is also asked for the expected owners. Setting `stop` ends the wait.
    ///
    /// # Errors
    /// [`LabelError::CommandLine`] and [`LabelError::Engine`].
    pub fn start(command: &str, visits: u32, ownership: bool, stop: &AtomicBool) -> Result<EngineTeacher, LabelError> {
        let command: CommandLine = command.parse()?;
        let mut client = AnalysisClient::start(&command)?;
        let version = ask(&mut client, "query_version", stop)?;
        let models = ask(&mut client, "query_models", stop)?;
        Ok(EngineTeacher {
            command,
            asked: Asked { visits, ownership },
            version: version["version"].clone(),
            models: model_names(&models),
            client: Mutex::new(Some(client)),
        })
    }

    pub(crate) fn identity(&self) -> Value {
        let mut identity = json!({
            "engine": self.command.to_string(),
            "version": self.version,
            "models": self.models,
            "visits": self.asked.visits,
        });
        if self.asked.ownership {
            identity["ownership"] = true.into();
        }
        identity
    }

    /// Labels positions until there are no more, or it is stopped.
    pub(crate) fn work(&self, desk: &Desk<'_>) -> Result<(), LabelError> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).take();
        let client = match client {
            Some(client) => client,
            None => AnalysisClient::start(&self.command)?,
        };
        let _ = desk.reports.send(Report::Capacity(OPEN_QUERIES));
        Exchange {
            client,
            asked: self.asked,
            open: HashMap::new(),
            next_id: 0,
        }
        .run(desk)
    }
}

/// The names of the models in an answer to `query_models`; null for engines that do not know the query.
fn model_names(answer: &Value) -> Value {
    let Some(models) = answer["models"].as_array() else {
        return Value::Null;
    };
    models.iter().map(|model| model["name"].clone()).collect()
}

/// Sends an action of the protocol and waits for its answer.
fn ask(client: &mut AnalysisClient, action: &str, stop: &AtomicBool) -> Result<Value, LabelError> {
    let deadline = Instant::now() + STARTUP;
    let mut sent = false;
    while Instant::now() < deadline {
        if stop.load(Ordering::Relaxed) {
            let during = action.to_owned();
            return Err(ControllerError::Stopped { during }.into());
        }
        if !sent {
            sent = client.try_send(&json!({"id": action, "action": action}))?;
        }
        match client.receive(LOOK)? {
            Some(answer) if answer["id"] == action => return Ok(answer),
            _ => {}
        }
    }
    Err(ControllerError::TimedOut {
        during: format!("{ANALYSIS_ENGINE} {action}"),
        after: STARTUP,
        stderr: String::new(),
    }
    .into())
}

/// The conversation with a running engine.
struct Exchange {
    client: AnalysisClient,
    asked: Asked,
    /// Positions whose answer is pending, by the id of the query.
    open: HashMap<String, Task>,
    next_id: u64,
}

impl Exchange {
    fn run(mut self, desk: &Desk<'_>) -> Result<(), LabelError> {
        // A query that the engine has not accepted yet, with its position.
        let mut waiting: Option<(Value, Task)> = None;
        while !desk.is_stopped() {
            if waiting.is_none() && self.open.len() < OPEN_QUERIES {
                let task = match self.open.is_empty() {
                    true => desk.tasks.recv().ok(),
                    false => desk.tasks.try_recv().ok(),
                };
                if task.is_none() && self.open.is_empty() {
                    return Ok(());
                }
                if let Some(task) = task {
                    match self.query(&task) {
                        Ok(query) => waiting = Some((query, task)),
                        Err(reason) => {
                            desk.refuse(&task, reason)?;
                            continue;
                        }
                    }
                }
            }
            let mut sent = false;
            if let Some((query, task)) = waiting.take() {
                sent = self.client.try_send(&query)?;
                match (sent, query["id"].as_str()) {
                    (true, Some(id)) => drop(self.open.insert(id.to_owned(), task)),
                    _ => waiting = Some((query, task)),
                }
            }
            let patience = match (sent, waiting.is_some()) {
                (true, _) => Duration::ZERO,
                (false, true) => GLANCE,
                (false, false) => LOOK,
            };
            if let Some(answer) = self.client.receive(patience)? {
                self.take(&answer, desk)?;
            }
        }
        Ok(())
    }

    fn query(&mut self, task: &Task) -> Result<Value, LabelError> {
        self.next_id += 1;
        query(task, self.next_id, self.asked)
    }

    /// Handles an answer. Ignores warnings and reports from an ongoing search.
    fn take(&mut self, answer: &Value, desk: &Desk<'_>) -> Result<(), LabelError> {
        let id = answer["id"].as_str().unwrap_or_default();
        if answer["isDuringSearch"] == true || answer.get("warning").is_some() {
            return Ok(());
        }
        let Some(task) = self.open.remove(id) else {
            return match answer["error"].as_str() {
                Some(message) => Err(ControllerError::Refused {
                    command: ANALYSIS_ENGINE.to_owned(),
                    message: message.to_owned(),
                }
                .into()),
                None => Ok(()),
            };
        };
        let label = match label(&task, answer, self.asked) {
            Ok(label) => label,
            Err(reason) => return desk.refuse(&task, reason),
        };
        desk.counts
            .evaluations
            .fetch_add(u64::from(label.visits) + 1, Ordering::Relaxed);
        desk.deliver(&task, label);
        Ok(())
    }
}
