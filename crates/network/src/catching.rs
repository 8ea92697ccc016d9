//! libtorch errors as values. tch panics when an operation fails, for example because a GPU is out of memory.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use tengen_search::PredictError;

thread_local! {
    /// Whether this thread turns libtorch panics into errors.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// A libtorch operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibtorchError {
    /// A GPU is out of memory.
    #[error("out of GPU memory ({0})")]
    OutOfMemory(String),
    /// Anything else.
    #[error("libtorch failed: {0}")]
    Failed(String),
}

/// The result of `work`, or the libtorch error it panicked with, without a message on stderr. Other panics propagate.
pub fn catching<T>(work: impl FnOnce() -> T) -> Result<T, LibtorchError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() || of_libtorch(info.payload()).is_none() {
                before(info);
            }
        }));
    });
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outer);
    result.map_err(|payload| match of_libtorch(&*payload) {
        Some(error) => error,
        None => panic::resume_unwind(payload),
    })
}

/// The error behind a panic of tch or of this crate's own libtorch calls.
fn of_libtorch(payload: &(dyn Any + Send)) -> Option<LibtorchError> {
    let text = payload.downcast_ref::<String>()?;
    let own = text.strip_prefix(crate::fused::FAILED);
    // tch unwraps a `TchError::Torch`, whose debug output has `\n` for line breaks.
    let (_, message) = text.split_once("Torch(\"").or(own.map(|own| ("", own)))?;
    let end = ["\\n", "\n", "\")"].iter().filter_map(|end| message.find(end)).min();
    Some(LibtorchError::new(&message[..end.unwrap_or(message.len())]))
}

impl From<LibtorchError> for PredictError {
    fn from(error: LibtorchError) -> PredictError {
        match error {
            LibtorchError::OutOfMemory(reason) => PredictError::OutOfMemory(reason),
            failed @ LibtorchError::Failed(_) => PredictError::Failed(failed.to_string()),
        }
    }
}

impl LibtorchError {
    /// Whether a GPU is out of memory.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, LibtorchError::OutOfMemory(_))
    }

    /// The error with the first line of this message.
    pub(crate) fn new(message: &str) -> LibtorchError {
        let line = message.lines().next().unwrap_or_default();
        // Whatever follows the second sentence of an out-of-memory message is advice for Python programs.
        let sentences: Vec<&str> = line.split(". ").take(2).collect();
        let line = sentences.join(". ").trim_end_matches('.').to_owned();
        match line.contains("out of memory") {
            true => LibtorchError::OutOfMemory(line),
            false => LibtorchError::Failed(line),
        }
    }
}
