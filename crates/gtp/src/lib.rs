//! The Go Text Protocol, version 2, from both ends, and KataGo's analysis protocol.
//!
//! - **Engine side**: [`Session`] is a pure state machine. It takes one line of text, keeps the game, asks an
//!   [`Engine`] only for what needs thought, and returns the reply as text. It reads no streams and starts no threads,
//!   so any transport (standard input, a socket, a test) drives it.
//! - **Controller side**: [`Controller`] starts another engine as a child process and speaks to it under deadlines.
//!   Whatever the engine does (crash, hang, nonsense, early exit) comes back as a [`ControllerError`], and the whole
//!   process group is gone when the controller is dropped.
//!
//! - **Analysis**: [`json::Desk`] takes the queries of KataGo's analysis protocol (JSON, a line each) and writes their
//!   answers, as a pure state machine too.
//!
//! The protocol is Gunnar Farnebäck's "Specification of the Go Text Protocol, version 2, draft 2" (2002), cited below as
//! "GTP 2" with its section. Extensions follow KataGo's `GTP_Extensions.md`.
//!
//! Never in this crate: a search, a network, a file format, printing.

mod analysis;
mod clock;
mod controller;
mod engine;
mod failure;
mod game;
mod guard;
mod handicap;
pub mod json;
mod line;
mod pipes;
mod process;
mod raw;
mod rules;
mod session;
mod showboard;
mod strays;
mod words;

pub use analysis::{AnalysisStyle, AnalyzeRequest, AnalyzedMove, PositionAnalysis, Restrictions};
pub use clock::{Clock, TimeLeft, TimeSettings};
pub use controller::{Answer, Controller, EngineInfo, Timeouts};
pub use engine::{Engine, EngineError, Genmove, LoadedGame, Pondered, StoneStatus, Turn, Watcher};
pub use failure::{ControllerError, Exit};
pub use game::{Game, GameError};
pub use handicap::spread_handicap;
pub use line::{Request, clean_line};
pub use raw::RawNetwork;
pub use rules::rules_for_engine;
pub use session::{Next, Reply, Session};
pub use showboard::show_board;
pub use words::{CommandLine, CommandLineError};
