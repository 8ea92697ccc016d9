//! KataGo's analysis protocol, the engine side: what is asked by a line of JSON, and what is the answer?
//!
//! After KataGo's `docs/Analysis_Engine.md`: one JSON object a line in, one a line out, many queries at once, each for one or
//! more turns of a game. [`Desk`] is a pure state machine as [`Session`](crate::Session) is: it reads lines, keeps the
//! [`Job`]s that are waiting, says which come first, and writes the answers. Who searches the positions is not its business.

mod actions;
mod answer;
mod desk;
mod fields;
mod hashes;
mod position;
mod query;
mod settings;

pub use desk::{Defaults, Desk, Handled, Identity, Job};
pub use query::Query;
pub use settings::{SettingError, Settings, Viewpoint};
