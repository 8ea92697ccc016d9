//! Whether `verify` finds what is wrong with the small files of a store.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use tengen_model::sha256_hex;
use tengen_store::{CheckpointFiles, Create, MatchFile, Promotion, RunInfo, Store, sealed_json};
use tengen_testing::random_model;

fn new_store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    (folder, store)
}

fn file_of(store: &Store, path: &str) -> PathBuf {
    store.local_path().unwrap().join(path)
}

#[test]
fn every_small_file_is_verified() {
    let (_folder, store) = new_store();
    let info = RunInfo::new("r", 0, "tromp_taylor", vec!["5x5".to_owned()], json!({}));
    store.put_run_info(&info).unwrap();
    let model = store.models().publish(0, &random_model(1)).unwrap();
    store
        .models()
        .promote(0, &Promotion::now(&model, None, json!({})))
        .unwrap();
    store.checkpoints().put(5, &CheckpointFiles::new()).unwrap();
    let text = "seed = 1\n";
    let config = format!("configs/{}.toml", &sha256_hex(text.as_bytes())[..12]);
    store.files().put_new(&config, text).unwrap();
    for path in ["summaries/5.json", "in_flight.json", "matches/m/notes/1.json"] {
        store.files().put_new(path, "{\"a\": 1}").unwrap();
    }
    assert_eq!(store.verify(|_, _| {}).unwrap().damaged, []);
    let model = format!("models/{model}/model.json");
    for (path, from, to) in [
        ("run.json", "created_ms", "creatfd_ms"),
        ("run.json", "\"config\"", "\"extra\": 1, \"config\""),
        ("promotions/000000.json", "match_id", "mat_id"),
        (&model, "\"rules\"", "\"sules\""),
        (&model, "channels", "channfls"),
        ("checkpoints/000000005/checkpoint.json", "{\n", "{\n\"more\": 0,"),
        (&config, "1", "3"),
        ("summaries/5.json", "{", ""),
        ("in_flight.json", "}", ""),
        ("matches/m/notes/1.json", ":", ";"),
    ] {
        let whole = fs::read_to_string(file_of(&store, path)).unwrap();
        let changed = whole.replacen(from, to, 1);
        let changed = if changed == whole {
            whole.replacen('{', "{\"rulfs\": 1,", 1)
        } else {
            changed
        };
        fs::write(file_of(&store, path), changed).unwrap();
        let damaged = store.verify(|_, _| {}).unwrap().damaged;
        assert!(damaged.iter().any(|damage| damage.path == path), "{path}: {damaged:?}");
        fs::write(file_of(&store, path), whole).unwrap();
    }
}

/// Values, too, not only keys: every bit of files that end with their hash.
#[test]
fn every_flipped_bit_of_a_small_file_is_found() {
    let (_folder, store) = new_store();
    let info = RunInfo::new("r", 0, "tromp_taylor", vec!["5x5".to_owned()], json!({ "seed": 1 }));
    store.put_run_info(&info).unwrap();
    let model = store.models().publish(0, &random_model(1)).unwrap();
    let promotion = Promotion::now(&model, None, json!({ "elo": 3.5 }));
    store.models().promote(0, &promotion).unwrap();
    store.checkpoints().put(5, &CheckpointFiles::new()).unwrap();
    let document = sealed_json(&json!({ "games": 20, "note": "x" }));
    let others = [
        "summaries/5.json",
        "in_flight.json",
        "matches/m/spec.json",
        "matches/m/result.json",
    ];
    for path in others.into_iter().chain(["matches/m/notes/1.json"]) {
        store.files().put_new(path, document.clone()).unwrap();
    }
    assert_eq!(store.verify(|_, _| {}).unwrap().damaged, []);
    let model = format!("models/{model}/model.json");
    let typed = [
        "run.json",
        "promotions/000000.json",
        &model,
        "checkpoints/000000005/checkpoint.json",
    ];
    for path in typed.into_iter().chain(others).chain(["matches/m/notes/1.json"]) {
        let file = file_of(&store, path);
        let whole = fs::read(&file).unwrap();
        // Every eleventh bit: all bytes are met, and all places within a byte.
        for bit in (0..whole.len() * 8).step_by(11) {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let parse = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
            if parse(&changed) == parse(&whole) && tengen_store::unseal(path, &changed).is_ok() {
                continue;
            }
            fs::write(&file, &changed).unwrap();
            let found = store.verify(|_, _| {}).map(|report| report.damaged);
            // A command may also refuse the whole store, which names the file, too.
            let named = match &found {
                Ok(damaged) => damaged.iter().any(|damage| damage.path == path),
                Err(error) => error.to_string().contains(path),
            };
            assert!(named, "{path}, bit {bit}: {found:?}");
        }
        fs::write(&file, whole).unwrap();
    }
}

/// Files of interrupted writes go once no process can be writing them any more.
#[test]
fn old_leftovers_are_named_and_removed() {
    let (_folder, store) = new_store();
    let old = file_of(&store, "run.json#1");
    let new = file_of(&store, "run.json#2");
    for file in [&old, &new] {
        fs::write(file, "half").unwrap();
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(25);
    fs::File::options()
        .append(true)
        .open(&old)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    assert_eq!(store.verify(|_, _| {}).unwrap().strangers, ["run.json#1"]);
    assert_eq!(store.remove_leftovers().unwrap(), 1);
    assert!(!old.exists() && new.exists());
}

#[test]
fn matches_are_verified_file_by_file() {
    let (_folder, store) = new_store();
    store.matches().put("begun", MatchFile::Spec, "{}").unwrap();
    for (id, file, bytes) in [
        ("whole", MatchFile::Games, "(;GM[1]SZ[3];B[aa])"),
        ("whole", MatchFile::Result, "{}"),
        ("no-json", MatchFile::Result, "{"),
        ("no-sgf", MatchFile::Games, "(;GM[1"),
        ("other-sgf", MatchFile::Games, "(;GM[1]SZ[3];B[ab])"),
        (
            "other-sgf",
            MatchFile::Sums,
            "0000000000000000000000000000000000000000000000000000000000000000  games.sgf\n",
        ),
        ("other-sgf", MatchFile::Result, "{}"),
    ] {
        store.matches().put(id, file, bytes).unwrap();
    }
    let report = store.verify(|_, _| {}).unwrap();
    assert_eq!(
        (report.matches, &report.strangers),
        (1, &vec!["matches/begun".to_owned()])
    );
    let wrong: Vec<&str> = report.damaged.iter().map(|damage| damage.path.as_str()).collect();
    let expected = [
        "matches/no-json/result.json",
        "matches/no-sgf/games.sgf",
        "matches/other-sgf/games.sgf",
    ];
    assert_eq!(wrong, expected);
}
