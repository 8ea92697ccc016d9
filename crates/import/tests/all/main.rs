//! The tests of imports, in one binary: linking it takes longer than compiling a test.

#[path = "../../../store/tests/all/faulty.rs"]
mod faulty;
mod import;
mod import_at_once;
