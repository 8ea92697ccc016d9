//! The columns of a shard of games. One row is one game.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `game_id` | string | id of the game, unique in its store |
//! | `kind` | string | `selfplay`, `match` or, since version 1.1, `import` |
//! | `width`, `height` | uint8 | board size, 1 to 19 |
//! | `rules` | string | rule set in a form that can be parsed, such as `tromp_taylor` |
//! | `komi_half_points` | int16 | points added to White's area, times 2 |
//! | `score_half_points` | int32, null if the game has no score | Black's score minus White's score and komi under the rules of the game, times 2 |
//! | `seed` | int64 | seed of the game's random choices |
//! | `black_model`, `white_model`, `config_id` | string | the players and their configuration |
//! | `start_time` | timestamp, ms, UTC | when the game began; 1970-01-01 where an imported file does not say |
//! | `end_reason` | string | `two_passes`, `settled` (stopped before two passes because no further play can change the score, and scored), `long_cycle` (a tie without a score), `undecided_life` (no result), `ply_limit` (no result), `resign`, `forfeit` (both: the side to move lost, in imported games the side named by `claimed_result`), `unfinished` (imported, no result) |
//! | `handicap` | uint8 | handicap stones; 0 = none; always 0 in version 1.0 |
//! | `handicap_kind` | string, null if there is no handicap | `consecutive` (Black's first plies), `white_passes`, `fixed` (among the setup stones); since version 1.1 |
//! | `first_to_move` | string, null = `black` | who plays ply 0, `black` or `white`; since version 1.1 |
//! | `setup` | list of int16 | stones on the board before ply 0, ascending: `2 * (row * width + column)` for a black one, plus 1 for a white one; always empty in version 1.0 |
//! | `opening_plies` | uint16 | number of leading plies that were given or random and are not trained on |
//! | `moves` | list of int16 | one per ply: `row * width + column` counted from the top left, `width * height` = pass |
//! | `flags` | list of uint8 | one bit set per ply: 1 full search, 2 opening, 4 exploration move |
//! | `root_value` | list of float | one per ply: P(win) - P(loss) of the chosen move according to the search, from the mover's view, -1 to 1 |
//! | `root_score` | list of float | one per ply: expected margin after komi according to the search, in points, from the mover's view |
//! | `root_visits` | list of uint16 | one per ply: root visits |
//! | `network_value` | list of float | one per ply: P(win) - P(loss) according to the raw network, from the mover's view |
//! | `weight` | list of float | one per ply: training weight |
//! | `policy_counts` | list of uint16 | one per ply: number of entries of its policy target in the next two columns |
//! | `policy_moves` | list of int16 | the moves of the targets, ply by ply |
//! | `policy_probabilities` | list of float | the probabilities of the targets, summing to 1 for each ply |
//! | `source_file` | string, null for our own games | file of an imported game; this and the columns below (except `ownership`) since version 1.1 |
//! | `source_game` | int32, null for our own games | number of the game in its file, counted from 1 |
//! | `claimed_result`, `claimed_komi`, `claimed_rules` | string or null | what the file claims, verbatim |
//! | `claimed_handicap` | int32 or null | handicap stones according to the file |
//! | `black_rank`, `white_rank`, `played_on`, `event` | string or null | ranks, date and event according to the file |
//! | `teacher` | string or null | JSON object: who labelled the positions, and how; since version 1.2 |
//! | `expected_ownership_plies` | list of int32 | the plies with an entry in the next column, ascending; this and the next column since version 1.3 |
//! | `expected_ownership` | list of int8 | for each of those plies, one per point in row-major order: the owner that the teacher expects in the position before the ply, in percent from 100 (Black) to -100 (White) |
//! | `ownership` | list of int8 | one per point of the final position in row-major order: 1 Black, -1 White, 0 neither; empty without a score |

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// Key of the format version in a shard's footer.
pub(crate) const VERSION_KEY: &str = "tengen.format_version";
/// Footer key that says what kind of file a shard is.
pub(crate) const CONTENT_KEY: &str = "tengen.content";
/// The value of [`CONTENT_KEY`] for shards of games.
pub(crate) const CONTENT_GAMES: &str = "games";

/// Version of a file format: readers reject another major version; a newer minor version only adds columns or keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatVersion {
    /// Increases when old readers can no longer read the format.
    pub major: u16,
    /// Increases when something is added that old readers may ignore.
    pub minor: u16,
}

/// The version this crate writes, for shards and for the store's layout.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 3 };

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

/// A text is not a version such as `1.0`.
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

/// The columns of version 1.3, in order; those not in [`LATER_COLUMNS`] exist since version 1.0.
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

/// The columns that only imported and labelled games fill.
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
        text("teacher"),
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
        ("expected_ownership_plies", DataType::Int32),
        ("expected_ownership", DataType::Int8),
    ];
    let list = |(name, item)| Field::new(name, DataType::List(item_field(item)), false);
    columns.into_iter().map(list).collect()
}

/// Columns that files of an earlier minor version lack; they read as null or as empty lists there.
pub(crate) const LATER_COLUMNS: [&str; 15] = [
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
    "teacher",
    "expected_ownership_plies",
    "expected_ownership",
];

/// The field of a list item, never null.
pub fn item_field(item: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", item, false))
}
