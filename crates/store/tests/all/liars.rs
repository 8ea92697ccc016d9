//! Shards that are valid Parquet with a matching name but false contents: each is quarantined with the exact reason,
//! however much memory it asks for.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type};
use arrow_array::{Array, ArrayRef, Int16Array, Int32Array, RecordBatch, StringArray, UInt8Array};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use object_store::memory::InMemory;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use tengen_records::GameRecord;
use tengen_store::{Collection, GamesOf, ShardReadError, Store, decode, encode, sha256_hex};
use tengen_testing::{Random, random_games};

/// All columns of some valid games.
fn table(games: &[GameRecord]) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(encode(games))).unwrap();
    let mut batches: Vec<_> = reader.with_batch_size(1 << 20).build().unwrap().collect();
    assert_eq!(batches.len(), 1);
    batches.remove(0).unwrap()
}

/// The same batch with a column replaced or added.
fn with(batch: &RecordBatch, name: &str, column: ArrayRef, is_nullable: bool) -> RecordBatch {
    let field = Arc::new(Field::new(name, column.data_type().clone(), is_nullable));
    let mut fields = batch.schema().fields().to_vec();
    let mut columns = batch.columns().to_vec();
    match fields.iter().position(|field| field.name() == name) {
        Some(number) => (fields[number], columns[number]) = (field, column),
        None => {
            fields.push(field);
            columns.push(column);
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// A shard with these columns in one row group.
fn shard(batch: &RecordBatch) -> Vec<u8> {
    let pair = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap()))
        .set_key_value_metadata(Some(vec![
            pair("tengen.format_version", "1.1"),
            pair("tengen.content", "games"),
        ]));
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// Lists with another item type or with other items.
fn lists<T: ArrowPrimitiveType>(lists: &[Vec<T::Native>]) -> ArrayRef {
    let item = Field::new("item", T::DATA_TYPE, false);
    let mut builder = ListBuilder::new(PrimitiveBuilder::<T>::new()).with_field(item);
    for list in lists {
        builder.values().append_slice(list);
        builder.append(true);
    }
    Arc::new(builder.finish())
}

fn items<T: ArrowPrimitiveType>(batch: &RecordBatch, name: &str) -> Vec<Vec<T::Native>> {
    let column = batch.column_by_name(name).unwrap().as_list::<i32>();
    let values = |row| column.value(row).as_primitive::<T>().values().to_vec();
    (0..batch.num_rows()).map(values).collect()
}

/// The quarantine reason for a shard whose name promises three valid games.
fn reason(bytes: Vec<u8>, games: &[GameRecord]) -> String {
    let store = Store::over(Arc::new(InMemory::new()), "memory").unwrap();
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    let folder = Collection::SelfPlay { generation: 7 }.folder();
    let (count, hash) = (games.len(), &sha256_hex(&bytes)[..16]);
    let path = format!("{folder}/1790000000000-liar-0-{count}g-{positions}p-{hash}.parquet");
    store.files().put_new(&path, bytes).unwrap();
    let shards = store.games().list_shards(&GamesOf::All).unwrap();
    let message = store.games().inspect(&shards[0]).unwrap().unwrap_err();
    match store.games().read(&shards[0]) {
        Err(ShardReadError::Quarantined { reason, .. }) => assert_eq!(reason, message),
        other => panic!("expected a shard in quarantine, found {other:?}"),
    }
    assert_eq!(store.games().quarantine_notes().unwrap()[0].reason, message);
    message
}

/// Other writers name the items of a list `element` and let them be null, which is no difference if none is.
#[test]
fn lists_of_other_writers_are_read() {
    let games = random_games(3, 3);
    let mut batch = table(&games);
    for nullable in [false, true] {
        let item = Field::new("element", Int16Type::DATA_TYPE, nullable);
        let mut builder = ListBuilder::new(PrimitiveBuilder::<Int16Type>::new()).with_field(item);
        for list in items::<Int16Type>(&batch, "moves") {
            builder.values().append_slice(&list);
            builder.append(true);
        }
        batch = with(&batch, "moves", Arc::new(builder.finish()), true);
        assert_eq!(decode(&shard(&batch)).unwrap(), games);
    }
}

/// Checks that a changed shard of three valid games is quarantined with a reason that contains `words`.
fn check(change: impl Fn(&RecordBatch) -> RecordBatch, words: &str) {
    let games = random_games(3, 3);
    let batch = table(&games);
    assert_eq!(
        decode(&shard(&batch)).unwrap(),
        games,
        "the unchanged games are readable"
    );
    let message = reason(shard(&change(&batch)), &games);
    assert!(message.contains(words), "expected {words:?} in: {message}");
}

fn check_list<T: ArrowPrimitiveType>(name: &str, change: fn(&mut Vec<T::Native>), words: &str) {
    let lie = |batch: &RecordBatch| {
        let mut all = items::<T>(batch, name);
        change(&mut all[1]);
        with(batch, name, lists::<T>(&all), false)
    };
    check(lie, words);
}

fn check_column(name: &str, column: impl Into<ArrayColumn>, words: &str) {
    let column = column.into().0;
    check(
        |batch| with(batch, name, Arc::clone(&column), column.is_nullable()),
        words,
    );
}

/// A column of three rows.
struct ArrayColumn(ArrayRef);

impl<A: Array + 'static> From<A> for ArrayColumn {
    fn from(array: A) -> ArrayColumn {
        ArrayColumn(Arc::new(array))
    }
}

#[test]
fn wrong_column_types_are_reported() {
    check_column(
        "width",
        Int32Array::from(vec![3, 3, 3]),
        "column width: expected UInt8, found Int32",
    );
    check_column(
        "game_id",
        StringArray::from(vec![Some("a"), None, Some("b")]),
        "column game_id: expected Utf8, found null values",
    );
    check_column("setup", UInt8Array::from(vec![0, 0, 0]), "column setup: expected List");
    let wide = |batch: &RecordBatch| {
        let wide = items::<Int16Type>(batch, "moves");
        let wide: Vec<Vec<i32>> = wide
            .into_iter()
            .map(|list| list.into_iter().map(i32::from).collect())
            .collect();
        with(batch, "moves", lists::<Int32Type>(&wide), false)
    };
    check(wide, "column moves: expected List(non-null Int16");
    let null_items = |batch: &RecordBatch| {
        let mut builder = ListBuilder::new(PrimitiveBuilder::<Int16Type>::new());
        for list in items::<Int16Type>(batch, "moves") {
            builder.values().append_slice(&list[1..]);
            builder.values().append_null();
            builder.append(true);
        }
        with(batch, "moves", Arc::new(builder.finish()), false)
    };
    check(null_items, "found null values");
    check(
        |batch| batch.project(&(1..batch.num_columns()).collect::<Vec<_>>()).unwrap(),
        "column game_id: expected Utf8, found nothing",
    );
}

#[test]
fn inconsistent_lists_are_reported() {
    check_list::<Float32Type>("root_value", |list| list.truncate(1), "game 1: root_value must have");
    check_list::<UInt8Type>("flags", |list| list.extend([0; 500]), "game 1: flags must have");
    check_list::<UInt16Type>("root_visits", Vec::clear, "game 1: root_visits must have");
    check_list::<Int32Type>(
        "expected_ownership_plies",
        |list| list.push(0),
        "game 1: expected_ownership must have 9 entries, but has 0",
    );
    check_list::<Int32Type>(
        "expected_ownership_plies",
        |list| list.extend([1, 1]),
        "game 1: expected_ownership_plies must be ascending",
    );
    check_list::<Int32Type>(
        "expected_ownership_plies",
        |list| list.push(i32::MAX),
        "game 1: expected_ownership_plies must be ascending and below",
    );
    check_list::<Int32Type>(
        "expected_ownership_plies",
        |list| list.push(-1),
        "game 1: expected_ownership_plies must be ascending and below",
    );
    check_list::<Int8Type>(
        "expected_ownership",
        |list| list.push(7),
        "game 1: expected_ownership must have 0 entries, but has 1",
    );
    check_list::<UInt16Type>("policy_counts", |list| list[0] += 1, "game 1: policy_moves must have");
    check_list::<UInt16Type>(
        "policy_counts",
        |list| list.fill(u16::MAX),
        "game 1: policy_moves must have",
    );
    check_list::<Float32Type>(
        "policy_probabilities",
        Vec::clear,
        "game 1: policy_probabilities must have",
    );
    check_list::<Int16Type>(
        "policy_moves",
        |list| list[0] = -1,
        "game 1: policy_moves must not be negative",
    );
    check_list::<Int16Type>(
        "policy_moves",
        |list| list[0] = i16::MAX,
        "is greater than 9, the index of a pass",
    );
    check_list::<Int16Type>("moves", |list| list[2] = -1, "game 1: ply 2: move index must be 0 to 9");
    check_list::<Int16Type>("moves", |list| list[2] = 10, "game 1: ply 2: move index must be 0 to 9");
    check_list::<Int16Type>("setup", |list| list.push(-2), "game 1: ");
    check_list::<Int16Type>("setup", |list| list.push(18), "game 1: ");
    check_list::<Int8Type>("ownership", |list| list[4] = i8::MIN, "ownership of point 4");
    check_list::<Int8Type>(
        "ownership",
        |list| list.extend([0; 99]),
        "ownership must have 9 entries, but has 108",
    );
}

#[test]
fn invalid_numbers_are_reported() {
    check_list::<Float32Type>(
        "root_value",
        |list| list[0] = f32::NAN,
        "ply 0: root_value must be a number from -1 to 1",
    );
    check_list::<Float32Type>(
        "root_score",
        |list| list[1] = f32::NEG_INFINITY,
        "ply 1: root_margin must be a number from -100000 to 100000",
    );
    check_list::<Float32Type>("network_value", |list| list[0] = 1.5, "ply 0: network_value must be");
    check_list::<Float32Type>(
        "weight",
        |list| list[0] = f32::INFINITY,
        "ply 0: weight must be a number from 0 to 65536",
    );
    check_list::<Float32Type>("root_score", |list| list[0] = 1e30, "ply 0: root_margin must be");
    check_list::<Float32Type>("weight", |list| list[0] = 1e38, "ply 0: weight must be");
    check_list::<UInt8Type>(
        "flags",
        |list| list[0] = 255,
        "ply 0: flags must be a sum of 1, 2 and 4, but is 255",
    );
    check_list::<Float32Type>(
        "policy_probabilities",
        |list| list.fill(f32::NAN),
        "policy target: probability NaN",
    );
}

#[test]
fn impossible_games_are_reported() {
    check_column("width", UInt8Array::from(vec![3, 0, 3]), "game 1: ");
    check_column("height", UInt8Array::from(vec![3, 255, 3]), "game 1: ");
    check_column(
        "komi_half_points",
        Int16Array::from(vec![i16::MIN; 3]),
        "the score after komi counts to",
    );
    check_column(
        "score_half_points",
        Int32Array::from(vec![i32::MIN; 3]),
        "the score after komi counts to",
    );
    check_column("handicap", UInt8Array::from(vec![0, 255, 0]), "game 1: ");
    for (name, words) in [
        ("rules", "the record's rules: "),
        ("kind", "game 0: unknown kind"),
        ("end_reason", "game 0: unknown end_reason"),
        ("first_to_move", "game 0: first_to_move must be black or white"),
    ] {
        check_column(name, StringArray::from(vec!["\u{0}chess"; 3]), words);
    }
    check_column("game_id", StringArray::from(vec!["one"; 3]), "expected each game once");
}

/// A column that a later version may add is ignored, whatever it contains.
#[test]
fn unknown_columns_are_ignored() {
    let games = random_games(3, 3);
    let more = StringArray::from(vec!["x".repeat(1 << 20); 3]);
    let batch = with(&table(&games), "of_version_1_9", Arc::new(more), false);
    assert_eq!(decode(&shard(&batch)).unwrap(), games);
}

#[test]
fn small_files_that_need_too_much_memory_are_reported() {
    check_list::<Int16Type>(
        "moves",
        |list| *list = vec![9; 6_000_000],
        "values in column moves in a file of",
    );
    check_list::<Float32Type>(
        "policy_probabilities",
        |list| *list = vec![0.0; 8_000_000],
        "values in column policy_probabilities in a file of",
    );
    check_list::<Int8Type>(
        "ownership",
        |list| *list = vec![0; 6_000_000],
        "values in column ownership in a file of",
    );
    let long = "a".repeat(100 << 20);
    check_column(
        "config_id",
        StringArray::from(vec![long.as_str(), "", ""]),
        "decompressed bytes in a file of",
    );
    let long = "a".repeat(1 << 20);
    check_column(
        "black_model",
        StringArray::from(vec![long.as_str(); 3]),
        "column black_model: expected texts of at most 65536 bytes, found one of 1048576",
    );
}

#[test]
fn more_games_than_a_file_can_hold_are_reported() {
    let game = &random_games(1, 1)[0];
    let batch = table(&vec![game.clone(); 30_000]);
    let message = reason(shard(&batch), std::slice::from_ref(game));
    assert!(
        message.contains("games in a file of") && message.contains("found 30000"),
        "{message}"
    );
}

/// Overwrites bytes of a valid shard, mostly in its footer, and reads it; the fuzz target `shard` does the same.
fn read_altered(sound: &[u8], changes: &[(u16, u8)]) {
    let mut bytes = sound.to_vec();
    for &(place, value) in changes {
        let place = bytes.len() - 1 - usize::from(place) % bytes.len();
        bytes[place] = value;
    }
    for game in decode(&bytes).unwrap_or_default() {
        let _ = game.validate();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn altered_shards_never_panic(changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        static SOUND: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        read_altered(SOUND.get_or_init(|| encode(&random_games(3, 3))), &changes);
    }
}

/// The same with bytes all over the file, set to values that often cause trouble.
#[test]
fn any_altered_byte_never_panics() {
    let sound = encode(&random_games(2, 2));
    let mut random = Random::new(1);
    for place in (0..sound.len()).step_by(3) {
        let value = [0, 1, 0x7f, 0x80, 0xff, random.below(256) as u8][random.below(6)];
        read_altered(&sound, &[(place as u16, value)]);
    }
}
