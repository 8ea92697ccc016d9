//! Shows runs in the browser: a live report, games to click through, and the champion to play against.
//!
//! [`Server`] serves one store or several over HTTP, only to this machine unless told otherwise. Pages are HTML from
//! Rust with a few plain scripts, and everything a page needs comes from this server. Searches run on their own thread,
//! through an [`Analyst`].
//!
//! Deliberately absent: any library for neural networks, printing, writing to stores.

mod analyst;
mod assets;
mod champion;
mod game_analysis;
mod game_list;
mod game_pages;
mod guard;
mod layout;
mod live;
mod open_games;
mod play;
mod play_pages;
mod problem;
mod replay;
mod report_pages;
mod runs;
mod server;
mod thinker;

pub use analyst::{Analysis, Analyst, AnalyzedMove, SearchAnalyst};
pub use runs::{OpenError, Runs};
pub use server::{DEFAULT_PORT, Server};
pub use thinker::LoadAnalyst;
