//! `tengen rules solve`: perfect play on tiny boards.

use anyhow::bail;
use serde_json::json;

use tengen_rules::{Position, Size, SolveError};

use super::show::{color_name, lead, replay};
use crate::{arguments, output};

/// The largest boards to try; larger ones need more positions than anyone can wait for.
const MOST_POINTS: usize = 16;

/// Find the margin of perfect play on a tiny board
///
/// Searches exhaustively under Tromp-Taylor rules with the whole history, so that positional superko is exact. Prints
/// the margin of perfect play by both sides, one such line of play up to the two passes, and the number of positions
/// searched. Boards up to 3x3 take seconds; larger ones usually reach the limit first, and the command then fails with
/// the bounds proved so far.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules solve --size 2x2   # Black is ahead by 1
  tengen rules solve --size 3x3 --json
  tengen rules solve --size 3x3 --moves \"A1 B2\"   # after two moves")]
pub(crate) struct Args {
    /// The board: 3 is 3x3, 1x5 is 1 wide and 5 high
    #[arg(long, value_parser = arguments::size)]
    size: Size,
    /// Moves from the empty board, alternating from Black: points such as B2, or pass
    #[arg(long, default_value = "", hide_default_value = true, value_name = "MOVES")]
    moves: String,
    /// Give up after this many positions; a million take seconds and up to 90 MB
    #[arg(long, default_value_t = 10_000_000, value_name = "COUNT", value_parser = arguments::count)]
    most_nodes: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if args.size.area() > MOST_POINTS {
        return Err(output::usage(format!(
            "{} is too large to solve; the limit is {MOST_POINTS} points",
            args.size
        )));
    }
    let mut position = Position::new(args.size);
    replay(&mut position, &args.moves)?;
    let solution = match tengen_rules::solve(&position, args.most_nodes.into()) {
        Ok(solution) => solution,
        Err(SolveError::NotDecided { least, most }) => bail!(
            "{} is not solved within {} positions: the margin of best play is between {least} and {most} points for \
             Black; use --most-nodes to raise the limit",
            args.size,
            output::thousands(args.most_nodes.into())
        ),
        Err(error) => return Err(error.into()),
    };
    let line: Vec<String> = solution.line.iter().map(|mv| mv.format(args.size)).collect();
    if args.json {
        return output::json(&json!({
            "size": args.size.to_string(),
            "rules": position.rules().to_string(),
            "turns": position.ply(),
            "to_move": color_name(position.to_move()),
            "margin": solution.margin,
            "line": line,
            "nodes": solution.nodes,
        }));
    }
    output::result(format!("best play: {} without komi", lead(solution.margin as f32)));
    output::result(format!("line: {}", line.join(" ")));
    output::result(format!("searched: {}", output::counted(solution.nodes, "position")));
    Ok(())
}
