//! Puts any text into a file of a store: run, model, promotion, checkpoint, changes, quarantine, dataset, match. Every
//! operation on the store must then succeed or return an error. Counterpart in the default tests:
//! `arbitrary_file_contents_never_panic` in `crates/datasets/tests/all/untrusted.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/datasets/tests/all/ask.rs"]
mod ask;

fuzz_target!(|input: &[u8]| {
    let Some((&number, bytes)) = input.split_first() else { return };
    ask::ask_everything(usize::from(number), bytes);
});
