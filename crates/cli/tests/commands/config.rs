//! `tengen config`, and the messages of commands about invalid configurations.

use std::path::Path;

use tengen_store::{Create, RunInfo, Store};

use crate::common::tengen;

/// A shipped config file.
fn shipped(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    folder.join(name).to_str().unwrap().to_owned()
}

/// A store that contains only a `run.json` with this configuration.
fn store(folder: &Path, config: serde_json::Value) -> String {
    let location = folder.join("store").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let info = RunInfo::new("test", 0, "tromp_taylor", vec!["9x9".to_owned()], config);
    store.put_run_info(&info).unwrap();
    location
}

#[test]
fn show_prints_a_whole_config_file() {
    let folder = tempfile::tempdir().unwrap();
    let shown = tengen(&["config", "show", &shipped("9x9.toml"), "--set", "budget.minutes=3"]).stdout;
    assert!(shown.starts_with("name = \"9x9\"\nseed = 1\n"), "{shown}");
    for line in [
        "blocks = 2",
        "decided_value = 0.95",
        "minutes = 3.0",
        "later_visits = [[3000000, 32], [12000000, 64]]",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line} is not in {shown}");
    }
    let file = folder.path().join("whole.toml");
    std::fs::write(&file, &shown).unwrap();
    assert_eq!(tengen(&["config", "show", file.to_str().unwrap()]).stdout, shown);
    let json = tengen(&["config", "show", file.to_str().unwrap(), "--json"]).json();
    assert_eq!(
        (&json["network"]["blocks"], &json["budget"]["minutes"]),
        (&2.into(), &3.0.into())
    );
    assert_eq!(json["selfplay"]["decided_value"], 0.95);
}

#[test]
fn stores_show_the_configuration_of_their_run() {
    let folder = tempfile::tempdir().unwrap();
    let config = tengen(&["config", "show", &shipped("9x9.toml"), "--set", "seed=8", "--json"]).json();
    let location = store(folder.path(), config);
    let shown = tengen(&["config", "show", &location]);
    assert_eq!(
        shown.stdout,
        tengen(&["config", "show", &shipped("9x9.toml"), "--set", "seed=8"]).stdout
    );
    let changed = tengen(&["config", "show", &location, "--set", "gate.games=8", "--json"]).json();
    assert_eq!(changed["gate"]["games"], 8);
    tengen(&["config", "show", &location, "--set", "gate.games=1"]).refuses(2, "gate.games is 1: expected 2 or more");
    let checked = tengen(&["config", "check", &location]);
    assert!(
        checked.stdout.contains("store: ok, name 9x9, boards 9x9"),
        "{}",
        checked.stdout
    );
    // An empty folder is not the store of a run.
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    tengen(&["config", "show", empty.to_str().unwrap()]).refuses(1, "empty");
}

#[test]
fn diff_has_a_line_for_every_key_that_differs() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (shipped("5x5.toml"), folder.path().join("mine.toml"));
    let sets = [
        "--set",
        "selfplay.komi.fixed_fair=24.5",
        "--set",
        "budget.minutes=3",
        "--set",
        "loop.later_visits=[]",
    ];
    let mine = tengen(&[&["config", "show", &a], &sets[..]].concat()).stdout;
    std::fs::write(&b, mine).unwrap();
    let b = b.to_str().unwrap();
    let answer = tengen(&["config", "diff", &a, b]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let lines: Vec<Vec<&str>> = answer.stdout.lines().map(|line| line.split("  ").collect()).collect();
    let cells: Vec<Vec<&str>> = lines
        .iter()
        .map(|line| {
            line.iter()
                .map(|cell| cell.trim())
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        cells,
        [
            ["selfplay.komi.fixed_fair", "-", "24.5"],
            ["loop.later_visits", "[[80000, 16], [170000, 32]]", "[]"],
            ["budget.minutes", "2.5", "3.0"],
        ]
    );
    let json = tengen(&["config", "diff", &a, b, "--json"]).json();
    let differences = json["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 3);
    assert_eq!(
        differences[0],
        serde_json::json!({ "key": "selfplay.komi.fixed_fair", "a": null, "b": 24.5 })
    );
    let same = tengen(&["config", "diff", &a, &a]);
    assert_eq!((same.code, same.stdout.as_str()), (0, ""));
}

#[test]
fn check_reports_which_configurations_are_valid() {
    let names = [
        "5x5",
        "7x7",
        "9x9",
        "13x13",
        "19x19",
        "9x9-gpu",
        "19x19-gpu",
        "all-keys",
    ];
    let files = names.map(|name| shipped(&format!("{name}.toml")));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let good = tengen(&[&["config", "check"], &files[..]].concat());
    assert_eq!((good.code, good.stdout.lines().count()), (0, 8), "{}", good.stderr);
    let first = good.stdout.lines().next().unwrap();
    assert!(
        first.contains("5x5.toml: ok, name 5x5, boards 5x5, network b2c32nbt, id "),
        "{first}"
    );

    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.toml");
    std::fs::write(
        &bad,
        "name = \"a/b\"\nrules = \"aga\"\nnetwork = { blocks = 1, channels = 8 }\n",
    )
    .unwrap();
    let bad = bad.to_str().unwrap();
    let mixed = tengen(&["config", "check", bad, files[0]]);
    mixed.refuses(1, "1 of 2 configurations is invalid");
    let lines: Vec<&str> = mixed.stdout.lines().collect();
    assert!(
        lines[0].contains("bad.toml, line 1: name is \"a/b\": expected 1 to 100 letters"),
        "{lines:?}"
    );
    assert!(lines[1].contains(": ok, "), "{lines:?}");
    let json = tengen(&["config", "check", bad, files[0], "--json"]);
    assert_eq!(json.code, 1);
    let configs = &json.object()["configs"];
    assert_eq!((&configs[0]["ok"], &configs[1]["ok"]), (&false.into(), &true.into()));
    assert!(configs[0]["error"].as_str().unwrap().contains("line 1"));
    assert_eq!(configs[1]["network"], "b2c32nbt");
    tengen(&["config", "check"]).refuses(2, "CONFIG");
}

#[test]
fn bad_overrides_exit_with_2_and_bad_files_with_1() {
    let file = shipped("5x5.toml");
    let run = |set: &str| tengen(&["run", &file, "--set", set]);
    run("budget.minutes").refuses(2, "--set takes KEY=VALUE");
    run("training.lr=1").refuses(
        2,
        "--set training.lr=1: training.lr is not a key; did you mean `training.learning_rate`?",
    );
    run("training.learning_rate=fast").refuses(2, "expected a number, such as 0.003");
    run("name=../up").refuses(2, "name is \"../up\"");
    tengen(&[
        "config",
        "show",
        &file,
        "--set",
        "gate.games=8",
        "--set",
        "gate.games=9",
    ])
    .refuses(2, "gate.games twice");
    tengen(&["config", "show", "nowhere.toml"]).refuses(1, "cannot read the config nowhere.toml");
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.toml");
    std::fs::write(
        &bad,
        "name = \"a\"\nrules = \"aga\"\nnetwork = { blocks = 1, channels = 8 }\nbudget.minuts = 3",
    )
    .unwrap();
    tengen(&["run", bad.to_str().unwrap()])
        .refuses(1, "line 4: budget.minuts is not a key; did you mean `budget.minutes`?");
}

#[test]
fn a_store_in_place_of_a_config_file_is_recognized() {
    let folder = tempfile::tempdir().unwrap();
    let config = tengen(&["config", "show", &shipped("9x9.toml"), "--json"]).json();
    let location = store(folder.path(), config);
    let run = tengen(&["run", &location]);
    run.refuses(2, "is a store, but a config file is expected");
    run.refuses(2, &format!("--store {location}"));
    tengen(&["run", "s3://bucket/run"]).refuses(2, "--store s3://bucket/run");
    tengen(&["run", folder.path().to_str().unwrap()]).refuses(2, "is a folder, but a config file is expected");
}
