//! Exports that are stopped and go on: the bytes are those of an undisturbed export, and complete parts stay.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::datasets::{contents, games, store};
use crate::exports::{export, options};
use tengen_datasets::{DatasetError, ExportOptions, FileFormat, SplitShares, What};
use tengen_store::Store;

/// Many small parts.
fn small_parts(what: What, format: FileFormat) -> ExportOptions {
    ExportOptions {
        split: Some(SplitShares {
            train: 0.6,
            validation: 0.2,
            test: 0.2,
        }),
        rows_per_part: Some(if what == What::Games { 2 } else { 60 }),
        ..options(what, format)
    }
}

/// Stops an export after so many shards.
fn stop_after(store: &Store, out: &Path, options: &ExportOptions, shards: usize) {
    let mut seen = 0;
    let stopped = tengen_datasets::export(store, out, options, &mut |_| {
        seen += 1;
        seen < shards
    });
    assert!(matches!(stopped, Err(DatasetError::Stopped)), "{stopped:?}");
}

/// The parts of an unfinished dataset that its journal names, in order.
fn journal(out: &Path) -> Vec<String> {
    let text = fs::read_to_string(out.join("v1.unfinished/PARTS.jsonl")).unwrap();
    let path = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["file"]["path"].clone();
    text.lines()
        .map(|line| path(line).as_str().unwrap().to_owned())
        .collect()
}

fn written(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn a_stopped_export_goes_on_after_its_complete_parts_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    for (what, format) in [
        (What::Positions, FileFormat::Parquet),
        (What::Positions, FileFormat::Arrow),
        (What::Positions, FileFormat::Npz),
        (What::Games, FileFormat::Sgf),
        (What::Games, FileFormat::Parquet),
    ] {
        let options = small_parts(what, format);
        let name = |name: &str| folder.path().join(format!("{name}-{what:?}-{format:?}"));
        export(&store, &name("whole"), &options).unwrap();
        let out = name("stopped");
        // Twice, so that an export also goes on with what a resumed one has added.
        stop_after(&store, &out, &options, 1);
        let after_one = journal(&out);
        stop_after(&store, &out, &options, 3);
        let after_three = journal(&out);
        assert!(after_three.len() > after_one.len(), "{what:?} {format:?}");
        let first = Path::new("v1").join(&after_three[0]);
        let before = written(&out.join("v1.unfinished").join(&after_three[0]));
        let dataset = export(&store, &out, &options).unwrap();
        assert_eq!(dataset.resumed_parts, after_three.len());
        assert!(!dataset.cleaned);
        assert_eq!(written(&out.join(first)), before, "the part was written again");
        assert_eq!(contents(&out), contents(&name("whole")), "{what:?} {format:?}");
    }
}

#[test]
fn parts_that_are_altered_or_not_in_the_journal_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let options = small_parts(What::Positions, FileFormat::Parquet);
    let whole = folder.path().join("whole");
    export(&store, &whole, &options).unwrap();
    let damage: [fn(&Path, &str); 3] = [
        |draft, part| fs::write(draft.join(part), "something else").unwrap(),
        |draft, part| fs::remove_file(draft.join(part)).unwrap(),
        // A line that was being written when the power failed.
        |draft, _| {
            let journal = draft.join("PARTS.jsonl");
            let bytes = fs::read(&journal).unwrap();
            fs::write(&journal, &bytes[..bytes.len() - 5]).unwrap();
        },
    ];
    for (number, damage) in damage.into_iter().enumerate() {
        let out = folder.path().join(format!("out-{number}"));
        stop_after(&store, &out, &options, 3);
        let parts = journal(&out);
        damage(&out.join("v1.unfinished"), &parts[0]);
        let dataset = export(&store, &out, &options).unwrap();
        assert!(dataset.resumed_parts < parts.len(), "case {number}");
        assert_eq!(contents(&out), contents(&whole), "case {number}");
    }
}

#[test]
fn another_export_and_one_of_distinct_positions_start_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), &games());
    let options = small_parts(What::Positions, FileFormat::Parquet);
    let out = folder.path().join("out");
    stop_after(&store, &out, &options, 3);
    let distinct = ExportOptions {
        distinct: true,
        ..options.clone()
    };
    let dataset = export(&store, &out, &distinct).unwrap();
    assert!(dataset.cleaned && dataset.resumed_parts == 0);
    let undisturbed = folder.path().join("undisturbed");
    export(&store, &undisturbed, &distinct).unwrap();
    assert_eq!(contents(&out), contents(&undisturbed));

    let other = folder.path().join("other");
    stop_after(&store, &other, &options, 3);
    let mut filtered = options;
    filtered.filter.seed = 9;
    assert!(export(&store, &other, &filtered).unwrap().cleaned);
}
