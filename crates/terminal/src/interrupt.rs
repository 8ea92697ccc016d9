//! Handles Ctrl-C: the first signal requests a clean stop, and a second one ends the process at once.
//!
//! A command that a signal stops before its work is done exits with 128 plus the number of the signal, following the
//! shells' convention: 130 after Ctrl-C (SIGINT), 143 after SIGTERM, 129 after SIGHUP. A command whose work was already
//! done exits with 0, and one that fails while stopping exits with 1.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A second signal within this time of the first does not count: GNU `timeout` signals the process and then its whole
/// group, and a terminal that closes may send several signals.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// Whether a stop has been requested. Clones share the flag.
#[derive(Clone, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    /// The number of the first signal.
    signal: Arc<AtomicI32>,
}

/// A signal stopped the command before its work was done. This is not a failure, because the command stopped cleanly
/// and has said so. The program exits with this code.
#[derive(Debug)]
pub struct Interrupted(pub u8);

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stopped by signal {}", self.0 - 128)
    }
}

impl std::error::Error for Interrupted {}

impl Interrupt {
    /// Listens for Ctrl-C, SIGTERM and SIGHUP. The first signal prints `message` on stderr and sets the flag; the next
    /// one ends the process, which is safe for everything already published.
    pub fn listen(message: &'static str) -> anyhow::Result<Interrupt> {
        crate::output::hide_control_characters();
        let interrupt = Interrupt::default();
        let listener = interrupt.clone();
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for Ctrl-C")?;
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread
            .spawn(move || listener.serve(signals, message))
            .context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    fn serve(&self, mut signals: Signals, message: &'static str) {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            match first {
                None => {
                    first = Some(Instant::now());
                    self.signal.store(signal, Ordering::SeqCst);
                    self.requested.store(true, Ordering::SeqCst);
                    // On its own thread, so that a blocked terminal cannot keep the next signal from ending the
                    // process.
                    std::thread::spawn(move || {
                        // A terminal that still shows control characters has just shown ^C on this line.
                        let above = if crate::output::interactive() { "" } else { "\n" };
                        crate::output::say(format!("{above}{message}\nPress Ctrl-C again to stop at once."))
                    });
                }
                Some(at) if at.elapsed() < SAME_SIGNAL => {}
                // Skips destructors and exit handlers: those of libtorch would crash threads that are still computing.
                Some(_) => {
                    crate::output::restore_terminal();
                    signal_hook::low_level::exit(128 + signal)
                }
            }
        }
    }

    /// The flag itself, for other code to check.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Whether a stop has been requested.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    /// The result of a command that may have been stopped before its work was done, after it has printed its output. If
    /// another process was signaled and stopped this one, that counts as SIGTERM.
    ///
    /// # Errors
    /// [`Interrupted`] after a signal.
    pub fn outcome(&self) -> anyhow::Result<()> {
        match self.requested() {
            true => {
                let signal = self.signal.load(Ordering::SeqCst);
                let signal = if signal == 0 { SIGTERM } else { signal };
                Err(Interrupted(128 + signal as u8).into())
            }
            false => Ok(()),
        }
    }

    /// [`Interrupt::outcome`] if the work was stopped; otherwise it is done, whatever signal came.
    pub fn outcome_if(&self, stopped: bool) -> anyhow::Result<()> {
        if stopped { self.outcome() } else { Ok(()) }
    }
}
