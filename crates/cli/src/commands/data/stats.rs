//! `tengen data stats`: prints statistics over the games of a store.

use tengen_datasets::{StoreStats, stats};
use tengen_records::{GameStats, OpeningNode, OpeningTree, Others, TreeShape};
use tengen_store::{Create, Store};

use super::filters::GameFilters;
use crate::output;

/// Maximum number of komi values and generations in the tables; the JSON has all of them.
const ROWS: usize = 12;

/// Show statistics over a store's games: lengths, results by komi, openings, unfinished games
///
/// Reads and checks every shard, several at once. Prints tables of game lengths, game ends, results by komi, figures
/// for each generation, the tree of first moves (symmetric moves merged), the entropy of the policy targets over the
/// course of a game, superko bans, suicides, and bytes per position on disk. Damaged shards are quarantined, skipped
/// and counted.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data stats data/runs/demo
  tengen data stats data/runs/demo --of all --json
  tengen data stats data/runs/demo --generations 10..99 --depth 6 --branches 2
  tengen data stats data/runs/demo --match gate-000004-against-000003")]
pub(crate) struct Args {
    /// The store: a folder
    store: String,
    #[command(flatten)]
    filters: GameFilters,
    /// Depth of the tree of first moves, in plies
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=12))]
    depth: u32,
    /// Number of branches per node, most frequent first
    #[arg(long, default_value_t = 4, value_parser = crate::arguments::count)]
    branches: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let filter = args.filters.filter();
    let store = Store::open(&args.store, Create::Never)?;
    let shape = TreeShape {
        depth: args.depth as usize,
        branches: args.branches as usize,
    };
    let bar = output::bar(0, "reading shards [{bar:24}] {human_pos}/{human_len}, {eta} left");
    let stats = stats(&store, &filter, shape, |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
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
    output::result(format!(
        "{}, {}, {}",
        output::counted(stats.games.games, "game"),
        output::counted(stats.games.positions, "position"),
        output::counted(stats.shards, "shard")
    ));
    output::result(format!(
        "{} bytes on disk, {:.1} per position",
        output::thousands(stats.bytes),
        stats.bytes_per_position
    ));
    if stats.pruned.games > 0 {
        output::result(format!("pruned earlier: {}", super::prune::totals(stats.pruned)));
    }
    if stats.quarantined > 0 {
        output::result(format!(
            "skipped {} in quarantine",
            output::counted(stats.quarantined, "damaged shard")
        ));
    }
}

fn print_games(games: &GameStats) {
    let plies = &games.plies;
    output::result(format!(
        "length in plies: mean {:.1}, median {}, 90% at most {}, from {} to {}",
        plies.mean, plies.median, plies.p90, plies.min, plies.max
    ));
    let ends: Vec<String> = games
        .end_reasons
        .iter()
        .map(|(end, count)| format!("{end} {}", output::thousands(*count)))
        .collect();
    output::result(format!(
        "ends: {}; without a result {:.2}%",
        ends.join(", "),
        100.0 * games.unfinished_share
    ));
    let per_game = |count: u64| count as f64 / games.games as f64;
    output::result(format!(
        "passes {}, suicides {} ({:.3} per game), points banned by superko {} ({:.3} per game)",
        output::thousands(games.passes),
        output::thousands(games.suicides),
        per_game(games.suicides),
        output::thousands(games.superko_bans),
        per_game(games.superko_bans)
    ));
    output::result(format!(
        "policy targets {}, mean entropy {:.2} bits; full searches {}, explored {}",
        output::thousands(games.policy_targets),
        games.mean_policy_entropy,
        output::thousands(games.full_search),
        output::thousands(games.explored)
    ));
    print_entropies(games);
    print_komis(games);
    print_generations(games);
    for (size, tree) in &games.openings {
        print_openings(size, tree);
    }
}

/// Prints the entropy of the policy targets over the course of games.
fn print_entropies(games: &GameStats) {
    let shown: Vec<String> = games
        .entropy_by_ply
        .iter()
        .take(ROWS)
        .map(|entropy| format!("{} {:.2}", entropy.from_ply, entropy.mean_bits))
        .collect();
    if !shown.is_empty() {
        output::result(format!("entropy in bits from ply: {}", shown.join(", ")));
    }
}

/// Prints the results by komi, for the most frequent komi values.
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

/// Prints the figures of the newest generations.
fn print_generations(games: &GameStats) {
    let all = &games.generations;
    if all.is_empty() {
        return;
    }
    output::result(format!(
        "\n{:<12} {:>9} {:>12} {:>8} {:>12} {:>10} {:>9}",
        "generation", "games", "positions", "plies", "unfinished", "Black won", "entropy"
    ));
    for row in &all[all.len().saturating_sub(ROWS)..] {
        output::result(format!(
            "{:<12} {:>9} {:>12} {:>8.1} {:>10.2} % {:>8.1} % {:>9.2}",
            format!("g{:06}", row.generation),
            output::thousands(row.games),
            output::thousands(row.positions),
            row.mean_plies,
            100.0 * row.unfinished_share,
            100.0 * row.black_share,
            row.mean_policy_entropy
        ));
    }
    print_rest(all.len());
}

/// Prints the tree of first moves on boards of one size.
fn print_openings(size: &str, tree: &OpeningTree) {
    let entropies: Vec<String> = tree.entropy_bits.iter().map(|bits| format!("{bits:.2}")).collect();
    output::result(format!(
        "\nfirst moves on {size}, {} games, symmetric moves merged; entropy after 1, 2, … plies: {} bits",
        output::thousands(tree.games),
        entropies.join(", ")
    ));
    output::result(format!(
        "{:<24} {:>9} {:>8} {:>8} {:>8} {:>8}",
        "", "games", "share", "Black", "White", "tie"
    ));
    tree.first.iter().for_each(|node| print_node(node, 0));
    print_others(tree.others, 0);
}

fn print_node(node: &OpeningNode, depth: usize) {
    output::result(format!(
        "{:<24} {:>9} {:>6.1} % {:>8} {:>8} {:>8}",
        format!("{}{}", "  ".repeat(depth), node.mv),
        output::thousands(node.games),
        100.0 * node.share,
        node.black_wins,
        node.white_wins,
        node.ties
    ));
    node.next.iter().for_each(|next| print_node(next, depth + 1));
    print_others(node.others, depth + 1);
}

fn print_others(others: Others, depth: usize) {
    if others.moves > 0 {
        let name = format!("{}… {} others", "  ".repeat(depth), others.moves);
        output::result(format!("{name:<24} {:>9}", output::thousands(others.games)));
    }
}

fn print_rest(all: usize) {
    if all > ROWS {
        output::result(format!("… and {} more (all with --json)", all - ROWS));
    }
}
