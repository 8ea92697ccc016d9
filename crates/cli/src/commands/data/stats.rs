//! `tengen data stats`: what the games of a store look like together.

use crate::output;
use std::collections::BTreeMap;
use tengen_records::{Create, GameStats, GamesOf, Store, StoreStats};

/// Openings and komis that the table shows; the JSON has all.
const ROWS: usize = 12;

/// Figures over the games of a store: lengths, results by komi, openings, unfinished games
///
/// Reads and checks every shard. Prints tables of game lengths, ends, results by komi, the most frequent first two
/// moves, superko bans, suicides, and bytes per position on disk. Damaged shards are quarantined, left out and
/// counted.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data stats data/runs/demo
  tengen data stats data/runs/demo --of all --json")]
pub(crate) struct Args {
    /// The store: its folder
    store: String,
    /// Which games
    #[arg(long, value_enum, default_value_t = Of::Selfplay)]
    of: Of,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Which games to look at.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Of {
    /// Games of self-play
    Selfplay,
    /// Imported games
    Imported,
    /// All, those of matches and gates too
    All,
}

/// Prints the figures.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let stats = match args.of {
        Of::Selfplay => store.stats(&GamesOf::SelfPlay)?,
        Of::Imported => store.stats(&GamesOf::Imported)?,
        Of::All => store.stats(&GamesOf::All)?,
    };
    if args.json {
        return output::json(&stats);
    }
    print_store(&stats);
    if stats.games.games > 0 {
        print_games(&stats.games);
    }
    Ok(())
}

fn print_store(stats: &StoreStats) {
    let (games, positions) = (
        output::thousands(stats.games.games),
        output::thousands(stats.games.positions),
    );
    output::result(format!(
        "{games} games, {positions} positions, {} shards",
        output::thousands(stats.shards)
    ));
    output::result(format!(
        "{} bytes on disk, {:.1} per position",
        output::thousands(stats.bytes),
        stats.bytes_per_position
    ));
    if stats.pruned.games > 0 {
        output::result(format!("pruned before: {}", super::prune::totals(stats.pruned)));
    }
    if stats.quarantined > 0 {
        output::result(format!(
            "{} damaged shards are in quarantine and left out",
            stats.quarantined
        ));
    }
}

fn print_games(games: &GameStats) {
    let plies = &games.plies;
    output::result(format!(
        "length in plies: mean {:.1}, median {}, nine in ten at most {}, from {} to {}",
        plies.mean, plies.median, plies.p90, plies.min, plies.max
    ));
    let ends: Vec<String> = games
        .end_reasons
        .iter()
        .map(|(end, count)| format!("{end} {count}"))
        .collect();
    output::result(format!(
        "ends: {}; without a result {:.2} %",
        ends.join(", "),
        100.0 * games.unfinished_share
    ));
    output::result(format!(
        "passes {}, suicides {}, points refused by superko {}",
        output::thousands(games.passes),
        output::thousands(games.suicides),
        output::thousands(games.superko_bans)
    ));
    output::result(format!(
        "policy targets {}, mean entropy {:.2} bits; full searches {}, explored {}",
        output::thousands(games.policy_targets),
        games.mean_policy_entropy,
        output::thousands(games.full_search),
        output::thousands(games.explored)
    ));
    print_komis(games);
    print_openings(games);
}

/// The komis with most games.
fn print_komis(games: &GameStats) {
    output::result(format!(
        "\n{:<20} {:>8} {:>8} {:>8} {:>8} {:>12}",
        "komi", "Black", "White", "tie", "none", "margin"
    ));
    let count = |name: &String| {
        let komi = &games.komis[name];
        komi.black_wins + komi.white_wins + komi.ties + komi.unfinished
    };
    let mut names: Vec<&String> = games.komis.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse(count(name)));
    for name in names.iter().take(ROWS) {
        let komi = &games.komis[*name];
        output::result(format!(
            "{name:<20} {:>8} {:>8} {:>8} {:>8} {:>+12.2}",
            komi.black_wins, komi.white_wins, komi.ties, komi.unfinished, komi.mean_board_margin
        ));
    }
    print_rest(names.len());
}

/// The most frequent first two moves.
fn print_openings(games: &GameStats) {
    output::result(format!("\n{:<20} {:>8}", "first two moves", "games"));
    let openings: &BTreeMap<String, u64> = &games.openings;
    let mut rows: Vec<(&String, &u64)> = openings.iter().collect();
    rows.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    for (opening, count) in rows.iter().take(ROWS) {
        output::result(format!("{opening:<20} {count:>8}"));
    }
    print_rest(rows.len());
}

fn print_rest(all: usize) {
    if all > ROWS {
        output::result(format!("… and {} more (all with --json)", all - ROWS));
    }
}
