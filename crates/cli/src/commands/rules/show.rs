//! `tengen rules show`: a board as a diagram with the points that the side to move may not play, and why.

use anyhow::bail;
use serde_json::json;

use tengen_rules::{Color, Komi, Move, Position, Rules, Size, format_point};

use super::counting::CountArgs;
use crate::{arguments, output};

/// Draw the board after some moves, and explain why each forbidden point may not be played
///
/// Prints the diagram (X is Black, O is White, . is empty, ! is empty but illegal), the side to move, the area of both
/// sides as the board stands, the prisoners, and the illegal points with the reasons. Under territory scoring, and with
/// --dead, it also prints the count under the rules.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules show --size 5 --moves \"C3 C4 D4 pass\"
  tengen rules show --size 2 --moves \"A1 B1 B2\"   # White may not play A2 or B1
  tengen rules show --size 9 --moves \"E5 pass pass\" --komi 7 --json
  tengen rules show --size 5 --moves \"C3 B4 pass pass\" --rules aga --dead B4")]
pub(crate) struct Args {
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// Moves from the empty board, alternating from Black: points such as C3, or pass
    #[arg(long, default_value = "", hide_default_value = true, value_name = "MOVES")]
    moves: String,
    /// The rule set
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// Points for White, in steps of one half
    #[arg(long, default_value = "0", allow_hyphen_values = true)]
    komi: Komi,
    #[command(flatten)]
    count: CountArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let mut position = Position::with_rules(args.size, args.rules);
    replay(&mut position, &args.moves)?;
    let illegal_points = illegal_points(&position);
    let area = position.area();
    let margin = position.margin(args.komi);
    let counted = args.count.count(&position, args.komi)?;
    if args.json {
        let illegal: Vec<_> = illegal_points
            .iter()
            .map(|(point, reason)| json!({ "point": point, "reason": reason }))
            .collect();
        return output::json(&json!({
            "size": args.size.to_string(),
            "rules": position.rules().to_string(),
            "turns": position.ply(),
            "over": position.is_over(),
            "tied_by_cycle": position.is_tied_by_cycle(),
            "to_move": color_name(position.to_move()),
            "board": rows(&position, &|_| false),
            "illegal": illegal,
            "black_area": area.black.len(),
            "white_area": area.white.len(),
            "margin": margin.points(),
            "counted": counted,
        }));
    }
    output::result(diagram(&position));
    let turns = output::counted(position.ply() as u64, "turn");
    match position.is_over() {
        true if position.is_tied_by_cycle() => {
            output::result(format!("after {turns}, a long cycle tied the game"));
        }
        true => output::result(format!("after {turns}, the game is over")),
        false => output::result(format!("after {turns}, {} to move", color_name(position.to_move()))),
    }
    let (black, white) = (area.black.len(), area.white.len());
    output::result(format!(
        "area as it stands: Black {black}, White {white}, neither {}; with komi {}, {}",
        args.size.area() - black - white,
        args.komi,
        lead(margin.points()),
    ));
    counted.lines().into_iter().for_each(output::result);
    match counted.margin {
        // Otherwise, it is the margin of the area as it stands, which is printed above.
        Some(margin) if counted.black_territory.is_some() || !counted.dead.is_empty() => {
            output::result(format!("count with komi {}: {}", args.komi, lead(margin)));
        }
        None if !position.is_tied_by_cycle() => output::result(format!(
            "no count: it is undecided whether the chains at {} are alive; {}",
            counted.undecided.join(", "),
            args.count.advice()
        )),
        _ => {}
    }
    for (point, reason) in illegal_points {
        output::result(format!("{point} is illegal: {reason}"));
    }
    Ok(())
}

/// Plays alternating moves, separated by blanks or commas.
pub(super) fn replay(position: &mut Position, moves: &str) -> anyhow::Result<()> {
    for text in moves.split([' ', ',', '\t', '\n']).filter(|text| !text.is_empty()) {
        let turn = position.ply() + 1;
        let Ok(mv) = Move::parse(position.size(), text) else {
            return Err(output::usage(format!(
                "turn {turn}: {text:?} is neither a point of the {} board nor \"pass\"",
                position.size()
            )));
        };
        let color = color_name(position.to_move());
        if let Err(reason) = position.try_play(mv) {
            bail!("turn {turn}, {color} {text}, is illegal: {reason}");
        }
    }
    Ok(())
}

/// The empty points that the side to move may not play, with the reasons, in reading order.
fn illegal_points(position: &Position) -> Vec<(String, String)> {
    if position.is_over() {
        return Vec::new();
    }
    let size = position.size();
    let reason = |point| {
        position
            .legality(Move::Play(point))
            .err()
            .map(|reason| reason.to_string())
    };
    position
        .empty_points()
        .iter()
        .filter_map(|point| reason(point).map(|reason| (format_point(size, point), reason)))
        .collect()
}

/// The board as text with coordinates; illegal points are marked.
pub(crate) fn diagram(position: &Position) -> String {
    let size = position.size();
    let letters: Vec<String> = "ABCDEFGHJKLMNOPQRST"
        .chars()
        .take(size.width())
        .map(String::from)
        .collect();
    let header = format!("   {}", letters.join(" "));
    let legal = position.legal_points();
    let mut lines = vec![header.clone()];
    let is_illegal = |point| !position.is_over() && !legal.contains(point);
    for (row, text) in rows(position, &is_illegal).iter().enumerate() {
        let number = size.height() - row;
        let cells: Vec<String> = text.chars().map(String::from).collect();
        lines.push(format!("{number:>2} {} {number}", cells.join(" ")));
    }
    lines.push(header);
    lines.join("\n")
}

/// The board's rows from the top: `X`, `O`, `.`, and `!` for empty points where `marked` is true.
pub(crate) fn rows(position: &Position, marked: &dyn Fn(tengen_rules::Point) -> bool) -> Vec<String> {
    let size = position.size();
    let cell = |point| match position.at(point) {
        Some(Color::Black) => 'X',
        Some(Color::White) => 'O',
        None if marked(point) => '!',
        None => '.',
    };
    let cells: Vec<char> = size.points().map(cell).collect();
    cells.chunks(size.width()).map(|row| row.iter().collect()).collect()
}

/// `black` or `white`.
pub(crate) fn color_name(color: Color) -> &'static str {
    match color {
        Color::Black => "black",
        Color::White => "white",
    }
}

/// A margin in points, Black minus White, as text.
pub(super) fn lead(margin: f32) -> String {
    match margin {
        m if m > 0.0 => format!("Black is ahead by {m}"),
        m if m < 0.0 => format!("White is ahead by {}", -m),
        _ => "neither side is ahead".to_owned(),
    }
}
