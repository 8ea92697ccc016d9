//! Which columns do several datasets have, word for word the same? Names, boards, results, where a game comes from, and
//! what the file of an imported game claims.

use std::slice::IterMut;
use std::sync::Arc;

use tengen_rules::{Position, Size};

use super::column::Kind::{Float32, Int8, Int16, Int32, Int64, Time};
use super::column::Shape::{Moves, Points};
use super::column::{Column, Field};
use super::positions::{put_board, put_legal, sign};
use super::source::GameSource;
use super::table::Cells;
use tengen_records::{Comparison, Origin};
use tengen_store::GamesOf;

type OfGame = fn(&GameSource<'_>, &mut Cells);
type OfSize = fn(Size, &mut Cells);
type OfPosition = fn(&Position, &mut Cells);

const NO_SCORE: &str = "the game ended without a score";
const NO_WORD: &str = "the game was not imported, or its file does not say";

/// What a game is called and played under.
pub(crate) const NAME: &[Column<OfGame>] = &[
    Column::new(
        Field::text("game_id", "", "Name of the game, unique in its store."),
        |game, out| out.text(&game.id),
    ),
    Column::new(
        Field::text(
            "rules",
            "",
            "Rule set; `tromp_taylor` = positional superko, suicide allowed, two passes end the game, area score.",
        ),
        |game, out| out.text(&game.rules),
    ),
    Column::new(
        Field::one(
            "komi",
            Float32,
            "points, a multiple of 0.5, White's",
            "Points added to White's area.",
        ),
        |game, out| out.float(game.record.komi.points()),
    ),
];

/// Columns and rows of the board.
pub(crate) const SIZE: &[Column<OfSize>] = &[
    Column::new(
        Field::one("width", Int8, "points, 1 to 19", "Columns of the board."),
        |size, out| out.int(size.width() as i64),
    ),
    Column::new(
        Field::one("height", Int8, "points, 1 to 19", "Rows of the board."),
        |size, out| out.int(size.height() as i64),
    ),
];

/// What the rules say of a position.
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
            "1 when the last turn was a pass: then a pass ends the game.",
        ),
        |position, out| out.int(position.consecutive_passes()),
    ),
    Column::new(
        Field::new(
            "board",
            Int8,
            Points,
            "1 Black stone, -1 White stone, 0 empty",
            "The stones, by replay.",
        ),
        put_board,
    ),
    Column::new(
        Field::new(
            "legal",
            Int8,
            Moves,
            "1 legal, 0 not",
            "Moves the rules allow the mover, by replay with the whole history; the last item is the pass.",
        ),
        put_legal,
    ),
    Column::new(
        Field::new(
            "superko_banned",
            Int8,
            Points,
            "1 banned, 0 not",
            "Empty points that are refused to the mover by the ko rule alone, one-stone suicides that it refuses included.",
        ),
        |position, out| out.points(position.size(), &position.superko_banned(), &Default::default()),
    ),
    Column::new(
        Field::one(
            "margin_now",
            Int16,
            "points, Black minus White, without komi",
            "Area score of the board as it stands: stones and the empty points that reach only one color.",
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
            "Result of the game after komi, resignation and forfeit included.",
        )
        .null("the game has no result"),
        |game, out| game.put_outcome(out),
    ),
    Column::new(
        Field::one(
            "area_margin",
            Int16,
            "points, Black minus White, without komi",
            "Strict area score at the end of the game: what stands is counted, nothing is taken off as dead.",
        )
        .null(NO_SCORE),
        |game, out| game.put_area_margin(out),
    ),
    Column::new(
        Field::one(
            "score",
            Float32,
            "points, Black minus White, after komi",
            "Score at the end of the game, as the rules count it.",
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
            "Owner of every point at the end of the game by area.",
        )
        .null(NO_SCORE),
        |game, out| game.put_ownership(out),
    ),
    Column::new(
        Field::text(
            "end_reason",
            "",
            "`two_passes` and `settled` (scored), `ply_limit` and `unfinished` (no result), `resign`, `forfeit` (one side lost, no score), `long_cycle` (a tie, no score), `undecided_life` (no result).",
        ),
        |game, out| out.text(&game.end_reason),
    ),
];

/// Who played a game, and where it lies.
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
            "Generation of the model that played; its number in the store.",
        )
        .null("the game is not of self-play"),
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
        Field::text("config_id", "", "Configuration the game was played under."),
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
            "When the game began; 1970-01-01 where an imported file does not say.",
        ),
        |game, out| out.int(game.record.start_time_ms),
    ),
    Column::new(
        Field::text(
            "shard",
            "",
            "Path of the shard in the store the game comes from; it ends with the shard's SHA-256.",
        ),
        |game, out| out.text(&game.shard),
    ),
];

/// A column of a text that the file of a game may hold.
macro_rules! word {
    ($name:literal, $meaning:literal, $of:expr) => {
        Column::new(Field::text($name, "", $meaning).null(NO_WORD), |game, out| {
            let of: fn(&Origin) -> Option<&String> = $of;
            match game.origin().and_then(of) {
                Some(word) => out.text(&Arc::from(word.as_str())),
                None => out.missing(),
            }
        })
    };
}

/// Where an imported game was read and what its file says, beside what was counted.
pub(crate) const CLAIMS: &[Column<OfGame>] = &[
    word!("source_file", "File the game was read from, with the name inside it when it is an archive.", |origin| Some(&origin.file)),
    Column::new(
        Field::one("source_game", Int32, "from 1", "Number of the game in its file.").null("the game was not imported"),
        |game, out| match game.origin() {
            Some(origin) => out.int(origin.game),
            None => out.missing(),
        },
    ),
    Column::new(
        Field::text(
            "claim_check",
            "",
            "The result by the rules beside the file's claim. Counted: `agrees`, `other_margin` (the same winner), `other_winner`, `no_claim` (the file claims no count). Not counted: `resignation`, `forfeit`, `unfinished` (no two passes, whatever the file claims), `no_count` (over, but without a count).",
        )
        .null("the game was not imported"),
        |game, out| match game.origin() {
            Some(origin) => out.text(&Arc::from(Comparison::of(game.record, origin.claim()).name())),
            None => out.missing(),
        },
    ),
    word!("claimed_result", "Result by the file, in its own words, not checked.", |origin| origin.result.as_ref()),
    word!("claimed_komi", "Komi by the file, in its own words; `komi` is the one that counts here.", |origin| origin.komi.as_ref()),
    word!("claimed_rules", "Rules by the file, in its own words; `rules` are those it was replayed under.", |origin| origin.rules.as_ref()),
    Column::new(
        Field::one("claimed_handicap", Int32, "stones", "Handicap stones by the file.").null(NO_WORD),
        |game, out| match game.origin().and_then(|origin| origin.handicap) {
            Some(stones) => out.int(stones),
            None => out.missing(),
        },
    ),
    word!("played_on", "When the game was played, in the file's own words.", |origin| origin.date.as_ref()),
    word!("event", "The event at which it was played, in the file's own words.", |origin| origin.event.as_ref()),
    word!("black_rank", "Rank of the player of Black, in the file's own words.", |origin| origin.black_rank.as_ref()),
    word!("white_rank", "Rank of the player of White, in the file's own words.", |origin| origin.white_rank.as_ref()),
];

/// The columns of what files claim, in a dataset that imported games can be in.
pub(crate) fn claims(games: &GamesOf) -> &'static [Column<OfGame>] {
    match games {
        GamesOf::Imported | GamesOf::All => CLAIMS,
        GamesOf::SelfPlay | GamesOf::Match(_) => &[],
    }
}

/// Fills the next columns of a row; columns that the table does not have any more are passed over.
pub(crate) fn fill<P: Copy>(columns: &[Column<P>], cells: &mut IterMut<'_, Cells>, put: impl Fn(P, &mut Cells)) {
    for (column, cells) in columns.iter().zip(cells) {
        put(column.put, cells);
    }
}
