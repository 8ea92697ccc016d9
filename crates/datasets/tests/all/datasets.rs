//! Datasets as files: reproducible bytes, complete or absent, with exactly the requested rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::exports::{export, options, rows};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int8Type, Int16Type, Int32Type};
use object_store::memory::InMemory;

use tengen_datasets::{
    Dataset, DatasetError, DatasetFilter, ExportOptions, FileFormat, SplitShares, What, export_kept, sample,
};
use tengen_records::{EndReason, FULL_SEARCH, GameRecord};
use tengen_rules::{Color, Handicap, Komi, Setup, Size, parse_point};
use tengen_store::{Collection, Create, GamesOf, Store, StoreError};
use tengen_testing::{random_game, random_game_from};

/// Games on three sizes, finished and unfinished, some with handicap and setup stones, under two rule sets.
pub(crate) fn games() -> Vec<GameRecord> {
    let sizes = [(5, 5), (3, 4), (5, 5), (9, 9)].map(|(width, height)| Size::new(width, height).unwrap());
    let mut games: Vec<GameRecord> = (0..24)
        .map(|seed| random_game(sizes[seed % 4], seed as u64, if seed % 5 == 0 { 9 } else { 200 }))
        .collect();
    let size = sizes[0];
    let black = ["B2", "D4"].map(|name| parse_point(size, name).unwrap());
    let setups = [
        (Handicap::Fixed(2), Color::White, black.into_iter().collect()),
        (Handicap::Consecutive(3), Color::Black, Default::default()),
        (Handicap::Even, Color::White, black.into_iter().take(1).collect()),
    ];
    for (seed, (handicap, to_move, stones)) in setups.into_iter().enumerate() {
        let setup = Setup {
            stones: [stones, Default::default()],
            to_move,
            handicap,
        };
        games.push(random_game_from(size, setup, 100 + seed as u64, 120));
    }
    for game in &mut games[20..24] {
        game.black_model = "g000002-aaaaaaaaaaaa".to_owned();
    }
    games
}

/// A store with these games in several shards of two generations.
pub(crate) fn store(folder: &Path, games: &[GameRecord]) -> Store {
    let store = Store::open(folder.join("store").to_str().unwrap(), Create::Always).unwrap();
    for (number, games) in games.chunks(7).enumerate() {
        let generation = number as u32 / 2;
        let collection = Collection::SelfPlay { generation };
        store
            .games()
            .publish_games(&collection, "test", number as u64, games)
            .unwrap();
    }
    store
}

/// Every file in a folder with its bytes.
pub(crate) fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inside = contents(&path).into_iter();
            files.extend(inside.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files
}

/// Game and ply of every row.
pub(crate) fn keys(dataset: &Dataset) -> Vec<(String, i32)> {
    let mut keys = Vec::new();
    for batch in rows(dataset) {
        let ids = batch.column_by_name("game_id").unwrap().as_string::<i32>().clone();
        let plies = batch.column_by_name("ply").unwrap().as_primitive::<Int32Type>().clone();
        keys.extend((0..batch.num_rows()).map(|row| (ids.value(row).to_owned(), plies.value(row))));
    }
    keys
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let mut cases = Vec::new();
    for format in [FileFormat::Parquet, FileFormat::Arrow, FileFormat::Npz, FileFormat::Sgf] {
        cases.push(options(What::Games, format));
    }
    for format in [FileFormat::Parquet, FileFormat::Arrow, FileFormat::Npz] {
        cases.push(ExportOptions {
            distinct: true,
            split: Some(SplitShares {
                train: 0.5,
                validation: 0.25,
                test: 0.25,
            }),
            rows_per_part: Some(150),
            ..options(What::Positions, format)
        });
    }
    for (number, options) in cases.iter().enumerate() {
        let made = [1, 4].map(|threads| {
            let out = folder.path().join(format!("{number}-{threads}"));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let dataset = pool.install(|| export(&store, &out, options)).unwrap();
            assert_eq!(dataset.folder, out.join("v1"));
            contents(&out)
        });
        assert_eq!(made[0], made[1], "{options:?}");
        assert!(made[0].contains_key("v1/MANIFEST.json") && made[0].contains_key("v1/README.md"));
    }
}

#[test]
fn position_rows_match_the_games() {
    let folder = tempfile::tempdir().unwrap();
    let games = games();
    let store = store(folder.path(), &games);
    let dataset = export(
        &store,
        &folder.path().join("out"),
        &options(What::Positions, FileFormat::Parquet),
    )
    .unwrap();
    assert_eq!(dataset.manifest.games, games.len() as u64);
    let batches = rows(&dataset);
    let batch = &batches[0];
    let mut row = 0;
    for game in &games {
        game.replay_with(|position, ply, turn| {
            check_row(batch, row, game, position, ply, turn);
            row += 1;
        })
        .unwrap();
    }
    assert_eq!(batch.num_rows(), row);
}

fn check_row(
    batch: &RecordBatch,
    row: usize,
    game: &GameRecord,
    position: &tengen_rules::Position,
    ply: usize,
    turn: &tengen_records::PlyRecord,
) {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let marks = |name: &str| {
        column(name)
            .as_list::<i32>()
            .value(row)
            .as_primitive::<Int8Type>()
            .values()
            .to_vec()
    };
    assert_eq!(column("game_id").as_string::<i32>().value(row), game.game_id);
    let sign = if position.to_move() == Color::Black { 1 } else { -1 };
    assert_eq!(
        column("to_move").as_primitive::<Int8Type>().value(row),
        sign,
        "ply {ply}"
    );
    let stone = |point| {
        position
            .at(point)
            .map_or(0, |color| if color == Color::Black { 1 } else { -1 })
    };
    let board: Vec<i8> = game.size.points().map(stone).collect();
    assert_eq!(marks("board"), board);
    let mut legal: Vec<i8> = game
        .size
        .points()
        .map(|point| position.legal_points().contains(point).into())
        .collect();
    legal.push(position.is_legal(tengen_rules::Move::Pass).into());
    assert_eq!(marks("legal"), legal);
    let policy = column("policy").as_list::<i32>();
    assert_eq!(arrow_array::Array::is_valid(policy, row), !turn.policy.is_empty());
    if !turn.policy.is_empty() {
        let dense = policy.value(row).as_primitive::<Float32Type>().values().to_vec();
        assert_eq!(dense.len(), game.size.area() + 1);
        assert!(turn.policy.iter().all(|&(index, p)| dense[usize::from(index)] == p));
    }
    let margin = column("area_margin");
    assert_eq!(arrow_array::Array::is_valid(margin, row), game.is_finished());
    if game.is_finished() {
        assert_eq!(marks("ownership"), game.ownership);
        let points = f32::from(margin.as_primitive::<Int16Type>().value(row)) - game.komi.points();
        assert_eq!(column("score").as_primitive::<Float32Type>().value(row), points);
    }
}

#[test]
fn filters_select_exactly_the_matching_rows() {
    let folder = tempfile::tempdir().unwrap();
    let games = games();
    let store = store(folder.path(), &games);
    type Takes = fn(&GameRecord) -> bool;
    let filter = DatasetFilter::default;
    let cases: [(DatasetFilter, Takes); 6] = [
        (
            DatasetFilter {
                sizes: vec![Size::square(5).unwrap()],
                ..filter()
            },
            |game| game.size.area() == 25,
        ),
        (
            DatasetFilter {
                scored_only: true,
                ..filter()
            },
            |game| game.end_reason == EndReason::TwoPasses,
        ),
        (
            DatasetFilter {
                models: vec!["g000002*".to_owned()],
                ..filter()
            },
            |game| game.black_model.starts_with("g000002"),
        ),
        (
            DatasetFilter {
                komi: vec![(Komi::from_half_points(-5), Komi::from_half_points(8))],
                ..filter()
            },
            |game| (-5..=8).contains(&game.komi.half_points()),
        ),
        (
            DatasetFilter {
                since_ms: Some(1_790_300_000_000),
                until_ms: Some(1_790_800_000_000),
                ..filter()
            },
            |game| (1_790_300_000_000..1_790_800_000_000).contains(&game.start_time_ms),
        ),
        (
            DatasetFilter {
                rules: vec!["tromp-taylor".parse().unwrap()],
                ..filter()
            },
            |_| true,
        ),
    ];
    for (number, (filter, takes)) in cases.into_iter().enumerate() {
        let taken: BTreeSet<&str> = games
            .iter()
            .filter(|game| takes(game))
            .map(|game| game.game_id.as_str())
            .collect();
        assert!(!taken.is_empty(), "case {number} selects nothing");
        let options = ExportOptions {
            filter,
            ..options(What::Positions, FileFormat::Parquet)
        };
        let dataset = export(&store, &folder.path().join(format!("{number}")), &options).unwrap();
        let found = keys(&dataset);
        let found: BTreeSet<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(found, taken, "case {number}");
    }
    let by_generation = ExportOptions {
        filter: DatasetFilter {
            generations: Some((1, 1)),
            full_search_only: true,
            ..filter()
        },
        ..options(What::Positions, FileFormat::Parquet)
    };
    let found = keys(&export(&store, &folder.path().join("generation"), &by_generation).unwrap());
    let turns = games[14..].iter().flat_map(|game| &game.plies);
    assert_eq!(found.len(), turns.filter(|turn| turn.has(FULL_SEARCH)).count());
}

#[test]
fn samples_and_splits_are_subsets() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let all = options(What::Positions, FileFormat::Parquet);
    let out = |name: &str| folder.path().join(name);
    let whole = keys(&export(&store, &out("all"), &all).unwrap());
    let split = SplitShares {
        train: 0.5,
        validation: 0.3,
        test: 0.2,
    };
    let dataset = export(
        &store,
        &out("split"),
        &ExportOptions {
            split: Some(split),
            ..all.clone()
        },
    )
    .unwrap();
    let mut parted = keys(&dataset);
    let folders: BTreeSet<&str> = dataset.manifest.files.iter().map(|file| &file.path[..5]).collect();
    assert_eq!(folders, BTreeSet::from(["test/", "train", "valid"]));
    let mut sorted = whole.clone();
    parted.sort();
    sorted.sort();
    assert_eq!(parted, sorted);
    let fraction = DatasetFilter {
        fraction: 0.3,
        seed: 9,
        ..DatasetFilter::default()
    };
    let some = keys(
        &export(
            &store,
            &out("some"),
            &ExportOptions {
                filter: fraction,
                ..all.clone()
            },
        )
        .unwrap(),
    );
    let share = some.len() as f64 / whole.len() as f64;
    assert!(
        (0.2..0.4).contains(&share) && some.iter().all(|key| whole.contains(key)),
        "{share}"
    );
    for count in [1, 40, 1_000_000] {
        let options = ExportOptions {
            count: Some(count),
            ..all.clone()
        };
        let counted = keys(&export(&store, &out(&format!("count {count}")), &options).unwrap());
        assert_eq!(counted.len(), whole.len().min(count as usize));
        let mut shown = Vec::new();
        let filter = DatasetFilter::default();
        let mut show = |drawn: tengen_datasets::Sampled<'_>| {
            shown.extend(drawn.plies.iter().map(|&ply| (drawn.game.game_id.clone(), ply as i32)));
        };
        sample(&store, (What::Positions, count), &filter, &mut |_| true, &mut show).unwrap();
        assert_eq!(shown, counted);
    }
}

#[test]
fn mirror_images_are_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let game = random_game(Size::square(5).unwrap(), 3, 200);
    let mut images = Vec::new();
    for (number, &symmetry) in tengen_rules::Symmetry::all(game.size).iter().enumerate() {
        let mut image = game.clone();
        image.game_id = format!("image {number}");
        let size = game.size;
        for turn in &mut image.plies {
            turn.mv = symmetry.apply_move(size, turn.mv);
            for entry in &mut turn.policy {
                let mv = tengen_rules::Move::from_index(size, usize::from(entry.0)).unwrap();
                entry.0 = symmetry.apply_move(size, mv).index(size) as u16;
            }
        }
        let last = image.replay().unwrap();
        image.set_end(&last, game.end_reason);
        images.push(image);
    }
    let store = store(folder.path(), &images);
    let options = ExportOptions {
        distinct: true,
        ..options(What::Positions, FileFormat::Parquet)
    };
    let dataset = export(&store, &folder.path().join("out"), &options).unwrap();
    let keys = keys(&dataset);
    assert!(
        keys.iter().all(|(id, _)| id == "image 0") && keys.len() > 20,
        "{}",
        keys.len()
    );
    assert_eq!(
        dataset.manifest.counts["mirror_images_left_out"],
        8 * game.plies.len() - keys.len()
    );
}

/// A game that two shards hold is exported once, and the folder of the parts holds nothing else.
#[test]
fn doubled_games_are_exported_once() {
    let folder = tempfile::tempdir().unwrap();
    let games = games();
    let store = store(folder.path(), &games);
    store
        .games()
        .publish_games(&Collection::SelfPlay { generation: 40 }, "w", 0, &games[..3])
        .unwrap();
    for (number, count) in [None, Some(1_000_000)].into_iter().enumerate() {
        let wanted = ExportOptions {
            count,
            ..options(What::Games, FileFormat::Parquet)
        };
        let dataset = export(&store, &folder.path().join(number.to_string()), &wanted).unwrap();
        let selfplay = games.len() as u64;
        assert_eq!(dataset.manifest.rows, selfplay);
        assert_eq!(dataset.manifest.counts["doubled_games_left_out"], 3);
        let parts: Vec<_> = fs::read_dir(dataset.folder.join("data")).unwrap().collect();
        assert_eq!(parts.len(), dataset.manifest.files.len());
    }
}

#[test]
fn nothing_is_overwritten_and_nothing_partial_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let out = folder.path().join("out");
    let all = options(What::Positions, FileFormat::Parquet);
    let mut blocks = 0;
    let stopped = tengen_datasets::export(&store, &out, &all, &mut |_| {
        blocks += 1;
        blocks < 2
    });
    assert!(matches!(stopped, Err(DatasetError::Stopped)), "{stopped:?}");
    assert!(!out.exists());
    // The next export removes the leftovers of a killed process.
    fs::create_dir_all(out.join("v1.unfinished/train")).unwrap();
    fs::write(out.join("v1.unfinished/train/part-00000.parquet"), "half").unwrap();
    let dataset = export(&store, &out, &all).unwrap();
    assert!(dataset.cleaned);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    let before = contents(&out);
    let again = export(&store, &out, &all).unwrap_err();
    assert!(matches!(again, DatasetError::Complete(_)), "{again}");
    assert_eq!(contents(&out), before);
    let strange = folder.path().join("strange");
    fs::create_dir_all(&strange).unwrap();
    fs::write(strange.join("thesis.tex"), "years of work").unwrap();
    let refused = export(&store, &strange, &all).unwrap_err();
    assert!(
        matches!(&refused, DatasetError::NotEmpty { found, .. } if found == "thesis.tex"),
        "{refused}"
    );
    assert_eq!(fs::read(strange.join("thesis.tex")).unwrap(), b"years of work");
}

#[test]
fn impossible_options_are_rejected_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let check = |options: ExportOptions, part: &str| {
        let out = folder.path().join("refused");
        let message = export(&store, &out, &options).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        assert!(!out.exists(), "{message}");
    };
    let positions = options(What::Positions, FileFormat::Parquet);
    check(options(What::Positions, FileFormat::Sgf), "SGF holds whole games");
    check(
        ExportOptions {
            distinct: true,
            ..options(What::Games, FileFormat::Npz)
        },
        "only positions",
    );
    let filter = DatasetFilter {
        models: vec!["nobody".to_owned()],
        ..DatasetFilter::default()
    };
    check(
        ExportOptions {
            filter,
            ..positions.clone()
        },
        "the games read are on 5x5, 3x4, 9x9, under tromp_taylor, with komi ",
    );
    let filter = DatasetFilter {
        generations: Some((7, 9)),
        ..DatasetFilter::default()
    };
    check(
        ExportOptions {
            filter,
            ..positions.clone()
        },
        "no self-play games of generations 7 to 9, only of generations 0 to 1",
    );
    let filter = DatasetFilter {
        games: GamesOf::Match("final".to_owned()),
        ..DatasetFilter::default()
    };
    check(
        ExportOptions {
            filter,
            ..positions.clone()
        },
        "no games of a match final",
    );
    let filter = DatasetFilter {
        fraction: 0.0,
        ..DatasetFilter::default()
    };
    check(ExportOptions { filter, ..positions }, "greater than 0");
}

#[test]
fn a_damaged_shard_is_skipped_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let shard = &store.games().list_shards(&GamesOf::All).unwrap()[1];
    let path = store.local_path().unwrap().join(&shard.path);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&path, bytes).unwrap();
    let dataset = export(
        &store,
        &folder.path().join("out"),
        &options(What::Games, FileFormat::Sgf),
    )
    .unwrap();
    assert_eq!((dataset.manifest.games, dataset.damaged.len()), (20, 1));
    assert!(dataset.damaged[0].0.contains(&shard.name.to_string()));
    assert!(!dataset.manifest.shards.contains(&shard.path));
    let text = fs::read_to_string(dataset.folder.join("data/part-00000.sgf")).unwrap();
    assert_eq!(text.matches("(;").count(), 20);
}

/// A store that is not a folder holds the same dataset as a folder; a dataset without a manifest does not count.
#[test]
fn datasets_can_be_kept_in_object_stores() {
    let folder = tempfile::tempdir().unwrap();
    let games = games();
    let here = store(folder.path(), &games);
    let there = Store::over(Arc::new(InMemory::new()), "memory://there").unwrap();
    for shard in &here.games().list(&GamesOf::SelfPlay).unwrap().shards {
        there
            .files()
            .put_new(&shard.path, here.files().require(&shard.path).unwrap())
            .unwrap();
    }
    let options = ExportOptions {
        split: Some(SplitShares {
            train: 0.5,
            validation: 0.5,
            test: 0.0,
        }),
        ..options(What::Positions, FileFormat::Parquet)
    };
    let keep = |store: &Store, name: &str| export_kept(store, name, &options, &mut |_| true);
    let (local, remote) = (keep(&here, "d").unwrap(), keep(&there, "d").unwrap());
    assert_eq!(local.manifest.files, remote.manifest.files);
    assert_eq!(remote.folder.to_str(), Some("memory://there/datasets/d/v1"));
    for (name, bytes) in contents(&local.folder) {
        assert_eq!(
            there.files().require(&format!("datasets/d/v1/{name}")).unwrap(),
            bytes,
            "{name}"
        );
    }
    assert!(matches!(keep(&there, "d"), Err(DatasetError::Complete(_))));

    // Interrupted before its manifest: it is not a dataset. The same export completes it; a different one fails.
    there.files().delete("datasets/d/v1/MANIFEST.json").unwrap();
    assert_eq!(there.verify(|_, _| {}).unwrap().datasets, 0);
    keep(&there, "d").unwrap();
    assert_eq!(there.verify(|_, _| {}).unwrap().datasets, 1);
    there
        .files()
        .put_new("datasets/e/v1/README.md", "from another export")
        .unwrap();
    let refused = keep(&there, "e").unwrap_err();
    assert!(
        matches!(refused, DatasetError::Store(StoreError::Taken { .. })),
        "{refused}"
    );
    assert_eq!(there.files().get("datasets/e/v1/MANIFEST.json").unwrap(), None);
}
