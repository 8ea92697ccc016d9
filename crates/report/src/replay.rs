//! Games as data for the board on the page: every turn with the stones it removed, so that the page's script does not
//! need to know the rules.

use serde::Serialize;

use tengen_records::{EndReason, GameKind, GameRecord, OPENING, RecordError};
use tengen_rules::{Color, Move, Outcome, Position};

/// Number of the search's favorite moves shown on the board.
const LIKED: usize = 3;
/// Moves with a lower probability are not shown.
const LEAST_LIKED: f32 = 0.03;

/// One game, ready for replay.
#[derive(Serialize)]
pub(super) struct Replay {
    /// Heading in the list of games.
    group: String,
    /// The game's line in the list of games.
    title: String,
    black: String,
    white: String,
    komi: String,
    /// The result and how the game ended, as text.
    result: String,
    width: usize,
    height: usize,
    turns: Vec<Turn>,
    /// Final owner of every point in reading order: `B`, `W` or `.`; empty without a score.
    owners: String,
    /// The game's SGF file.
    sgf: String,
}

/// One turn and the search before it. Values and margins are from Black's viewpoint.
#[derive(Serialize)]
struct Turn {
    /// Point in reading order; absent for a pass.
    #[serde(rename = "p", skip_serializing_if = "Option::is_none")]
    point: Option<usize>,
    /// The turn's name, such as `C3` or `pass`.
    #[serde(rename = "n")]
    name: String,
    /// Points emptied by the turn.
    #[serde(rename = "x", skip_serializing_if = "Vec::is_empty")]
    removed: Vec<usize>,
    /// P(win) - P(loss) for Black; absent without a search.
    #[serde(rename = "v", skip_serializing_if = "Option::is_none")]
    value: Option<f32>,
    /// The same from the network alone.
    #[serde(rename = "w", skip_serializing_if = "Option::is_none")]
    network_value: Option<f32>,
    /// Expected margin in points, Black minus White after komi.
    #[serde(rename = "m", skip_serializing_if = "Option::is_none")]
    margin: Option<f32>,
    /// Visits of the search.
    #[serde(rename = "s")]
    visits: u16,
    /// Whether the turn was part of the opening or random.
    #[serde(rename = "o", skip_serializing_if = "std::ops::Not::not")]
    opening: bool,
    /// The search's favorite moves, as the point (for a pass, the number of points) and its percentage.
    #[serde(rename = "l", skip_serializing_if = "Vec::is_empty")]
    liked: Vec<(u16, u8)>,
}

impl Replay {
    /// Replays the game and records what each turn changes. `source` says where the game comes from.
    pub(super) fn of(game: &GameRecord, source: &str) -> Result<Replay, RecordError> {
        let mut position = game.start()?;
        let turns: Result<_, _> = (0..game.plies.len())
            .map(|ply| Turn::play(game, ply, &mut position))
            .collect();
        Ok(Replay {
            group: match game.kind {
                GameKind::SelfPlay => "Self-play".into(),
                GameKind::Match => "Matches".into(),
                GameKind::Import => "Imported".into(),
            },
            title: format!("{source}: {}, {} plies", result_text(game), game.plies.len()),
            black: game.black_model.clone(),
            white: game.white_model.clone(),
            komi: game.komi.to_string(),
            result: result_in_words(game),
            width: game.size.width(),
            height: game.size.height(),
            turns: turns?,
            owners: game
                .ownership
                .iter()
                .map(|owner| ['W', '.', 'B'][(owner.signum() + 1) as usize])
                .collect(),
            sgf: tengen_sgf::write_sgf(game),
        })
    }
}

impl Turn {
    /// Plays one turn of the game and records what it changes.
    fn play(game: &GameRecord, ply: usize, position: &mut Position) -> Result<Turn, RecordError> {
        let record = &game.plies[ply];
        let played = match record.mv {
            Move::Play(point) => Some(point),
            Move::Pass => None,
        };
        let mut before: Vec<_> = game
            .size
            .points()
            .filter(|point| position.at(*point).is_some())
            .collect();
        // A stone may remove itself where suicide is legal.
        before.extend(played);
        position.try_play(record.mv).map_err(|reason| {
            let mv = record.mv.format(game.size);
            RecordError::IllegalMove { ply, mv, reason }
        })?;
        let removed = before.into_iter().filter(|point| position.at(*point).is_none());
        // The record's values are from the mover's viewpoint.
        let side = if game.mover(ply) == Color::Black { 1.0 } else { -1.0 };
        let black = |value: f32, digits: f32| (record.root_visits > 0).then(|| rounded(side * value, digits));
        Ok(Turn {
            point: played.map(|point| point.index()),
            name: record.mv.format(game.size),
            removed: removed.map(|point| point.index()).collect(),
            value: black(record.root_value, 1000.0),
            network_value: black(record.network_value, 1000.0),
            margin: black(record.root_margin, 10.0),
            visits: record.root_visits,
            opening: record.has(OPENING),
            liked: liked(&record.policy),
        })
    }
}

/// The game's result for Black: 1 won, 0 tied, −1 lost; `None` if it is unknown.
pub(super) fn outcome_value(game: &GameRecord) -> Option<f32> {
    game.outcome().map(|outcome| match outcome {
        Outcome::BlackWins => 1.0,
        Outcome::Tie => 0.0,
        Outcome::WhiteWins => -1.0,
    })
}

fn liked(policy: &[(u16, f32)]) -> Vec<(u16, u8)> {
    let mut best: Vec<_> = policy.iter().copied().filter(|turn| turn.1 >= LEAST_LIKED).collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best.iter()
        .take(LIKED)
        .map(|&(index, share)| (index, (share * 100.0).round() as u8))
        .collect()
}

fn rounded(value: f32, digits: f32) -> f32 {
    // Adding zero turns -0 into 0.
    (value * digits).round() / digits + 0.0
}

/// The result for a list, as in SGF if somebody won, or else in words.
fn result_text(game: &GameRecord) -> String {
    match game.outcome() {
        None => "unfinished".into(),
        Some(Outcome::Tie) => "tie".into(),
        Some(_) => game.result_text(),
    }
}

/// The result of a game, in words: `Black wins by 3.5 points`, or why there is none.
pub fn result_in_words(game: &GameRecord) -> String {
    let winner = match game.outcome() {
        None => return format!("no result: {}", why_no_result(game.end_reason)),
        Some(Outcome::Tie) => return "a tie".to_owned(),
        Some(Outcome::BlackWins) => "Black",
        Some(Outcome::WhiteWins) => "White",
    };
    match (game.end_reason, game.margin_points()) {
        (EndReason::Resign, _) => format!("{winner} wins by resignation"),
        (EndReason::Forfeit, _) => format!("{winner} wins by forfeit"),
        (_, Some(margin)) if margin.abs() == 1.0 => format!("{winner} wins by 1 point"),
        (_, Some(margin)) => format!("{winner} wins by {} points", margin.abs()),
        (_, None) => format!("{winner} wins"),
    }
}

fn why_no_result(reason: EndReason) -> &'static str {
    match reason {
        EndReason::PlyLimit => "the ply limit was reached",
        EndReason::UndecidedLife => "the life of some chains is undecided",
        _ => "the record ends before the game is over",
    }
}

/// The games for the page, as many as fit into `budget` bytes of JSON, in order. Skips games that break the rules,
/// which the store's readers have already reported.
pub(super) fn replays(games: &[(String, GameRecord)], budget: usize) -> (usize, String) {
    let mut json = String::from("[");
    let mut shown = 0;
    for (source, game) in games {
        let Ok(replay) = Replay::of(game, source) else { continue };
        let Ok(text) = serde_json::to_string(&replay) else {
            continue;
        };
        // Inside a script element, nothing may look like a tag.
        let text = text.replace('<', "\\u003c");
        if json.len() + text.len() > budget {
            break;
        }
        if shown > 0 {
            json.push(',');
        }
        json.push_str(&text);
        shown += 1;
    }
    json.push(']');
    (shown, json)
}

#[cfg(test)]
mod tests {
    use tengen_rules::Size;

    use super::*;

    #[test]
    fn turns_and_removed_stones_reproduce_every_position() {
        let size = Size::new(5, 4).unwrap();
        for seed in 0..20 {
            let game = tengen_testing::random_game(size, seed, 200);
            let replay = Replay::of(&game, "test").unwrap();
            let replay = serde_json::to_value(&replay).unwrap();
            let mut position = game.start().unwrap();
            let mut points = vec![None; size.area()];
            for (ply, turn) in replay["turns"].as_array().unwrap().iter().enumerate() {
                if let Some(point) = turn["p"].as_u64() {
                    points[point as usize] = Some(game.mover(ply));
                }
                for point in turn["x"].as_array().into_iter().flatten() {
                    points[point.as_u64().unwrap() as usize] = None;
                }
                position.play(game.plies[ply].mv);
                let expected: Vec<_> = size.points().map(|point| position.at(point)).collect();
                assert_eq!(points, expected, "seed {seed}, ply {ply}");
            }
        }
    }
}
