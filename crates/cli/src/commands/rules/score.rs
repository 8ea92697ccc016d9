//! `tengen rules score`: replays a game file under exact rules and counts the result.

use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::Serialize;

use tengen_rules::{Judge, Komi, LIFE_NODES, Position, Rules, format_point};
use tengen_sgf::{SgfError, SgfGame, SgfGames, SgfText, read_sgf};

use super::show::{color_name, lead};
use crate::output;

/// Replay the games of an SGF file under exact rules and count them
///
/// Prints for every game whether all its moves are legal, otherwise the first illegal move with the reason, the area of
/// both sides on the last board as it stands, and the result by count next to the result that the file claims.
///
/// Under territory scoring, a search decides which chains are independently alive. It tries every sequence, so it only
/// settles small or nearly filled boards; if it cannot decide some chains, they are listed instead of a result. A game
/// that the rules call a tie because of a long cycle is a tie regardless of board and komi.
///
/// Only main lines are read, in any encoding, with setup stones and handicaps. If a game cannot be read, its line and
/// column are printed, the other games are still checked, and the exit code is 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules score game.sgf
  tengen rules score game.sgf --rules aga --komi 7.5 --json")]
pub(crate) struct Args {
    /// The game file; it may contain many games
    file: PathBuf,
    /// The rule set
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// Points for White, in steps of one half, instead of the file's komi
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
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
    black_area: usize,
    white_area: usize,
    /// Black minus White after komi in points, counted under the rules; `None` if a chain's life is undecided or a long
    /// cycle tied the game.
    margin: Option<f32>,
    /// The result by count, such as `B+3.5`, `W+1` or `0`.
    result: Option<String>,
    /// One stone of each chain whose undecided life affects the count.
    undecided: Vec<String>,
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
    let mut games = SgfGames::new(&text);
    for (number, game) in games.by_ref().enumerate().map(|(index, game)| (index + 1, game)) {
        match game.and_then(|game| score(&args, number, &game)) {
            Ok(game) => scored.push(game),
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
        false => scored.iter().for_each(print),
    }
    let all = scored.len() + broken.len();
    match broken.first() {
        None => Ok(()),
        Some(_) => bail!(cannot_read(&args, &broken, all, games.unread())),
    }
}

/// Lists every unreadable game with its place.
fn cannot_read(args: &Args, broken: &[Broken], all: usize, unread: Option<&SgfError>) -> String {
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
    if let Some(unread) = unread {
        text.push_str(&format!("\n  {unread}"));
    }
    text
}

/// Replays one game up to its first illegal move.
fn score(args: &Args, number: usize, game: &SgfGame) -> Result<Scored, SgfError> {
    let komi = args.komi.or(game.komi).unwrap_or(Komi::from_half_points(0));
    let mut position = Position::starting(game.size, args.rules, &game.start())
        .map_err(|reason| game.error_at_setup(format!("the setup stones do not form a legal position: {reason}")))?;
    let breach = replay(&mut position, game);
    let area = position.area();
    let tied_by_cycle = position.is_tied_by_cycle();
    let count = match tied_by_cycle {
        true => None,
        false => Judge::default().count(&position, komi),
    };
    let margin = count.map(|count| count.margin.points());
    let undecided = match count.is_none() && !tied_by_cycle {
        true => undecided(&position),
        false => Vec::new(),
    };
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
        black_area: area.black.len(),
        white_area: area.white.len(),
        margin,
        result: margin
            .map(result_text)
            .or_else(|| tied_by_cycle.then(|| result_text(0.0))),
        undecided,
        claimed: game.result.clone(),
    })
}

/// One stone of each chain whose life the search cannot decide.
fn undecided(position: &Position) -> Vec<String> {
    let (_, mut rest) = position.independently_alive(LIFE_NODES);
    let mut names = Vec::new();
    while let Some(point) = rest.iter().next() {
        names.push(format_point(position.size(), point));
        rest -= position.chain(point);
    }
    names
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
fn print(scored: &Scored) {
    let Scored {
        game,
        size,
        rules,
        turns,
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
        scored.black_area, scored.white_area
    ));
    let claimed = scored.claimed.as_deref().unwrap_or("nothing");
    match (scored.margin, &scored.result) {
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
            "  no result: these rules count territory, and it is undecided whether the chains at {} are alive",
            scored.undecided.join(", ")
        )),
    }
}
