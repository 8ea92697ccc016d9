//! The result of a match or a tournament, from the `result.json` of each match.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use tengen_store::{Store, unseal};

use super::plot::{Axis, Plot, Series, Shape, Tone};
use crate::numbers::{counted, elo_estimate};

/// Bins of the plot of margins.
const BINS: usize = 24;

/// The matches in the folder of a match or a tournament.
pub(super) struct Contest {
    /// The matches that are over.
    over: Vec<Match>,
    /// The players of the matches that are not, as given on the command line.
    open: Vec<Spec>,
}

/// The players of a match as they were given on the command line.
#[derive(Deserialize)]
struct Spec {
    a: String,
    b: String,
}

/// What the page shows of the result of a match between A and B.
#[derive(Deserialize)]
struct Match {
    #[serde(skip)]
    spec: Option<Spec>,
    a: String,
    b: String,
    size: String,
    komi: String,
    config: Settings,
    games: usize,
    a_points: f64,
    b_points: f64,
    a_black: Counts,
    a_white: Counts,
    elo: f64,
    elo_low: Option<f64>,
    elo_high: Option<f64>,
    faults: usize,
    unfinished: usize,
    void: usize,
    #[serde(default)]
    distinct_games: Option<usize>,
    mean_a_margin: Option<f64>,
    mean_plies: f64,
    game_list: Vec<Game>,
}

#[derive(Deserialize)]
struct Settings {
    rules: String,
    #[serde(default)]
    openings: Option<String>,
}

/// Numbers of wins, ties, and losses of one side.
#[derive(Clone, Copy, Deserialize)]
struct Counts {
    wins: u64,
    ties: u64,
    losses: u64,
}

#[derive(Deserialize)]
struct Game {
    a_color: String,
    result: String,
    a_points: Option<f64>,
}

/// The matches in the folder of a match or a tournament; `None` if it is another kind of store. Adds a sentence to
/// `problems` for each match that cannot be read.
///
/// # Errors
/// If the store cannot be listed or read.
pub(super) fn read(store: &Store, problems: &mut Vec<String>) -> anyhow::Result<Option<Contest>> {
    let mut folders = vec![String::new()];
    if store.run_info()?.is_none() {
        let ids = store.matches().list()?;
        let matches = ids.iter().filter(|id| !id.starts_with("gate-"));
        folders.extend(matches.map(|id| format!("matches/{id}/")));
    }
    let (mut over, mut open) = (Vec::new(), Vec::new());
    for folder in folders {
        let spec: Option<Spec> = document(store, &format!("{folder}spec.json"), problems)?;
        let result: Option<Match> = document(store, &format!("{folder}result.json"), problems)?;
        match result {
            Some(result) => over.push(Match { spec, ..result }),
            None => open.extend(spec),
        }
    }
    let is_contest = !over.is_empty() || !open.is_empty();
    Ok(is_contest.then_some(Contest { over, open }))
}

/// A JSON file of a match; `None` if there is none or, with a sentence about it, if it cannot be read.
fn document<T: DeserializeOwned>(store: &Store, path: &str, problems: &mut Vec<String>) -> anyhow::Result<Option<T>> {
    let Some(bytes) = store.files().get(path)? else {
        return Ok(None);
    };
    let read = unseal(path, &bytes).map_err(|error| error.to_string());
    match read.and_then(|json| serde_json::from_slice(&json).map_err(|error| format!("{path}: {error}"))) {
        Ok(document) => Ok(Some(document)),
        Err(reason) => {
            problems.push(format!("A match could not be read: {reason}"));
            Ok(None)
        }
    }
}

impl Contest {
    /// Who played, for the title of the page.
    pub(super) fn name(&self) -> String {
        match (self.over.as_slice(), self.open.as_slice()) {
            ([result], []) => {
                let [a, b] = self.names(result);
                format!("{a} against {b}")
            }
            ([], [spec]) => format!("{} against {}, in progress", spec.a, spec.b),
            ([], _) => "A tournament in progress".to_owned(),
            _ => format!("{} players against each other", self.players().len()),
        }
    }

    /// The conditions, for the line under the title.
    pub(super) fn about(&self) -> Vec<String> {
        let Some(result) = self.over.first() else {
            return Vec::new();
        };
        let games: usize = self.over.iter().map(|result| result.game_list.len()).sum();
        let mut about = vec![
            result.size.clone(),
            format!("komi {}", result.komi),
            format!("rules {}", result.config.rules),
        ];
        about.extend(
            result
                .config
                .openings
                .iter()
                .map(|openings| format!("openings {openings}")),
        );
        about.push(counted(games as u64, "game"));
        about
    }

    /// Scores and plots.
    pub(super) fn part(&self) -> Markup {
        let all = self.over.len() + self.open.len();
        html! {
            h2 #outcome { "Result" }
            @if !self.open.is_empty() {
                p { (self.over.len()) " of " (counted(all as u64, "match")) " over so far." }
            }
            @match self.over.as_slice() {
                [] => {}
                [result] if all == 1 => (result.part(&self.names(result))),
                _ => (self.cross_table()),
            }
        }
    }

    /// The names of both players. Different players with the same name, such as one network with different visits, are
    /// called what the command line called them.
    fn names<'a>(&self, result: &'a Match) -> [&'a str; 2] {
        let Some(spec) = &result.spec else {
            return [&result.a, &result.b];
        };
        let everyone = || {
            let specs = self
                .over
                .iter()
                .filter_map(|result| Some((result, result.spec.as_ref()?)));
            specs.flat_map(|(result, spec)| [(&result.a, &spec.a), (&result.b, &spec.b)])
        };
        let shared = |name: &String, given: &String| everyone().any(|other| other.0 == name && other.1 != given);
        let called = |name: &'a String, given: &'a String| if shared(name, given) { given } else { name };
        [called(&result.a, &spec.a), called(&result.b, &spec.b)]
    }

    /// The players with their points and games, the highest score first.
    fn players(&self) -> Vec<(&str, f64, usize)> {
        let mut players: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
        for result in &self.over {
            let points = [result.a_points, result.b_points];
            for (name, points) in self.names(result).into_iter().zip(points) {
                let sums = players.entry(name).or_default();
                *sums = (sums.0 + points, sums.1 + result.games);
            }
        }
        let mut players: Vec<_> = players
            .into_iter()
            .map(|(name, (points, games))| (name, points, games))
            .collect();
        let share = |player: &(&str, f64, usize)| player.1 / player.2.max(1) as f64;
        players.sort_by(|one, other| share(other).total_cmp(&share(one)));
        players
    }

    fn cross_table(&self) -> Markup {
        let players = self.players();
        html! {
            p.soft {
                "Points of each player against each other one, of the games that both played. The players are in the \
                 order of their scores."
            }
            div.card.table tabindex="0" { table {
                tr {
                    th {} th.left { "player" } th { "points" } th { "score" }
                    @for number in 1..=players.len() { th { (number) } }
                }
                @for (place, (name, points, games)) in players.iter().enumerate() { tr {
                    td { (place + 1) }
                    td.left { (name) }
                    td { (points) }
                    td { (score(*points, *games)) }
                    @for (other, ..) in &players { td { (self.between(name, other)) } }
                } }
            } }
        }
    }

    /// The points of one player against another, of the games that both played.
    fn between(&self, player: &str, other: &str) -> String {
        let (mut points, mut games) = (0.0, 0);
        for result in &self.over {
            let names = self.names(result);
            if names == [player, other] {
                (points, games) = (points + result.a_points, games + result.games);
            } else if names == [other, player] {
                (points, games) = (points + result.b_points, games + result.games);
            }
        }
        match games {
            0 => String::new(),
            _ => format!("{points}/{games}"),
        }
    }
}

impl Counts {
    fn of_opponent(self) -> Counts {
        Counts {
            wins: self.losses,
            ties: self.ties,
            losses: self.wins,
        }
    }

    fn plus(self, other: Counts) -> Counts {
        Counts {
            wins: self.wins + other.wins,
            ties: self.ties + other.ties,
            losses: self.losses + other.losses,
        }
    }

    fn text(self) -> String {
        format!("{}–{}–{}", self.wins, self.ties, self.losses)
    }
}

impl Game {
    /// A's margin in points after komi; `None` if the board was not counted.
    fn margin(&self) -> Option<f64> {
        let signed = match self.result.split_once('+') {
            Some(("B", points)) => points.parse::<f64>().ok()?,
            Some(("W", points)) => -points.parse::<f64>().ok()?,
            _ if self.result == "0" => 0.0,
            _ => return None,
        };
        Some(if self.a_color == "black" { signed } else { -signed })
    }
}

impl Match {
    fn part(&self, names: &[&str; 2]) -> Markup {
        let [a, b] = names;
        let (black, white) = (self.a_black, self.a_white);
        let rows = [
            (a, black, white, self.a_points),
            (b, white.of_opponent(), black.of_opponent(), self.b_points),
        ];
        html! {
            p {
                @if self.games == 0 { "No game has a result." } @else {
                    "Elo of " b { (a) } " over " b { (b) } " with the 95% interval: "
                    b { (elo_estimate(self.elo, self.elo_low, self.elo_high)) }
                }
            }
            div.card.table tabindex="0" { table {
                tr {
                    th.left { "player" } th { "as Black" } th { "as White" } th { "won–tied–lost" } th { "points" }
                    th { "score" }
                }
                @for (name, black, white, points) in rows { tr {
                    td.left { (name) }
                    td { (black.text()) }
                    td { (white.text()) }
                    td { (black.plus(white).text()) }
                    td { (points) }
                    td { (score(points, self.games)) }
                } }
            } }
            p {
                "The mean length is " (format!("{:.0}", self.mean_plies)) " plies."
                @if let Some(margin) = self.mean_a_margin {
                    " Where the board was counted, the mean margin of " (a) " is " (format!("{margin:+.1}")) " points."
                }
                @for remark in self.remarks() { " " (remark) }
            }
            div.plots { (self.course().figure()) (self.margins().figure()) }
        }
    }

    /// What is unusual about the games.
    fn remarks(&self) -> Vec<String> {
        let games = self.game_list.len();
        let mut remarks = Vec::new();
        if let Some(distinct) = self.distinct_games.filter(|distinct| *distinct < games) {
            remarks.push(format!("Different games: {distinct} of {games}."));
        }
        for (count, what) in [
            (self.faults, "Lost by a fault"),
            (self.unfinished, "Unfinished"),
            (self.void, "Without effect, because an engine refused a legal move"),
        ] {
            if count > 0 {
                remarks.push(format!("{what}: {}.", counted(count as u64, "game")));
            }
        }
        remarks
    }

    /// A's score so far, game by game.
    fn course(&self) -> Plot {
        let mut points = 0.0;
        let results = self.game_list.iter().filter_map(|game| game.a_points);
        let course: Vec<(f64, f64)> = results
            .enumerate()
            .map(|(played, won)| {
                points += won;
                (played as f64 + 1.0, 100.0 * points / (played as f64 + 1.0))
            })
            .collect();
        let even = vec![(1.0, 50.0), (course.len().max(1) as f64, 50.0)];
        Plot {
            title: "Score so far",
            caption: "The first player's points in percent of the games so far. On the thin line, both are equal.",
            x: Axis::new("games with a result"),
            y: Axis::showing("score, %", &[0.0, 100.0]),
            series: vec![
                Series::new("even", Tone::GRAY, Shape::Reference, even),
                Series::new("score", Tone::BLUE, Shape::Line, course),
            ],
        }
    }

    /// How many games ended with which margin.
    fn margins(&self) -> Plot {
        let margins: Vec<f64> = self.game_list.iter().filter_map(Game::margin).collect();
        Plot {
            title: "Margins",
            caption: "How many games ended with which margin after komi, positive where the first player was ahead; \
                      without resignations and faults.",
            x: Axis::new("margin, points"),
            y: Axis::showing("games", &[0.0]),
            series: vec![Series::new("games", Tone::BLUE, Shape::Line, histogram(&margins))],
        }
    }
}

/// The outline of a histogram, one of whose edges is 0.
fn histogram(values: &[f64]) -> Vec<(f64, f64)> {
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    let width = ((high - low) / BINS as f64).ceil().max(1.0);
    let mut bins: BTreeMap<i64, f64> = BTreeMap::new();
    for value in values {
        *bins.entry((value / width).floor() as i64).or_default() += 1.0;
    }
    let (Some((&first, _)), Some((&last, _))) = (bins.first_key_value(), bins.last_key_value()) else {
        return Vec::new();
    };
    let edge = |bin: i64| bin as f64 * width;
    let mut outline = vec![(edge(first), 0.0)];
    for bin in first..=last {
        let count = bins.get(&bin).copied().unwrap_or(0.0);
        outline.extend([(edge(bin), count), (edge(bin + 1), count)]);
    }
    outline.push((edge(last + 1), 0.0));
    outline
}

fn score(points: f64, games: usize) -> String {
    match games {
        0 => "–".to_owned(),
        _ => format!("{:.1}%", 100.0 * points / games as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_those_of_the_first_player() {
        let margin = |color: &str, result: &str| {
            Game {
                a_color: color.to_owned(),
                result: result.to_owned(),
                a_points: None,
            }
            .margin()
        };
        assert_eq!(margin("black", "B+3.5"), Some(3.5));
        assert_eq!(margin("white", "B+3.5"), Some(-3.5));
        assert_eq!(margin("white", "W+10"), Some(10.0));
        assert_eq!(margin("black", "0"), Some(0.0));
        for uncounted in ["B+R", "W+F", "Void", "?"] {
            assert_eq!(margin("black", uncounted), None, "{uncounted}");
        }
    }

    #[test]
    fn a_histogram_holds_every_value() {
        let outline = histogram(&[-81.0, 0.0, 0.0, 1.0, 81.0]);
        let tops: f64 = outline
            .windows(2)
            .filter(|pair| pair[0].1 == pair[1].1)
            .map(|pair| pair[0].1)
            .sum();
        assert_eq!(tops, 5.0);
        assert_eq!(histogram(&[7.0]), [(7.0, 0.0), (7.0, 1.0), (8.0, 1.0), (8.0, 0.0)]);
        let lost_and_tied = [(-1.0, 0.0), (-1.0, 1.0), (0.0, 1.0), (0.0, 2.0), (1.0, 2.0), (1.0, 0.0)];
        assert_eq!(histogram(&[0.0, -0.5, 0.0]), lost_and_tied);
        assert!(histogram(&[]).is_empty());
    }
}
