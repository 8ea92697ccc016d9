//! The columns of a dataset of solved positions and how a state fills them.

use tengen_rules::{Move, Position};

use super::column::Kind::{Float32, Int8, Int16, Int32, Int64};
use super::column::Shape::{Many, Moves};
use super::column::{Column, Field, fields};
use super::shared::{BOARD, SIZE, fill};
use super::table::{Cells, Table};

/// A state with its value, ready to become a row.
pub(crate) struct Solved {
    pub(crate) position: Position,
    pub(crate) sequences: u64,
    pub(crate) margin: i32,
    /// Every legal move with the margin it leads to.
    pub(crate) moves: Vec<(Move, i32)>,
}

type Put = fn(&Solved, &mut Cells);

/// How a state is reached.
const REACHED: &[Column<Put>] = &[
    Column::new(
        Field::one("ply", Int32, "turns; 0 at the start", "Turns played before this state."),
        |row, out| out.int(row.position.ply() as i64),
    ),
    Column::new(
        Field::one(
            "sequences",
            Int64,
            "sequences of `ply` turns",
            "Number of move sequences from the empty board that lead to this state or a mirror image of it. Over all \
             rows of one ply they sum to the number of all sequences in which the game is not over. 0 in a sample.",
        ),
        |row, out| out.int(row.sequences as i64),
    ),
    Column::new(
        Field::new(
            "moves",
            Int16,
            Many,
            "point index, height * width = pass; Black first",
            "One of these sequences, which is the history for superko.",
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
];

/// What the search found.
const EXACT: &[Column<Put>] = &[
    Column::new(
        Field::one(
            "margin",
            Int16,
            "points, Black minus White, without komi",
            "Exact area score at the end of the game with best play by both sides from here. With komi k, Black wins \
             if it is greater than k.",
        ),
        |row, out| out.int(row.margin),
    ),
    Column::new(
        Field::new(
            "move_margins",
            Float32,
            Moves,
            "points, Black minus White; NaN for illegal moves",
            "The same after each move, also exact.",
        ),
        |row, out| out.floats(row.by_move(f32::NAN, |margin| margin as f32)),
    ),
    Column::new(
        Field::new(
            "best_moves",
            Int8,
            Moves,
            "1 best, 0 not best",
            "All moves that preserve the margin, i.e. the best moves for the side to move.",
        ),
        |row, out| out.ints(row.by_move(0, |margin| i8::from(margin == row.margin))),
    ),
];

/// The columns of a dataset of solved positions, in order.
pub(crate) fn solved_fields() -> Vec<Field> {
    [fields(SIZE), fields(REACHED), fields(BOARD), fields(EXACT)].concat()
}

/// Adds a state to a table of [`solved_fields`].
pub(crate) fn push_state(table: &mut Table, state: &Solved) {
    let cells = &mut table.columns.iter_mut();
    fill(SIZE, cells, |put, cells| put(state.position.size(), cells));
    fill(REACHED, cells, |put, cells| put(state, cells));
    fill(BOARD, cells, |put, cells| put(&state.position, cells));
    fill(EXACT, cells, |put, cells| put(state, cells));
    table.rows += 1;
}

impl Solved {
    /// One item per move; illegal moves get `none`.
    fn by_move<T: Copy>(&self, none: T, of: impl Fn(i32) -> T) -> Vec<T> {
        let size = self.position.size();
        let mut items = vec![none; size.area() + 1];
        self.moves
            .iter()
            .for_each(|&(mv, margin)| items[mv.index(size)] = of(margin));
        items
    }
}
