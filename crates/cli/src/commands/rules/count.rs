//! `tengen rules perft|positions|games`: exact counts that verify a rules core.

use std::ops::ControlFlow;

use serde_json::json;

use tengen_counts::count_games_watched;
use tengen_rules::{Position, Rules, Size};

use crate::interrupt::Interrupt;
use crate::{arguments, output};

/// Count the legal turn sequences of every length from the empty board
///
/// Prints one count per length. Passes count as turns, and no sequence continues after two passes in a row. These
/// counts are the usual regression test of a rules core.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules perft --size 3x3 --depth 5   # 1, 10, 91, 738, 5281, 33384
  tengen rules perft --size 2x2 --depth 6 --json")]
pub(crate) struct Perft {
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, value_parser = arguments::size)]
    size: Size,
    /// The longest sequences to count, in turns
    #[arg(long)]
    depth: u32,
    /// The rule set
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn perft(args: Perft) -> anyhow::Result<()> {
    let mut position = Position::with_rules(args.size, args.rules);
    let mut counts = Vec::new();
    for depth in 0..=args.depth as usize {
        let count = tengen_counts::perft(&mut position, depth);
        // Print it now, because the next length can take hours.
        if !args.json {
            output::result(format!("{depth:>3}  {:>20}", output::thousands(count)));
        }
        counts.push(count);
    }
    match args.json {
        true => {
            output::json(&json!({ "size": args.size.to_string(), "rules": args.rules.to_string(), "counts": counts }))
        }
        false => Ok(()),
    }
}

/// Count the legal positions of a board exactly
///
/// Prints the number of ways to put stones on the board so that every chain has a liberty. Works row by row over the
/// states of one border, so 9x9 takes seconds to minutes; swapping width and height gives the same count.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules positions --size 3x3   # 12675
  tengen rules positions --size 7x7 --json")]
pub(crate) struct Positions {
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, value_parser = arguments::size)]
    size: Size,
    /// Print one JSON object; the count is a string because it may exceed any machine integer
    #[arg(long)]
    json: bool,
}

/// Count the complete games of a tiny board exactly
///
/// Prints the number of turn sequences from the empty board that end with two passes in a row. Even tiny boards have
/// many: 1x4 has 2,098,407,841 and takes half a minute; 2x2 has 386,356,909,593 and takes an hour or more.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules games --size 1x3   # 907
  tengen rules games --size 1x2 --json")]
pub(crate) struct Games {
    /// The board: 1x3 is one wide and three high
    #[arg(long, value_parser = arguments::size)]
    size: Size,
    /// The rule set
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// Print one JSON object; the count is a string because it may exceed any machine integer
    #[arg(long)]
    json: bool,
}

pub(crate) fn positions(args: Positions) -> anyhow::Result<()> {
    let count = tengen_counts::count_legal_positions(args.size)?;
    print_count(args.json, count, args.size, None)
}

/// The largest boards whose games are counted. 2x2 takes about an hour; the next size would take years.
const MOST_POINTS_OF_GAMES: usize = 4;

pub(crate) fn games(args: Games) -> anyhow::Result<()> {
    if args.size.area() > MOST_POINTS_OF_GAMES {
        return Err(output::usage(format!(
            "{} has too many games to count one by one; the limit is {MOST_POINTS_OF_GAMES} points",
            args.size
        )));
    }
    let rules = args.rules.to_string();
    let interrupt = Interrupt::listen("Stopping…")?;
    let bar = output::spinner("{spinner} {msg}  {elapsed}");
    let counts = count_games_watched(args.size, args.rules, usize::MAX, &mut |games| {
        bar.set_message(format!("{} games so far", super::thousands(games)));
        bar.tick();
        match interrupt.requested() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    bar.finish_and_clear();
    let Some(counts) = counts else {
        return interrupt.outcome();
    };
    let count = counts.iter().sum::<u128>().to_string();
    print_count(args.json, count, args.size, Some(&rules))
}

/// Prints an exact count, given as a decimal string of any length.
fn print_count(json: bool, count: String, size: Size, rules: Option<&str>) -> anyhow::Result<()> {
    if !json {
        output::result(count);
        return Ok(());
    }
    let mut object = json!({ "size": size.to_string(), "count": count });
    if let Some(rules) = rules {
        object["rules"] = rules.into();
    }
    output::json(&object)
}
