//! The search thread. Only it loads models; it keeps the last few and answers one question at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use tengen_model::ModelId;
use tengen_rules::{Komi, Position};
use tengen_store::Store;

use crate::analyst::{Analysis, Analyst};
use crate::problem::Problem;

/// Makes an analyst for a model of a store. Called on the thread that uses the analyst.
pub type LoadAnalyst = Box<dyn FnMut(&Store, &ModelId) -> anyhow::Result<Box<dyn Analyst>> + Send>;

/// The most questions that may wait for their turn.
const MOST_WAITING: usize = 16;

/// The most models that stay loaded.
const MOST_MODELS: usize = 3;

/// A position to analyze.
pub(crate) struct Question {
    pub(crate) store: Store,
    pub(crate) model: ModelId,
    /// The position, in which the game must not be over.
    pub(crate) position: Position,
    pub(crate) komi: Komi,
    pub(crate) visits: u32,
}

/// A question and the channel for its answer.
struct Job {
    question: Question,
    reply: oneshot::Sender<Result<Analysis, String>>,
}

/// A handle to the search thread.
pub(crate) struct Thinker {
    /// The queue of questions; `None` once the thread should end.
    jobs: Mutex<Option<SyncSender<Job>>>,
    stopping: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Thinker {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn start(load: LoadAnalyst) -> std::io::Result<Thinker> {
        let (jobs, inbox) = sync_channel(MOST_WAITING);
        let stopping = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopping);
        let thread = std::thread::Builder::new().name("search".to_owned());
        let thread = thread.spawn(move || work(&inbox, load, &flag))?;
        Ok(Thinker {
            jobs: Mutex::new(Some(jobs)),
            stopping,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Ends the search in progress early and drops the questions that wait.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Ends the thread and waits until it has ended, because a process must not exit while a network computes.
    pub(crate) fn end(&self) {
        self.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("the thread that searches has failed");
        }
    }

    /// The answer to a question. If the caller drops the future, the search ends.
    pub(crate) async fn ask(&self, question: Question) -> Result<Analysis, Problem> {
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        jobs.ok_or_else(ended)?
            .try_send(Job { question, reply })
            .map_err(|error| match error {
                TrySendError::Full(_) => Problem::unavailable(format!(
                    "{MOST_WAITING} positions already wait for their analysis; try again in a moment"
                )),
                TrySendError::Disconnected(_) => ended(),
            })?;
        match answer.await {
            Ok(Ok(analysis)) => Ok(analysis),
            Ok(Err(sentence)) => Err(Problem::unavailable(sentence)),
            Err(_) => Err(ended()),
        }
    }
}

fn ended() -> Problem {
    Problem::unavailable("the search has ended; start tengen serve again")
}

/// A loaded model and the store it comes from.
struct Loaded {
    location: String,
    model: ModelId,
    analyst: Box<dyn Analyst>,
}

fn work(inbox: &Receiver<Job>, mut load: LoadAnalyst, stopping: &AtomicBool) {
    // The most recently used model is at the end.
    let mut loaded: Vec<Loaded> = Vec::new();
    for Job { question, reply } in inbox {
        let stop = || stopping.load(Ordering::SeqCst) || reply.is_closed();
        if stop() {
            continue;
        }
        let answer = answer(&question, &mut loaded, &mut load, &stop);
        // The caller may be gone.
        let _ = reply.send(answer);
    }
}

fn answer(
    question: &Question,
    loaded: &mut Vec<Loaded>,
    load: &mut LoadAnalyst,
    stop: &dyn Fn() -> bool,
) -> Result<Analysis, String> {
    let Question { store, model, .. } = question;
    let is_it = |kept: &Loaded| kept.location == store.location() && kept.model == *model;
    let found = match loaded.iter().position(is_it) {
        Some(place) => loaded.remove(place),
        None => Loaded {
            location: store.location().to_owned(),
            model: model.clone(),
            analyst: load(store, model).map_err(|error| format!("cannot use the model {model}: {error:#}"))?,
        },
    };
    if loaded.len() >= MOST_MODELS {
        loaded.remove(0);
    }
    loaded.push(found);
    match loaded.last_mut() {
        Some(kept) => kept
            .analyst
            .analyze(&question.position, question.komi, question.visits, stop),
        None => Err("no model is loaded".to_owned()),
    }
}
