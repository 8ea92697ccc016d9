//! Signs that a run goes wrong, in words: games that no longer look like Go, networks that remember games instead of
//! learning from them, and networks that are blind outside their own lines.

mod games;
mod predictions;
mod random_games;

pub use games::{Health, Signs};
pub use predictions::{Comparison, Warnings};
pub use random_games::RandomGames;
