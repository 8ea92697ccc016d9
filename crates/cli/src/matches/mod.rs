//! Matches that are published while they are played, and go on where they stopped.

mod book;
mod folder;
mod play;

pub(crate) use book::read_book;
pub(crate) use folder::{Folder, Spec};
pub(crate) use play::{Job, play};
