//! Who holds a task that one process at a time may do? Its notice tells: as long as its number grows, the author lives.
//!
//! No clocks are compared: a process that wants the task watches the notice for a while by its own clock. A holder
//! that was stopped for so long finds another name in the notice before it writes the next one, and gives up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::Serialize;
use serde::de::DeserializeOwned;

use tengen_report::notices::{Author, Notice};
use tengen_run::Watch;
use tengen_store::Store;

/// Looks at a notice that stays the same before its author counts as gone.
const SILENT_LOOKS: f64 = 15.0;

/// How long a notice must stay the same before its author counts as gone. Authors write one at every look.
pub(crate) fn silence(look_seconds: f64) -> Duration {
    Duration::from_secs_f64(look_seconds * SILENT_LOOKS)
}

/// How often to look whether the holder is still there.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The right to do a task, and the notice that says so.
pub(crate) struct Lease {
    path: &'static str,
    task: &'static str,
    author: Author,
    beat: u64,
    silence: Duration,
    /// Whether the notice is this process's own.
    held: bool,
}

impl Lease {
    /// Waits until nobody else does the task, then takes it over and returns what its last holder said. `None` if
    /// `stop` was set before.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn take<T: Serialize + DeserializeOwned>(
        (store, task, path): (&Store, &'static str, &'static str),
        author: &Author,
        silence: Duration,
        watch: &dyn Watch,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<(Lease, Option<T>)>> {
        let mut seen: Option<(String, u64, Instant)> = None;
        let mut said = false;
        loop {
            let notice = Notice::<T>::read(store, path)?;
            let Some(held) = notice.as_ref().filter(|notice| !notice.ended) else {
                break Ok(Some((
                    Lease::of(task, path, author, silence, notice.as_ref()),
                    says(notice),
                )));
            };
            let (name, beat) = (&held.author.name, held.beat);
            match &seen {
                Some((seen_name, seen_beat, since)) if (seen_name, *seen_beat) == (name, beat) => {
                    if since.elapsed() >= silence {
                        watch.say(&format!(
                            "the {task} on {} (process {}) has been silent for {} s: taking over",
                            held.author.host,
                            held.author.pid,
                            silence.as_secs()
                        ));
                        break Ok(Some((
                            Lease::of(task, path, author, silence, notice.as_ref()),
                            says(notice),
                        )));
                    }
                }
                known => {
                    if known.is_some() && !said {
                        said = true;
                        watch.say(&format!(
                            "another {task} works for this run, on {} (process {}): standing by until it ends",
                            held.author.host, held.author.pid
                        ));
                    }
                    seen = Some((name.clone(), beat, Instant::now()));
                }
            }
            if stop.load(Ordering::SeqCst) {
                break Ok(None);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn of<T>(
        task: &'static str,
        path: &'static str,
        author: &Author,
        silence: Duration,
        before: Option<&Notice<T>>,
    ) -> Lease {
        Lease {
            path,
            silence,
            task,
            author: author.clone(),
            beat: before.map_or(0, |notice| notice.beat),
            held: false,
        }
    }

    /// Writes the next notice.
    ///
    /// # Errors
    /// If the store fails, or if another process has taken over.
    pub(crate) fn beat<T: Serialize + DeserializeOwned>(
        &mut self,
        store: &Store,
        ended: bool,
        says: T,
    ) -> anyhow::Result<()> {
        if self.held
            && let Some(other) = Notice::<T>::read(store, self.path)?.map(|notice| notice.author)
            && other != self.author
        {
            bail!(
                "another {} has taken over, on {} (process {}): it found this one silent for {} s",
                self.task,
                other.host,
                other.pid,
                self.silence.as_secs()
            );
        }
        self.beat += 1;
        Notice::new(&self.author, self.beat, ended, says).write(store, self.path)?;
        self.held = true;
        Ok(())
    }
}

fn says<T>(notice: Option<Notice<T>>) -> Option<T> {
    notice.map(|notice| notice.says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_report::notices::{GATE, GateSays};
    use tengen_run::Silent;
    use tengen_store::Create;

    const SILENCE: Duration = Duration::from_millis(1500);

    fn take(store: &Store, stop: &AtomicBool) -> Option<Lease> {
        let (author, _) = crate::author::own().expect("a name");
        let taken = Lease::take::<GateSays>((store, "gate", GATE), &author, SILENCE, &Silent, stop);
        taken.expect("the store works").map(|(lease, _)| lease)
    }

    #[test]
    fn a_silent_holder_is_replaced_and_notices_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(&folder.path().display().to_string(), Create::Always).expect("a store");
        let (go, stop) = (AtomicBool::new(false), AtomicBool::new(true));
        let mut first = take(&store, &go).expect("nobody has it");
        first.beat(&store, false, GateSays::default()).expect("its own");
        assert!(take(&store, &stop).is_none(), "the first one holds it");

        let began = Instant::now();
        let mut second = take(&store, &go).expect("the first one is silent");
        assert!(began.elapsed() >= SILENCE);
        second.beat(&store, false, GateSays::default()).expect("its own");
        let replaced = first.beat(&store, false, GateSays::default()).expect_err("replaced");
        assert!(
            replaced.to_string().contains("another gate has taken over"),
            "{replaced}"
        );

        second.beat(&store, true, GateSays::default()).expect("its own");
        let began = Instant::now();
        take(&store, &go).expect("the second one has ended");
        assert!(began.elapsed() < SILENCE);
    }
}
