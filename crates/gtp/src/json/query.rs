//! Parsing a query.

use serde_json::{Map, Value};

use tengen_rules::{Komi, Position, Size};

use super::fields::{Fields, Problem};
use super::position::{DescribedGame, komi, restrictions, rules};
use super::settings::{Defaults, MAX_VISITS, SettingError, Settings};
use crate::analysis::Restrictions;

/// What a query requests for each of its turns.
#[derive(Clone, Debug)]
pub struct Query {
    /// The client's ID of the query, repeated in each answer.
    pub(super) id: String,
    /// The size of the board.
    pub size: Size,
    /// The points added to White's score.
    pub komi: Komi,
    /// How each position is searched, and from whose viewpoint it is reported.
    pub settings: Settings,
    /// Restrictions on the first move of the analysis.
    pub restrictions: Restrictions,
    /// Whether to report the ownership of each point.
    pub ownership: bool,
    /// Whether to report the ownership of each point after each move.
    pub moves_ownership: bool,
    /// Whether to report the network's probabilities of all moves.
    pub policy: bool,
    /// Whether to report the visits along each variation.
    pub pv_visits: bool,
    /// Seconds between two reports during the search; `None` to report only at the end.
    pub report_every: Option<f64>,
}

impl Query {
    /// The client's ID of the query, repeated in each answer.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// A parsed query: the request, the positions with turn and priority in the order given, and warnings.
pub(super) struct ParsedQuery {
    pub(super) query: Query,
    pub(super) positions: Vec<(usize, i64, Position)>,
    pub(super) warnings: Vec<Problem>,
}

/// All supported fields.
const FIELDS: [&str; 27] = [
    "id",
    "rules",
    "komi",
    "whiteHandicapBonus",
    "boardXSize",
    "boardYSize",
    "initialStones",
    "initialPlayer",
    "moves",
    "analyzeTurns",
    "maxVisits",
    "rootPolicyTemperature",
    "rootFpuReductionMax",
    "analysisPVLen",
    "includeOwnership",
    "includeOwnershipStdev",
    "includeMovesOwnership",
    "includeMovesOwnershipStdev",
    "includePolicy",
    "includePVVisits",
    "includeNoResultValue",
    "avoidMoves",
    "allowMoves",
    "overrideSettings",
    "reportDuringSearchEvery",
    "priority",
    "priorities",
];

/// Fields that request unsupported output.
const UNSUPPORTED: [(&str, &str); 3] = [
    (
        "includeOwnershipStdev",
        "the standard deviation of ownership is not supported",
    ),
    (
        "includeMovesOwnershipStdev",
        "the standard deviation of ownership is not supported",
    ),
    ("includeNoResultValue", "the probability of no result is not supported"),
];

impl ParsedQuery {
    pub(super) fn read(id: String, object: &Map<String, Value>, defaults: &Defaults) -> Result<ParsedQuery, Problem> {
        let fields = Fields(object);
        let mut warnings: Vec<Problem> = unknown_fields(object).collect();
        let (rules, warning) = rules(fields, defaults.rules)?;
        warnings.extend(warning);
        let game = DescribedGame::read(fields, rules, komi(fields, defaults.komi)?)?;
        let (restrictions, not_followed) = restrictions(fields, game.size())?;
        warnings.extend(not_followed);
        for (field, message) in UNSUPPORTED {
            if fields.flag(field)? {
                warnings.push(Problem::about(field, message));
            }
        }
        let query = Query {
            id,
            size: game.size(),
            komi: game.komi(),
            settings: settings(fields, defaults, &mut warnings)?,
            restrictions,
            ownership: fields.flag("includeOwnership")?,
            moves_ownership: fields.flag("includeMovesOwnership")?,
            policy: fields.flag("includePolicy")?,
            pv_visits: fields.flag("includePVVisits")?,
            report_every: fields.number("reportDuringSearchEvery", 0.001, 1e6)?,
        };
        let turns = turns(fields, game.turns())?;
        let mut sorted: Vec<usize> = turns.iter().map(|&(turn, _)| turn).collect();
        sorted.sort_unstable();
        let found = game.positions(&sorted)?;
        let position_at = |turn| {
            let place = sorted.binary_search(&turn).expect("every turn was requested");
            found[place].clone()
        };
        Ok(ParsedQuery {
            query,
            positions: turns
                .into_iter()
                .map(|(turn, priority)| (turn, priority, position_at(turn)))
                .collect(),
            warnings,
        })
    }
}

fn unknown_fields(object: &Map<String, Value>) -> impl Iterator<Item = Problem> {
    let unknown = object.keys().filter(|name| !FIELDS.contains(&name.as_str()));
    unknown.map(|name| Problem::about(name, "unknown field, ignored"))
}

/// The settings of a query: the defaults, changed by its own fields and then by `overrideSettings`.
fn settings(fields: Fields<'_>, defaults: &Defaults, warnings: &mut Vec<Problem>) -> Result<Settings, Problem> {
    let mut settings = defaults.settings.clone();
    if let Some(visits) = fields.whole("maxVisits", 1, i64::MAX)? {
        settings.visits = visits.min(MAX_VISITS) as u32;
    }
    for name in ["rootPolicyTemperature", "rootFpuReductionMax", "analysisPVLen"] {
        let Some(value) = fields.get(name) else { continue };
        match settings.set(name, value) {
            Err(SettingError::Value { message, .. }) => return Err(Problem::about(name, message)),
            Err(unknown) => warnings.push(Problem::about(name, unknown.to_string())),
            Ok(()) => {}
        }
    }
    let field = "overrideSettings";
    if let Some(overrides) = fields.object(field)? {
        let unknown = settings.set_all(overrides);
        let unknown = unknown.map_err(|error| Problem::about(field, error.to_string()))?;
        warnings.extend(unknown.map(|message| Problem::about(field, message)));
    }
    Ok(settings)
}

/// The turns to analyze with their priorities, each turn once; the last turn if none are given.
fn turns(fields: Fields<'_>, last: usize) -> Result<Vec<(usize, i64)>, Problem> {
    let named = fields.whole_list("analyzeTurns", 0, last as i64)?;
    if named.as_ref().is_some_and(Vec::is_empty) {
        return Err(Problem::about("analyzeTurns", "expected at least one turn, found none"));
    }
    let turns = named.unwrap_or_else(|| vec![last as i64]);
    let common = fields.whole("priority", i64::MIN, i64::MAX)?.unwrap_or(0);
    let priorities = match fields.whole_list("priorities", i64::MIN, i64::MAX)? {
        Some(list) if list.len() == turns.len() => list,
        Some(list) => {
            let message = format!(
                "expected one priority for each of {} turns, found {}",
                turns.len(),
                list.len()
            );
            return Err(Problem::about("priorities", message));
        }
        None => vec![common; turns.len()],
    };
    let mut found: Vec<(usize, i64)> = Vec::with_capacity(turns.len());
    let mut seen = vec![false; last + 1];
    for (turn, priority) in turns.into_iter().zip(priorities) {
        if !std::mem::replace(&mut seen[turn as usize], true) {
            found.push((turn as usize, priority));
        }
    }
    Ok(found)
}
