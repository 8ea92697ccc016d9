//! Columns shared by several datasets: names, boards, results, the source of a game, and the claims of an imported
//! game's file.

use std::slice::IterMut;
use std::sync::Arc;

use tengen_records::{Comparison, Origin};
use tengen_rules::{Color, Move, Position, Size};
use tengen_store::GamesOf;

use super::column::Kind::{Float32, Int8, Int16, Int32, Int64, Time};
use super::column::Shape::{Moves, Points};
use super::column::{Column, Field};
use super::source::GameSource;
use super::table::Cells;

type OfGame = fn(&GameSource<'_>, &mut Cells);
type OfSize = fn(Size, &mut Cells);
type OfPosition = fn(&Position, &mut Cells);

const NO_SCORE: &str = "the game ended without a score";
const NO_CLAIM: &str = "the game was not imported, or its file does not say";
const NOT_IMPORTED: &str = "the game was not imported";

/// The id of a game and the conditions it was played under.
pub(crate) const NAME: &[Column<OfGame>] = &[
    Column::new(
        Field::text("game_id", "", "Id of the game, unique in its store."),
        |game, out| out.text(&game.id),
    ),
    Column::new(
        Field::text(
            "rules",
            "",
            "Rule set; `tromp_taylor` = positional superko, suicide allowed, two passes end the game, area scoring.",
        ),
        |game, out| out.text(&game.rules),
    ),
    Column::new(
        Field::one(
            "komi",
            Float32,
            "points, a multiple of 0.5, for White",
            "Points added to White's score.",
        ),
        |game, out| out.float(game.record.komi.points()),
    ),
];

/// Width and height of the board.
pub(crate) const SIZE: &[Column<OfSize>] = &[
    Column::new(
        Field::one("width", Int8, "points, 1 to 19", "Width of the board."),
        |size, out| out.int(size.width() as i64),
    ),
    Column::new(
        Field::one("height", Int8, "points, 1 to 19", "Height of the board."),
        |size, out| out.int(size.height() as i64),
    ),
];

/// What the rules say about a position.
pub(crate) const BOARD: &[Column<OfPosition>] = &[
    Column::new(
        Field::one(
            "to_move",
            Int8,
            "1 Black, -1 White",
            "The side to move, called the mover.",
        ),
        |position, out| out.int(sign(position.to_move())),
    ),
    Column::new(
        Field::one(
            "consecutive_passes",
            Int8,
            "0 or 1",
            "1 if the last turn was a pass, so that another pass ends the game.",
        ),
        |position, out| out.int(position.consecutive_passes()),
    ),
    Column::new(
        Field::new(
            "board",
            Int8,
            Points,
            "1 Black stone, -1 White stone, 0 empty",
            "The stones, from replaying the game.",
        ),
        put_board,
    ),
    Column::new(
        Field::new(
            "legal",
            Int8,
            Moves,
            "1 legal, 0 illegal",
            "The mover's legal moves, from a replay with the whole history; the last item is the pass.",
        ),
        put_legal,
    ),
    Column::new(
        Field::new(
            "superko_banned",
            Int8,
            Points,
            "1 banned, 0 not banned",
            "Empty points that only the ko rule bans for the mover, including one-stone suicides that it bans.",
        ),
        |position, out| out.points(position.size(), &position.superko_banned(), &Default::default()),
    ),
    Column::new(
        Field::one(
            "margin_now",
            Int16,
            "points, Black minus White, without komi",
            "Area score of the current board: stones and the empty points that reach only one color.",
        ),
        |position, out| out.int(position.board_margin()),
    ),
];

/// How a game ended.
pub(crate) const RESULT: &[Column<OfGame>] = &[
    Column::new(
        Field::one(
            "outcome",
            Int8,
            "1 Black won, 0 tie, -1 White won",
            "Result of the game after komi, including resignations and forfeits.",
        )
        .null("the game has no result"),
        |game, out| game.put_outcome(out),
    ),
    Column::new(
        Field::one(
            "area_margin",
            Int16,
            "points, Black minus White, without komi",
            "Strict area score at the end of the game: all stones on the board count, none are removed as dead.",
        )
        .null(NO_SCORE),
        |game, out| game.put_area_margin(out),
    ),
    Column::new(
        Field::one(
            "score",
            Float32,
            "points, Black minus White, after komi",
            "Score at the end of the game under its rules.",
        )
        .null(NO_SCORE),
        |game, out| game.put_score(out),
    ),
    Column::new(
        Field::new(
            "ownership",
            Int8,
            Points,
            "1 Black, -1 White, 0 neither",
            "Owner of every point at the end of the game under area scoring.",
        )
        .null(NO_SCORE),
        |game, out| game.put_ownership(out),
    ),
    Column::new(
        Field::text(
            "end_reason",
            "",
            "`two_passes` and `settled` (scored), `ply_limit` and `unfinished` (no result), `resign`, `forfeit` (one \
             side lost, no score), `long_cycle` (a tie, no score), `undecided_life` (no result).",
        ),
        |game, out| out.text(&game.end_reason),
    ),
];

/// The players of a game and where it is stored.
pub(crate) const PROVENANCE: &[Column<OfGame>] = &[
    Column::new(
        Field::text("kind", "", "`selfplay`, `match` or `import`."),
        |game, out| out.text(&game.kind),
    ),
    Column::new(
        Field::one(
            "generation",
            Int32,
            "",
            "Generation of the model that played, as numbered in the store.",
        )
        .null("the game is not a self-play game"),
        |game, out| game.put_generation(out),
    ),
    Column::new(
        Field::text("black_model", "", "Model or player that played Black."),
        |game, out| out.text(&game.black_model),
    ),
    Column::new(
        Field::text("white_model", "", "Model or player that played White."),
        |game, out| out.text(&game.white_model),
    ),
    Column::new(
        Field::text("config_id", "", "Configuration the game was played with."),
        |game, out| out.text(&game.config_id),
    ),
    Column::new(
        Field::one("seed", Int64, "", "Seed of the game's random choices."),
        |game, out| out.int(game.record.seed),
    ),
    Column::new(
        Field::one(
            "start_time",
            Time,
            "UTC",
            "When the game started; 1970-01-01 if an imported file does not say.",
        ),
        |game, out| out.int(game.record.start_time_ms),
    ),
    Column::new(
        Field::text(
            "shard",
            "",
            "Path of the game's shard in its store; the name ends with the start of the shard's SHA-256.",
        ),
        |game, out| out.text(&game.shard),
    ),
];

/// A text column with what the file of an imported game says, which is a field of [`Origin`].
macro_rules! claim {
    ($name:literal = $field:ident, $meaning:literal) => {
        Column::new(Field::text($name, "", $meaning).null(NO_CLAIM), |game, out| {
            put_text(game.origin().and_then(|origin| origin.$field.as_deref()), out);
        })
    };
}

/// The source of an imported game and the claims of its file, next to what was counted.
pub(crate) const CLAIMS: &[Column<OfGame>] = &[
    Column::new(
        Field::text(
            "source_file",
            "",
            "File the game was read from; for an archive, including the name inside it.",
        )
        .null(NO_CLAIM),
        |game, out| put_text(game.origin().map(|origin| origin.file.as_str()), out),
    ),
    Column::new(
        Field::one("source_game", Int32, "from 1", "Number of the game in its file.").null(NOT_IMPORTED),
        |game, out| out.optional(game.origin().map(|origin| origin.game), Cells::int),
    ),
    Column::new(
        Field::text(
            "claim_check",
            "",
            "How the file's claim compares with the result under the rules. Counted: `agrees`, `other_margin` (the \
             same winner), `other_winner`, `no_claim` (the file claims no count). Not counted: `resignation`, \
             `forfeit`, `unfinished` (no two passes, whatever the file claims), `no_count` (over, but without a \
             count).",
        )
        .null(NOT_IMPORTED),
        |game, out| {
            let compare = |_: &Origin| Comparison::of(game.record).name();
            put_text(game.origin().map(compare), out);
        },
    ),
    claim! { "claimed_result" = result, "Result claimed by the file, verbatim and unchecked." },
    claim! { "claimed_komi" = komi, "Komi claimed by the file, verbatim; `komi` is the one that was used." },
    claim! { "claimed_rules" = rules, "Rules claimed by the file, verbatim; `rules` are those used for the replay." },
    Column::new(
        Field::one(
            "claimed_handicap",
            Int32,
            "stones",
            "Handicap stones claimed by the file.",
        )
        .null(NO_CLAIM),
        |game, out| out.optional(game.origin().and_then(|origin| origin.handicap), Cells::int),
    ),
    claim! { "played_on" = date, "When the game was played, verbatim from the file." },
    claim! { "event" = event, "The event where it was played, verbatim from the file." },
    claim! { "black_rank" = black_rank, "Rank of the Black player, verbatim from the file." },
    claim! { "white_rank" = white_rank, "Rank of the White player, verbatim from the file." },
];

fn put_text(text: Option<&str>, out: &mut Cells) {
    out.optional(text, |out, text| out.text(&Arc::from(text)));
}

/// The columns of claims, if the dataset may contain imported games.
pub(crate) fn claims(games: &GamesOf) -> &'static [Column<OfGame>] {
    match games {
        GamesOf::Imported | GamesOf::All => CLAIMS,
        GamesOf::SelfPlay | GamesOf::Match(_) => &[],
    }
}

/// Fills the next columns of a row; columns that the table lacks are skipped.
pub(crate) fn fill<P: Copy>(columns: &[Column<P>], cells: &mut IterMut<'_, Cells>, put: impl Fn(P, &mut Cells)) {
    for (column, cells) in columns.iter().zip(cells) {
        put(column.put, cells);
    }
}

/// 1 for Black, -1 for White.
pub(crate) fn sign(color: Color) -> i64 {
    match color {
        Color::Black => 1,
        Color::White => -1,
    }
}

/// Adds the stones, one number per point.
pub(crate) fn put_board(position: &Position, out: &mut Cells) {
    out.points(
        position.size(),
        &position.stones(Color::Black),
        &position.stones(Color::White),
    );
}

/// Adds the legal moves, one number per move.
pub(crate) fn put_legal(position: &Position, out: &mut Cells) {
    out.moves(position.size(), &position.legal_points(), position.is_legal(Move::Pass));
}
