//! `tengen bench rules`: measures whole games in the rules core alone, on one thread.

use tengen_rng as rng;
use tengen_rules::{Position, Size, playout};

use super::{Common, Figures};
use crate::arguments;

/// Play random games under the exact rules, without search or network, on one thread
///
/// Prints moves and games per second, with the whole history kept and strict positional superko checked, and the memory
/// of a position with its history after as many turns as the board has points.
///
/// Workload light: each turn plays the first legal point after a random start that is not an own one-point eye, or
/// passes if there is none. Workload scan: each turn lists all legal points and plays a random one. A game ends after
/// two passes or three turns per point, and is scored.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen bench rules --size 9
  tengen bench rules --size 19 --workload scan --seconds 5 --json")]
pub(crate) struct Args {
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// How each game's moves are chosen
    #[arg(long, value_enum, default_value_t = Workload::Light)]
    workload: Workload,
    #[command(flatten)]
    common: Common,
}

/// How a game's moves are chosen.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Workload {
    /// The first playable point after a random one
    Light,
    /// A random one of all legal points, listed every turn
    Scan,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let mut rng = rng::stream(args.common.seed, &[]);
    let start = Position::new(args.size);
    let mut position = start.clone();
    let (mut moves, mut games) = (0_u64, 0_u64);
    let mut margins = 0_i64;
    let watch = args.common.start();
    while !watch.over() {
        position.copy_from(&start);
        let turns = match args.workload {
            Workload::Light => playout::light_playout(&mut position, || rng::bits(&mut rng)),
            Workload::Scan => playout::uniform_playout(&mut position, || rng::bits(&mut rng)),
        };
        margins += i64::from(position.board_margin());
        moves += turns as u64;
        games += 1;
    }
    let name = match args.workload {
        Workload::Light => "light",
        Workload::Scan => "scan",
    };
    let mut figures = Figures::new(
        format!("rules {}, {name} playouts, 1 thread", args.size),
        watch.elapsed(),
    );
    figures
        .rate("moves_per_second", moves as f64)
        .rate("games_per_second", games as f64)
        .value("mean_turns", moves as f64 / games as f64)
        .value("mean_margin", margins as f64 / games as f64)
        .value("bytes_per_position", bytes_per_position(&start, args.common.seed))
        .print(args.common.json)
}

/// Memory of a position in bytes after a random game of one turn per point, averaged over 16 such games.
fn bytes_per_position(start: &Position, seed: u64) -> usize {
    const GAMES: usize = 16;
    let mut rng = rng::stream(seed, &[1]);
    let one_game = |_| {
        let mut position = start.clone();
        playout::light_turns(&mut position, start.size().area(), || rng::bits(&mut rng));
        position.memory_bytes()
    };
    (0..GAMES).map(one_game).sum::<usize>() / GAMES
}
