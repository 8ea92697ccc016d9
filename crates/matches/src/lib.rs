//! Matches that are published as they are played and resume where they left off.
//!
//! [`play`] plays the missing games of a match and publishes them to a [`Folder`] as they finish. [`settle`] does the
//! same for a gate: the matches that decide whether a candidate replaces the champion, and the verdict. [`read_book`]
//! reads opening books. A [`Tournament`] plays many matches, and [`Standing`] rates its players on one scale.
//! [`five_by_five`] and [`seven_by_seven`] compare a player with known results on small boards, [`without_search`] and
//! [`with_search`] with positions whose answers are known, and [`TrainedOn`] determines which games suit a model.
//!
//! Never here: networks, printing.

mod anchors;
mod book;
mod conditions;
mod folder;
mod gate;
mod named_model;
mod play;
mod positions;
mod standing;
mod theory;
mod tournament;
mod usage;

pub use anchors::{Anchor, gnu_go, usual_anchors};
pub use book::{lines_of_book, names_boards, read_book};
pub use conditions::{Asked, Conditions, TrainedOn};
pub use folder::{Counted, Folder, Spec};
pub use gate::{GateJob, GateSettings, MakePlayer, Verdicts, gate_id, settle, verdict_on, verdicts, wrong_results};
pub use named_model::{NamedNetwork, read_model, read_network, source_of};
pub use play::{Job, play};
pub use positions::{Agreement, Mean, with_search, without_search};
pub use standing::{Pairing, PairingRow, Row, Standing};
pub use theory::{Check, Exam, MakeAnyPlayer, Report, five_by_five, seven_by_seven};
pub use tournament::{
    Entrant, HOPELESS, RunModel, Tournament, everyone, meet_models, reject_twins, run_models, successive,
};
pub use usage::{UsageError, usage};
