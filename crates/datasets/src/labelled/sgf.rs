//! Labels in SGF: what a node's standard properties say about its position.

use std::ops::Range;
use std::path::Path;

use tengen_records::{LabelledPosition, SgfResult};
use tengen_rules::{Color, Komi, Move, Position, Rules, Setup, Size};
use tengen_sgf::{SgfGame, SgfNode, SgfPoint, SgfText, SgfTree, SgfTrees};

use super::{LabelledPositions, shared_among};

/// Reads the labels of every game of a file.
pub(super) fn read(file: &Path, found: &mut LabelledPositions) -> Result<(), String> {
    each_game(file, &mut |tree| {
        found.positions.extend(read_game(tree)?);
        Ok(())
    })
}

/// Labels the positions at these plies of every game of a file with the result to which the game counts.
pub(super) fn read_results(file: &Path, plies: &Range<usize>, found: &mut LabelledPositions) -> Result<(), String> {
    each_game(file, &mut |tree| {
        match played_out(tree, plies)? {
            Some(labelled) => found.positions.extend(labelled),
            None => found.without_result += 1,
        }
        Ok(())
    })
}

fn each_game(file: &Path, read: &mut dyn FnMut(&SgfTree) -> Result<(), String>) -> Result<(), String> {
    let bytes = std::fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    let text = SgfText::decode(&bytes).text;
    for (number, tree) in SgfTrees::new(&text).enumerate() {
        tree.map_err(|error| error.to_string())
            .and_then(|tree| read(&tree))
            .map_err(|reason| format!("game {}: {reason}", number + 1))?;
    }
    Ok(())
}

/// The positions at these plies of a game with its counted score. `None` if two passes do not end it, or if the file
/// states another winner: then its players took dead stones off in their minds, and the count is not their result.
fn played_out(tree: &SgfTree, plies: &Range<usize>) -> Result<Option<Vec<LabelledPosition>>, String> {
    let game = SgfGame::of_tree(tree).map_err(|error| error.to_string())?;
    let komi = game.komi.unwrap_or(Komi::ZERO);
    let mut position = start(&game)?;
    let mut passed = Vec::new();
    for &(color, mv) in &game.moves {
        if color != position.to_move() {
            return Err(format!("two turns of {color} in a row"));
        }
        if plies.contains(&position.ply()) {
            passed.push(position.clone());
        }
        position.try_play(mv).map_err(|error| error.to_string())?;
    }
    if !position.is_over() {
        return Ok(None);
    }
    let score = position.board_margin() as f32 - komi.points();
    let stated = game.result.as_deref().map_or(SgfResult::Unknown, SgfResult::parse);
    let is_same_score = match stated {
        SgfResult::Count { hundredths } => hundredths as f32 == 100.0 * score,
        SgfResult::Void | SgfResult::Unknown => true,
        _ => false,
    };
    let winner = [(Color::Black, score > 0.0), (Color::White, score < 0.0)];
    let winner = winner.into_iter().find_map(|(color, won)| won.then_some(color));
    if !is_same_score && (winner.is_none() || stated.winner() != winner) {
        return Ok(None);
    }
    let label = |position| {
        let labelled = LabelledPosition::unlabelled(position, komi).with_score(score);
        LabelledPosition {
            margin: labelled.margin.filter(|_| is_same_score),
            ..labelled
        }
    };
    Ok(Some(passed.into_iter().map(label).collect()))
}

/// The labelled positions on the main line of a game.
fn read_game(tree: &SgfTree) -> Result<Vec<LabelledPosition>, String> {
    let game = SgfGame::of_tree(tree).map_err(|error| error.to_string())?;
    let komi = game.komi.unwrap_or(Komi::ZERO);
    let mut position = start(&game)?;
    let mut moves = game.moves.iter();
    let mut labelled = Vec::new();
    for node in tree.main_line() {
        if has_turn(node) {
            let &(color, mv) = moves.next().ok_or("a turn that is not part of the game")?;
            if color != position.to_move() {
                return Err(format!("two turns of {color} in a row"));
            }
            position.try_play(mv).map_err(|error| error.to_string())?;
        }
        if !position.is_over() {
            labelled.extend(labels(node, &position, komi)?);
        }
    }
    Ok(labelled)
}

/// The position before the first turn.
fn start(game: &SgfGame) -> Result<Position, String> {
    let mut setup = Setup::EVEN;
    for &(color, point) in &game.setup {
        setup.stones.iter_mut().for_each(|stones| stones.remove(point));
        if let Some(color) = color {
            setup.stones[color as usize].insert(point);
        }
    }
    let first = game.moves.first().map(|&(color, _)| color);
    setup.to_move = game.to_move.or(first).unwrap_or(Color::Black);
    Position::starting(game.size, Rules::tromp_taylor(), &setup).map_err(|error| error.to_string())
}

fn has_turn(node: SgfNode<'_>) -> bool {
    node.get("B").is_some() || node.get("W").is_some()
}

/// The position with its labels, if the node has any.
fn labels(node: SgfNode<'_>, position: &Position, komi: Komi) -> Result<Option<LabelledPosition>, String> {
    let size = position.size();
    let mut right = Vec::new();
    for child in node.children().filter(|child| child.get("TE").is_some()) {
        let mv = turn(child, position.to_move(), size)?;
        if !position.is_legal(mv) {
            return Err(format!("the right move {} is not legal", mv.format(size)));
        }
        right.push(mv.index(size));
    }
    let mut labelled = LabelledPosition {
        policy: shared_among(&right, size.area() + 1),
        ..LabelledPosition::unlabelled(position.clone(), komi)
    };
    if let Some(value) = node.get("V").and_then(|property| property.first()) {
        let score: f32 = value
            .raw()
            .trim()
            .parse()
            .ok()
            .filter(|score: &f32| score.is_finite())
            .ok_or_else(|| format!("V is {:?}, expected a score such as 7.5", value.raw()))?;
        labelled = labelled.with_score(score);
    }
    let black = [("GB", 1.0), ("DM", 0.5), ("GW", 0.0)];
    if let Some((_, black)) = black.into_iter().find(|(name, _)| node.get(name).is_some()) {
        labelled.result = Some(match position.to_move() {
            Color::Black => black,
            Color::White => 1.0 - black,
        });
    }
    let is_labelled = labelled.policy.is_some() || labelled.result.is_some();
    Ok(is_labelled.then_some(labelled))
}

/// The turn of a node.
fn turn(node: SgfNode<'_>, to_move: Color, size: Size) -> Result<Move, String> {
    let (name, other) = match to_move {
        Color::Black => ("B", "W"),
        Color::White => ("W", "B"),
    };
    if node.get(other).is_some() {
        return Err(format!("the right move is {other}, but {to_move} is to move"));
    }
    let value = node.get(name).and_then(|property| property.first());
    let text = value.ok_or("TE stands in a node without a turn")?.raw().trim();
    if text.is_empty() || text == "tt" && size.width() <= 19 && size.height() <= 19 {
        return Ok(Move::Pass);
    }
    let on_board =
        |point: &SgfPoint| usize::from(point.column) < size.width() && usize::from(point.row) < size.height();
    let point = SgfPoint::parse(text).filter(on_board);
    let point = point.ok_or_else(|| format!("the right move {text:?} is not a point of the board"))?;
    let index = usize::from(point.row) * size.width() + usize::from(point.column);
    Move::from_index(size, index).ok_or_else(|| format!("the right move {text:?} is not a point of the board"))
}
