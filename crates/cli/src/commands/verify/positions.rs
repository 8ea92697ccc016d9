//! `tengen verify --positions`: compares a player with positions whose answers are known.

use std::ops::Range;
use std::path::PathBuf;

use serde_json::json;

use tengen_datasets::{read_labelled, read_results};
use tengen_evaluator::{PlayerKind, PlayerOptions, PlayerSpec};
use tengen_matches::{Agreement, with_search, without_search};
use tengen_records::LabelledPosition;
use tengen_search::Predictor;

use crate::output;
use crate::players::Loader;

/// The files of the positions, and what their labels are.
pub(super) struct Source<'a> {
    pub(super) files: &'a [PathBuf],
    /// If set, the positions are those of games at these plies, labeled with the games' results.
    pub(super) results: Option<Range<usize>>,
}

/// Asks the player about the positions of each file and prints how close its answers are.
pub(super) fn run(source: &Source, model: &PlayerSpec, loader: &Loader, seed: u64, json: bool) -> anyhow::Result<()> {
    let mut network = network(model, loader)?;
    let mut player = loader.player(model)?;
    for file in source.files {
        let read = match &source.results {
            Some(plies) => read_results(file, plies)?,
            None => read_labelled(file)?,
        };
        let labels = &read.positions;
        let raw = raw(network.as_mut(), labels)?;
        let bar = bar(labels.len(), "searching");
        let searched = with_search(&mut *player, labels, seed, &|more| bar.inc(more as u64))?;
        bar.finish_and_clear();
        if json {
            output::json(&json!({
                "file": file,
                "player": player.name(),
                "positions": labels.len(),
                "without_history": read.without_history,
                "without_result": read.without_result,
                "without_search": raw,
                "with_search": searched,
            }))?;
        } else {
            let (name, count, file) = (player.name(), labels.len(), file.display());
            output::result(format!("{name} on {count} positions of {file}"));
            if read.without_history > 0 {
                output::say(format!(
                    "left out: {} positions with moves banned by superko for reasons that the file does not tell",
                    read.without_history
                ));
            }
            if read.without_result > 0 {
                let games = output::counted(read.without_result as u64, "game");
                output::say(format!(
                    "left out: {games} that two passes do not end, or whose file states another winner"
                ));
            }
            print_agreement("without search", raw.as_ref());
            print_agreement("with search", Some(&searched));
        }
    }
    Ok(())
}

/// The player's network, if it has one.
fn network(model: &PlayerSpec, loader: &Loader) -> anyhow::Result<Option<Box<dyn Predictor>>> {
    if matches!(model.kind, PlayerKind::Gtp(_) | PlayerKind::Random | PlayerKind::Mcts) {
        return Ok(None);
    }
    let network = PlayerSpec {
        options: PlayerOptions::default(),
        ..model.clone()
    };
    loader.predictor(&network).map(Some)
}

/// The answers of a network alone, if there is one.
fn raw(network: Option<&mut Box<dyn Predictor>>, labels: &[LabelledPosition]) -> anyhow::Result<Option<Agreement>> {
    let Some(network) = network else { return Ok(None) };
    let bar = bar(labels.len(), "evaluating");
    let agreement = without_search(&mut **network, labels, &|more| bar.inc(more as u64))?;
    bar.finish_and_clear();
    Ok(Some(agreement))
}

fn bar(length: usize, what: &'static str) -> indicatif::ProgressBar {
    output::bar(
        length as u64,
        "{msg} [{bar:30}] {human_pos}/{human_len} positions, {eta} left",
    )
    .with_message(what)
}

fn print_agreement(title: &str, agreement: Option<&Agreement>) {
    for line in agreement.iter().flat_map(|agreement| agreement.lines()) {
        output::result(format!("  {title:<14}  {line}"));
    }
}
