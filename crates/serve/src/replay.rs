//! A game as JSON: its whole record, and the stones that each turn removed, so that a script need not know the rules.

use serde::Serialize;

use tengen_records::{EXPLORED, FULL_SEARCH, GameRecord, OPENING, RecordError};
use tengen_report::result_in_words;
use tengen_rules::{Color, Move, PointSet, Position};

/// A game. Points are numbered from 0 in reading order; a pass is the number of points.
#[derive(Serialize)]
pub(crate) struct Replay {
    game_id: String,
    /// `selfplay`, `match`, or `import`.
    kind: &'static str,
    width: usize,
    height: usize,
    rules: String,
    /// Points added to White's score.
    komi: f32,
    black: String,
    white: String,
    config_id: String,
    seed: i64,
    /// Milliseconds since 1970-01-01 UTC; 0 if unknown.
    start_time_ms: i64,
    /// As in SGF, such as `B+3.5`.
    result: String,
    /// The result and how the game ended, in words.
    result_in_words: String,
    end_reason: &'static str,
    /// Black's score minus White's after komi, in points; null without a score.
    margin: Option<f32>,
    opening_plies: u16,
    /// Stones on the board before the first turn.
    setup: Setup,
    turns: Vec<Turn>,
    /// Final owner of every point: 1 Black, -1 White, 0 neither; empty without a score.
    ownership: Vec<i8>,
}

#[derive(Serialize)]
struct Setup {
    black: Vec<usize>,
    white: Vec<usize>,
    /// `black` or `white`.
    to_move: &'static str,
}

/// A turn and the search before it. Values and margins are from the mover's viewpoint.
#[derive(Serialize)]
struct Turn {
    /// `black` or `white`.
    color: &'static str,
    /// The move's name, such as `C3` or `pass`.
    name: String,
    /// The index of the move.
    #[serde(rename = "move")]
    index: usize,
    /// Points that the turn emptied.
    removed: Vec<usize>,
    full_search: bool,
    opening: bool,
    explored: bool,
    /// Visits of the search; 0 without one.
    visits: u16,
    /// P(win) - P(loss) of the move according to the search, -1 to 1.
    value: f32,
    /// Expected margin after komi according to the search, in points.
    margin: f32,
    /// P(win) - P(loss) of the position according to the network alone.
    network_value: f32,
    /// Training weight.
    weight: f32,
    /// The policy target: the index of each move and its probability.
    policy: Vec<(u16, f32)>,
}

impl Replay {
    /// Replays the game.
    ///
    /// # Errors
    /// If the record breaks the rules.
    pub(crate) fn of(game: &GameRecord) -> Result<Replay, RecordError> {
        let mut position = game.start()?;
        let turns: Result<_, _> = (0..game.plies.len())
            .map(|ply| Turn::play(game, ply, &mut position))
            .collect();
        let [black, white] = game.setup.stones;
        Ok(Replay {
            game_id: game.game_id.clone(),
            kind: game.kind.name(),
            width: game.size.width(),
            height: game.size.height(),
            rules: game.rules.clone(),
            komi: game.komi.points(),
            black: game.black_model.clone(),
            white: game.white_model.clone(),
            config_id: game.config_id.clone(),
            seed: game.seed,
            start_time_ms: game.start_time_ms,
            result: game.result_text(),
            result_in_words: result_in_words(game),
            end_reason: game.end_reason.name(),
            margin: game.margin_points(),
            opening_plies: game.opening_plies,
            setup: Setup {
                black: indices(black),
                white: indices(white),
                to_move: color_name(game.setup.to_move),
            },
            turns: turns?,
            ownership: game.ownership.clone(),
        })
    }
}

impl Turn {
    fn play(game: &GameRecord, ply: usize, position: &mut Position) -> Result<Turn, RecordError> {
        let record = &game.plies[ply];
        let color = game.mover(ply);
        let mut before = position.stones(Color::Black) | position.stones(Color::White);
        if let Move::Play(point) = record.mv {
            // A stone may remove itself where suicide is legal.
            before.insert(point);
        }
        position
            .try_play(record.mv)
            .map_err(|reason| RecordError::IllegalMove {
                ply,
                mv: record.mv.format(game.size),
                reason,
            })?;
        Ok(Turn {
            color: color_name(color),
            name: record.mv.format(game.size),
            index: record.mv.index(game.size),
            removed: indices(before & position.empty_points()),
            full_search: record.has(FULL_SEARCH),
            opening: record.has(OPENING) || ply < usize::from(game.opening_plies),
            explored: record.has(EXPLORED),
            visits: record.root_visits,
            value: record.root_value,
            margin: record.root_margin,
            network_value: record.network_value,
            weight: record.weight,
            policy: record.policy.clone(),
        })
    }
}

fn indices(points: PointSet) -> Vec<usize> {
    points.iter().map(|point| point.index()).collect()
}

/// `black` or `white`.
pub(crate) fn color_name(color: Color) -> &'static str {
    match color {
        Color::Black => "black",
        Color::White => "white",
    }
}

/// `1 point`, `3.5 points`.
pub(crate) fn points(count: f32) -> String {
    format!("{count} {}", if count == 1.0 { "point" } else { "points" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_testing::random_games;

    #[test]
    fn removed_stones_lead_to_the_final_board() {
        for game in random_games(4, 20) {
            let last = game.replay().unwrap();
            let replay = Replay::of(&game).unwrap();
            let mut board = [None; 16];
            for turn in &replay.turns {
                if turn.index < 16 {
                    board[turn.index] = Some(turn.color);
                }
                turn.removed.iter().for_each(|&point| board[point] = None);
            }
            for point in game.size.points() {
                assert_eq!(board[point.index()], last.at(point).map(color_name), "{}", game.game_id);
            }
            assert_eq!(replay.turns.len(), game.plies.len());
        }
    }
}
