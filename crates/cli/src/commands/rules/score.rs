//! `tengen rules score`: a game file replayed under exact rules and counted.

use super::show::{color_name, lead};
use crate::output;
use anyhow::{Context, bail};
use serde::Serialize;
use std::path::PathBuf;
use tengen_records::{SgfGame, read_sgf};
use tengen_rules::{Color, Komi, PointSet, Position, Rules, Scoring};

/// Replay the games of an SGF file under exact rules and count them
///
/// Prints for every game whether all its moves are legal, the first breach with its reason if not, the area of both
/// sides on the last board as it stands, and the result by count beside the result that the file claims. Only main
/// lines are read.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules score game.sgf
  tengen rules score game.sgf --rules aga --komi 7.5 --json")]
pub(crate) struct Args {
    /// The game file; it may hold many games
    file: PathBuf,
    /// The rule set
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// Points for White in halves, instead of what the file says
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found out about one game.
#[derive(Serialize)]
struct Scored {
    /// Number of the game in the file, counted from 1.
    game: usize,
    size: String,
    rules: String,
    /// Points for White.
    komi: f32,
    /// Turns replayed, up to the first breach.
    turns: usize,
    /// Whether every move is legal.
    legal: bool,
    /// The first move that breaks the rules.
    breach: Option<Breach>,
    /// Whether the rules say that the game is over.
    over: bool,
    black_area: usize,
    white_area: usize,
    /// Black minus White after komi in points, by area; none where the rules count otherwise.
    margin: Option<f32>,
    /// The result by count, such as `B+3.5`, `W+1` or `0`.
    result: Option<String>,
    /// What the file says.
    claimed: Option<String>,
}

/// A move that breaks the rules.
#[derive(Serialize)]
struct Breach {
    /// Number of the turn, counted from 1.
    turn: usize,
    color: &'static str,
    r#move: String,
    reason: String,
}

/// Replays and counts.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    let games =
        read_sgf(&String::from_utf8_lossy(&bytes)).with_context(|| format!("{} is no SGF", args.file.display()))?;
    let scored: Vec<Scored> = games
        .iter()
        .enumerate()
        .map(|(number, game)| score(&args, number + 1, game))
        .collect::<Result<_, _>>()?;
    if args.json {
        return output::json(&serde_json::json!({ "file": args.file, "games": scored }));
    }
    scored.iter().for_each(print);
    Ok(())
}

/// Replays one game as far as it is legal.
fn score(args: &Args, number: usize, game: &SgfGame) -> anyhow::Result<Scored> {
    let komi = args.komi.or(game.komi).unwrap_or(Komi::from_half_points(0));
    let mut position = start(game, args.rules).with_context(|| format!("game {number}"))?;
    let breach = replay(&mut position, game);
    let area = position.area();
    let margin = (args.rules.scoring != Scoring::Territory).then(|| position.margin(komi).points());
    Ok(Scored {
        game: number,
        size: game.size.to_string(),
        rules: args.rules.to_string(),
        komi: komi.points(),
        turns: position.ply(),
        legal: breach.is_none(),
        breach,
        over: position.is_over(),
        black_area: area.black.len(),
        white_area: area.white.len(),
        margin,
        result: margin.map(result_text),
        claimed: game.result.clone(),
    })
}

/// The position before the first move.
fn start(game: &SgfGame, rules: Rules) -> anyhow::Result<Position> {
    let first = game.moves.first().map_or(Color::Black, |&(color, _)| color);
    if game.setup.is_empty() && first == Color::Black {
        return Ok(Position::with_rules(game.size, rules));
    }
    let mut stones = [PointSet::new(); 2];
    for &(color, point) in &game.setup {
        for (index, set) in stones.iter_mut().enumerate() {
            match color.is_some_and(|color| color.index() == index) {
                true => set.insert(point),
                false => set.remove(point),
            };
        }
    }
    match Position::from_setup(game.size, rules, &stones[0], &stones[1], first) {
        Ok(position) => Ok(position),
        Err(reason) => bail!("the stones set up at the start are no position: {reason}"),
    }
}

/// Plays the moves up to the first that breaks the rules.
fn replay(position: &mut Position, game: &SgfGame) -> Option<Breach> {
    for &(color, mv) in &game.moves {
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
            });
        }
    }
    None
}

/// A result by count in SGF's words.
fn result_text(margin: f32) -> String {
    match margin {
        m if m > 0.0 => format!("B+{m}"),
        m if m < 0.0 => format!("W+{}", -m),
        _ => "0".to_owned(),
    }
}

/// Prints one game for people.
fn print(scored: &Scored) {
    let Scored {
        game,
        size,
        rules,
        turns,
        ..
    } = scored;
    output::result(format!("game {game}: {size} under {rules}, {turns} turns"));
    match &scored.breach {
        None => output::result("  every move is legal"),
        Some(breach) => output::result(format!(
            "  turn {}, {} {}, breaks the rules: {}; counted before it",
            breach.turn, breach.color, breach.r#move, breach.reason
        )),
    }
    if !scored.over {
        output::result("  the game is not over by the rules; the board is counted as it stands");
    }
    output::result(format!(
        "  area: Black {}, White {}",
        scored.black_area, scored.white_area
    ));
    match (scored.margin, &scored.result) {
        (Some(margin), Some(result)) => {
            let claimed = scored.claimed.as_deref().unwrap_or("nothing");
            output::result(format!(
                "  komi {}: {} ({result}; the file claims {claimed})",
                scored.komi,
                lead(margin)
            ));
        }
        _ => output::result("  these rules count territory, which needs to be told which stones are alive"),
    }
}
