//! A position as a query of KataGo's analysis protocol, and the answer as a label.

use serde_json::{Value, json};

use tengen_gtp::rules_for_engine;
use tengen_records::GameRecord;
use tengen_rules::{Color, Handicap, HandicapBonus, Move, Rules, Size, format_point};

use crate::chunk::{Label, Task};
use crate::error::LabelError;

/// Longest part of an answer shown in a message, in characters.
const SHOWN: usize = 120;

/// The query about a position, with this id. The protocol counts the evaluation of the position itself as a visit.
///
/// # Errors
/// [`LabelError::Inexpressible`] for a handicap that the protocol would count otherwise.
pub(crate) fn query(task: &Task, id: u64, visits: u32) -> Result<Value, LabelError> {
    let (record, rules) = (&*task.record, task.position.rules());
    if !is_expressible(record, rules) {
        return Err(LabelError::Inexpressible {
            game: record.game_id.clone(),
            reason: "its rules give White points for handicap stones, which the protocol counts otherwise",
        });
    }
    let rules: Value = serde_json::from_str(&rules_for_engine(rules)).unwrap_or(Value::Null);
    Ok(json!({
        "id": id.to_string(),
        "rules": rules,
        "komi": record.komi.points(),
        "boardXSize": record.size.width(),
        "boardYSize": record.size.height(),
        "initialStones": stones(record),
        "initialPlayer": letter(record.mover(0)),
        "moves": moves(record, task.ply),
        "maxVisits": u64::from(visits) + 1,
        "overrideSettings": {"reportAnalysisWinratesAs": "SIDETOMOVE"},
    }))
}

/// Whether an engine counts the same handicap stones, if they count.
fn is_expressible(record: &GameRecord, rules: Rules) -> bool {
    let no_stones = record.setup.stones.iter().all(|stones| stones.is_empty());
    match record.setup.handicap {
        _ if rules.handicap_bonus == HandicapBonus::Nothing => true,
        Handicap::Even => no_stones,
        Handicap::Fixed(_) => true,
        Handicap::Consecutive(_) | Handicap::WhitePasses(_) => false,
    }
}

fn stones(record: &GameRecord) -> Vec<[String; 2]> {
    let of = |color: Color| {
        let points = record.setup.stones[color.index()];
        let pairs = points
            .iter()
            .map(|point| [letter(color).to_owned(), format_point(record.size, point)]);
        pairs.collect::<Vec<_>>()
    };
    Color::ALL.into_iter().flat_map(of).collect()
}

fn moves(record: &GameRecord, plies: usize) -> Vec<[String; 2]> {
    let pair = |(ply, played): (usize, &tengen_records::PlyRecord)| {
        [letter(record.mover(ply)).to_owned(), played.mv.format(record.size)]
    };
    record.plies.iter().take(plies).enumerate().map(pair).collect()
}

fn letter(color: Color) -> &'static str {
    match color {
        Color::Black => "B",
        Color::White => "W",
    }
}

/// The label that an answer gives a position.
///
/// # Errors
/// [`LabelError::Rejected`] for an error message, [`LabelError::Answer`] if something is missing or impossible.
pub(crate) fn label(task: &Task, answer: &Value) -> Result<Label, LabelError> {
    if let Some(message) = answer["error"].as_str() {
        return Err(LabelError::Rejected {
            game: task.record.game_id.clone(),
            ply: task.ply,
            message: message.to_owned(),
        });
    }
    let moves = moves_of(task, answer)?;
    let best = moves
        .first()
        .ok_or_else(|| wrong(task, "at least one move in moveInfos", answer))?;
    let root = &answer["rootInfo"];
    let visits = root["visits"]
        .as_u64()
        .ok_or_else(|| wrong(task, "rootInfo.visits", root))?;
    Ok(Label {
        value: best.value,
        margin: best.margin,
        visits: u32::try_from(visits.saturating_sub(1)).unwrap_or(u32::MAX),
        network_value: root["rawWinrate"].as_f64().map_or(0.0, signed),
        policy: policy(&moves),
    })
}

/// A move of an answer, with values from the viewpoint of the side to move.
struct AnsweredMove {
    index: u16,
    visits: f64,
    prior: f64,
    value: f32,
    margin: f32,
}

/// The moves of an answer, the best one first.
fn moves_of(task: &Task, answer: &Value) -> Result<Vec<AnsweredMove>, LabelError> {
    let infos = answer["moveInfos"].as_array();
    let infos = infos.ok_or_else(|| wrong(task, "a list moveInfos", answer))?;
    let mut infos: Vec<&Value> = infos.iter().collect();
    infos.sort_by_key(|info| info["order"].as_u64().unwrap_or(u64::MAX));
    infos.into_iter().map(|info| answered_move(task, info)).collect()
}

fn answered_move(task: &Task, info: &Value) -> Result<AnsweredMove, LabelError> {
    let number = |name: &'static str| {
        let found = info[name].as_f64().filter(|number| number.is_finite());
        found.ok_or_else(|| wrong(task, name, info))
    };
    Ok(AnsweredMove {
        index: legal_move(task, info)?,
        visits: number("visits")?,
        prior: number("prior")?,
        value: signed(number("winrate")?),
        margin: number("scoreLead")? as f32,
    })
}

fn legal_move(task: &Task, info: &Value) -> Result<u16, LabelError> {
    let size: Size = task.record.size;
    let mv = info["move"].as_str().and_then(|text| Move::parse(size, text).ok());
    let mv = mv.filter(|&mv| task.position.is_legal(mv));
    mv.map(|mv| mv.index(size) as u16)
        .ok_or_else(|| wrong(task, "a legal move", info))
}

/// The share of the visits of each move, or the priors if none was visited.
fn policy(moves: &[AnsweredMove]) -> Vec<(u16, f32)> {
    let visited: f64 = moves.iter().map(|mv| mv.visits).sum();
    let weight = |mv: &AnsweredMove| if visited > 0.0 { mv.visits } else { mv.prior };
    let sum: f64 = moves.iter().map(weight).sum();
    let mut policy: Vec<(u16, f32)> = moves
        .iter()
        .map(|mv| (mv.index, (weight(mv) / sum.max(f64::MIN_POSITIVE)) as f32))
        .collect();
    policy.sort_unstable_by_key(|entry| entry.0);
    policy
}

/// P(win) − P(loss) of a win rate, which counts a tie as half a win.
fn signed(winrate: f64) -> f32 {
    (2.0 * winrate - 1.0) as f32
}

fn wrong(task: &Task, expected: &'static str, found: &Value) -> LabelError {
    LabelError::Answer {
        game: task.record.game_id.clone(),
        ply: task.ply,
        expected,
        found: found.to_string().chars().take(SHOWN).collect(),
    }
}
