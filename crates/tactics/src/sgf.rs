//! Problems as SGF with the labels that `tengen verify --positions` reads.

use std::fmt::Write as _;

use tengen_rules::{Color, Move, Point, PointSet, Size};

use crate::goal::Goal;
use crate::problem::Problem;

/// A problem as one game of an SGF collection, in one line with its newline.
///
/// The root holds the position, the komi, the target stones as triangles, and the winner if it is proved (`GB`, `GW`).
/// Its children are all right moves, marked with `TE`. After the first one, the winner is stated again, so that half of
/// the positions with a winner are lost for the side to move.
pub fn problem_sgf(problem: &Problem) -> String {
    let position = &problem.position;
    let (size, mover) = (position.size(), position.to_move());
    let won = match mover {
        _ if !problem.wins_game => "",
        Color::Black => "GB[1]",
        Color::White => "GW[1]",
    };
    let mut text = format!(
        "(;FF[4]GM[1]CA[UTF-8]SZ[{}]KM[{}]RU[Tromp-Taylor]",
        size.width(),
        problem.komi
    );
    add_points(&mut text, "AB", size, position.stones(Color::Black));
    add_points(&mut text, "AW", size, position.stones(Color::White));
    if let Goal::Capture { attacker, stones } = problem.goal {
        add_points(&mut text, "TR", size, stones);
        let task = if attacker == mover { "captures" } else { "saves" };
        let ladder = match problem.ladder_works {
            Some(true) => " The ladder works.",
            Some(false) => " The ladder is broken.",
            None => "",
        };
        let _ = write!(text, "C[{mover} {task} the marked stones.{ladder}]");
    }
    let _ = write!(text, "PL[{}]{won}", mover.letter());
    for (number, mv) in problem.right.iter().enumerate() {
        let won = if number == 0 { won } else { "" };
        let _ = write!(text, "(;{}[{}]TE[1]{won})", mover.letter(), move_text(size, *mv));
    }
    text.push_str(")\n");
    text
}

fn add_points(text: &mut String, property: &str, size: Size, points: PointSet) {
    if !points.is_empty() {
        text.push_str(property);
        points.iter().for_each(|point| {
            let _ = write!(text, "[{}]", point_text(size, point));
        });
    }
}

fn move_text(size: Size, mv: Move) -> String {
    mv.point().map_or(String::new(), |point| point_text(size, point))
}

fn point_text(size: Size, point: Point) -> String {
    let letter = |number: usize| char::from(b'a' + number as u8);
    [letter(point.column(size)), letter(point.row(size))].iter().collect()
}
