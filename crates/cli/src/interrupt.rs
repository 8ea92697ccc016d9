//! Ctrl-C: the first one asks for a clean stop, the second stops at once.

use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a stop has been requested. Clones share the flag.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for Ctrl-C, SIGTERM and SIGHUP. The first signal prints `first_words` on stderr and sets the flag; the
    /// second ends the process with exit code 130, which harms nothing that is already published.
    pub(crate) fn listen(first_words: &'static str) -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let flag = interrupt.clone();
        ctrlc::set_handler(move || {
            if flag.0.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            crate::output::say(format!("\n{first_words} (press again to stop at once)"));
        })
        .context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// The flag itself, for code that only reads it.
    #[cfg(feature = "torch")]
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether a stop has been requested.
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
