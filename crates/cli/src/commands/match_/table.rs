//! Formats a match as tables.

use tengen_evaluator::{ConfidenceSequence, MatchResult, Side, SprtState, WinTieLoss};
use tengen_report::{Align, Table};

use crate::output;

/// Maximum number of faults listed individually.
const FAULTS_SHOWN: usize = 5;

/// Prints the scores, the statistics and anything unusual.
pub(super) fn print(result: &MatchResult, markdown: bool) {
    output::sentence(format!("{}\n", heading(result)));
    output::result(scores(result).text(markdown));
    output::result("");
    output::result(statistics(result).text(markdown));
    exceptions(result);
}

fn heading(result: &MatchResult) -> String {
    let config = &result.config;
    let paired = result.pentanomial.pairs() > 0;
    let games = output::counted(result.games as u64, "game");
    let games = match paired {
        true => format!("{games} in pairs"),
        false => games,
    };
    format!(
        "{} against {}: {}, komi {}, {}, {games}, openings {}, seed {}",
        result.a, result.b, result.size, result.komi, config.rules, config.openings, config.seed
    )
}

/// One row for each player.
fn scores(result: &MatchResult) -> Table {
    let mut table = Table::new("player", Align::Left)
        .column("as Black", Align::Right)
        .column("as White", Align::Right)
        .column("won–tied–lost", Align::Right)
        .column("points", Align::Right)
        .column("score", Align::Right)
        .column("faults", Align::Right);
    let turned = |counts: &WinTieLoss| WinTieLoss {
        wins: counts.losses,
        ties: counts.ties,
        losses: counts.wins,
    };
    let (black, white, all) = (&result.a_black, &result.a_white, &result.a_total);
    for (name, black, white, all, points, faults) in [
        (&result.a, *black, *white, *all, result.a_points, result.a_faults),
        (
            &result.b,
            turned(white),
            turned(black),
            turned(all),
            result.b_points,
            result.b_faults,
        ),
    ] {
        let share = 100.0 * points / result.games.max(1) as f64;
        table.row(vec![
            name.clone(),
            counts(&black),
            counts(&white),
            counts(&all),
            points.to_string(),
            format!("{share:.1}%"),
            faults.to_string(),
        ]);
    }
    table
}

fn counts(counts: &WinTieLoss) -> String {
    format!("{}–{}–{}", counts.wins, counts.ties, counts.losses)
}

/// One row for each statistic.
fn statistics(result: &MatchResult) -> Table {
    let estimate = &result.estimate;
    let mut table = Table::new("statistic", Align::Left).column("value", Align::Left);
    let mut row = |what: &str, value: String| table.row(vec![what.to_owned(), value]);
    row(
        "Elo difference, 95% interval",
        match result.games {
            0 => "unknown: no game has a result".to_owned(),
            _ => output::elo_estimate(estimate.elo, estimate.elo_low, estimate.elo_high),
        },
    );
    row("95% always-valid bounds", bounds(&result.any_time));
    row("likelihood of superiority", format!("{:.3}", estimate.los));
    if result.pentanomial.pairs() > 0 {
        let [none, half, one, more, two] = result.pentanomial.counts;
        row(
            "pairs with 2, 1½, 1, ½, 0 points",
            format!("{two}, {more}, {one}, {half}, {none}"),
        );
    }
    if let Some(verdict) = sprt(result) {
        row("sequential test", verdict);
    }
    if let Some(margin) = result.mean_a_margin {
        row("mean margin", format!("{margin:+.1} points"));
    }
    let (a, b) = (result.a_full_board_wins, result.b_full_board_wins);
    if a + b > 0 {
        row("games won with the whole board", format!("{a}, opponent {b}"));
    }
    row("mean length", format!("{:.0} plies", result.mean_plies));
    table
}

fn bounds(bounds: &ConfidenceSequence) -> String {
    match (bounds.elo_low, bounds.elo_high) {
        (None, None) => "none yet".to_owned(),
        (low, high) => output::elo_interval(low, high),
    }
}

fn sprt(result: &MatchResult) -> Option<String> {
    let sprt = result.sprt?;
    let verdict = match sprt.state {
        SprtState::Accepted => format!("at least {} Elo stronger", sprt.config.elo1),
        SprtState::Rejected => format!("at most {} Elo stronger", sprt.config.elo0),
        SprtState::Open => "not decided".to_owned(),
    };
    let (llr, low, high) = (sprt.llr, sprt.lower, sprt.upper);
    Some(format!(
        "{verdict} (log-likelihood ratio {llr:.2} in {low:.2} to {high:.2})"
    ))
}

/// Prints anything unusual: repeated, unfinished, void and resigned games, faults, an early stop.
fn exceptions(result: &MatchResult) {
    let (all, distinct) = (result.game_list.len(), result.distinct_games);
    if let Some(distinct) = distinct.filter(|distinct| *distinct < all) {
        output::result(format!(
            "\nonly {} of {} games are different, since both players repeat their moves; repeated pairs count once in \
             the intervals and tests (--openings random:4 makes games differ)",
            output::thousands(distinct as u64),
            output::thousands(all as u64)
        ));
    }
    for (count, one, more) in [
        (
            result.unfinished,
            "game reached the ply limit and has no result",
            "games reached the ply limit and have no result",
        ),
        (result.void, "game does not count", "games do not count"),
        (result.resigned, "game was resigned", "games were resigned"),
    ] {
        if count > 0 {
            let count_text = output::thousands(count as u64);
            output::result(format!("\n{count_text} {}", if count == 1 { one } else { more }));
        }
    }
    for report in result.fault_reports.iter().take(FAULTS_SHOWN) {
        let name = if report.player == Side::A { &result.a } else { &result.b };
        output::result(format!(
            "\ngame {}, {name}, ply {}: {}",
            report.game, report.ply, report.fault.reason
        ));
    }
    let left = result.fault_reports.len().saturating_sub(FAULTS_SHOWN);
    if left > 0 {
        output::result(format!(
            "\n{} not shown; see result.json or --json",
            output::counted(left as u64, "more fault")
        ));
    }
    if result.stopped {
        output::result("\nthe match was stopped early");
    }
}
