//! What the run had learned when its budget was spent, from the summary in its store.

use anyhow::Context;
use maud::{Markup, html};
use serde::Deserialize;

use tengen_store::{Store, unseal};

use crate::numbers::{short_model, thousands};

/// The part of a summary that the page shows.
#[derive(Deserialize)]
pub(super) struct Verdict {
    champion: String,
    size: String,
    steps: u64,
    first_move: FirstMove,
    results: Vec<Outcome>,
}

/// The champion's first move on the empty board.
#[derive(Deserialize)]
struct FirstMove {
    komi: String,
    visits: u32,
    #[serde(rename = "move")]
    mv: String,
    /// P(win) - P(loss) from Black's viewpoint, -1 to 1.
    value: f32,
    /// Black's expected margin without komi, in points.
    board_margin: f32,
}

/// A match of the champion against a simple player.
#[derive(Deserialize)]
struct Outcome {
    opponent: String,
    /// `black` or `alternate`.
    color: String,
    komi: String,
    games: u64,
    wins: u64,
    ties: u64,
    losses: u64,
}

/// The newest summary of a store, if a run in it has ended.
///
/// # Errors
/// If it cannot be read.
pub(super) fn read(store: &Store) -> anyhow::Result<Option<Verdict>> {
    let listed = store.files().list("summaries")?;
    // Their names begin with the training steps, in nine digits.
    let Some((path, _)) = listed.into_iter().max() else {
        return Ok(None);
    };
    let bytes = store.files().require(&path)?;
    let verdict = serde_json::from_slice(&unseal(&path, &bytes)?).with_context(|| format!("cannot read {path}"))?;
    Ok(Some(verdict))
}

impl Verdict {
    /// The verdict in words, with a table of the closing matches.
    pub(super) fn card(&self) -> Markup {
        let first = &self.first_move;
        html! {
            h2 #verdict { "Verdict" }
            p {
                "After " (thousands(self.steps)) " training steps, the champion is "
                b { (short_model(&self.champion)) } ". On the empty " (self.size) " board at komi " (first.komi)
                ", it plays " b { (first.mv) } " (" (first.visits) " visits): Black's value is "
                b { (format!("{:+.2}", first.value)) } " (-1: loss, +1: win), the margin before komi "
                b { (format!("{:+.1}", first.board_margin)) } "."
            }
            @if !self.results.is_empty() {
                div.card.table tabindex="0" { table {
                    tr {
                        th.left { "against" } th.left { "as" } th { "komi" } th { "won" } th { "tied" }
                        th { "lost" } th { "of" }
                    }
                    @for result in &self.results { (result.row()) }
                } }
            }
        }
    }
}

impl Outcome {
    fn row(&self) -> Markup {
        let side = match self.color.as_str() {
            "black" => "Black",
            _ => "both colors in turn",
        };
        html! {
            tr {
                td.left { (self.opponent) }
                td.left { (side) }
                td { (self.komi) }
                td { (thousands(self.wins)) }
                td { (thousands(self.ties)) }
                td { (thousands(self.losses)) }
                td { (thousands(self.games)) }
            }
        }
    }
}
