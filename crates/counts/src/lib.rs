//! Exact counts of positions, games and turn sequences, which verify a rules core against published numbers.

mod games;
mod perft;
mod positions;

pub use games::{EndlessGames, count_games, count_games_by_plays, count_games_watched};
pub use perft::perft;
pub use positions::{TooLarge, count_legal_positions};
