//! Turns panics into errors and keeps their messages.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; if it panics, returns the panic's message.
///
/// Data that `work` was changing stays as it was at the moment of the panic. The caller decides what is still usable.
///
/// # Errors
/// The message of the panic.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panic_message(&*panic))
}

/// The message of a panic, or `no message` if it has none.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_every_type_are_kept() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        assert_eq!(catch_panic::<()>(|| panic!("plain")), Err("plain".to_owned()));
        assert_eq!(catch_panic::<()>(|| panic!("number {}", 7)), Err("number 7".to_owned()));
        assert_eq!(
            catch_panic::<()>(|| std::panic::panic_any(7)),
            Err("no message".to_owned())
        );
    }
}
