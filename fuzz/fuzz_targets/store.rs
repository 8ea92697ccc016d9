//! Any text stands in a file of a store: run, model, promotion, checkpoint, changes, quarantine, dataset, match. Whatever
//! is asked of the store then is answered or refused. Its twin in the default tests: `arbitrary_file_contents_never_panic` in
//! `crates/records/tests/untrusted.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/datasets/tests/common/ask.rs"]
mod ask;

fuzz_target!(|input: &[u8]| {
    let Some((&number, bytes)) = input.split_first() else { return };
    ask::ask_everything(usize::from(number), bytes);
});
