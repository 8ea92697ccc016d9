//! Which columns has a dataset of positions, and how does a game fill them?

use tengen_rules::{Color, Move, Position};

use super::column::Kind::{Bool, Float32, Int8, Int16, Int32, Int64};
use super::column::Shape::{Moves, Points};
use super::column::{Column, Field, Kind};
use super::source::GameSource;
use super::table::{Cells, Table};
use crate::record::{EXPLORED, FULL_SEARCH, OPENING, PlyRecord};

/// One position of a game, before its turn.
pub(crate) struct PositionRow<'a> {
    pub(crate) game: &'a GameSource<'a>,
    pub(crate) position: &'a Position,
    pub(crate) ply: usize,
    pub(crate) turn: &'a PlyRecord,
}

type Put = fn(&PositionRow<'_>, &mut Cells);

const fn column(field: Field, put: Put) -> Column<Put> {
    Column { field, put }
}

const NO_SCORE: &str = "the game did not end by two passes";
const NO_SEARCH: &str = "the turn was not chosen by a search";

/// The columns of a dataset of positions, in order.
pub(crate) const POSITION_COLUMNS: &[Column<Put>] = &[
    column(
        Field::text(
            "game_id",
            "",
            "Name of the game, unique in its store. With `ply` it names the position.",
        ),
        |row, out| out.text(&row.game.id),
    ),
    column(
        Field::one(
            "ply",
            Int32,
            "turns, 0 at the start",
            "Turns taken before this position.",
        ),
        |row, out| out.int(row.ply as i64),
    ),
    column(
        Field::one("width", Int8, "points, 1 to 19", "Columns of the board."),
        |row, out| out.int(row.position.size().width() as i64),
    ),
    column(
        Field::one("height", Int8, "points, 1 to 19", "Rows of the board."),
        |row, out| out.int(row.position.size().height() as i64),
    ),
    column(
        Field::text(
            "rules",
            "",
            "Rule set of the game; `tromp_taylor` = positional superko, suicide allowed, two passes end the game, area score.",
        ),
        |row, out| out.text(&row.game.rules),
    ),
    column(
        Field::one(
            "komi",
            Float32,
            "points, a multiple of 0.5, White's",
            "Points added to White's area.",
        ),
        |row, out| out.float(row.game.record.komi.points()),
    ),
    column(
        Field::one(
            "to_move",
            Int8,
            "1 Black, -1 White",
            "The side to move, called the mover.",
        ),
        |row, out| out.int(sign(row.position.to_move())),
    ),
    column(
        Field::one(
            "consecutive_passes",
            Int8,
            "0 or 1",
            "1 when the last turn was a pass: then a pass ends the game.",
        ),
        |row, out| out.int(row.position.consecutive_passes() as i64),
    ),
    column(
        Field::new(
            "board",
            Int8,
            Points,
            "1 Black stone, -1 White stone, 0 empty",
            "The stones, by replay.",
        ),
        |row, out| put_board(row.position, out),
    ),
    column(
        Field::new(
            "legal",
            Int8,
            Moves,
            "1 legal, 0 not",
            "Moves the rules allow the mover, by replay with the whole history; the last item is the pass.",
        ),
        |row, out| put_legal(row.position, out),
    ),
    column(
        Field::new(
            "superko_banned",
            Int8,
            Points,
            "1 banned, 0 not",
            "Empty points that are refused to the mover by the ko rule alone, one-stone suicides that it refuses included.",
        ),
        |row, out| out.points(row.position.size(), &row.position.superko_banned(), &Default::default()),
    ),
    column(
        Field::one(
            "margin_now",
            Int16,
            "points, Black minus White, without komi",
            "Area score of the board as it stands: stones and the empty points that reach only one color.",
        ),
        |row, out| out.int(row.position.board_margin()),
    ),
    column(
        Field::one(
            "move",
            Int16,
            "point index, height * width = pass",
            "The turn that was taken.",
        ),
        |row, out| out.int(row.turn.mv.index(row.position.size()) as i64),
    ),
    column(
        Field::one(
            "opening",
            Bool,
            "",
            "Whether the turn was given or drawn at random before play began; such turns were not trained on.",
        ),
        |row, out| out.flag(row.is_opening()),
    ),
    column(
        Field::one(
            "full_search",
            Bool,
            "",
            "Whether the search before the turn had its full number of visits.",
        ),
        |row, out| out.flag(row.turn.has(FULL_SEARCH)),
    ),
    column(
        Field::one(
            "explored",
            Bool,
            "",
            "Whether the turn was chosen for exploration, not because it was thought best.",
        ),
        |row, out| out.flag(row.turn.has(EXPLORED)),
    ),
    column(
        Field::one(
            "weight",
            Float32,
            "0 or more",
            "Weight of the position in training; 0 = not trained on.",
        ),
        |row, out| out.float(row.turn.weight),
    ),
    column(
        Field::new(
            "policy",
            Float32,
            Moves,
            "probability, 0 to 1, sums to 1, the mover's moves",
            "Policy target: the search's improved policy; illegal moves have 0.",
        )
        .null("there was no policy target"),
        put_policy,
    ),
    column(
        Field::one(
            "root_value",
            Float32,
            "P(win) - P(loss), -1 to 1, mover's view",
            "The search's value of the move it chose.",
        )
        .null(NO_SEARCH),
        |row, out| row.searched(out, row.turn.root_value),
    ),
    column(
        Field::one(
            "root_score",
            Float32,
            "points after komi, mover's view",
            "The search's expected margin at the end of the game.",
        )
        .null(NO_SEARCH),
        |row, out| row.searched(out, row.turn.root_margin),
    ),
    column(
        Field::one(
            "root_visits",
            Int32,
            "visits",
            "Visits of the root; 0 without a search.",
        ),
        |row, out| out.int(row.turn.root_visits),
    ),
    column(
        Field::one(
            "network_value",
            Float32,
            "P(win) - P(loss), -1 to 1, mover's view",
            "The network's value of the position without a search.",
        )
        .null(NO_SEARCH),
        |row, out| row.searched(out, row.turn.network_value),
    ),
    column(
        Field::one(
            "outcome",
            Int8,
            "1 Black won, 0 tie, -1 White won",
            "Result of the game after komi, resignation and forfeit included.",
        )
        .null("the game has no result (ply limit)"),
        |row, out| row.game.put_outcome(out),
    ),
    column(
        Field::one(
            "area_margin",
            Int16,
            "points, Black minus White, without komi",
            "Strict area score at the end of the game: what stands is counted, nothing is taken off as dead.",
        )
        .null(NO_SCORE),
        |row, out| row.game.put_area_margin(out),
    ),
    column(
        Field::one(
            "score",
            Float32,
            "points, Black minus White, after komi",
            "Score at the end of the game, as the rules count it.",
        )
        .null(NO_SCORE),
        |row, out| row.game.put_score(out),
    ),
    column(
        Field::new(
            "ownership",
            Int8,
            Points,
            "1 Black, -1 White, 0 neither",
            "Owner of every point at the end of the game by area.",
        )
        .null(NO_SCORE),
        |row, out| row.game.put_ownership(out),
    ),
    column(
        Field::text(
            "end_reason",
            "",
            "`two_passes` and `settled` (scored), `ply_limit` (unfinished, no result), `resign`, `forfeit` (the side to move lost, no score).",
        ),
        |row, out| out.text(&row.game.end_reason),
    ),
    column(
        Field::one("game_plies", Int32, "turns", "Length of the game."),
        |row, out| out.int(row.game.record.plies.len() as i64),
    ),
    column(Field::text("kind", "", "`selfplay` or `match`."), |row, out| {
        out.text(&row.game.kind)
    }),
    column(
        Field::one(
            "generation",
            Int32,
            "",
            "Generation of the model that played; its number in the store.",
        )
        .null("the game is not of self-play"),
        |row, out| row.game.put_generation(out),
    ),
    column(
        Field::text("black_model", "", "Model or player that played Black."),
        |row, out| out.text(&row.game.black_model),
    ),
    column(
        Field::text("white_model", "", "Model or player that played White."),
        |row, out| out.text(&row.game.white_model),
    ),
    column(
        Field::text("config_id", "", "Configuration the game was played under."),
        |row, out| out.text(&row.game.config_id),
    ),
    column(
        Field::one("seed", Int64, "", "Seed of the game's random choices."),
        |row, out| out.int(row.game.record.seed),
    ),
    column(
        Field::one(
            "start_time",
            Kind::Time,
            "UTC",
            "When the game began; 1970-01-01 where an imported file does not say.",
        ),
        |row, out| out.int(row.game.record.start_time_ms),
    ),
    column(
        Field::text(
            "shard",
            "",
            "Path of the shard in the store the position comes from; it ends with the shard's SHA-256.",
        ),
        |row, out| out.text(&row.game.shard),
    ),
];

/// Adds a position to a table of [`POSITION_COLUMNS`].
pub(crate) fn push_position(table: &mut Table, row: &PositionRow<'_>) {
    for (column, cells) in POSITION_COLUMNS.iter().zip(&mut table.columns) {
        (column.put)(row, cells);
    }
    table.rows += 1;
}

/// 1 for Black, -1 for White.
pub(crate) fn sign(color: Color) -> i64 {
    match color {
        Color::Black => 1,
        Color::White => -1,
    }
}

impl PositionRow<'_> {
    pub(crate) fn is_opening(&self) -> bool {
        self.turn.has(OPENING) || self.ply < usize::from(self.game.record.opening_plies)
    }

    fn searched(&self, out: &mut Cells, value: f32) {
        match self.turn.root_visits {
            0 => out.missing(),
            _ => out.float(value),
        }
    }
}

/// The stones, one number per point.
pub(crate) fn put_board(position: &Position, out: &mut Cells) {
    out.points(
        position.size(),
        &position.stones(Color::Black),
        &position.stones(Color::White),
    );
}

/// The legal moves, one number per move.
pub(crate) fn put_legal(position: &Position, out: &mut Cells) {
    out.moves(position.size(), &position.legal_points(), position.is_legal(Move::Pass));
}

fn put_policy(row: &PositionRow<'_>, out: &mut Cells) {
    if row.turn.policy.is_empty() {
        return out.missing();
    }
    let mut dense = vec![0.0; row.position.size().area() + 1];
    for &(index, probability) in &row.turn.policy {
        dense[usize::from(index)] = probability;
    }
    out.floats(dense);
}
