//! Which columns has a dataset of games, and how does a game fill them?

use tengen_rules::{Color, Position};

use super::column::Kind::{Float32, Int8, Int16, Int32, Int64};
use super::column::Shape::{Many, Points};
use super::column::{Column, Field, Kind};
use super::positions::{put_board, sign};
use super::source::GameSource;
use super::table::{Cells, Table};

/// A game with its first and last position and the side that took each turn.
pub(crate) struct GameRow<'a> {
    pub(crate) game: &'a GameSource<'a>,
    pub(crate) start: &'a Position,
    pub(crate) last: &'a Position,
    pub(crate) movers: &'a [Color],
}

type Put = fn(&GameRow<'_>, &mut Cells);

const fn column(field: Field, put: Put) -> Column<Put> {
    Column { field, put }
}

const NO_SCORE: &str = "the game did not end by two passes";

/// The columns of a dataset of games, in order.
pub(crate) const GAME_COLUMNS: &[Column<Put>] = &[
    column(
        Field::text("game_id", "", "Name of the game, unique in its store."),
        |row, out| out.text(&row.game.id),
    ),
    column(
        Field::one("width", Int8, "points, 1 to 19", "Columns of the board."),
        |row, out| out.int(row.start.size().width() as i64),
    ),
    column(
        Field::one("height", Int8, "points, 1 to 19", "Rows of the board."),
        |row, out| out.int(row.start.size().height() as i64),
    ),
    column(
        Field::text(
            "rules",
            "",
            "Rule set; `tromp_taylor` = positional superko, suicide allowed, two passes end the game, area score.",
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
            "outcome",
            Int8,
            "1 Black won, 0 tie, -1 White won",
            "Result after komi, resignation and forfeit included.",
        )
        .null("the game has no result (ply limit)"),
        |row, out| row.game.put_outcome(out),
    ),
    column(
        Field::one(
            "area_margin",
            Int16,
            "points, Black minus White, without komi",
            "Strict area score at the end: what stands is counted, nothing is taken off as dead.",
        )
        .null(NO_SCORE),
        |row, out| row.game.put_area_margin(out),
    ),
    column(
        Field::one(
            "score",
            Float32,
            "points, Black minus White, after komi",
            "Score at the end, as the rules count it.",
        )
        .null(NO_SCORE),
        |row, out| row.game.put_score(out),
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
        Field::one("plies", Int32, "turns", "Length of the game, passes included."),
        |row, out| out.int(row.game.record.plies.len() as i64),
    ),
    column(
        Field::one(
            "opening_plies",
            Int32,
            "turns",
            "Leading turns that were given or drawn at random and not trained on.",
        ),
        |row, out| out.int(row.game.record.opening_plies),
    ),
    column(
        Field::one(
            "handicap",
            Int16,
            "stones",
            "Handicap stones of Black, those among the first turns included; 0 in an even game.",
        ),
        |row, out| out.int(row.start.handicap().stones()),
    ),
    column(
        Field::new(
            "start_board",
            Int8,
            Points,
            "1 Black stone, -1 White stone, 0 empty",
            "The board before the first turn: handicap and setup stones.",
        ),
        |row, out| put_board(row.start, out),
    ),
    column(
        Field::new(
            "moves",
            Int16,
            Many,
            "point index, height * width = pass; one per turn",
            "The turns in order.",
        ),
        |row, out| out.ints(row.per_turn(|turn| turn.mv.index(row.start.size()) as i64)),
    ),
    column(
        Field::new(
            "movers",
            Int8,
            Many,
            "1 Black, -1 White; one per turn",
            "The side that took each turn, called the mover; they alternate but for handicap stones.",
        ),
        |row, out| out.ints(row.movers.iter().map(|&color| sign(color))),
    ),
    column(
        Field::new(
            "flags",
            Int8,
            Many,
            "bits; one per turn",
            "1 searched with the full number of visits, 2 opening, 4 chosen for exploration.",
        ),
        |row, out| out.ints(row.per_turn(|turn| i64::from(turn.flags))),
    ),
    column(
        Field::new(
            "root_value",
            Float32,
            Many,
            "P(win) - P(loss), -1 to 1, mover's view; one per turn",
            "The search's value of the move it chose; 0 where `root_visits` is 0.",
        ),
        |row, out| out.floats(row.per_turn(|turn| turn.root_value)),
    ),
    column(
        Field::new(
            "root_score",
            Float32,
            Many,
            "points after komi, mover's view; one per turn",
            "The search's expected margin; 0 where `root_visits` is 0.",
        ),
        |row, out| out.floats(row.per_turn(|turn| turn.root_margin)),
    ),
    column(
        Field::new(
            "root_visits",
            Int32,
            Many,
            "visits; one per turn",
            "Visits of the root; 0 without a search.",
        ),
        |row, out| out.ints(row.per_turn(|turn| i64::from(turn.root_visits))),
    ),
    column(
        Field::new(
            "network_value",
            Float32,
            Many,
            "P(win) - P(loss), -1 to 1, mover's view; one per turn",
            "The network's value without a search; 0 where `root_visits` is 0.",
        ),
        |row, out| out.floats(row.per_turn(|turn| turn.network_value)),
    ),
    column(
        Field::new(
            "weight",
            Float32,
            Many,
            "0 or more; one per turn",
            "Weight in training; 0 = not trained on.",
        ),
        |row, out| out.floats(row.per_turn(|turn| turn.weight)),
    ),
    column(
        Field::new(
            "policy_counts",
            Int16,
            Many,
            "entries; one per turn",
            "How many entries of the next two columns belong to the turn.",
        ),
        |row, out| out.ints(row.per_turn(|turn| turn.policy.len() as i64)),
    ),
    column(
        Field::new(
            "policy_moves",
            Int16,
            Many,
            "point index, height * width = pass",
            "Moves of the policy targets, turn after turn.",
        ),
        |row, out| out.ints(row.policies().map(|entry| i64::from(entry.0))),
    ),
    column(
        Field::new(
            "policy_probabilities",
            Float32,
            Many,
            "probability, 0 to 1",
            "The search's improved policy; a turn's entries sum to 1.",
        ),
        |row, out| out.floats(row.policies().map(|entry| entry.1)),
    ),
    column(
        Field::new(
            "final_board",
            Int8,
            Points,
            "1 Black stone, -1 White stone, 0 empty",
            "The board after the last turn, by replay.",
        ),
        |row, out| put_board(row.last, out),
    ),
    column(
        Field::new(
            "ownership",
            Int8,
            Points,
            "1 Black, -1 White, 0 neither",
            "Owner of every point at the end by area.",
        )
        .null(NO_SCORE),
        |row, out| row.game.put_ownership(out),
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
            "Path of the shard in the store the game comes from; it ends with the shard's SHA-256.",
        ),
        |row, out| out.text(&row.game.shard),
    ),
];

/// Adds a game to a table of [`GAME_COLUMNS`].
pub(crate) fn push_game(table: &mut Table, row: &GameRow<'_>) {
    for (column, cells) in GAME_COLUMNS.iter().zip(&mut table.columns) {
        (column.put)(row, cells);
    }
    table.rows += 1;
}

impl<'a> GameRow<'a> {
    fn per_turn<T>(&self, get: impl Fn(&'a crate::record::PlyRecord) -> T) -> impl Iterator<Item = T> {
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
