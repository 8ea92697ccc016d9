//! Matches that are published while they are played and resume where they stopped.
//!
//! [`play`] plays what is missing of a match and publishes its games to a [`Folder`] as they finish. [`read_book`] reads
//! opening books.
//!
//! Never here: networks, printing.

mod book;
mod folder;
mod play;
mod usage;

pub use book::read_book;
pub use folder::{Folder, Spec};
pub use play::{Job, play};
pub use usage::{UsageError, usage};
