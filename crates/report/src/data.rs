//! Reads everything the page needs from a store, with limits that keep it to about a second.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;

use tengen_metrics::{Event, Gate, Measured, Rating};
use tengen_model::ModelInfo;
use tengen_records::GameRecord;
use tengen_rules::Size;
use tengen_store::{Collection, GameTotals, GamesOf, ShardInfo, Store};

use super::contest::{self, Contest};
use super::curves::{gate_matches, newest_ratings};
use super::fleet::{self, Process};
use super::history::History;
use super::openings::FirstMoves;
use super::verdict::{self, Verdict};
use crate::numbers::short_model;

/// Number of newest self-play games that calibration uses.
const RECENT_GAMES: usize = 500;
/// Number of self-play games to replay, and the most generations to take them from. Each of these generations shows at
/// least one game, so there may be more games.
const SHOWN_SELFPLAY: usize = 20;
const SHOWN_GENERATIONS: usize = 60;
/// Number of newest matches to replay games from, the games of each, and the games of a match that is the only one.
const SHOWN_MATCHES: usize = 5;
const SHOWN_PER_MATCH: usize = 4;
const SHOWN_OF_ONLY_MATCH: usize = 20;
/// Number of first-move boards, and how many games and shards to read for each.
const FIRST_MOVE_BOARDS: usize = 8;
const FIRST_MOVE_GAMES: usize = 200;
const FIRST_MOVE_SHARDS: usize = 6;

/// A model and its total cost; `None` for what is not recorded.
#[derive(Default)]
pub(super) struct ModelRow {
    pub(super) id: String,
    pub(super) step: Option<f64>,
    pub(super) games: Option<f64>,
    pub(super) positions: Option<f64>,
    pub(super) evaluations: Option<f64>,
    pub(super) cpu_seconds: Option<f64>,
    pub(super) gpu_seconds: Option<f64>,
    pub(super) elo: Option<Rating>,
    /// Its match in the gate, if it has played one.
    pub(super) gate: Option<Gate>,
    /// The number of the model's promotion, if it ever became champion.
    pub(super) promoted: Option<u32>,
    pub(super) champion: bool,
}

/// Everything about one store.
pub(super) struct Data {
    pub(super) name: String,
    /// Facts for the line under the name.
    pub(super) about: Vec<String>,
    /// When the store was read, as text.
    pub(super) written: String,
    pub(super) history: History,
    pub(super) selfplay: GameTotals,
    pub(super) matches: GameTotals,
    pub(super) imported: GameTotals,
    /// All models, oldest first.
    pub(super) models: Vec<ModelRow>,
    /// The newest self-play games.
    pub(super) recent: Vec<GameRecord>,
    pub(super) first_moves: Vec<FirstMoves>,
    /// Games to replay and their names: self-play, newest generation first, then matches.
    pub(super) shown: Vec<(String, GameRecord)>,
    /// What the store says about the setup, as names and values.
    pub(super) setup: Vec<(&'static str, String)>,
    /// What the run had learned when its budget was spent.
    pub(super) verdict: Option<Verdict>,
    /// The results, if this is the folder of a match or a tournament.
    pub(super) contest: Option<Contest>,
    /// The processes that share the run.
    pub(super) processes: Vec<Process>,
    /// What could not be read, as sentences.
    pub(super) problems: Vec<String>,
}

impl Data {
    /// Whether the store holds only games that no run of its own played: matches, tournaments, or imports.
    pub(super) fn is_only_games(&self) -> bool {
        self.matches.plus(self.imported).games > 0
            && self.selfplay.games == 0
            && self.models.is_empty()
            && self.history.events.is_empty()
    }
}

/// Whether to read games to replay, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Replays {
    Read,
    LeaveOut,
}

pub(super) fn read(store: &Store, replays: Replays) -> anyhow::Result<Data> {
    let mut problems = Vec::new();
    let history = History::read(store, &mut problems)?;
    let processes = fleet::read(store).context("cannot read what the run's processes say")?;
    problems.extend(processes.iter().filter_map(Process::problem));
    let listing = store.games().list(&GamesOf::All).context("cannot list the games")?;
    let pruned = listing.pruned;
    let (selfplay, others): (Vec<_>, Vec<_>) = listing
        .shards
        .into_iter()
        .partition(|shard| matches!(shard.collection, Collection::SelfPlay { .. }));
    let is_match = |shard: &ShardInfo| matches!(shard.collection, Collection::Match { .. });
    let mut reader = Reader {
        store,
        problems: &mut problems,
    };
    let recent = reader.newest(&selfplay, RECENT_GAMES, usize::MAX);
    let first_moves = first_moves(&mut reader, &selfplay, &recent);
    let shown = match replays {
        Replays::Read => shown(&mut reader, &selfplay, &others),
        Replays::LeaveOut => Vec::new(),
    };
    let models = models(store, &history.events, &mut problems)?;
    for note in store.games().quarantine_notes().context("cannot list the quarantine")? {
        problems.push(format!(
            "Skipped because it is in quarantine: {}: {}",
            note.shard, note.reason
        ));
    }
    let contest = contest::read(store, &mut problems).context("cannot read the results of matches")?;
    let About { name, facts, setup } = match &contest {
        Some(contest) => About {
            name: contest.name(),
            facts: contest.about(),
            setup: Vec::new(),
        },
        None => about(store, &mut problems),
    };
    let verdict = verdict::read(store).unwrap_or_else(|error| {
        problems.push(format!("The run's summary could not be read: {error:#}"));
        None
    });
    Ok(Data {
        name,
        about: facts,
        setup,
        verdict,
        contest,
        written: written(tengen_records::now_ms() as i64),
        history,
        selfplay: GameTotals::of(&selfplay).plus(pruned),
        matches: GameTotals::of(others.iter().filter(|shard| is_match(shard))),
        imported: GameTotals::of(others.iter().filter(|shard| !is_match(shard))),
        models,
        recent: recent.into_iter().map(|(_, game)| game).collect(),
        first_moves,
        shown,
        processes,
        problems,
    })
}

/// Reads shards and collects the problems with those that cannot be read.
struct Reader<'a> {
    store: &'a Store,
    problems: &'a mut Vec<String>,
}

impl Reader<'_> {
    /// The newest games, newest first, each with its shard. Reads whole shards until there are at least `games` games,
    /// but no more than `most` shards.
    fn newest<'s>(&mut self, shards: &'s [ShardInfo], games: usize, most: usize) -> Vec<(&'s ShardInfo, GameRecord)> {
        let mut found = Vec::new();
        for shard in shards.iter().rev().take(most) {
            if found.len() >= games {
                break;
            }
            match self.store.games().read(shard) {
                Ok(read) => found.extend(read.into_iter().rev().map(|game| (shard, game))),
                Err(error) => self.problems.push(format!("A shard could not be read: {error}")),
            }
        }
        found
    }
}

/// First moves on the most frequent board, for up to [`FIRST_MOVE_BOARDS`] ranges of generations.
fn first_moves(reader: &mut Reader<'_>, shards: &[ShardInfo], recent: &[(&ShardInfo, GameRecord)]) -> Vec<FirstMoves> {
    let Some(size) = most_frequent_size(recent.iter().map(|(_, game)| game.size)) else {
        return Vec::new();
    };
    let generations: Vec<_> = shards
        .iter()
        .map(ShardInfo::generation)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let rows = generations.len().min(FIRST_MOVE_BOARDS);
    let row = |row: usize| {
        let (first, end) = (row * generations.len() / rows, (row + 1) * generations.len() / rows);
        let (first, last) = (generations[first], generations[end - 1]);
        let among: Vec<_> = shards
            .iter()
            .filter(|shard| (first..=last).contains(&shard.generation()))
            .cloned()
            .collect();
        let games = reader.newest(&among, FIRST_MOVE_GAMES, FIRST_MOVE_SHARDS);
        let games: Vec<_> = games.into_iter().map(|(_, game)| game).collect();
        let label = if first == last {
            first.to_string()
        } else {
            format!("{first}–{last}")
        };
        FirstMoves::count(label, size, &games)
    };
    (0..rows).map(row).collect()
}

/// The most frequent board size; of equally frequent ones, the larger.
fn most_frequent_size(sizes: impl Iterator<Item = Size>) -> Option<Size> {
    let mut counts: BTreeMap<(usize, usize), (usize, Size)> = BTreeMap::new();
    for size in sizes {
        counts.entry((size.width(), size.height())).or_insert((0, size)).0 += 1;
    }
    counts
        .into_values()
        .max_by_key(|(count, _)| *count)
        .map(|(_, size)| size)
}

/// Self-play games from the whole run, newest generation first, then games of the newest matches. Every game has a
/// unique name.
fn shown(reader: &mut Reader<'_>, selfplay: &[ShardInfo], matches: &[ShardInfo]) -> Vec<(String, GameRecord)> {
    let mut shown = Vec::new();
    let generations: BTreeSet<_> = selfplay.iter().map(ShardInfo::generation).collect();
    for (generation, games) in spread(&generations.into_iter().collect::<Vec<_>>()) {
        let of_generation: Vec<_> = selfplay
            .iter()
            .filter(|shard| shard.generation() == generation)
            .cloned()
            .collect();
        let found = reader.newest(&of_generation, games, FIRST_MOVE_SHARDS);
        for (number, (_, game)) in found.into_iter().take(games).enumerate() {
            shown.push((format!("generation {generation}, game {}", number + 1), game));
        }
    }
    let mut of_match: BTreeMap<&str, Vec<ShardInfo>> = BTreeMap::new();
    for shard in matches {
        if let Collection::Match { id } = &shard.collection {
            of_match.entry(id).or_default().push(shard.clone());
        }
    }
    let mut newest: Vec<_> = of_match.into_iter().collect();
    newest.sort_by_key(|(_, shards)| std::cmp::Reverse(shards.iter().map(|shard| shard.name.created_ms).max()));
    let games = match newest.len() {
        1 => SHOWN_OF_ONLY_MATCH,
        _ => SHOWN_PER_MATCH,
    };
    for (id, shards) in newest.iter().take(SHOWN_MATCHES) {
        let found = reader.newest(shards, games, usize::MAX);
        for (number, (_, game)) in found.into_iter().take(games).enumerate() {
            shown.push((format!("{}, game {}", match_name(id), number + 1), game));
        }
    }
    shown
}

/// All generations, or [`SHOWN_GENERATIONS`] evenly spaced ones, from the newest to the oldest, and how many games of
/// each to show.
fn spread(generations: &[u32]) -> Vec<(u32, usize)> {
    let rows = generations.len().min(SHOWN_GENERATIONS);
    let all = SHOWN_SELFPLAY.max(rows);
    let place = |row: usize| (generations.len() - 1) * (rows - 1 - row) / (rows - 1).max(1);
    let games = |row: usize| all / rows + usize::from(row < all % rows);
    (0..rows).map(|row| (generations[place(row)], games(row))).collect()
}

/// The name of a match without the hashes in its id: `gate of g000011 against g000007`.
fn match_name(id: &str) -> String {
    let players = id.strip_prefix("gate-").and_then(|players| players.split_once("-vs-"));
    match players {
        Some((candidate, champion)) => {
            format!("gate of {} against {}", short_model(candidate), short_model(champion))
        }
        None => id.to_owned(),
    }
}

/// The store's models with the costs from their own files or, if those cannot be read, from the metrics.
fn models(store: &Store, events: &[Event], problems: &mut Vec<String>) -> anyhow::Result<Vec<ModelRow>> {
    let promotions = store.models().promotions().context("cannot read the promotions")?;
    let measured: BTreeMap<_, _> = events.iter().filter_map(measured_model).collect();
    let mut ratings: BTreeMap<_, _> = newest_ratings(events)
        .into_iter()
        .map(|rating| (rating.model_id.clone(), rating))
        .collect();
    let gates = gate_matches(events);
    let mut rows = Vec::new();
    for model in store.models().list().context("cannot list the models")? {
        let info = store.models().info(&model);
        let info = info.map_err(|error| problems.push(format!("A model could not be read: {error}")));
        let (info, id) = (info.ok(), model.to_string());
        let measured = measured.get(id.as_str());
        let figure = |of_info: fn(&ModelInfo) -> f64, of_event: fn(&tengen_metrics::Model) -> f64| {
            let event = || {
                measured
                    .map(|model| of_event(model))
                    .filter(|figure| figure.is_finite())
            };
            info.as_ref().map(of_info).or_else(event)
        };
        rows.push(ModelRow {
            step: figure(|info| info.provenance.step as f64, |model| model.step as f64),
            games: figure(|info| info.cost.games as f64, |model| model.games as f64),
            positions: figure(|info| info.cost.positions as f64, |model| model.positions as f64),
            evaluations: figure(|info| info.cost.evaluations as f64, |model| model.evaluations as f64),
            cpu_seconds: figure(|info| info.cost.cpu_seconds, |model| model.cpu_seconds),
            gpu_seconds: info.as_ref().map(|info| info.cost.gpu_seconds),
            elo: ratings.remove(&id),
            gate: gates.get(id.as_str()).copied().cloned(),
            promoted: promotions
                .iter()
                .find(|(_, promotion)| promotion.model_id == model)
                .map(|(number, _)| *number),
            champion: promotions
                .last()
                .is_some_and(|(_, promotion)| promotion.model_id == model),
            id,
        });
    }
    Ok(rows)
}

fn measured_model(event: &Event) -> Option<(&str, &tengen_metrics::Model)> {
    match &event.measured {
        Measured::Model(model) => Some((model.model_id.as_str(), model)),
        _ => None,
    }
}

/// What a store says about itself.
#[derive(Default)]
struct About {
    name: String,
    /// For the line under the name.
    facts: Vec<String>,
    /// For the table of the setup.
    setup: Vec<(&'static str, String)>,
}

fn about(store: &Store, problems: &mut Vec<String>) -> About {
    let named = |name: &str| About {
        name: name.to_owned(),
        ..About::default()
    };
    match store.run_info() {
        Ok(Some(run)) => {
            let name = run.config["name"].as_str().unwrap_or(&run.run_id).to_owned();
            let mut about = vec![run.sizes.join(", "), format!("rules {}", run.rules)];
            if name != run.run_id {
                about.push(format!("run {}", run.run_id));
            }
            let setup = vec![
                ("boards", run.sizes.join(", ")),
                ("rules", run.rules.clone()),
                ("seed", run.config["seed"].to_string()),
                ("begun", written(run.created_ms as i64)),
            ];
            About {
                name,
                facts: about,
                setup,
            }
        }
        Ok(None) => named("games without a run"),
        Err(error) => {
            problems.push(format!("run.json could not be read: {error}"));
            named("a run")
        }
    }
}

fn written(now_ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(now_ms) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => "at an unknown time".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_spread_over_the_generations() {
        assert_eq!(spread(&[]), []);
        assert_eq!(spread(&[7]), [(7, 20)]);
        assert_eq!(spread(&[0, 1, 2]), [(2, 7), (1, 7), (0, 6)]);
        let all: Vec<u32> = (0..41).collect();
        let shown = spread(&all);
        assert!(shown.iter().rev().map(|row| row.0).eq(all) && shown.iter().all(|row| row.1 == 1));
        let many: Vec<u32> = (0..591).collect();
        let shown = spread(&many);
        assert_eq!(
            (shown.len(), shown[0], shown[59]),
            (SHOWN_GENERATIONS, (590, 1), (0, 1))
        );
    }

    #[test]
    fn matches_are_named_in_words() {
        assert_eq!(
            match_name("gate-g000011-0aa1fdf832b0-vs-g000007-5d3878319a6a"),
            "gate of g000011 against g000007"
        );
        assert_eq!(match_name("rating-5x5"), "rating-5x5");
    }

    #[test]
    fn formats_times() {
        assert_eq!(written(1_700_000_000_000), "2023-11-14 22:13:20 UTC");
    }
}
