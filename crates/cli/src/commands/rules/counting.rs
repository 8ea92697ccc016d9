//! Counts a board for `tengen rules score` and `show`: dead stones, life by search, territory, and prisoners.

use anyhow::bail;
use serde::Serialize;

use tengen_rules::{Color, GameEnd, Komi, LIFE_NODES, Life, PointSet, Position, Scoring, format_point, parse_point};

use crate::output;

/// How to count a board on which the rules alone do not say which stones are dead.
#[derive(clap::Args)]
pub(super) struct CountArgs {
    /// Count as if the players had agreed that the chains at these points are dead, and all others alive: B4,E2, or
    /// none
    #[arg(long, value_name = "POINTS", value_parser = names)]
    dead: Option<Names>,
    /// With --dead, under territory scoring: chains in seki, which stay on the board but surround no territory
    #[arg(long, value_name = "POINTS", requires = "dead", value_parser = names)]
    seki: Option<Names>,
    /// Positions to search for each chain to find out whether it is alive under territory scoring
    #[arg(
        long,
        value_name = "N",
        default_value_t = LIFE_NODES,
        conflicts_with = "dead",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    life_positions: u64,
}

/// Names of points.
type Names = Vec<String>;

/// Parses names of points, separated by commas or blanks; `none` means no points.
fn names(text: &str) -> Result<Names, String> {
    if text.trim().eq_ignore_ascii_case("none") {
        return Ok(Vec::new());
    }
    let names: Names = text
        .split([',', ' '])
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    match names.is_empty() {
        true => Err("expected points such as B4,E2, or none".to_owned()),
        false => Ok(names),
    }
}

/// A counted board, or what keeps it from being counted.
#[derive(Serialize)]
pub(super) struct Counted {
    /// Black minus White after komi in points, counted under the rules; `None` if a chain's life is undecided or a long
    /// cycle tied the game.
    pub(super) margin: Option<f32>,
    /// One stone of each chain whose undecided life affects the count.
    pub(super) undecided: Vec<String>,
    /// Points of Black's area, once the dead stones are removed.
    pub(super) black_area: usize,
    /// Points of White's area.
    pub(super) white_area: usize,
    /// Points of Black's territory; `None` unless the rules count territory and the life of all chains is decided.
    pub(super) black_territory: Option<usize>,
    /// Points of White's territory.
    pub(super) white_territory: Option<usize>,
    /// Black stones captured in play or removed as dead: White's prisoners.
    pub(super) black_stones_removed: u32,
    /// White stones captured in play or removed as dead: Black's prisoners.
    pub(super) white_stones_removed: u32,
    /// Stones removed from the last board as dead.
    pub(super) dead: Vec<String>,
}

impl CountArgs {
    /// Whether the arguments name stones, which can only be those of one board.
    pub(super) fn names_stones(&self) -> bool {
        self.dead.is_some()
    }

    /// Counts the board as it stands, or without the dead stones that were named.
    pub(super) fn count(&self, position: &Position, komi: Komi) -> anyhow::Result<Counted> {
        let named = match &self.dead {
            Some(dead) => Some((
                chains(position, dead)?,
                chains(position, self.seki.as_deref().unwrap_or_default())?,
            )),
            None => None,
        };
        let by_territory = position.rules().scoring == Scoring::Territory;
        if named.is_some() && position.rules().end == GameEnd::TwoPasses {
            return Err(output::usage(format!(
                "--dead: under {} nothing is removed by agreement, and the board is counted as it stands; choose rules \
                 with an agreement, such as --rules chinese_written or --rules japanese2008",
                position.rules()
            )));
        }
        if self.seki.is_some() && !by_territory {
            return Err(output::usage(format!(
                "--seki: {} counts area, where stones in seki count like all others",
                position.rules()
            )));
        }
        if position.is_tied_by_cycle() {
            return Ok(Counted::of(position, &PointSet::new()));
        }
        match (named, by_territory) {
            (named, false) => {
                let dead = named.map_or_else(PointSet::new, |(dead, _)| dead);
                Ok(Counted {
                    margin: Some(position.margin_without(&dead, komi).points()),
                    ..Counted::of(position, &dead)
                })
            }
            (None, true) => {
                let (alive, undecided) = self.search(position);
                Ok(match undecided.is_empty() {
                    true => Counted::by_territory(position, &alive, komi),
                    false => Counted {
                        undecided: one_of_each_chain(position, undecided),
                        ..Counted::of(position, &PointSet::new())
                    },
                })
            }
            (Some((dead, seki)), true) => {
                let alive = stones(position) - dead - seki;
                let removed = position.territory(&alive).removed;
                if removed != dead {
                    let odd = (removed - dead) | (dead - removed);
                    bail!(disagreement(position, &odd));
                }
                Ok(Counted::by_territory(position, &alive, komi))
            }
        }
    }

    /// The stones of the independently alive chains and those of undecided ones.
    fn search(&self, position: &Position) -> (PointSet, PointSet) {
        let mut left = stones(position);
        let bar = output::bar(left.len() as u64, "life of stones [{bar:24}] {pos}/{len}  {elapsed}");
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        let (mut alive, mut undecided) = (PointSet::new(), PointSet::new());
        while let Some(point) = left.iter().next() {
            let chain = position.chain(point);
            left -= chain;
            match position.independent_life(point, self.life_positions) {
                Life::Alive => alive |= chain,
                Life::NotAlive => {}
                Life::NotDecided => undecided |= chain,
            }
            bar.inc(chain.len() as u64);
        }
        bar.finish_and_clear();
        (alive, undecided)
    }

    /// How to decide the life of chains that the search left undecided.
    pub(super) fn advice(&self) -> String {
        format!(
            "try --life-positions {}, or name the dead chains with --dead",
            self.life_positions.saturating_mul(100)
        )
    }
}

impl Counted {
    /// The areas and prisoners without these stones, before the board is counted.
    fn of(position: &Position, dead: &PointSet) -> Counted {
        let area = position.area_without(dead);
        let removed = |color| position.prisoners(color) + (*dead & position.stones(color)).len() as u32;
        Counted {
            margin: None,
            undecided: Vec::new(),
            black_area: area.black.len(),
            white_area: area.white.len(),
            black_territory: None,
            white_territory: None,
            black_stones_removed: removed(Color::Black),
            white_stones_removed: removed(Color::White),
            dead: dead.iter().map(|point| format_point(position.size(), point)).collect(),
        }
    }

    fn by_territory(position: &Position, alive: &PointSet, komi: Komi) -> Counted {
        let territory = position.territory(alive);
        Counted {
            margin: Some(territory.margin(komi).points()),
            black_territory: Some(territory.territory.black.len()),
            white_territory: Some(territory.territory.white.len()),
            ..Counted::of(position, &territory.removed)
        }
    }

    /// Territory, prisoners, and dead stones, one line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let (Some(black), Some(white)) = (self.black_territory, self.white_territory) {
            lines.push(format!("territory: Black {black}, White {white}"));
        }
        lines.push(format!(
            "prisoners: Black {}, White {}",
            self.white_stones_removed, self.black_stones_removed
        ));
        if !self.dead.is_empty() {
            lines.push(format!("removed as dead: {}", self.dead.join(", ")));
        }
        lines
    }
}

/// All stones on the board.
fn stones(position: &Position) -> PointSet {
    position.stones(Color::Black) | position.stones(Color::White)
}

/// The whole chains at these points.
fn chains(position: &Position, names: &[String]) -> anyhow::Result<PointSet> {
    let mut found = PointSet::new();
    for name in names {
        let point = parse_point(position.size(), name).ok();
        let stone = point.filter(|&point| position.at(point).is_some());
        let Some(point) = stone else {
            return Err(output::usage(format!(
                "{name:?} is not the point of a stone on the {} board; expected points such as B4,E2",
                position.size()
            )));
        };
        found |= position.chain(point);
    }
    Ok(found)
}

/// One stone of each of these chains.
fn one_of_each_chain(position: &Position, mut chains: PointSet) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(point) = chains.iter().next() {
        names.push(format_point(position.size(), point));
        chains -= position.chain(point);
    }
    names
}

/// Why the named chains do not fit the rules: a chain is removed exactly if it is inside the territory of living
/// chains.
fn disagreement(position: &Position, odd: &PointSet) -> String {
    format!(
        "--dead and --seki do not fit the rules at {}: dead stones must lie in a region that only living chains of \
         the opponent surround, and stones in seki must not; name all other dead chains of the region as well",
        one_of_each_chain(position, *odd).join(", ")
    )
}
