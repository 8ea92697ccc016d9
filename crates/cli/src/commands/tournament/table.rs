//! Formats a tournament as tables.

use tengen_matches::{Row, Standing};
use tengen_report::{Align, Table};

use crate::output::{self, counted, duration, elo, elo_interval, thousands};

/// How a table is printed.
#[derive(clap::Args)]
pub(crate) struct TableArgs {
    /// Print tables as Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Prints a tournament as JSON or as text, with tables in Markdown if asked.
pub(crate) fn show(standing: &Standing, table: &TableArgs) -> anyhow::Result<()> {
    match table.json {
        true => output::json(standing),
        false => {
            print(standing, table.markdown);
            Ok(())
        }
    }
}

/// Prints the ratings, the cross table and, for models of a run, their cost.
fn print(standing: &Standing, markdown: bool) {
    let heading = format!(
        "{} on {}, komi {}, {}, openings {}, {}",
        counted(standing.players.len() as u64, "player"),
        standing.size,
        standing.komi,
        standing.config.rules,
        standing.config.openings,
        counted(standing.games, "game")
    );
    output::result(format!("{heading}\n"));
    output::result(ratings(standing).text(markdown));
    if standing.players.len() > 2 {
        output::result("");
        output::result(cross_table(standing).text(markdown));
    }
    if standing.faults > 0 {
        let games = counted(standing.faults as u64, "game");
        output::result(format!("\n{games} lost by a fault"));
    }
    if standing.stopped {
        output::result("\nthe tournament was stopped early");
    }
}

/// Indexes of the players from strongest to weakest; players without a rating come last.
fn order(standing: &Standing) -> Vec<usize> {
    let mut order: Vec<usize> = (0..standing.players.len()).collect();
    let elo = |place: &usize| standing.players[*place].elo.unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|a, b| elo(b).total_cmp(&elo(a)));
    order
}

fn ratings(standing: &Standing) -> Table {
    let models = standing.players.iter().any(|player| player.evaluations.is_some());
    let mut table = Table::new("#", Align::Right)
        .column("player", Align::Left)
        .column("Elo", Align::Right)
        .column("95% interval", Align::Right)
        .column("games", Align::Right)
        .column("points", Align::Right)
        .column("score", Align::Right);
    if models {
        table = table
            .column("evaluations", Align::Right)
            .column("CPU time", Align::Right);
    }
    for (number, place) in order(standing).into_iter().enumerate() {
        let player = &standing.players[place];
        let mut cells = rating_cells(number + 1, player);
        if models {
            cells.push(player.evaluations.map_or(String::new(), thousands));
            cells.push(player.cpu_seconds.map_or(String::new(), duration));
        }
        table.row(cells);
    }
    table
}

fn rating_cells(number: usize, player: &Row) -> Vec<String> {
    let interval = match (player.elo, player.elo_low, player.elo_high) {
        (None, _, _) => String::new(),
        (_, Some(low), Some(high)) if low == high => "fixed".to_owned(),
        (_, low, high) => elo_interval(low, high),
    };
    let score = 100.0 * player.points / player.games.max(1) as f64;
    vec![
        number.to_string(),
        player.name.clone(),
        player.elo.map_or("–".to_owned(), elo),
        interval,
        player.games.to_string(),
        player.points.to_string(),
        if player.games == 0 {
            "–".to_owned()
        } else {
            format!("{score:.1}%")
        },
    ]
}

/// Points of every player against every other, strongest first.
fn cross_table(standing: &Standing) -> Table {
    let order = order(standing);
    let mut table = Table::new("points of", Align::Left);
    for number in 1..=order.len() {
        table = table.column(&format!("against {number}"), Align::Right);
    }
    for (number, &player) in order.iter().enumerate() {
        let mut cells = vec![format!("{} {}", number + 1, standing.players[player].name)];
        cells.extend(order.iter().map(|&other| points(standing, player, other)));
        table.row(cells);
    }
    table
}

/// `12.5/20`: points of one player and games against another; `×` on the diagonal, empty if they have not met.
fn points(standing: &Standing, player: usize, other: usize) -> String {
    if player == other {
        return "×".to_owned();
    }
    for row in &standing.pairings {
        if row.players == [player, other] {
            return format!("{}/{}", row.a_points, row.games);
        }
        if row.players == [other, player] {
            return format!("{}/{}", row.b_points, row.games);
        }
    }
    String::new()
}
