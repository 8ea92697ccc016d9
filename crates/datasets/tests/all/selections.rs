//! Which positions of a game are taken, rows as Arrow files, and the data card.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;

use crate::datasets::{games, keys, store};
use crate::exports::{export, options, rows};
use tengen_datasets::{DatasetError, DatasetFilter, ExportOptions, FileFormat, PositionFilter, SplitShares, What};
use tengen_records::GameRecord;

/// The rows that a filter takes, as game and ply.
fn taken(filter: DatasetFilter) -> BTreeSet<(String, i32)> {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let options = ExportOptions {
        filter,
        ..options(What::Positions, FileFormat::Parquet)
    };
    let dataset = export(&store, &folder.path().join("out"), &options).unwrap();
    keys(&dataset).into_iter().collect()
}

fn only(positions: PositionFilter) -> BTreeSet<(String, i32)> {
    taken(DatasetFilter {
        positions,
        ..DatasetFilter::default()
    })
}

/// The rows that should be taken: those of all games for which `takes` says so.
fn expected(takes: impl Fn(&GameRecord, usize) -> bool) -> BTreeSet<(String, i32)> {
    let mut expected = BTreeSet::new();
    for game in games() {
        let plies = (0..game.plies.len()).filter(|&ply| takes(&game, ply));
        expected.extend(plies.map(|ply| (game.game_id.clone(), ply as i32)));
    }
    assert!(!expected.is_empty());
    expected
}

#[test]
fn positions_are_taken_by_ply_phase_and_surprise() {
    let by_ply = only(PositionFilter {
        plies: Some((3, 10)),
        ..PositionFilter::default()
    });
    assert_eq!(by_ply, expected(|_, ply| (3..=10).contains(&ply)));

    let by_phase = only(PositionFilter {
        phase: Some((0.25, 0.5)),
        ..PositionFilter::default()
    });
    assert_eq!(
        by_phase,
        expected(|game, ply| 4 * ply >= game.plies.len() && 2 * ply < game.plies.len())
    );

    let by_surprise = only(PositionFilter {
        surprise: Some(0.5),
        ..PositionFilter::default()
    });
    let change = |game: &GameRecord, ply: usize| {
        let ply = &game.plies[ply];
        ply.root_visits > 0 && (ply.root_value - ply.network_value).abs() >= 0.5
    };
    assert_eq!(by_surprise, expected(change));
}

#[test]
fn a_few_positions_of_each_game_are_drawn_among_those_that_pass_the_other_filters() {
    let late = PositionFilter {
        phase: Some((0.5, 1.0)),
        per_game: Some(2),
        ..PositionFilter::default()
    };
    let some = only(late);
    let all = only(PositionFilter { per_game: None, ..late });
    let per_game = |rows: &BTreeSet<(String, i32)>| {
        let mut counts = BTreeMap::new();
        rows.iter()
            .for_each(|(game, _)| *counts.entry(game.clone()).or_insert(0) += 1);
        counts
    };
    let (some_of, all_of) = (per_game(&some), per_game(&all));
    assert_eq!(some_of.keys().collect::<Vec<_>>(), all_of.keys().collect::<Vec<_>>());
    assert!(some_of.iter().all(|(game, &count)| count == 2.min(all_of[game])));
    assert!(some.is_subset(&all));
    let other_seed = taken(DatasetFilter {
        positions: late,
        seed: 1,
        ..DatasetFilter::default()
    });
    assert_ne!(some, other_seed);
}

#[test]
fn balanced_games_are_those_whose_first_search_found_them_even() {
    let balanced = taken(DatasetFilter {
        balanced: Some(0.3),
        ..DatasetFilter::default()
    });
    let is_even = |game: &GameRecord, _| {
        let first = game.plies.iter().find(|ply| ply.root_visits > 0);
        first.is_some_and(|ply| ply.root_value.abs() <= 0.3)
    };
    let expected = expected(is_even);
    assert_eq!(balanced, expected);
    assert!(expected.len() < games().iter().map(|game| game.plies.len()).sum::<usize>());
}

#[test]
fn whole_games_cannot_be_selected_by_positions() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let mut games = options(What::Games, FileFormat::Parquet);
    games.filter.positions.per_game = Some(1);
    let error = export(&store, &folder.path().join("out"), &games).unwrap_err();
    assert!(matches!(error, DatasetError::Options(_)), "{error}");
}

#[test]
fn arrow_files_hold_the_same_rows_as_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    for what in [What::Games, What::Positions] {
        let export = |format| {
            let out = folder.path().join(format!("{what:?}-{format:?}"));
            let options = ExportOptions {
                rows_per_part: Some(200),
                ..options(what, format)
            };
            export(&store, &out, &options).unwrap()
        };
        let dataset = export(FileFormat::Arrow);
        let mut batches = Vec::new();
        for file in &dataset.manifest.files {
            let reader = FileReader::try_new(File::open(dataset.folder.join(&file.path)).unwrap(), None).unwrap();
            assert_eq!(
                reader.schema().metadata()["tengen.content"],
                format!("{what:?}").to_lowercase()
            );
            batches.extend(reader.map(Result::unwrap));
        }
        let expected = rows(&export(FileFormat::Parquet));
        let columns = |batches: &[RecordBatch]| -> Vec<String> {
            let rows = |batch: &RecordBatch| -> Vec<String> {
                (0..batch.num_rows())
                    .map(|row| format!("{:?}", batch.slice(row, 1).columns()))
                    .collect()
            };
            batches.iter().flat_map(rows).collect()
        };
        assert_eq!(columns(&batches), columns(&expected));
    }
}

#[test]
fn the_readme_begins_with_a_data_card_that_names_the_files_of_each_split() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let card = |name: &str, options: &ExportOptions| {
        let dataset = export(&store, &folder.path().join(name), options).unwrap();
        let readme = fs::read_to_string(dataset.folder.join("README.md")).unwrap();
        let card = readme.strip_prefix("---\n").unwrap().split_once("---\n").unwrap().0;
        card.to_owned()
    };
    let whole = card("whole", &options(What::Positions, FileFormat::Arrow));
    assert!(whole.contains("  - split: train\n    path: data/*.arrow\n"), "{whole}");
    assert!(whole.contains("size_categories:\n- 1K<n<10K\n"), "{whole}");
    let split = ExportOptions {
        split: Some(SplitShares {
            train: 0.6,
            validation: 0.2,
            test: 0.2,
        }),
        ..options(What::Games, FileFormat::Parquet)
    };
    let split = card("split", &split);
    let order = ["train", "validation", "test"].map(|name| split.find(&format!("path: {name}/*.parquet")).unwrap());
    assert!(order.is_sorted(), "{split}");
    assert!(!card("npz", &options(What::Positions, FileFormat::Npz)).contains("configs:"));
}
