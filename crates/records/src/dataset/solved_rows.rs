//! Which columns has a dataset of solved positions, and how does a state fill them?

use tengen_rules::{Move, PointSet, Position};

use super::column::Kind::{Float32, Int8, Int16, Int32, Int64};
use super::column::Shape::{Many, Moves, Points};
use super::column::{Column, Field};
use super::positions::{put_board, put_legal, sign};
use super::table::{Cells, Table};

/// A state with its value, ready to be a row.
pub(crate) struct Solved {
    pub(crate) position: Position,
    pub(crate) sequences: u64,
    pub(crate) margin: i32,
    /// Every legal move with the margin it leads to.
    pub(crate) moves: Vec<(Move, i32)>,
}

type Put = fn(&Solved, &mut Cells);

const fn column(field: Field, put: Put) -> Column<Put> {
    Column { field, put }
}

/// The columns of a dataset of solved positions, in order.
pub(crate) const SOLVED_COLUMNS: &[Column<Put>] = &[
    column(
        Field::one("width", Int8, "points", "Columns of the board."),
        |row, out| out.int(row.position.size().width() as i64),
    ),
    column(
        Field::one("height", Int8, "points", "Rows of the board."),
        |row, out| out.int(row.position.size().height() as i64),
    ),
    column(
        Field::one("ply", Int32, "turns, 0 at the start", "Turns taken before this state."),
        |row, out| out.int(row.position.ply() as i64),
    ),
    column(
        Field::one(
            "sequences",
            Int64,
            "sequences of `ply` turns",
            "How many move sequences from the empty board lead to this state or a mirror image of it; over all rows of one ply they sum to the number of all sequences that are not over.",
        ),
        |row, out| out.int(row.sequences as i64),
    ),
    column(
        Field::new(
            "moves",
            Int16,
            Many,
            "point index, height * width = pass; Black first",
            "One of these sequences: the history that superko looks back at.",
        ),
        |row, out| {
            out.ints(
                row.position
                    .moves()
                    .iter()
                    .map(|mv| mv.index(row.position.size()) as i64),
            )
        },
    ),
    column(
        Field::one("to_move", Int8, "1 Black, -1 White", "The side to move."),
        |row, out| out.int(sign(row.position.to_move())),
    ),
    column(
        Field::one(
            "consecutive_passes",
            Int8,
            "0 or 1",
            "1 when the last turn was a pass: then a pass ends the game.",
        ),
        |row, out| out.int(row.position.consecutive_passes()),
    ),
    column(
        Field::new(
            "board",
            Int8,
            Points,
            "1 Black stone, -1 White stone, 0 empty",
            "The stones.",
        ),
        |row, out| put_board(&row.position, out),
    ),
    column(
        Field::new(
            "legal",
            Int8,
            Moves,
            "1 legal, 0 not",
            "Moves the rules allow the side to move; the last item is the pass.",
        ),
        |row, out| put_legal(&row.position, out),
    ),
    column(
        Field::new(
            "superko_banned",
            Int8,
            Points,
            "1 banned, 0 not",
            "Empty points that superko refuses to the side to move, one-stone suicides included.",
        ),
        |row, out| out.points(row.position.size(), &row.position.superko_banned(), &PointSet::new()),
    ),
    column(
        Field::one(
            "margin_now",
            Int16,
            "points, Black minus White, without komi",
            "Area score of the board as it stands.",
        ),
        |row, out| out.int(row.position.board_margin()),
    ),
    column(
        Field::one(
            "margin",
            Int16,
            "points, Black minus White, without komi",
            "Exact area score at the end of the game if both sides play best from here. With komi k Black wins if it is above k.",
        ),
        |row, out| out.int(row.margin),
    ),
    column(
        Field::new(
            "move_margins",
            Float32,
            Moves,
            "points, Black minus White; NaN for illegal moves",
            "The same after each move: exact.",
        ),
        |row, out| out.floats(row.by_move(f32::NAN, |margin| margin as f32)),
    ),
    column(
        Field::new(
            "best_moves",
            Int8,
            Moves,
            "1 best, 0 not",
            "All moves that keep the margin, which is the best for the side to move.",
        ),
        |row, out| out.ints(row.by_move(0, |margin| i8::from(margin == row.margin))),
    ),
];

/// Adds a state to a table of [`SOLVED_COLUMNS`].
pub(crate) fn push_state(table: &mut Table, state: &Solved) {
    for (column, cells) in SOLVED_COLUMNS.iter().zip(&mut table.columns) {
        (column.put)(state, cells);
    }
    table.rows += 1;
}

impl Solved {
    /// One item per move: `none` for illegal ones.
    fn by_move<T: Copy>(&self, none: T, of: impl Fn(i32) -> T) -> Vec<T> {
        let size = self.position.size();
        let mut items = vec![none; size.area() + 1];
        self.moves
            .iter()
            .for_each(|&(mv, margin)| items[mv.index(size)] = of(margin));
        items
    }
}
