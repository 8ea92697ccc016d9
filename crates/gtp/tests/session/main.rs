//! The engine side, line by line.

mod files;
mod first_point;
mod robust;
mod rules;
mod search;
mod setup;
