//! `loadsgf`: the main line of a game file.

use crate::output::say;
use anyhow::Context;
use tengen_gtp::LoadedGame;
use tengen_records::read_sgf_bytes;
use tengen_rules::{Color, Move, Rules};

/// Reads the first game of a file up to a move number, where 1 is the position before the first move.
pub(super) fn load(path: &str, move_number: Option<usize>) -> anyhow::Result<LoadedGame> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
    let mut games = read_sgf_bytes(&bytes).with_context(|| format!("{path} is no SGF"))?;
    let game = games.swap_remove(0);
    let setup = game
        .setup
        .iter()
        .filter_map(|&(color, point)| Some((color?, Move::Play(point))));
    let mut turns: Vec<(Color, Move)> = setup.collect();
    let played = move_number.map_or(game.moves.len(), |number| number.saturating_sub(1));
    turns.extend(game.moves.into_iter().take(played));
    Ok(LoadedGame {
        size: game.size,
        komi: game.komi,
        rules: game.rules.as_deref().and_then(rules_of),
        turns,
    })
}

/// The rules that a file names, where they can be played here; says on stderr what becomes of the name.
fn rules_of(name: &str) -> Option<Rules> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let read = words.join("_").parse::<Rules>().map_err(|error| error.to_string());
    let playable = read.and_then(|rules| match rules.check_for_machines() {
        Ok(()) => Ok(rules),
        Err(error) => Err(error.to_string()),
    });
    match playable {
        Ok(rules) => {
            say(format!("the rules are {rules} from now on, as the file says"));
            Some(rules)
        }
        Err(reason) => {
            say(format!(
                "the file's rules are not followed, the session's stay: {reason}"
            ));
            None
        }
    }
}
