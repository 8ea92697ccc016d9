//! The report of a run in parts, for a server that replaces only those that changed.

use maud::html;

use tengen_store::Store;

use super::curves::Curves;
use super::data::{self, Replays};
use super::page;

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");

/// The script of all pages with plots. It shows the values of a point that was clicked or tapped.
pub const PLOTS_SCRIPT: &str = include_str!("plots.js");

/// The report of a run as it stands, without the page around it and without games to replay.
pub struct LiveReport {
    /// The name of the run.
    pub name: String,
    /// `section` elements whose attribute `data-part` names them; the same parts in the same order each time.
    pub html: String,
}

/// Reads a store and lays out its report, which takes about a second.
///
/// # Errors
/// If the store's lists cannot be read. Single damaged files are not errors; the report names them.
pub fn live_report(store: &Store) -> anyhow::Result<LiveReport> {
    let data = data::read(store, Replays::LeaveOut)?;
    let curves = Curves::of(&data.history.events);
    let html = html! {
        @for (name, part) in page::parts(&data, &curves, &[]) { section data-part=(name) { (part) } }
    };
    Ok(LiveReport {
        name: data.name,
        html: html.into_string(),
    })
}
