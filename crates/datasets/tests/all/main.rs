//! The tests of datasets, in one binary: linking it takes longer than compiling a test.

mod ask;
mod claims;
mod datasets;
mod exports;
#[path = "../../../store/tests/all/faulty.rs"]
mod faulty;
mod labelled;
mod readers;
mod resumed;
mod selections;
mod stats;
mod untrusted;
