//! `loadsgf` and `printsgf`: reads the main line of a game file and writes the session's game as SGF.

use std::path::Path;

use anyhow::Context;

use tengen_gtp::{Game, LoadedGame};
use tengen_report::replace;
use tengen_rules::{Color, Handicap, Move, Point, PointSet, Rules};
use tengen_sgf::{SgfTree, read_sgf_bytes};

/// Reads the first game of a file up to a move number, where 1 is the position before the first move.
pub(super) fn load(path: &str, move_number: Option<usize>, say: fn(&str)) -> anyhow::Result<LoadedGame> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
    let mut games = read_sgf_bytes(&bytes).with_context(|| format!("{path} is not an SGF file"))?;
    let game = games.swap_remove(0);
    let played = move_number.map_or(game.moves.len(), |number| number.saturating_sub(1));
    Ok(LoadedGame {
        size: game.size,
        komi: game.komi,
        rules: game.rules.as_deref().and_then(|name| rules_of(name, say)),
        start: game.start(),
        turns: game.moves.into_iter().take(played).collect(),
    })
}

/// The rules that a file names, if Tengen supports them; says whether they are adopted.
fn rules_of(name: &str, say: fn(&str)) -> Option<Rules> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let read = words.join("_").parse::<Rules>().map_err(|error| error.to_string());
    let playable = read.and_then(|rules| match rules.check_for_machines() {
        Ok(()) => Ok(rules),
        Err(error) => Err(error.to_string()),
    });
    match playable {
        Ok(rules) => {
            say(&format!("using the file's rules: {rules}"));
            Some(rules)
        }
        Err(reason) => {
            say(&format!("keeping the session's rules, not the file's: {reason}"));
            None
        }
    }
}

/// The game as SGF, or an empty string after writing it to `path`.
pub(super) fn save(game: &Game, result: &str, path: Option<&str>) -> anyhow::Result<String> {
    let text = text_of(game, result);
    let Some(path) = path else { return Ok(text) };
    replace(Path::new(path), text.as_bytes()).with_context(|| format!("cannot write {path}"))?;
    Ok(String::new())
}

fn text_of(game: &Game, result: &str) -> String {
    let mut tree = SgfTree::new();
    tree.add_header(game.size(), game.komi(), &game.rules().to_string());
    if !result.is_empty() {
        tree.add("RE", [result]);
    }
    // Handicap stones are turns in a session but setup stones in a file.
    let (given, played) = game.turns().split_at(game.handicap_turns());
    let mut start = game.start();
    start.stones[Color::Black.index()] = start.stones[Color::Black.index()] | points_of(given);
    start.to_move = played.first().map_or(game.position().to_move(), |&(color, _)| color);
    if !given.is_empty() {
        start.handicap = Handicap::Fixed(given.len() as u16);
    }
    tree.add_start(game.size(), &start);
    let mut node = tree.root().id();
    for &(color, mv) in played {
        node = tree.add_turn(node, game.size(), color, mv);
    }
    tree.to_string()
}

fn points_of(turns: &[(Color, Move)]) -> PointSet {
    let point = |&(_, mv): &(Color, Move)| -> Option<Point> {
        match mv {
            Move::Play(point) => Some(point),
            Move::Pass => None,
        }
    };
    turns.iter().filter_map(point).collect()
}
