//! libtorch errors as values. tch panics when an operation fails, for example because a GPU is out of memory.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread turns libtorch panics into errors.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// A libtorch operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibtorchError {
    /// A GPU is out of memory.
    #[error("out of GPU memory: use a smaller training.batch or selfplay.games_per_group, or a smaller network ({0})")]
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

impl LibtorchError {
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

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::*;

    #[test]
    fn errors_of_libtorch_are_values() {
        let a = Tensor::zeros([2, 3], (Kind::Float, Device::Cpu));
        let error = catching(|| a.matmul(&a)).expect_err("the shapes do not fit");
        let text = error.to_string();
        assert!(
            text.starts_with("libtorch failed: mat1 and mat2 shapes cannot be multiplied"),
            "{text}"
        );
        assert!(!text.contains("frame") && !text.contains('\n'), "{text}");
        assert_eq!(catching(|| a.size()), Ok(vec![2, 3]));
    }

    #[test]
    fn too_little_memory_says_what_to_do() {
        let message = "CUDA out of memory. Tried to allocate 20.00 MiB.\nException raised from malloc";
        let error = catching::<()>(|| {
            let failed = tch::TchError::Torch(message.to_owned());
            panic!("called `Result::unwrap()` on an `Err` value: {failed:?}")
        });
        let error = error.expect_err("it fails");
        assert_eq!(
            error,
            LibtorchError::OutOfMemory("CUDA out of memory. Tried to allocate 20.00 MiB".to_owned())
        );
        assert!(error.to_string().contains("smaller training.batch"));
    }

    #[test]
    fn other_panics_stay_panics() {
        let caught = panic::catch_unwind(|| catching(|| panic!("a mistake")));
        let payload = caught.expect_err("it panics");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"a mistake"));
    }
}
