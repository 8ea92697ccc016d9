//! The columns of a dataset of positions and how a game fills them.

use tengen_records::{EXPLORED, FULL_SEARCH, OPENING, PlyRecord};
use tengen_rules::Position;
use tengen_store::GamesOf;

use super::column::Kind::{Bool, Float32, Int8, Int16, Int32};
use super::column::Shape::{Moves, Points};
use super::column::{Column, Field, fields};
use super::shared::{BOARD, CLAIMS, NAME, PROVENANCE, RESULT, SIZE, claims, fill};
use super::source::GameSource;
use super::table::{Cells, Table};

/// One position of a game, before its turn.
pub(crate) struct PositionRow<'a> {
    pub(crate) game: &'a GameSource<'a>,
    pub(crate) position: &'a Position,
    pub(crate) ply: usize,
    pub(crate) turn: &'a PlyRecord,
}

type Put = fn(&PositionRow<'_>, &mut Cells);

const NO_SEARCH: &str = "the turn was not chosen by a search";

/// The ply of a position in its game.
const PLY: &[Column<Put>] = &[Column::new(
    Field::one(
        "ply",
        Int32,
        "turns; 0 at the start",
        "Turns played before this position; together with `game_id` it identifies the position.",
    ),
    |row, out| out.int(row.ply as i64),
)];

/// The columns that only a dataset of positions has, apart from [`PLY`].
const POSITION_COLUMNS: &[Column<Put>] = &[
    Column::new(
        Field::one(
            "move",
            Int16,
            "point index, height * width = pass",
            "The turn that was played.",
        ),
        |row, out| out.int(row.turn.mv.index(row.position.size()) as i64),
    ),
    Column::new(
        Field::one(
            "opening",
            Bool,
            "",
            "Whether the turn belongs to the given or random opening; such turns are not trained on.",
        ),
        |row, out| out.flag(row.is_opening()),
    ),
    Column::new(
        Field::one(
            "full_search",
            Bool,
            "",
            "Whether the search before the turn used the full number of visits.",
        ),
        |row, out| out.flag(row.turn.has(FULL_SEARCH)),
    ),
    Column::new(
        Field::one(
            "explored",
            Bool,
            "",
            "Whether the turn was chosen for exploration, not because the search considered it best.",
        ),
        |row, out| out.flag(row.turn.has(EXPLORED)),
    ),
    Column::new(
        Field::one(
            "weight",
            Float32,
            "0 or more",
            "Training weight of the position; 0 = not trained on.",
        ),
        |row, out| out.float(row.turn.weight),
    ),
    Column::new(
        Field::new(
            "policy",
            Float32,
            Moves,
            "probability, 0 to 1, sums to 1, over the mover's moves",
            "Policy target: the search's improved policy without its smallest probabilities (see how the labels were \
             made); illegal moves have 0.",
        )
        .null("there was no policy target"),
        put_policy,
    ),
    Column::new(
        Field::one(
            "root_value",
            Float32,
            "P(win) - P(loss), -1 to 1, from the mover's view",
            "The search value of the chosen move.",
        )
        .null(NO_SEARCH),
        |row, out| row.searched(out, row.turn.root_value),
    ),
    Column::new(
        Field::one(
            "root_score",
            Float32,
            "points after komi, from the mover's view",
            "The expected margin at the end of the game according to the search.",
        )
        .null(NO_SEARCH),
        |row, out| row.searched(out, row.turn.root_margin),
    ),
    Column::new(
        Field::one("root_visits", Int32, "visits", "Root visits; 0 without a search."),
        |row, out| out.int(row.turn.root_visits),
    ),
    Column::new(
        Field::one(
            "network_value",
            Float32,
            "P(win) - P(loss), -1 to 1, from the mover's view",
            "The raw network value of the position without a search.",
        )
        .null(NO_SEARCH),
        |row, out| row.searched(out, row.turn.network_value),
    ),
    Column::new(
        Field::one("game_plies", Int32, "turns", "Length of the game."),
        |row, out| out.int(row.game.record.plies.len() as i64),
    ),
];

/// The columns that only labelled games fill, in datasets that may hold any.
const LABELS: &[Column<Put>] = &[Column::new(
    Field::new(
        "expected_ownership",
        Int8,
        Points,
        "percent, 100 Black to -100 White",
        "The owner that the teacher expects for every point at the end, judging from this position; `ownership` is \
         that of the final position.",
    )
    .null("no teacher said"),
    |row, out| match row.turn.expected_ownership.is_empty() {
        true => out.missing(),
        false => out.ints(row.turn.expected_ownership.iter().copied()),
    },
)];

/// The columns of labels in a dataset from games of this kind: labelled games are kept as imported ones.
fn labels(games: &GamesOf) -> &'static [Column<Put>] {
    match games {
        GamesOf::Imported | GamesOf::All => LABELS,
        GamesOf::SelfPlay | GamesOf::Match(_) => &[],
    }
}

/// The columns of a dataset of positions from games of this kind, in order.
pub(crate) fn position_fields(games: &GamesOf) -> Vec<Field> {
    let before = [fields(NAME), fields(SIZE), fields(PLY), fields(BOARD)].concat();
    let after = [fields(RESULT), fields(PROVENANCE), fields(claims(games))].concat();
    [before, fields(POSITION_COLUMNS), after, fields(labels(games))].concat()
}

/// Adds a position to a table of [`position_fields`].
pub(crate) fn push_position(table: &mut Table, row: &PositionRow<'_>) {
    let cells = &mut table.columns.iter_mut();
    fill(NAME, cells, |put, cells| put(row.game, cells));
    fill(SIZE, cells, |put, cells| put(row.position.size(), cells));
    fill(PLY, cells, |put, cells| put(row, cells));
    fill(BOARD, cells, |put, cells| put(row.position, cells));
    fill(POSITION_COLUMNS, cells, |put, cells| put(row, cells));
    for columns in [RESULT, PROVENANCE, CLAIMS] {
        fill(columns, cells, |put, cells| put(row.game, cells));
    }
    fill(LABELS, cells, |put, cells| put(row, cells));
    table.rows += 1;
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
