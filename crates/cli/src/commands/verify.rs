//! `tengen verify`: compares a player with what is known about a small board or about positions.

mod positions;

use std::cell::RefCell;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::bail;
use serde_json::Value;

use tengen_evaluator::PlayerSpec;
use tengen_matches::{Exam, five_by_five, seven_by_seven};

use crate::device::DeviceArgs;
use crate::players::Loader;
use crate::progress::Step;
use crate::{arguments, output};
use positions::Source;

/// Check a model against what is known about a small board, or about positions
///
/// 5x5 is solved: Black's first move C3 takes the whole board. The checks are the first move at komi 24.5, the sign of
/// the value at komi 24.5 and 25.5, +25 against every first reply with the same network as White, and +25 as Black
/// against two players without a network. 7x7 is believed, but not proved, to be worth +9; the checks are the first
/// move, the signs at komi 8.5 and 9.5, wins as Black against the same two players, and games against itself with 200
/// visits (or visits=N) and temperature=0.2, which Black must win at komi 8.5 and White at komi 9.5. Prints every
/// question with both answers and exits with 1 if the model contradicts theory.
///
/// With --positions, the questions are the positions of a file: rows of `tengen data solve` or `tengen data export
/// --what positions` (Parquet), or SGF nodes with V (score after komi, positive for Black), GB, GW, DM (who wins), or
/// TE on the right moves. The answers of the network alone and of the search are compared with the labels: the share of
/// right moves, the divergence of the policy, the Brier score of the value, and the error of the score, each with half
/// of its 95% interval. Solved positions are asked with the komi at which the side to move just wins and with the one
/// at which it just loses. With --results, they are positions of SGF games, labelled with the scores of their games:
/// how well does the model judge the games of a match?
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen verify --model store:data/runs/demo --board 5x5
  tengen verify --model data/runs/demo/models/g000012-0123456789ab,visits=16 \\
      --board 5x5 --games 20 --json
  tengen verify --model store:data/runs/demo --positions data/positions
  tengen verify --model store:data/runs/demo --positions match/games.sgf \\
      --results --plies 50..75

--model takes a PLAYER as in `tengen match`; without ,visits=N it searches
64 visits per move, and 200 in games against itself.")]
pub(crate) struct Args {
    /// The player to check
    #[arg(long, value_name = "PLAYER", value_parser = arguments::player)]
    model: Box<PlayerSpec>,
    /// The board to check it on
    #[arg(long, value_enum, default_value_t = Board::FiveByFive)]
    board: Board,
    /// Ask about the positions of these files instead of a board
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["board", "games"])]
    positions: Vec<PathBuf>,
    /// Label the positions of SGF games that were played out with the score to which each game counts
    #[arg(long, requires = "positions")]
    results: bool,
    /// With --results, only the positions before which so many turns were taken, the last number not included
    #[arg(long, value_name = "FROM..TO", requires = "results", value_parser = arguments::plies)]
    plies: Option<Range<usize>>,
    /// Games of each check that needs games, except those after every reply
    #[arg(long, default_value_t = 100, value_parser = arguments::count, value_name = "N")]
    games: u32,
    /// Seed of the games
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The boards with known results.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Board {
    /// Solved
    #[value(name = "5x5", alias = "5")]
    FiveByFive,
    /// Believed, but not proved
    #[value(name = "7x7", alias = "7")]
    SevenBySeven,
}

/// Asks the player and prints the answers.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let loader = Loader::new(&args.device, tengen_rules::Rules::tromp_taylor())?;
    if !args.positions.is_empty() {
        let results = args.results.then(|| args.plies.unwrap_or(0..usize::MAX));
        let source = Source {
            files: &args.positions,
            results,
        };
        return positions::run(&source, &args.model, &loader, args.seed, args.json);
    }
    let players = |spec: &PlayerSpec| loader.player(spec);
    let check = match args.board {
        Board::FiveByFive => five_by_five,
        Board::SevenBySeven => seven_by_seven,
    };
    let step = RefCell::new(Step::default());
    let report = check(&Exam {
        model: &args.model,
        players: &players,
        games: args.games as usize,
        seed: args.seed,
        progress: &|text| step.borrow_mut().show(text),
    });
    step.into_inner().end();
    let report = report?;
    if args.json {
        let mut object = serde_json::to_value(&report)?;
        object["passed"] = Value::Bool(report.passed());
        output::json(&object)?;
    } else {
        report.lines().iter().for_each(output::result);
    }
    match report.passed() {
        true => Ok(()),
        false => bail!("{} contradicts the theory of {}", report.player, report.board),
    }
}
