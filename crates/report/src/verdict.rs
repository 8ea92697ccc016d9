//! What the run had learned when its budget was spent, from the summary in its store.

use anyhow::Context;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use tengen_store::{Store, unseal};

use crate::numbers::{counted, short_model, thousands};

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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FirstMove {
    /// Komi of the position.
    pub komi: String,
    /// Visits of the search.
    pub visits: u32,
    /// The move, such as `C3`.
    #[serde(rename = "move")]
    pub mv: String,
    /// P(win) - P(loss) from Black's viewpoint, -1 to 1.
    pub value: f32,
    /// Black's expected margin without komi, in points.
    pub board_margin: f32,
}

/// A match of the champion against a simple player.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The simple player.
    pub opponent: String,
    /// The champion's color: `black` or `alternate`.
    pub color: String,
    /// Komi of all games.
    pub komi: String,
    /// Games played, with or without a result.
    pub games: u64,
    /// Games that the champion won.
    pub wins: u64,
    /// Games that nobody won.
    pub ties: u64,
    /// Games that the champion lost.
    pub losses: u64,
    /// Games in which the champion owned every point at the end.
    pub full_board_wins: u64,
}

/// The newest summary in a store; `None` if its run has not ended yet.
///
/// # Errors
/// If it cannot be read.
pub(super) fn read(store: &Store) -> anyhow::Result<Option<Verdict>> {
    let listed = store.files().list("summaries")?;
    // The names begin with the training steps, in nine digits, so the largest name is the newest.
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
                        th { "lost" } th { "of" } th { "whole board" }
                    }
                    @for result in &self.results { (result.row()) }
                } }
            }
        }
    }
}

impl Outcome {
    /// The outcome in two lines for a terminal.
    pub fn in_words(&self) -> String {
        let Outcome {
            opponent,
            color,
            komi,
            games,
            wins,
            ties,
            losses,
            full_board_wins,
        } = self;
        let side = match color.as_str() {
            "black" => "as Black",
            _ => "with colors alternated",
        };
        let unfinished = match games.saturating_sub(wins + ties + losses) {
            0 => String::new(),
            open => format!(", {open} without a result"),
        };
        format!(
            "  Against {opponent} {side} at komi {komi}:\n    {wins} won, {ties} tied, {losses} lost{unfinished} of \
             {}; {full_board_wins} with the whole board",
            counted(*games, "game")
        )
    }

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
                td { (thousands(self.full_board_wins)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_without_a_result_are_named() {
        let mut outcome = Outcome {
            opponent: "random".to_owned(),
            color: "black".to_owned(),
            komi: "24.5".to_owned(),
            games: 100,
            wins: 94,
            ties: 0,
            losses: 0,
            full_board_wins: 90,
        };
        let words = outcome.in_words();
        assert!(
            words.contains("94 won, 0 tied, 0 lost, 6 without a result of 100 games"),
            "{words}"
        );
        outcome.losses = 6;
        let words = outcome.in_words();
        assert!(words.contains("94 won, 0 tied, 6 lost of 100 games"), "{words}");
    }
}
