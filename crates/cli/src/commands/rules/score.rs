//! `tengen rules score`: replays a game file under exact rules and counts the result.

use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::Serialize;

use tengen_rules::{Komi, Position, Rules};
use tengen_sgf::{SgfError, SgfGame, SgfGames, SgfText, read_sgf};

use super::counting::{CountArgs, Counted};
use super::show::{color_name, lead};
use crate::output;

/// Replay the games of an SGF file under exact rules and count them
///
/// Prints for every game whether all its moves are legal, otherwise the first illegal move with the reason, the area of
/// both sides on the last board as it stands, the prisoners, and the result by count next to the result that the file
/// claims.
///
/// Under territory scoring, a search decides which chains are independently alive. It tries every sequence, so it only
/// settles small or nearly filled boards; if it cannot decide some chains, they are listed instead of a result.
/// --life-positions lets it search further, at about 10 microseconds and 100 bytes for each position; --dead names
/// the dead chains instead. A game that the rules call a tie because of a long cycle is a tie regardless of board and
/// komi.
///
/// Only main lines are read, in any encoding, with setup stones and handicaps. If a game cannot be read, its line and
/// column are printed, the other games are still checked, and the exit code is 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules score game.sgf
  tengen rules score game.sgf --rules aga --komi 7.5 --json
  tengen rules score game.sgf --rules japanese2008 --dead B4,E2
  tengen rules score game.sgf --rules japanese2008 --life-positions 1000000")]
pub(crate) struct Args {
    /// The game file; it may contain many games
    file: PathBuf,
    /// The rule set
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// Points for White, in steps of one half, instead of the file's komi
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    #[command(flatten)]
    count: CountArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The findings about one game.
#[derive(Serialize)]
struct Scored {
    /// Number of the game in the file, starting at 1.
    game: usize,
    size: String,
    rules: String,
    komi: f32,
    /// Turns replayed, up to the first illegal move.
    turns: usize,
    /// Whether every move is legal.
    legal: bool,
    /// The first illegal move.
    breach: Option<Breach>,
    /// Whether the game is over under the rules.
    over: bool,
    /// Whether a long cycle tied the game; the board is not counted then.
    tied_by_cycle: bool,
    #[serde(flatten)]
    counted: Counted,
    /// The result by count, such as `B+3.5`, `W+1` or `0`.
    result: Option<String>,
    /// The result that the file claims.
    claimed: Option<String>,
}

#[derive(Serialize)]
struct Breach {
    /// Number of the turn, starting at 1.
    turn: usize,
    color: &'static str,
    r#move: String,
    reason: String,
    /// Line of the move in the file, starting at 1.
    line: u32,
    column: u32,
}

/// A game that cannot be read.
#[derive(Serialize)]
struct Broken {
    /// Number of the game in the file, starting at 1.
    game: usize,
    line: u32,
    column: u32,
    reason: String,
}

/// Replays and counts the games.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    let text = SgfText::decode(&bytes).text;
    let mut scored = Vec::new();
    let mut broken = Vec::new();
    for (number, game) in SgfGames::new(&text).enumerate().map(|(index, game)| (index + 1, game)) {
        if number > 1 && args.count.names_stones() {
            return Err(output::usage(format!(
                "--dead names the stones of one board, but {} contains more than one game",
                args.file.display()
            )));
        }
        match game.and_then(|game| Ok((start(&args, &game)?, game))) {
            Ok((position, game)) => scored.push(score(&args, number, position, &game)?),
            Err(error) => broken.push(Broken {
                game: number,
                line: error.place().line,
                column: error.place().column,
                reason: error.problem,
            }),
        }
    }
    if scored.is_empty() && broken.is_empty() {
        read_sgf(&text).with_context(|| format!("{} is not an SGF file", args.file.display()))?;
    }
    match args.json {
        true => output::json(&serde_json::json!({ "file": args.file, "games": scored, "broken": broken }))?,
        false => scored.iter().for_each(|game| print(game, &args.count)),
    }
    let all = scored.len() + broken.len();
    match broken.first() {
        None => Ok(()),
        Some(_) => bail!(cannot_read(&args, &broken, all)),
    }
}

/// Lists every unreadable game with its place.
fn cannot_read(args: &Args, broken: &[Broken], all: usize) -> String {
    let mut text = format!(
        "cannot read {} of {} in {}",
        broken.len(),
        output::counted(all as u64, "game"),
        args.file.display()
    );
    for Broken {
        game,
        line,
        column,
        reason,
    } in broken
    {
        text.push_str(&format!("\n  game {game}: line {line}, column {column}: {reason}"));
    }
    text
}

/// The position before the first move of a game.
fn start(args: &Args, game: &SgfGame) -> Result<Position, SgfError> {
    Position::starting(game.size, args.rules, &game.start())
        .map_err(|reason| game.error_at_setup(format!("the setup stones do not form a legal position: {reason}")))
}

/// Replays one game up to its first illegal move and counts the board.
fn score(args: &Args, number: usize, mut position: Position, game: &SgfGame) -> anyhow::Result<Scored> {
    let komi = args.komi.or(game.komi).unwrap_or(Komi::from_half_points(0));
    let breach = replay(&mut position, game);
    let tied_by_cycle = position.is_tied_by_cycle();
    let counted = args.count.count(&position, komi)?;
    Ok(Scored {
        game: number,
        size: game.size.to_string(),
        rules: args.rules.to_string(),
        komi: komi.points(),
        turns: position.ply(),
        legal: breach.is_none(),
        breach,
        over: position.is_over(),
        tied_by_cycle,
        result: counted
            .margin
            .map(result_text)
            .or_else(|| tied_by_cycle.then(|| result_text(0.0))),
        counted,
        claimed: game.result.clone(),
    })
}

/// Plays the moves up to the first illegal one.
fn replay(position: &mut Position, game: &SgfGame) -> Option<Breach> {
    for (&(color, mv), place) in game.moves.iter().zip(&game.places) {
        let reason = match color == position.to_move() {
            false => Some("it is the other side's turn".to_owned()),
            true => position.try_play(mv).err().map(|reason| reason.to_string()),
        };
        if let Some(reason) = reason {
            let turn = position.ply() + 1;
            return Some(Breach {
                turn,
                color: color_name(color),
                r#move: mv.format(game.size),
                reason,
                line: place.line,
                column: place.column,
            });
        }
    }
    None
}

/// A counted result in SGF notation.
fn result_text(margin: f32) -> String {
    match margin {
        m if m > 0.0 => format!("B+{m}"),
        m if m < 0.0 => format!("W+{}", -m),
        _ => "0".to_owned(),
    }
}

/// Prints one game as text.
fn print(scored: &Scored, count: &CountArgs) {
    let Scored {
        game,
        size,
        rules,
        turns,
        counted,
        ..
    } = scored;
    output::result(format!(
        "game {game}: {size} under {rules}, {}",
        output::counted(*turns as u64, "turn")
    ));
    match &scored.breach {
        None => output::result("  every move is legal"),
        Some(breach) => output::result(format!(
            "  turn {}, {} {}, is illegal: {}; counted before it (line {}, column {})",
            breach.turn, breach.color, breach.r#move, breach.reason, breach.line, breach.column
        )),
    }
    if !scored.over {
        output::result("  the game is not over under the rules; the board is counted as it stands");
    }
    output::result(format!(
        "  area: Black {}, White {}",
        counted.black_area, counted.white_area
    ));
    for line in counted.lines() {
        output::result(format!("  {line}"));
    }
    let claimed = scored.claimed.as_deref().unwrap_or("nothing");
    match (counted.margin, &scored.result) {
        (None, Some(result)) => output::result(format!(
            "  a long cycle tied the game ({result}; the file claims {claimed})"
        )),
        (Some(margin), Some(result)) => {
            output::result(format!(
                "  komi {}: {} ({result}; the file claims {claimed})",
                scored.komi,
                lead(margin)
            ));
        }
        _ => output::result(format!(
            "  no result: these rules count territory, and it is undecided whether the chains at {} are alive; {}",
            counted.undecided.join(", "),
            count.advice()
        )),
    }
}
