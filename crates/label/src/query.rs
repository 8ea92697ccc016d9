//! Turns a position into a query of KataGo's analysis protocol, and the answer into a label.

use serde_json::{Value, json};

use tengen_gtp::rules_for_engine;
use tengen_records::GameRecord;
use tengen_rules::{Color, Handicap, HandicapBonus, Move, Rules, Size, format_point};

use crate::chunk::{Label, Task};
use crate::error::LabelError;
use crate::owners::percents;

/// Longest part of an answer shown in a message, in characters.
const SHOWN: usize = 120;

/// The largest number accepted for an owner: rounding may take it slightly past 1.
const MOST_CERTAIN: f64 = 1.001;

/// What an engine is asked about every position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// Visits of the search, without the evaluation of the position itself.
    pub(crate) visits: u32,
    /// Whether to ask for the expected owners.
    pub(crate) ownership: bool,
}

/// The query for a position, with this id. The protocol counts the evaluation of the position itself as a visit.
///
/// # Errors
/// [`LabelError::Inexpressible`] for a handicap that the protocol would count differently.
pub(crate) fn query(task: &Task, id: u64, asked: Asked) -> Result<Value, LabelError> {
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
        "maxVisits": u64::from(asked.visits) + 1,
        "includeOwnership": asked.ownership,
        "overrideSettings": {"reportAnalysisWinratesAs": "SIDETOMOVE"},
    }))
}

/// Whether an engine counts the same handicap stones, if the rules count them at all.
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

/// Converts the answer about a position to its label.
///
/// # Errors
/// [`LabelError::Rejected`] for an error message, [`LabelError::Answer`] if something is missing or impossible.
pub(crate) fn label(task: &Task, answer: &Value, asked: Asked) -> Result<Label, LabelError> {
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
        expected_ownership: match asked.ownership {
            true => expected_ownership(task, answer)?,
            false => Vec::new(),
        },
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

/// The owners that the engine expects, or none if it has no opinion. Its numbers are from the viewpoint of the side to
/// move, as the query asks for.
fn expected_ownership(task: &Task, answer: &Value) -> Result<Vec<i8>, LabelError> {
    let owners = &answer["ownership"];
    if owners.is_null() {
        return Ok(Vec::new());
    }
    let expected = "ownership with one number from -1 to 1 for each point";
    let number = |owner: &Value| {
        let owner = owner.as_f64().filter(|owner| owner.abs() <= MOST_CERTAIN);
        owner.map(|owner| owner as f32)
    };
    let map = owners.as_array().filter(|map| map.len() == task.record.size.area());
    let map = map.and_then(|map| map.iter().map(number).collect::<Option<Vec<f32>>>());
    let map = map.ok_or_else(|| wrong(task, expected, owners))?;
    Ok(percents(&map, task.position.to_move()))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use tengen_testing::random_game;

    const ASKED: Asked = Asked {
        visits: 8,
        ownership: true,
    };

    /// A position on a board of 2 points with this side to move.
    fn task(to_move: Color) -> Task {
        let mut record = random_game(Size::new(2, 1).unwrap(), 1, 0);
        record.setup.to_move = to_move;
        Task {
            chunk: 0,
            game: 0,
            ply: 0,
            key: 0,
            position: record.start().unwrap(),
            record: Arc::new(record),
        }
    }

    /// The answer of an engine with this opinion about owners.
    fn answer(ownership: Value) -> Value {
        let pass = json!({"move": "pass", "order": 0, "visits": 8, "prior": 1, "winrate": 0.5, "scoreLead": 0});
        json!({"moveInfos": [pass], "rootInfo": {"visits": 9}, "ownership": ownership})
    }

    #[test]
    fn owners_are_asked_for_in_the_view_of_the_side_to_move() {
        let wanted = query(&task(Color::White), 1, ASKED).unwrap();
        assert_eq!(wanted["includeOwnership"], true);
        assert_eq!(wanted["overrideSettings"]["reportAnalysisWinratesAs"], "SIDETOMOVE");
        for (color, expected) in [(Color::Black, [75, -100]), (Color::White, [-75, 100])] {
            let label = label(&task(color), &answer(json!([0.75, -1])), ASKED).unwrap();
            assert_eq!(label.expected_ownership, expected);
        }
        let without = Asked {
            ownership: false,
            ..ASKED
        };
        assert_eq!(
            query(&task(Color::White), 1, without).unwrap()["includeOwnership"],
            false
        );
        let unasked = label(&task(Color::Black), &answer(json!([0.75, -1])), without).unwrap();
        assert!(unasked.expected_ownership.is_empty());
    }

    #[test]
    fn engines_may_have_no_opinion_about_owners_but_no_wrong_one() {
        let label = |ownership: Value| label(&task(Color::Black), &answer(ownership), ASKED);
        assert!(label(Value::Null).unwrap().expected_ownership.is_empty());
        assert_eq!(label(json!([1.0001, 0])).unwrap().expected_ownership, [100, 0]);
        for wrong in [
            json!([]),
            json!([1]),
            json!([0, 0, 0]),
            json!([0, null]),
            json!([0, "1"]),
            json!([0, 1.5]),
            json!([-2, 0]),
            json!({"A1": 1}),
            json!(0.5),
        ] {
            let error = label(wrong.clone()).unwrap_err().to_string();
            assert!(error.contains("ply 0: expected ownership with one number"), "{error}");
        }
    }
}
