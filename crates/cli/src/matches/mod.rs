//! Matches that are published while they are played and can be resumed.

mod args;
mod book;
mod folder;
mod play;

pub(crate) use args::GameArgs;
pub(crate) use folder::{Folder, Spec};
pub(crate) use play::{Job, play};
