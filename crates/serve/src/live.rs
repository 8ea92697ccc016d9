//! A part of a page that is rendered again when its stores change, and the updates that tell open pages.
//!
//! Stores are checked only while a page is open. Checking and rendering together take at most about a tenth of the
//! time, so that watching a run does not slow it down.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream;
use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use crate::problem::{Problem, blocking};

/// The shortest rest between two checks of a store.
const REST: Duration = Duration::from_secs(2);

/// The rest after a check is at least this many times as long as the check and its rendering took.
const REST_PER_WORK: u32 = 9;

/// How often an idle stream of updates sends a sign of life.
const ALIVE: Duration = Duration::from_secs(15);

/// Where the shown HTML comes from. Both functions may take a long time.
pub(crate) struct Source {
    /// A fingerprint of the stores, which changes when the HTML may have changed.
    pub(crate) look: Box<dyn Fn() -> anyhow::Result<Vec<u64>> + Send + Sync>,
    /// The HTML to show.
    pub(crate) render: Box<dyn Fn() -> anyhow::Result<String> + Send + Sync>,
}

/// What is shown now.
#[derive(Clone, Default)]
pub(crate) struct Shown {
    /// Counts the updates; 0 before the first.
    pub(crate) version: u64,
    pub(crate) html: Arc<str>,
    /// Why the HTML may be out of date, as a sentence.
    pub(crate) trouble: Option<String>,
}

/// A part of a page that follows its stores.
pub(crate) struct Live {
    source: Arc<Source>,
    latest: watch::Sender<Shown>,
    state: Arc<Mutex<State>>,
}

/// What the last check found.
struct State {
    fingerprint: Vec<u64>,
    /// When the next check is due.
    due: Instant,
}

impl Live {
    pub(crate) fn new(source: Source) -> Live {
        Live {
            source: Arc::new(source),
            latest: watch::Sender::new(Shown::default()),
            state: Arc::new(Mutex::new(State {
                fingerprint: Vec::new(),
                due: Instant::now(),
            })),
        }
    }

    /// What is shown now, after a check of the stores if one is due.
    pub(crate) async fn current(&self) -> Result<Shown, Problem> {
        self.refresh().await;
        let shown = self.latest.borrow().clone();
        match (shown.version, &shown.trouble) {
            (0, Some(trouble)) => Err(Problem::unavailable(trouble.clone())),
            _ => Ok(shown),
        }
    }

    /// Checks the stores if a check is due and an open page waits for updates.
    pub(crate) async fn follow(&self) {
        if self.latest.receiver_count() > 0 {
            self.refresh().await;
        }
    }

    async fn refresh(&self) {
        let state = Arc::clone(&self.state).lock_owned().await;
        if Instant::now() < state.due {
            return;
        }
        // A task of its own: whoever waits for it may leave, which ends their future, but not the work that has begun.
        let checking = tokio::spawn(check(Arc::clone(&self.source), self.latest.clone(), state));
        if let Err(error) = checking.await {
            trouble(&self.latest, format!("the check of the store failed: {error}"));
        }
    }

    /// Server-sent events: `update` with the version whenever something new is shown, and `trouble` with a sentence
    /// when the stores cannot be read. They end when the server stops.
    pub(crate) fn updates(
        &self,
        stopping: watch::Receiver<bool>,
    ) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
        let mut latest = self.latest.subscribe();
        latest.mark_changed();
        let events = stream::unfold((latest, stopping), |(mut latest, mut stopping)| async move {
            tokio::select! {
                changed = latest.changed() => changed.ok()?,
                _ = stopping.wait_for(|stopping| *stopping) => return None,
            }
            let event = {
                let shown = latest.borrow_and_update();
                match &shown.trouble {
                    // A line break would end the event's text.
                    Some(trouble) => Event::default()
                        .event("trouble")
                        .data(trouble.replace(['\n', '\r'], " ")),
                    None => Event::default().event("update").data(shown.version.to_string()),
                }
            };
            Some((Ok(event), (latest, stopping)))
        });
        Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE))
    }

    /// The number of open streams of updates.
    pub(crate) fn watchers(&self) -> usize {
        self.latest.receiver_count()
    }
}

/// Looks for changes, shows what is new, and sets the time of the next check.
async fn check(source: Arc<Source>, latest: watch::Sender<Shown>, mut state: OwnedMutexGuard<State>) {
    let began = Instant::now();
    let known = state.fingerprint.clone();
    let found = blocking(move || {
        let fingerprint = (source.look)()?;
        let changed = fingerprint != known;
        let html = if changed { Some((source.render)()?) } else { None };
        Ok((fingerprint, html))
    });
    match found.await {
        Ok((fingerprint, html)) => {
            state.fingerprint = fingerprint;
            show(&latest, html);
        }
        Err(problem) => trouble(&latest, problem.sentence),
    }
    state.due = Instant::now() + REST.max(began.elapsed() * REST_PER_WORK);
}

/// Shows new HTML, if any; otherwise, what was shown is up to date again.
fn show(latest: &watch::Sender<Shown>, html: Option<String>) {
    latest.send_if_modified(|shown| {
        let recovered = shown.trouble.take().is_some();
        let is_new = html.as_ref().is_some_and(|html| **html != *shown.html);
        if let (true, Some(html)) = (is_new, html) {
            shown.html = html.into();
        }
        shown.version += u64::from(is_new || recovered);
        is_new || recovered
    });
}

fn trouble(latest: &watch::Sender<Shown>, sentence: String) {
    latest.send_if_modified(|shown| {
        let is_new = shown.trouble.as_ref() != Some(&sentence);
        shown.trouble = Some(sentence);
        is_new
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[tokio::test]
    async fn a_page_that_is_closed_while_it_waits_leaves_no_second_check_behind() {
        let renders = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&renders);
        let live = Arc::new(Live::new(Source {
            look: Box::new(|| Ok(vec![1])),
            render: Box::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(200));
                Ok("page".to_owned())
            }),
        }));
        for _ in 0..5 {
            let gone = tokio::time::timeout(Duration::from_millis(10), live.current()).await;
            assert!(gone.is_err(), "the page takes longer");
        }
        let shown = live.current().await.map_err(|problem| problem.sentence);
        assert_eq!(shown.map(|shown| shown.html.to_string()), Ok("page".to_owned()));
        assert_eq!(renders.load(Ordering::SeqCst), 1);
    }
}
