//! The columns of a dataset of games and how a game fills them.

use tengen_rules::{Color, Position};
use tengen_store::GamesOf;

use super::column::Kind::{Float32, Int8, Int16, Int32};
use super::column::Shape::{Many, Points};
use super::column::{Column, Field, fields};
use super::shared::{CLAIMS, NAME, PROVENANCE, RESULT, SIZE, claims, fill, put_board, sign};
use super::source::GameSource;
use super::table::{Cells, Table};

/// A game with its first and last position and the side that played each turn.
pub(crate) struct GameRow<'a> {
    pub(crate) game: &'a GameSource<'a>,
    pub(crate) start: &'a Position,
    pub(crate) last: &'a Position,
    pub(crate) movers: &'a [Color],
}

type Put = fn(&GameRow<'_>, &mut Cells);

/// The columns that only a dataset of games has.
const GAME_COLUMNS: &[Column<Put>] = &[
    Column::new(
        Field::one("plies", Int32, "turns", "Length of the game, including passes."),
        |row, out| out.int(row.game.record.plies.len() as i64),
    ),
    Column::new(
        Field::one(
            "opening_plies",
            Int32,
            "turns",
            "Number of leading turns that were given or drawn at random and are not trained on.",
        ),
        |row, out| out.int(row.game.record.opening_plies),
    ),
    Column::new(
        Field::one(
            "handicap",
            Int16,
            "stones",
            "Black's handicap stones, including those played as the first turns; 0 in an even game.",
        ),
        |row, out| out.int(row.start.handicap().stones()),
    ),
    Column::new(
        Field::new(
            "start_board",
            Int8,
            Points,
            "1 Black stone, -1 White stone, 0 empty",
            "The board before the first turn, with handicap and setup stones.",
        ),
        |row, out| put_board(row.start, out),
    ),
    Column::new(
        Field::new(
            "moves",
            Int16,
            Many,
            "point index, height * width = pass; one per turn",
            "The turns in order.",
        ),
        |row, out| out.ints(row.per_turn(|turn| turn.mv.index(row.start.size()) as i64)),
    ),
    Column::new(
        Field::new(
            "movers",
            Int8,
            Many,
            "1 Black, -1 White; one per turn",
            "The side that played each turn, called the mover; the sides alternate except for handicap stones.",
        ),
        |row, out| out.ints(row.movers.iter().map(|&color| sign(color))),
    ),
    Column::new(
        Field::new(
            "flags",
            Int8,
            Many,
            "bits; one per turn",
            "1 searched with the full number of visits, 2 opening, 4 exploration move.",
        ),
        |row, out| out.ints(row.per_turn(|turn| i64::from(turn.flags))),
    ),
    Column::new(
        Field::new(
            "root_value",
            Float32,
            Many,
            "P(win) - P(loss), -1 to 1, from the mover's view; one per turn",
            "The search value of the chosen move; 0 where `root_visits` is 0.",
        ),
        |row, out| out.floats(row.per_turn(|turn| turn.root_value)),
    ),
    Column::new(
        Field::new(
            "root_score",
            Float32,
            Many,
            "points after komi, from the mover's view; one per turn",
            "The expected margin according to the search; 0 where `root_visits` is 0.",
        ),
        |row, out| out.floats(row.per_turn(|turn| turn.root_margin)),
    ),
    Column::new(
        Field::new(
            "root_visits",
            Int32,
            Many,
            "visits; one per turn",
            "Root visits; 0 without a search.",
        ),
        |row, out| out.ints(row.per_turn(|turn| i64::from(turn.root_visits))),
    ),
    Column::new(
        Field::new(
            "network_value",
            Float32,
            Many,
            "P(win) - P(loss), -1 to 1, from the mover's view; one per turn",
            "The raw network value without a search; 0 where `root_visits` is 0.",
        ),
        |row, out| out.floats(row.per_turn(|turn| turn.network_value)),
    ),
    Column::new(
        Field::new(
            "weight",
            Float32,
            Many,
            "0 or more; one per turn",
            "Training weight; 0 = not trained on.",
        ),
        |row, out| out.floats(row.per_turn(|turn| turn.weight)),
    ),
    Column::new(
        Field::new(
            "policy_counts",
            Int16,
            Many,
            "entries; one per turn",
            "Number of entries in the next two columns that belong to the turn.",
        ),
        |row, out| out.ints(row.per_turn(|turn| turn.policy.len() as i64)),
    ),
    Column::new(
        Field::new(
            "policy_moves",
            Int16,
            Many,
            "point index, height * width = pass",
            "Moves of the policy targets, turn by turn.",
        ),
        |row, out| out.ints(row.policies().map(|entry| i64::from(entry.0))),
    ),
    Column::new(
        Field::new(
            "policy_probabilities",
            Float32,
            Many,
            "probability, 0 to 1",
            "The search's improved policy without its smallest probabilities (see how the labels were made); the \
             entries of a turn sum to 1.",
        ),
        |row, out| out.floats(row.policies().map(|entry| entry.1)),
    ),
    Column::new(
        Field::new(
            "final_board",
            Int8,
            Points,
            "1 Black stone, -1 White stone, 0 empty",
            "The board after the last turn, from replaying the game.",
        ),
        |row, out| put_board(row.last, out),
    ),
];

/// The columns of a dataset of games of this kind, in order.
pub(crate) fn game_fields(games: &GamesOf) -> Vec<Field> {
    let parts = [
        fields(NAME),
        fields(SIZE),
        fields(GAME_COLUMNS),
        fields(RESULT),
        fields(PROVENANCE),
    ];
    [parts.concat(), fields(claims(games))].concat()
}

/// Adds a game to a table of [`game_fields`].
pub(crate) fn push_game(table: &mut Table, row: &GameRow<'_>) {
    let cells = &mut table.columns.iter_mut();
    fill(NAME, cells, |put, cells| put(row.game, cells));
    fill(SIZE, cells, |put, cells| put(row.start.size(), cells));
    fill(GAME_COLUMNS, cells, |put, cells| put(row, cells));
    for columns in [RESULT, PROVENANCE, CLAIMS] {
        fill(columns, cells, |put, cells| put(row.game, cells));
    }
    table.rows += 1;
}

impl<'a> GameRow<'a> {
    fn per_turn<T>(&self, get: impl Fn(&'a tengen_records::PlyRecord) -> T) -> impl Iterator<Item = T> {
        self.game.record.plies.iter().map(get)
    }

    fn policies(&self) -> impl Iterator<Item = (u16, f32)> {
        self.game
            .record
            .plies
            .iter()
            .flat_map(|turn| turn.policy.iter().copied())
    }
}
