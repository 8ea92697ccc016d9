//! Encodes games as a Parquet shard.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Int8Type, Int16Type, Int32Type, TimestampMillisecondType, UInt8Type, UInt16Type,
};
use arrow_array::{ArrayRef, Int16Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt8Array};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

use tengen_records::{GameRecord, Origin, PlyRecord};
use tengen_rules::Color;

use crate::schema::{CONTENT_GAMES, CONTENT_KEY, FORMAT, VERSION_KEY, games_schema, item_field};
use crate::start::{handicap_of, setup_stones};

/// Number of games in one row group.
const ROW_GROUP_GAMES: usize = 256;

/// Compression level of zstd.
const ZSTD_LEVEL: i32 = 3;

/// Encodes games, in order, as a Parquet file with the schema of version 1.3. The same games always give the same
/// bytes.
pub fn encode(games: &[GameRecord]) -> Vec<u8> {
    let schema = games_schema();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, schema, Some(writer_properties())).expect("the schema is valid Parquet");
    for group in games.chunks(ROW_GROUP_GAMES) {
        writer
            .write(&batch(group))
            .expect("the batch has the schema's columns and writing to memory does not fail");
    }
    writer.close().expect("writing to memory does not fail");
    bytes
}

fn writer_properties() -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("3 is a valid zstd level");
    let key = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(ROW_GROUP_GAMES))
        .set_key_value_metadata(Some(vec![
            key(VERSION_KEY, FORMAT.to_string()),
            key(CONTENT_KEY, CONTENT_GAMES.to_owned()),
        ]));
    split_floats(properties).build()
}

/// Stores every list of floats with byte stream split encoding, which zstd compresses better.
fn split_floats(mut properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
    for field in games_schema().fields() {
        if *field.data_type() == DataType::List(item_field(DataType::Float32)) {
            let path = ColumnPath::new(vec![field.name().clone(), "list".to_owned(), "item".to_owned()]);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT);
        }
    }
    properties
}

fn batch(games: &[GameRecord]) -> RecordBatch {
    let mut columns = scalar_columns(games);
    columns.extend(list_columns(games));
    columns.extend(origin_columns(games));
    RecordBatch::try_new(games_schema(), columns).expect("the columns are built in the schema's order")
}

fn scalar_columns(games: &[GameRecord]) -> Vec<ArrayRef> {
    let text =
        |get: fn(&GameRecord) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(games.iter().map(get))) };
    let side = |get: fn(&GameRecord) -> usize| -> ArrayRef {
        Arc::new(UInt8Array::from_iter_values(games.iter().map(|game| get(game) as u8)))
    };
    let start = games.iter().map(|game| game.start_time_ms);
    vec![
        text(|game| &game.game_id),
        text(|game| game.kind.name()),
        side(|game| game.size.width()),
        side(|game| game.size.height()),
        text(|game| &game.rules),
        Arc::new(Int16Array::from_iter_values(
            games.iter().map(|game| game.komi.half_points()),
        )),
        Arc::new(games.iter().map(|game| game.score_half_points).collect::<Int32Array>()),
        Arc::new(Int64Array::from_iter_values(games.iter().map(|game| game.seed))),
        text(|game| &game.black_model),
        text(|game| &game.white_model),
        text(|game| &game.config_id),
        Arc::new(PrimitiveArray::<TimestampMillisecondType>::from_iter_values(start).with_timezone("UTC")),
        text(|game| game.end_reason.name()),
        side(|game| usize::from(handicap_of(&game.setup).0)),
        optional(games.iter().map(|game| handicap_of(&game.setup).1)),
        optional(
            games
                .iter()
                .map(|game| (game.setup.to_move == Color::White).then_some("white")),
        ),
        Arc::new(PrimitiveArray::<UInt16Type>::from_iter_values(
            games.iter().map(|game| game.opening_plies),
        )),
    ]
}

fn list_columns(games: &[GameRecord]) -> Vec<ArrayRef> {
    vec![
        list::<Int16Type, _>(games, |game| setup_stones(game.size, &game.setup)),
        list::<Int16Type, _>(games, |game| {
            let size = game.size;
            game.plies.iter().map(move |ply| ply.mv.index(size) as i16)
        }),
        per_ply::<UInt8Type>(games, |ply| ply.flags),
        per_ply::<Float32Type>(games, |ply| ply.root_value),
        per_ply::<Float32Type>(games, |ply| ply.root_margin),
        per_ply::<UInt16Type>(games, |ply| ply.root_visits),
        per_ply::<Float32Type>(games, |ply| ply.network_value),
        per_ply::<Float32Type>(games, |ply| ply.weight),
        per_ply::<UInt16Type>(games, |ply| ply.policy.len() as u16),
        list::<Int16Type, _>(games, |game| policy_entries(game).map(|entry| entry.0 as i16)),
        list::<Float32Type, _>(games, |game| policy_entries(game).map(|entry| entry.1)),
        list::<Int8Type, _>(games, |game| game.ownership.iter().copied()),
        list::<Int32Type, _>(games, |game| expected_owners(game).map(|(ply, _)| ply as i32)),
        list::<Int8Type, _>(games, |game| {
            expected_owners(game).flat_map(|(_, map)| map.iter().copied())
        }),
    ]
}

/// The columns that only imported games fill.
fn origin_columns(games: &[GameRecord]) -> Vec<ArrayRef> {
    let origins = || games.iter().map(|game| game.origin.as_deref());
    let text = |get: fn(&Origin) -> Option<&String>| optional(origins().map(|origin| get(origin?).map(String::as_str)));
    let number = |get: fn(&Origin) -> Option<i32>| -> ArrayRef {
        Arc::new(origins().map(|origin| get(origin?)).collect::<Int32Array>())
    };
    vec![
        text(|origin| Some(&origin.file)),
        number(|origin| i32::try_from(origin.game).ok()),
        text(|origin| origin.result.as_ref()),
        text(|origin| origin.komi.as_ref()),
        text(|origin| origin.rules.as_ref()),
        number(|origin| origin.handicap.map(i32::from)),
        text(|origin| origin.black_rank.as_ref()),
        text(|origin| origin.white_rank.as_ref()),
        text(|origin| origin.date.as_ref()),
        text(|origin| origin.event.as_ref()),
        text(|origin| origin.teacher.as_ref()),
    ]
}

fn optional<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(texts.collect::<StringArray>())
}

fn policy_entries(game: &GameRecord) -> impl Iterator<Item = (u16, f32)> + '_ {
    game.plies.iter().flat_map(|ply| ply.policy.iter().copied())
}

/// The plies for which somebody said which owners they expect, with their maps.
fn expected_owners(game: &GameRecord) -> impl Iterator<Item = (usize, &[i8])> {
    let maps = game.plies.iter().map(|ply| ply.expected_ownership.as_slice());
    maps.enumerate().filter(|(_, map)| !map.is_empty())
}

fn per_ply<T: ArrowPrimitiveType>(games: &[GameRecord], get: fn(&PlyRecord) -> T::Native) -> ArrayRef {
    list::<T, _>(games, |game| game.plies.iter().map(get))
}

/// A list column with one list per game.
fn list<'a, T, I>(games: &'a [GameRecord], items: impl Fn(&'a GameRecord) -> I) -> ArrayRef
where
    T: ArrowPrimitiveType,
    I: Iterator<Item = T::Native>,
{
    let mut builder = ListBuilder::new(PrimitiveBuilder::<T>::new()).with_field(item_field(T::DATA_TYPE));
    for game in games {
        for item in items(game) {
            builder.values().append_value(item);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}
