//! Both sides of the Go Text Protocol, version 2, and of KataGo's analysis protocol.
//!
//! - **Engine side**: [`Session`] is a pure state machine. It takes one line of text, keeps the game, asks an
//!   [`Engine`] only for what requires search, and returns the reply as text. It reads no streams and starts no
//!   threads, so any transport (standard input, a socket, a test) can drive it.
//! - **Controller side**: [`Controller`] starts another engine as a child process and talks to it with deadlines. Any
//!   failure of the engine (crash, hang, invalid reply, early exit) is reported as a [`ControllerError`], and dropping
//!   the controller kills the whole process group.
//! - **Analysis**: [`json::QueryQueue`], also a pure state machine, takes the queries of KataGo's analysis protocol
//!   (one JSON object per line) and writes the answers; [`json::AnalysisClient`] asks another engine.
//!
//! The protocol is Gunnar Farnebäck's "Specification of the Go Text Protocol, version 2, draft 2" (2002), cited below
//! as "GTP 2" with its section. Extensions follow KataGo's `GTP_Extensions.md`.
//!
//! Deliberately absent: search, networks, file formats, printing.

mod analysis;
mod clock;
mod command_line;
mod controller;
mod engine;
mod escaped;
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

pub use analysis::{AnalysisStyle, AnalyzeRequest, AnalyzedMove, PositionAnalysis, Restrictions};
pub use clock::{Clock, TimeLeft, TimeSettings};
pub use command_line::{CommandLine, CommandLineError};
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
