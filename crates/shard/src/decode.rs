//! Decodes the bytes of a shard into games. Every length and every code is checked; nothing is trusted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMillisecondType, UInt8Type,
    UInt16Type,
};
use arrow_array::{Array, ListArray, PrimitiveArray, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::FileMetaData;

use tengen_records::{EndReason, GameKind, GameRecord, Origin, PlyRecord};
use tengen_rules::{Color, Komi, Move, Setup, Size};

use crate::pages::check_pages;
use crate::schema::{CONTENT_GAMES, CONTENT_KEY, FORMAT, FormatVersion, LATER_COLUMNS, VERSION_KEY, games_schema};
use crate::start::{read_handicap, read_setup_stones};

/// Number of games decoded at a time.
const BATCH_GAMES: usize = 256;

/// Longest text of a game, in bytes.
const LONGEST_TEXT: usize = 1 << 16;

/// Why bytes are not a shard of games that this version can read.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// Not Parquet, or damaged Parquet.
    #[error("expected a Parquet file, found bytes that cannot be read as one: {0}")]
    Parquet(String),
    /// A Parquet file that is not one of our shards.
    #[error("expected a shard of games (footer key {CONTENT_KEY} = {CONTENT_GAMES}), found {found}")]
    NotGames {
        /// The value in the footer.
        found: String,
    },
    /// A format version that this crate does not read.
    #[error(
        "expected a shard of format version {}.x, found version {found}: use a tengen version that reads it",
        FORMAT.major
    )]
    Version {
        /// The version in the footer.
        found: String,
    },
    /// A column is missing or has another type.
    #[error("column {column}: expected {expected}, found {found}")]
    Schema {
        /// The column's name.
        column: String,
        /// The type in the schema.
        expected: String,
        /// The type found, or `nothing`.
        found: String,
    },
    /// The file declares more data than the games in a file of that size can need.
    #[error("{0}")]
    Pages(String),
    /// A text is too long to have been written by Tengen.
    #[error("column {column}: expected texts of at most {LONGEST_TEXT} bytes, found one of {found}")]
    LongText {
        /// The column's name.
        column: String,
        /// Bytes of the longest text.
        found: usize,
    },
    /// A game's columns contradict each other or hold an unknown code.
    #[error("game {row}: {problem}")]
    Game {
        /// Row of the game, counted from 0.
        row: usize,
        /// What was expected and found.
        problem: String,
    },
}

/// Reads the games of a shard without replaying them; for that see [`GameRecord::validate`].
///
/// # Errors
/// [`ShardError`] if the bytes are not Parquet, are not games, have another version, lack a column, or are
/// inconsistent.
pub fn decode(bytes: &[u8]) -> Result<Vec<GameRecord>, ShardError> {
    decode_bytes(Bytes::copy_from_slice(bytes))
}

/// [`decode`] without copying the bytes.
///
/// # Errors
/// As [`decode`].
pub fn decode_bytes(bytes: Bytes) -> Result<Vec<GameRecord>, ShardError> {
    let mut games = Vec::new();
    let mut batches = Batches::open(bytes, |_| true)?;
    while let Some(batch) = batches.next()? {
        decode_batch(&batch, &mut games)?;
    }
    Ok(games)
}

/// The ids of the games in a shard; nothing else is read.
///
/// # Errors
/// As [`decode`].
pub fn decode_ids(bytes: Bytes) -> Result<Vec<String>, ShardError> {
    let mut ids = Vec::new();
    let mut batches = Batches::open(bytes, |name| name == "game_id")?;
    while let Some(batch) = batches.next()? {
        let column = batch.column(0).as_string_view();
        ids.extend(column.iter().flatten().map(str::to_owned));
    }
    Ok(ids)
}

/// The rows of a shard, in batches of games.
struct Batches(ParquetRecordBatchReader);

impl Batches {
    fn open(bytes: Bytes, wanted: impl Fn(&str) -> bool) -> Result<Batches, ShardError> {
        survive(|| open(bytes, wanted)).map(Batches)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, ShardError> {
        survive(|| self.0.next().transpose().map_err(|error| not_parquet(&error)))
    }
}

/// Catches panics: the `parquet` crate panics on some inconsistent pages, such as indices into a missing dictionary. A
/// bad shard must not end the process.
fn survive<T>(read: impl FnOnce() -> Result<T, ShardError>) -> Result<T, ShardError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(ShardError::Parquet(format!(
            "its pages contradict each other ({})",
            text.unwrap_or_default()
        )))
    })
}

fn not_parquet(error: &dyn std::fmt::Display) -> ShardError {
    ShardError::Parquet(error.to_string())
}

/// Opens a shard for reading the wanted columns after checking everything in its footer. Columns unknown to this
/// version are not read.
fn open(bytes: Bytes, wanted: impl Fn(&str) -> bool) -> Result<ParquetRecordBatchReader, ShardError> {
    let stated = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new()).map_err(|error| not_parquet(&error))?;
    check_footer(stated.metadata().file_metadata())?;
    check_schema(stated.schema())?;
    let known = games_schema();
    let is_read = |name: &str| known.field_with_name(name).is_ok() && wanted(name);
    check_pages(&bytes, stated.metadata(), is_read).map_err(ShardError::Pages)?;
    let options = ArrowReaderOptions::new().with_schema(texts_as_views(stated.schema()));
    let metadata = ArrowReaderMetadata::try_new(Arc::clone(stated.metadata()), options);
    let builder =
        ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata.map_err(|error| not_parquet(&error))?);
    let fields = stated.schema().fields().iter().enumerate();
    let roots = fields.filter(|(_, field)| is_read(field.name()));
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots.map(|(number, _)| number));
    let reader = builder.with_projection(mask).with_batch_size(BATCH_GAMES);
    reader.build().map_err(|error| not_parquet(&error))
}

/// The same columns with texts as views, so that a long text that every game refers to is in memory only once.
fn texts_as_views(schema: &Schema) -> SchemaRef {
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    };
    let fields: Vec<_> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Every column must exist with the type of the schema; only those added in later versions may be missing.
fn check_schema(found: &Schema) -> Result<(), ShardError> {
    for field in games_schema().fields() {
        let wrong = |found: String| ShardError::Schema {
            column: field.name().clone(),
            expected: field.data_type().to_string(),
            found,
        };
        let mut columns = found.fields().iter().filter(|other| other.name() == field.name());
        match (columns.next(), columns.next()) {
            (Some(column), None) if is_same_type(column.data_type(), field.data_type()) => {}
            (Some(column), None) => return Err(wrong(column.data_type().to_string())),
            (Some(_), Some(_)) => return Err(wrong("two columns with that name".to_owned())),
            (None, _) if LATER_COLUMNS.contains(&field.name().as_str()) => {}
            (None, _) => return Err(wrong("nothing".to_owned())),
        }
    }
    Ok(())
}

/// Whether two types are equal, whatever the items of a list are called and whether they may be null: other writers
/// call them `element` and let them. Items that are null are found later.
fn is_same_type(found: &DataType, expected: &DataType) -> bool {
    match (found, expected) {
        (DataType::List(found), DataType::List(expected)) => found.data_type() == expected.data_type(),
        _ => found == expected,
    }
}

fn check_footer(footer: &FileMetaData) -> Result<(), ShardError> {
    let value = |key: &str| {
        let pairs = footer.key_value_metadata().into_iter().flatten();
        pairs.filter(|pair| pair.key == key).find_map(|pair| pair.value.clone())
    };
    let content = value(CONTENT_KEY);
    if content.as_deref() != Some(CONTENT_GAMES) {
        return Err(ShardError::NotGames {
            found: content.unwrap_or_else(|| "no such key".to_owned()),
        });
    }
    let version = value(VERSION_KEY).unwrap_or_else(|| "none".to_owned());
    match version.parse::<FormatVersion>() {
        Ok(parsed) if parsed.is_readable() => Ok(()),
        _ => Err(ShardError::Version { found: version }),
    }
}

/// The columns of one batch, each with the type in the schema, texts as views.
struct Columns<'a> {
    batch: &'a RecordBatch,
}

impl<'a> Columns<'a> {
    fn check(batch: &'a RecordBatch) -> Result<Columns<'a>, ShardError> {
        for field in games_schema().fields() {
            let column = batch.column_by_name(field.name());
            let items = column
                .and_then(|column| column.as_list_opt::<i32>())
                .map(ListArray::values);
            let has_nulls = |values: Option<&Arc<dyn Array>>| values.is_some_and(|values| values.null_count() > 0);
            if (!field.is_nullable() && has_nulls(column)) || has_nulls(items) {
                return Err(ShardError::Schema {
                    column: field.name().clone(),
                    expected: field.data_type().to_string(),
                    found: "null values".to_owned(),
                });
            }
        }
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let texts = column.as_string_view_opt().into_iter().flatten().flatten();
            if let Some(found) = texts.map(str::len).max().filter(|&found| found > LONGEST_TEXT) {
                let column = field.name().clone();
                return Err(ShardError::LongText { column, found });
            }
        }
        Ok(Columns { batch })
    }

    fn column(&self, name: &str) -> &'a dyn Array {
        self.batch
            .column_by_name(name)
            .expect("the column was checked")
            .as_ref()
    }

    fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> &'a PrimitiveArray<T> {
        self.column(name).as_primitive()
    }

    fn text(&self, name: &str) -> &'a StringViewArray {
        self.column(name).as_string_view()
    }

    /// A text that may be null, or whose column may be missing in an earlier version.
    fn optional_text(&self, name: &str, row: usize) -> Option<&'a str> {
        let column = self.batch.column_by_name(name)?.as_string_view();
        column.is_valid(row).then(|| column.value(row))
    }

    /// A number that may be null, or whose column may be missing in an earlier version.
    fn optional_number(&self, name: &str, row: usize) -> Option<i32> {
        let column: &PrimitiveArray<Int32Type> = self.batch.column_by_name(name)?.as_primitive();
        column.is_valid(row).then(|| column.value(row))
    }

    fn list<T: ArrowPrimitiveType>(&self, name: &str, row: usize) -> Items<T> {
        let lists: &ListArray = self.column(name).as_list();
        Items(lists.value(row).as_primitive::<T>().clone())
    }

    /// A list whose column may be missing in an earlier version, which then counts as empty.
    fn later_list<T: ArrowPrimitiveType>(&self, name: &str, row: usize) -> Items<T> {
        match self.batch.column_by_name(name) {
            Some(_) => self.list(name, row),
            None => Items(PrimitiveArray::from_iter_values([])),
        }
    }
}

struct Items<T: ArrowPrimitiveType>(PrimitiveArray<T>);

impl<T: ArrowPrimitiveType> Items<T> {
    fn get(&self) -> &[T::Native] {
        self.0.values()
    }

    /// The items, which must be exactly `expected`.
    fn exactly(&self, row: usize, name: &str, expected: usize) -> Result<&[T::Native], ShardError> {
        let found = self.0.len();
        if found == expected {
            return Ok(self.get());
        }
        Err(ShardError::Game {
            row,
            problem: format!("{name} must have {expected} entries, but has {found}"),
        })
    }
}

fn decode_batch(batch: &RecordBatch, games: &mut Vec<GameRecord>) -> Result<(), ShardError> {
    let columns = Columns::check(batch)?;
    let first = games.len();
    for row in 0..batch.num_rows() {
        games.push(decode_game(&columns, row, first + row)?);
    }
    Ok(())
}

fn decode_game(columns: &Columns<'_>, row: usize, number: usize) -> Result<GameRecord, ShardError> {
    let wrong = |problem: String| ShardError::Game { row: number, problem };
    let text = |name: &str| columns.text(name).value(row).to_owned();
    let side = |name: &str| usize::from(columns.numbers::<UInt8Type>(name).value(row));
    let size = Size::new(side("width"), side("height")).map_err(|error| wrong(error.to_string()))?;
    let end_reason = columns.text("end_reason").value(row);
    let kind = columns.text("kind").value(row);
    let scores = columns.numbers::<Int32Type>("score_half_points");
    Ok(GameRecord {
        game_id: text("game_id"),
        size,
        rules: text("rules"),
        komi: Komi::from_half_points(columns.numbers::<Int16Type>("komi_half_points").value(row)),
        score_half_points: scores.is_valid(row).then(|| scores.value(row)),
        seed: columns.numbers::<Int64Type>("seed").value(row),
        black_model: text("black_model"),
        white_model: text("white_model"),
        config_id: text("config_id"),
        start_time_ms: columns.numbers::<TimestampMillisecondType>("start_time").value(row),
        end_reason: EndReason::from_name(end_reason)
            .ok_or_else(|| wrong(format!("unknown end_reason {end_reason:?}")))?,
        kind: GameKind::from_name(kind).ok_or_else(|| wrong(format!("unknown kind {kind:?}")))?,
        opening_plies: columns.numbers::<UInt16Type>("opening_plies").value(row),
        setup: decode_setup(columns, row, size).map_err(wrong)?,
        plies: decode_plies(columns, row, number, size)?,
        ownership: columns.list::<Int8Type>("ownership", row).get().to_vec(),
        origin: decode_origin(columns, row).map_err(wrong)?,
    })
}

fn decode_origin(columns: &Columns<'_>, row: usize) -> Result<Option<Box<Origin>>, String> {
    let text = |name: &str| columns.optional_text(name, row).map(str::to_owned);
    let Some(file) = text("source_file") else {
        return Ok(None);
    };
    let number = |name: &str, least: i32, most: i32| match columns.optional_number(name, row) {
        Some(found) if !(least..=most).contains(&found) => {
            Err(format!("{name} must be {least} to {most}, but is {found}"))
        }
        found => Ok(found),
    };
    let game = number("source_game", 1, i32::MAX)?;
    Ok(Some(Box::new(Origin {
        file,
        game: game
            .ok_or("source_game must not be null when source_file is not")?
            .unsigned_abs(),
        result: text("claimed_result"),
        komi: text("claimed_komi"),
        rules: text("claimed_rules"),
        handicap: number("claimed_handicap", 0, u16::MAX.into())?.map(|stones| stones as u16),
        black_rank: text("black_rank"),
        white_rank: text("white_rank"),
        date: text("played_on"),
        event: text("event"),
        teacher: text("teacher"),
    })))
}

fn decode_setup(columns: &Columns<'_>, row: usize, size: Size) -> Result<Setup, String> {
    let handicap = columns.numbers::<UInt8Type>("handicap").value(row);
    Ok(Setup {
        stones: read_setup_stones(size, columns.list::<Int16Type>("setup", row).get())?,
        to_move: match columns.optional_text("first_to_move", row) {
            None | Some("black") => Color::Black,
            Some("white") => Color::White,
            Some(other) => return Err(format!("first_to_move must be black or white, but is {other:?}")),
        },
        handicap: read_handicap(handicap.into(), columns.optional_text("handicap_kind", row))?,
    })
}

fn decode_plies(columns: &Columns<'_>, row: usize, number: usize, size: Size) -> Result<Vec<PlyRecord>, ShardError> {
    let moves = columns.list::<Int16Type>("moves", row);
    let plies = moves.get().len();
    let floats = |name: &str| columns.list::<Float32Type>(name, row);
    let (values, scores, raw, weights) = (
        floats("root_value"),
        floats("root_score"),
        floats("network_value"),
        floats("weight"),
    );
    let (flags, visits) = (
        columns.list::<UInt8Type>("flags", row),
        columns.list::<UInt16Type>("root_visits", row),
    );
    let values = values.exactly(number, "root_value", plies)?;
    let scores = scores.exactly(number, "root_score", plies)?;
    let raw = raw.exactly(number, "network_value", plies)?;
    let weights = weights.exactly(number, "weight", plies)?;
    let flags = flags.exactly(number, "flags", plies)?;
    let visits = visits.exactly(number, "root_visits", plies)?;
    let policies = decode_policies(columns, row, number, plies)?;
    let mut maps = ExpectedOwners::read(columns, row, number, (plies, size))?;
    let ply = |(ply, policy): (usize, Vec<(u16, f32)>)| {
        Ok(PlyRecord {
            mv: decode_move(size, moves.get()[ply], number, ply)?,
            flags: flags[ply],
            root_value: values[ply],
            root_margin: scores[ply],
            root_visits: visits[ply],
            network_value: raw[ply],
            weight: weights[ply],
            policy,
            expected_ownership: maps.take(ply),
        })
    };
    policies.into_iter().enumerate().map(ply).collect()
}

fn decode_move(size: Size, index: i16, row: usize, ply: usize) -> Result<Move, ShardError> {
    let found = usize::try_from(index)
        .ok()
        .and_then(|index| Move::from_index(size, index));
    found.ok_or_else(|| {
        let problem = format!(
            "ply {ply}: move index must be 0 to {} (a pass), but is {index}",
            size.area()
        );
        ShardError::Game { row, problem }
    })
}

/// Reads the policy target of every ply.
fn decode_policies(
    columns: &Columns<'_>,
    row: usize,
    number: usize,
    plies: usize,
) -> Result<Vec<Vec<(u16, f32)>>, ShardError> {
    let counts = columns.list::<UInt16Type>("policy_counts", row);
    let counts = counts.exactly(number, "policy_counts", plies)?;
    let total = counts.iter().map(|&count| usize::from(count)).sum();
    let moves = columns.list::<Int16Type>("policy_moves", row);
    let moves = moves.exactly(number, "policy_moves", total)?;
    let probabilities = columns.list::<Float32Type>("policy_probabilities", row);
    let probabilities = probabilities.exactly(number, "policy_probabilities", total)?;
    if let Some(index) = moves.iter().find(|&&index| index < 0) {
        let problem = format!("policy_moves must not be negative, but one is {index}");
        return Err(ShardError::Game { row: number, problem });
    }
    let mut entries = moves
        .iter()
        .map(|&index| index as u16)
        .zip(probabilities.iter().copied());
    Ok(counts
        .iter()
        .map(|&count| entries.by_ref().take(usize::from(count)).collect())
        .collect())
}

/// The maps of expected owners of a game, taken out ply by ply.
struct ExpectedOwners {
    plies: Items<Int32Type>,
    owners: Items<Int8Type>,
    area: usize,
    taken: usize,
}

impl ExpectedOwners {
    fn read(
        columns: &Columns<'_>,
        row: usize,
        number: usize,
        (plies, size): (usize, Size),
    ) -> Result<ExpectedOwners, ShardError> {
        let maps = ExpectedOwners {
            plies: columns.later_list("expected_ownership_plies", row),
            owners: columns.later_list("expected_ownership", row),
            area: size.area(),
            taken: 0,
        };
        let with_map = maps.plies.get();
        let is_inside = |&ply: &i32| usize::try_from(ply).is_ok_and(|ply| ply < plies);
        if !with_map.is_sorted_by(|a, b| a < b) || !with_map.iter().all(is_inside) {
            let problem = format!("expected_ownership_plies must be ascending and below {plies}, the number of plies");
            return Err(ShardError::Game { row: number, problem });
        }
        maps.owners
            .exactly(number, "expected_ownership", with_map.len() * maps.area)?;
        Ok(maps)
    }

    /// The map of a ply, empty if it has none; plies are asked for in order.
    fn take(&mut self, ply: usize) -> Vec<i8> {
        let next = self.plies.get().get(self.taken).copied();
        if next.and_then(|next| usize::try_from(next).ok()) != Some(ply) {
            return Vec::new();
        }
        let start = self.taken * self.area;
        self.taken += 1;
        self.owners.get()[start..start + self.area].to_vec()
    }
}
