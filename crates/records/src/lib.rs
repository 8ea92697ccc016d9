//! One game as data: what was played, how it began and ended, what the search thought, and statistics over many games.
//!
//! [`GameRecord`] is one game. [`Origin`] says where an imported game comes from, [`Comparison`] how its claimed result
//! compares with the counted one. [`StatsCollector`] and [`OpeningTree`] sum up many games.
//! [`LabelledPosition`] is a position with known answers.
//!
//! Never here: files, search, networks, printing.

mod claimed_result;
mod clock;
mod comparison;
mod end_reason;
mod labelled;
mod opening_tree;
mod origin;
mod policy;
mod record;
mod stats;

pub use claimed_result::SgfResult;
pub use clock::now_ms;
pub use comparison::Comparison;
pub use end_reason::EndReason;
pub use labelled::LabelledPosition;
pub use opening_tree::{OpeningNode, OpeningTree, Others, TreeShape};
pub use origin::Origin;
pub use policy::compact_policy;
pub use record::{EXPLORED, FULL_SEARCH, GameKind, GameRecord, OPENING, PlyRecord, RecordError, UNKNOWN_TIME};
pub use stats::{EntropyAtPly, GameStats, GenerationStats, KomiResults, Lengths, StatsCollector, share};
