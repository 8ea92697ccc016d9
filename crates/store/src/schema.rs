//! Which columns does a shard of games have? One row is one game.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `game_id` | string | name of the game, unique in its store |
//! | `kind` | string | `selfplay`, `match` or, since version 1.1, `import` |
//! | `width`, `height` | uint8 | the board, 1 to 19 |
//! | `rules` | string | rules as text that reads back, such as `tromp_taylor` |
//! | `komi_half_points` | int16 | points added to White's area, times 2 |
//! | `score_half_points` | int32, null when the game has no score | Black's score minus White's minus komi by the rules' count, times 2 |
//! | `seed` | int64 | seed of the game's random choices |
//! | `black_model`, `white_model`, `config_id` | string | who played, under which configuration |
//! | `start_time` | timestamp, ms, UTC | when the game began; 1970-01-01 where an imported file does not say |
//! | `end_reason` | string | `two_passes`, `settled` (stopped before two passes where no play matters any more, and scored), `long_cycle` (a tie without a score), `undecided_life` (no result), `ply_limit` (no result), `resign`, `forfeit` (both: the side to move lost, in imported games the side that `claimed_result` names), `unfinished` (imported, no result) |
//! | `handicap` | uint8 | handicap stones; 0 = none; always 0 in version 1.0 |
//! | `handicap_kind` | string, null without handicap | `consecutive` (Black's first plies), `white_passes`, `fixed` (among the setup stones); since version 1.1 |
//! | `first_to_move` | string, null = `black` | who takes ply 0, `black` or `white`; since version 1.1 |
//! | `setup` | list of int16 | stones on the board before ply 0, ascending: `2 * (row * width + column)` for a black one, 1 more for a white one; always empty in version 1.0 |
//! | `opening_plies` | uint16 | leading plies that were given or random, not trained on |
//! | `moves` | list of int16 | one per ply: `row * width + column` from the top left, `width * height` = pass |
//! | `flags` | list of uint8 | one per ply: 1 full search, 2 opening, 4 chosen for exploration |
//! | `root_value` | list of float | one per ply: P(win) - P(loss) of the chosen move by search, mover's view, -1 to 1 |
//! | `root_score` | list of float | one per ply: expected margin after komi by search, points, mover's view |
//! | `root_visits` | list of uint16 | one per ply: visits of the root |
//! | `network_value` | list of float | one per ply: P(win) - P(loss) by the raw network, mover's view |
//! | `weight` | list of float | one per ply: weight in training |
//! | `policy_counts` | list of uint16 | one per ply: entries of its policy target in the next two columns |
//! | `policy_moves` | list of int16 | the targets' moves, ply after ply |
//! | `policy_probabilities` | list of float | the targets' probabilities, each ply's sum to 1 |
//! | `source_file` | string, null for our own games | where an imported game was read; this and the rest since version 1.1 |
//! | `source_game` | int32, null for our own games | its number in the file, counted from 1 |
//! | `claimed_result`, `claimed_komi`, `claimed_rules` | string or null | what the file claims, in its own words |
//! | `claimed_handicap` | int32 or null | handicap stones by the file |
//! | `black_rank`, `white_rank`, `played_on`, `event` | string or null | who, when and where by the file |
//! | `ownership` | list of int8 | one per point in reading order at the end: 1 Black, -1 White, 0 neither; empty without a score |

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// Key of the format version in a shard's footer.
pub(crate) const VERSION_KEY: &str = "tengen.format_version";
/// Key of the kind of file in a shard's footer.
pub(crate) const CONTENT_KEY: &str = "tengen.content";
/// What shards of games say under [`CONTENT_KEY`].
pub(crate) const CONTENT_GAMES: &str = "games";

/// Version of a file format: readers refuse another major version; a newer minor version only adds columns or keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatVersion {
    /// Changes when old readers can no longer read.
    pub major: u16,
    /// Changes when something is added that old readers may ignore.
    pub minor: u16,
}

/// The version this crate writes, for shards and for the store's layout.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

impl FormatVersion {
    /// Whether this crate reads files of that version.
    pub fn is_readable(self) -> bool {
        self.major == FORMAT.major
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The text is not a version such as `1.0`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a format version such as 1.0, found {0:?}")]
pub struct ParseFormatVersionError(String);

impl FromStr for FormatVersion {
    type Err = ParseFormatVersionError;

    fn from_str(text: &str) -> Result<FormatVersion, ParseFormatVersionError> {
        let parts = text
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let (major, minor) = parts.ok_or_else(|| ParseFormatVersionError(text.to_owned()))?;
        Ok(FormatVersion { major, minor })
    }
}

/// The columns of version 1.1, in order; those that are not in [`LATER_COLUMNS`] are version 1.0.
pub(crate) fn games_schema() -> SchemaRef {
    let mut fields = scalar_fields();
    fields.extend(list_fields());
    fields.extend(origin_fields());
    Arc::new(Schema::new(fields))
}

fn scalar_fields() -> Vec<Field> {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    vec![
        text("game_id"),
        text("kind"),
        Field::new("width", DataType::UInt8, false),
        Field::new("height", DataType::UInt8, false),
        text("rules"),
        Field::new("komi_half_points", DataType::Int16, false),
        Field::new("score_half_points", DataType::Int32, true),
        Field::new("seed", DataType::Int64, false),
        text("black_model"),
        text("white_model"),
        text("config_id"),
        Field::new(
            "start_time",
            DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            false,
        ),
        text("end_reason"),
        Field::new("handicap", DataType::UInt8, false),
        Field::new("handicap_kind", DataType::Utf8, true),
        Field::new("first_to_move", DataType::Utf8, true),
        Field::new("opening_plies", DataType::UInt16, false),
    ]
}

/// What only imported games have.
fn origin_fields() -> Vec<Field> {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let number = |name: &str| Field::new(name, DataType::Int32, true);
    vec![
        text("source_file"),
        number("source_game"),
        text("claimed_result"),
        text("claimed_komi"),
        text("claimed_rules"),
        number("claimed_handicap"),
        text("black_rank"),
        text("white_rank"),
        text("played_on"),
        text("event"),
    ]
}

fn list_fields() -> Vec<Field> {
    let columns = [
        ("setup", DataType::Int16),
        ("moves", DataType::Int16),
        ("flags", DataType::UInt8),
        ("root_value", DataType::Float32),
        ("root_score", DataType::Float32),
        ("root_visits", DataType::UInt16),
        ("network_value", DataType::Float32),
        ("weight", DataType::Float32),
        ("policy_counts", DataType::UInt16),
        ("policy_moves", DataType::Int16),
        ("policy_probabilities", DataType::Float32),
        ("ownership", DataType::Int8),
    ];
    let list = |(name, item)| Field::new(name, DataType::List(item_field(item)), false);
    columns.into_iter().map(list).collect()
}

/// Columns that files of an earlier minor version lack; they read as null there.
pub(crate) const LATER_COLUMNS: [&str; 12] = [
    "handicap_kind",
    "first_to_move",
    "source_file",
    "source_game",
    "claimed_result",
    "claimed_komi",
    "claimed_rules",
    "claimed_handicap",
    "black_rank",
    "white_rank",
    "played_on",
    "event",
];

/// The field of a list's items: never null.
pub fn item_field(item: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", item, false))
}
