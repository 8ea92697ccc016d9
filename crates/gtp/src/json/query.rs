//! What does a query ask for?

use serde_json::{Map, Value};
use tengen_rules::{Komi, Position, Size};

use super::desk::Defaults;
use super::fields::{Complaint, Fields};
use super::position::{Described, komi, restrictions, rules};
use super::settings::{MOST_VISITS, SettingError, Settings};
use crate::analysis::Restrictions;

/// What one query wants to know about every one of its turns.
#[derive(Clone, Debug)]
pub struct Query {
    /// The name under which it is answered.
    pub(super) id: String,
    /// The board.
    pub size: Size,
    /// Points for White, in half points.
    pub komi: Komi,
    /// How each position is searched, and whose chances are told.
    pub settings: Settings,
    /// The moves the analysis may begin with.
    pub restrictions: Restrictions,
    /// Whether the owner of each point is wanted.
    pub ownership: bool,
    /// Whether the owner of each point after each move is wanted.
    pub moves_ownership: bool,
    /// Whether the network's probabilities of all moves are wanted.
    pub policy: bool,
    /// Whether the visits along each variation are wanted.
    pub pv_visits: bool,
    /// Seconds between two reports during the search; none for the last one only.
    pub report_every: Option<f64>,
}

impl Query {
    /// The name under which it is answered.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// A query taken apart: the question, the positions with turn and priority in the order they are named, and warnings.
pub(super) struct Asked {
    pub(super) query: Query,
    pub(super) positions: Vec<(usize, i64, Position)>,
    pub(super) warnings: Vec<Complaint>,
}

/// All fields that are read.
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

/// Fields that ask for what is not known here.
const NOT_KNOWN: [(&str, &str); 3] = [
    ("includeOwnershipStdev", "the spread of ownership is not computed here"),
    (
        "includeMovesOwnershipStdev",
        "the spread of ownership is not computed here",
    ),
    ("includeNoResultValue", "a game without a result is not predicted here"),
];

impl Asked {
    /// Reads a query.
    pub(super) fn read(id: String, object: &Map<String, Value>, defaults: &Defaults) -> Result<Asked, Complaint> {
        let fields = Fields(object);
        let mut warnings: Vec<Complaint> = unknown_fields(object).collect();
        let (rules, warning) = rules(fields, defaults.rules)?;
        warnings.extend(warning);
        let game = Described::read(fields, rules, komi(fields, defaults.komi)?)?;
        let (restrictions, not_followed) = restrictions(fields, game.size())?;
        warnings.extend(not_followed);
        for (field, message) in NOT_KNOWN {
            if fields.flag(field)? {
                warnings.push(Complaint::about(field, message));
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
            let place = sorted.binary_search(&turn).expect("every turn was looked for");
            found[place].clone()
        };
        Ok(Asked {
            query,
            positions: turns
                .into_iter()
                .map(|(turn, priority)| (turn, priority, position_at(turn)))
                .collect(),
            warnings,
        })
    }
}

fn unknown_fields(object: &Map<String, Value>) -> impl Iterator<Item = Complaint> {
    let unknown = object.keys().filter(|name| !FIELDS.contains(&name.as_str()));
    unknown.map(|name| Complaint::about(name, "unknown field: it changes nothing"))
}

/// The settings of a query: the defaults, changed by its own fields and then by `overrideSettings`.
fn settings(fields: Fields<'_>, defaults: &Defaults, warnings: &mut Vec<Complaint>) -> Result<Settings, Complaint> {
    let mut settings = defaults.settings.clone();
    if let Some(visits) = fields.whole("maxVisits", 1, i64::MAX)? {
        settings.visits = visits.min(MOST_VISITS) as u32;
    }
    for name in ["rootPolicyTemperature", "rootFpuReductionMax", "analysisPVLen"] {
        let Some(value) = fields.get(name) else { continue };
        match settings.set(name, value) {
            Err(SettingError::Value { message, .. }) => return Err(Complaint::about(name, message)),
            Err(unknown) => warnings.push(Complaint::about(name, unknown.to_string())),
            Ok(()) => {}
        }
    }
    let field = "overrideSettings";
    if let Some(overrides) = fields.object(field)? {
        let unknown = settings.set_all(overrides);
        let unknown = unknown.map_err(|error| Complaint::about(field, error.to_string()))?;
        warnings.extend(unknown.map(|message| Complaint::about(field, message)));
    }
    Ok(settings)
}

/// The turns to analyze with their priorities, each turn once; the last where none are named.
fn turns(fields: Fields<'_>, last: usize) -> Result<Vec<(usize, i64)>, Complaint> {
    let named = fields.whole_list("analyzeTurns", 0, last as i64)?;
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
            return Err(Complaint::about("priorities", message));
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
