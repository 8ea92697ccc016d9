//! Ctrl-C: once asks for a clean end, twice ends at once.

use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says whether somebody asked for an end. Clones share the answer.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for Ctrl-C, SIGTERM and SIGHUP. The first one says `first_words` on stderr and sets the flag; the
    /// second ends the process with code 130: nothing published is harmed by that.
    pub(crate) fn listen(first_words: &'static str) -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let flag = interrupt.clone();
        ctrlc::set_handler(move || {
            if flag.0.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            crate::output::say(format!("\n{first_words} (again: stop now)"));
        })
        .context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// The flag itself, for those who only look.
    #[cfg(feature = "torch")]
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether an end was asked for.
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
