//! Runs `tengen data`.

use std::path::{Path, PathBuf};

use tengen_records::GameRecord;
use tengen_store::{Collection, Create, Store};

use crate::common::{finished_game, tengen};

/// A finished game on 2x2 with every turn used in training.
fn game(number: usize) -> GameRecord {
    let mut game = finished_game(number, 2, 1, &["A1", "pass", "pass"]);
    game.plies.iter_mut().for_each(|ply| ply.weight = 1.0);
    game
}

/// A store with two shards of three games each, and the path of one shard.
fn store(folder: &Path) -> (String, PathBuf) {
    let location = folder.join("store").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let publish = |generation| {
        let games: Vec<GameRecord> = (0..3).map(|number| game(10 * generation as usize + number)).collect();
        store
            .games()
            .publish_games(&Collection::SelfPlay { generation }, "test", 0, &games)
            .unwrap()
    };
    publish(1);
    let shard = publish(2);
    (location.clone(), Path::new(&location).join(shard.path))
}

#[test]
fn stats_and_head_describe_the_games() {
    let folder = tempfile::tempdir().unwrap();
    let (location, _) = store(folder.path());
    let stats = tengen(&["data", "stats", &location, "--json"]).json();
    assert_eq!((&stats["shards"], &stats["games"]["games"]), (&2.into(), &6.into()));
    assert_eq!(stats["games"]["positions"], 18);
    let table = tengen(&["data", "stats", &location]).stdout;
    assert!(
        table.contains("6 games, 18 positions")
            && table.contains("first moves on 2x2, 6 games")
            && table.contains("g000002"),
        "{table}"
    );
    let tree = &stats["games"]["openings"]["2x2"];
    // A1 is symmetric to the other corners; the first of them in reading order stands for all.
    assert_eq!(
        (&tree["first"][0]["mv"], &tree["first"][0]["games"]),
        (&"A2".into(), &6.into())
    );
    assert_eq!(tree["first"][0]["next"][0]["mv"], "pass");
    assert_eq!(stats["games"]["generations"][1]["generation"], 2);
    let head = tengen(&["data", "head", &location, "-n", "4", "--json"]).json();
    let games = head["games"].as_array().unwrap();
    assert_eq!((games.len(), &games[0]["result"]), (4, &"B+3.5".into()));
    let head = tengen(&["data", "head", &location, "-n", "1", "--positions", "--json"]).json();
    let plies = head["games"][0]["positions"].as_array().unwrap();
    assert_eq!(
        (plies.len(), &plies[1]["mover"], &plies[1]["move"]),
        (3, &"white".into(), &"pass".into())
    );
    let table = tengen(&["data", "head", &location, "-n", "1", "--positions"]).stdout;
    assert!(table.contains("policy target") && table.contains("1 O pass"), "{table}");
    let sgf = tengen(&["data", "head", &location, "-n", "1", "--sgf"]).stdout;
    assert!(sgf.starts_with("(;") && sgf.contains("RE[B+3.5]"), "{sgf}");
}

#[test]
fn stats_and_head_apply_filters() {
    let folder = tempfile::tempdir().unwrap();
    let (location, _) = store(folder.path());
    let games = |filter: &[&str]| {
        let stats = tengen(&[&["data", "stats", &location, "--json"], filter].concat()).json();
        let head = tengen(&[&["data", "head", &location, "-n", "9", "--json"], filter].concat()).json();
        let games = stats["games"]["games"].as_u64().unwrap();
        assert_eq!(head["games"].as_array().unwrap().len() as u64, games, "{filter:?}");
        games
    };
    for (filter, expected) in [
        (&["--generations", "2"][..], 3),
        (&["--generations", "0..1"], 3),
        (&["--generations", "3..9"], 0),
        (&["--size", "2"], 6),
        (&["--size", "9,3x2"], 0),
        (&["--komi", "0.5"], 6),
        (&["--model", "other*"], 0),
        (&["--of", "all"], 6),
        (&["--match", "none"], 0),
    ] {
        assert_eq!(games(filter), expected, "{filter:?}");
    }
    for command in ["stats", "head"] {
        tengen(&["data", command, &location, "--generations", "5..2"])
            .refuses(2, "end of the range is below its start");
    }
    tengen(&["data", "stats", &location, "--depth", "13"]).refuses(2, "1..=12");
}

#[test]
fn verify_names_the_damaged_file() {
    let folder = tempfile::tempdir().unwrap();
    let (location, shard) = store(folder.path());
    let report = tengen(&["data", "verify", &location, "--json"]).json();
    assert_eq!((&report["sound"], &report["games"]), (&true.into(), &6.into()));
    let mut bytes = std::fs::read(&shard).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&shard, bytes).unwrap();
    let answer = tengen(&["data", "verify", &location]);
    answer.refuses(1, "bad files: 1");
    let name = shard.file_name().unwrap().to_str().unwrap();
    assert!(
        answer.stdout.contains("WRONG") && answer.stdout.contains(name),
        "{}",
        answer.stdout
    );
    // Reading the store quarantines the damaged shard; the rest is still good.
    let stats = tengen(&["data", "stats", &location, "--json"]).json();
    assert_eq!(
        (&stats["games"]["games"], &stats["quarantined"]),
        (&3.into(), &1.into())
    );
    let answer = tengen(&["data", "verify", &location, "--json"]);
    assert_eq!(
        (answer.code, &answer.object()["damaged"][0]["quarantined"]),
        (0, &true.into())
    );
}

#[test]
fn verify_checks_games_that_were_searched_again() {
    let folder = tempfile::tempdir().unwrap();
    let (location, _) = store(folder.path());
    let (again, shard) = store(&folder.path().join("again"));
    let within = Path::new(&location).join("reanalysis");
    std::fs::rename(&again, &within).unwrap();
    let answer = tengen(&["data", "verify", &location]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let lines: Vec<&str> = answer.stdout.lines().collect();
    assert!(lines[1].starts_with("the games that were searched again: checked 2 shards with 6 games"));
    assert_eq!(lines[2..], ["everything is intact"]);
    let name = shard.strip_prefix(&again).unwrap();
    let mut bytes = std::fs::read(within.join(name)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(within.join(name), bytes).unwrap();
    let answer = tengen(&["data", "verify", &location, "--json"]);
    let found = answer.object();
    assert_eq!(
        (answer.code, &found["sound"], &found["damaged"]),
        (1, &false.into(), &serde_json::json!([]))
    );
    let path = format!("reanalysis/{}", name.display());
    assert_eq!(found["reanalysis"]["damaged"][0]["path"], path.as_str());
    tengen(&["data", "verify", &location]).refuses(1, "bad files: 1");
}

/// A run store with a window of 10 positions and four generations, each with two shards of three games.
fn run_store(folder: &Path) -> String {
    let location = folder.join("run").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let config = serde_json::json!({ "window": { "base_positions": 10, "fraction": 0.0 } });
    let run = tengen_store::RunInfo::new("test", 0, "tromp_taylor", vec!["2x2".to_owned()], config);
    store.put_run_info(&run).unwrap();
    for number in 0..8 {
        let games: Vec<GameRecord> = (0..3).map(|part| game(3 * number + part)).collect();
        let generation = number as u32 / 2;
        store
            .games()
            .publish_games(&Collection::SelfPlay { generation }, "test", number as u64, &games)
            .unwrap();
    }
    location
}

#[test]
fn prune_only_deletes_with_yes() {
    let folder = tempfile::tempdir().unwrap();
    let location = run_store(folder.path());
    let said = tengen(&["data", "prune", &location]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(
        said.stdout
            .contains("would free 2 generations (0 to 1): 12 games, 36 positions"),
        "{}",
        said.stdout
    );
    assert_eq!(
        tengen(&["data", "stats", &location, "--json"]).json()["games"]["games"],
        24
    );
    tengen(&["data", "prune", &location, "--keep-positions", "9"]).refuses(2, "window of 10 positions");
    let done = tengen(&["data", "prune", &location, "--yes", "--json"]).json();
    assert_eq!(
        (&done["done"], &done["keep_positions"], &done["freed"]["games"]),
        (&true.into(), &20.into(), &12.into())
    );
    let stats = tengen(&["data", "stats", &location, "--json"]).json();
    assert_eq!(
        (&stats["games"]["games"], &stats["pruned"]["games"]),
        (&12.into(), &12.into())
    );
    let again = tengen(&["data", "prune", &location, "--yes"]);
    assert!(again.stdout.contains("nothing to prune"), "{}", again.stdout);
    let report = tengen(&["data", "verify", &location, "--json"]).json();
    assert_eq!(
        (&report["sound"], &report["pruned"]["games"]),
        (&true.into(), &12.into())
    );
}

#[test]
fn merge_compacts_one_store_and_gathers_several() {
    let folder = tempfile::tempdir().unwrap();
    let location = run_store(folder.path());
    let said = tengen(&["data", "merge", &location]);
    assert!(
        said.stdout.contains("would merge 12 games, 36 positions, 4 shards"),
        "{} {}",
        said.stdout,
        said.stderr
    );
    let done = tengen(&["data", "merge", &location, "--yes", "--json"]).json();
    assert_eq!(
        (&done["done"], &done["merged"]["shards"], &done["merged"]["games"]),
        (&true.into(), &2.into(), &12.into())
    );
    let stats = tengen(&["data", "stats", &location, "--json"]).json();
    assert_eq!((&stats["shards"], &stats["games"]["games"]), (&6.into(), &24.into()));
    let again = tengen(&["data", "merge", &location, "--yes"]);
    assert!(again.stdout.contains("nothing to merge"), "{}", again.stdout);

    // Ids 10 to 12 and 20 to 22 of the other store also occur in the run.
    let (other, _) = store(folder.path());
    let into = folder.path().join("both").to_str().unwrap().to_owned();
    tengen(&["data", "merge", &location, &other]).refuses(2, "--into");
    tengen(&["data", "merge", &other, "--into", &location]).refuses(2, "is a run store");
    let done = tengen(&["data", "merge", &location, &other, "--into", &into, "--json"]).json();
    assert_eq!(
        (&done["copied"]["games"], &done["repeated_games"]),
        (&24.into(), &6.into())
    );
    assert_eq!(tengen(&["data", "verify", &into, "--json"]).json()["games"], 24);
    // A store with only games does not know how far back training reaches.
    tengen(&["data", "merge", &into]).refuses(1, "--keep-positions");
    tengen(&["data", "prune", &into]).refuses(1, "--keep-positions");
}

#[test]
fn a_missing_store_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for command in ["stats", "verify", "head", "prune", "merge"] {
        tengen(&["data", command, path]).refuses(1, "expected a store");
        tengen(&["data", command, "/no/such/folder"]).refuses(1, "/no/such/folder");
    }
    tengen(&["data", "head", path, "-n", "0"]).refuses(2, "at least 1");
}

#[test]
fn import_keeps_legal_games_and_lists_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let good = "(;GM[1]SZ[5]KM[0.5]RE[B+24.5];B[cc];W[];B[])(;GM[1]SZ[5]KM[0.5]RE[W+R];B[cc])";
    std::fs::write(
        path("games.sgf"),
        format!("{good}\n(;GM[1]SZ[5];B[aa];W[aa])\n(;GM[1]SZ[52])"),
    )
    .unwrap();
    let store = path("store");
    let dry = tengen(&["data", "import", &path("games.sgf"), "--dry-run", "--json"]).json();
    assert_eq!(
        (&dry["kept"], &dry["dry_run"], &dry["shards"]),
        (&2.into(), &true.into(), &serde_json::json!([]))
    );
    assert!(!Path::new(&store).exists());

    let args = ["data", "import", &path("games.sgf"), "--store", &store];
    let done = tengen(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(
        (&done["games"], &done["kept"], &done["illegal"], &done["broken"]),
        (&4.into(), &2.into(), &1.into(), &1.into())
    );
    assert_eq!(done["results"], serde_json::json!({ "agrees": 1, "resignation": 1 }));
    let report = std::fs::read_to_string(done["report_file"].as_str().unwrap()).unwrap();
    let lines: Vec<serde_json::Value> = report.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (
            &lines[0]["game"],
            &lines[0]["turn"],
            &lines[0]["line"],
            &lines[0]["rule"]
        ),
        (&3.into(), &2.into(), &2.into(), &"occupied".into())
    );
    assert_eq!(lines.len(), 2);

    let files = || walk(Path::new(&store));
    let before = files();
    let again = tengen(&args).stdout;
    assert!(
        again.contains("nothing new to import") && again.contains("already present"),
        "{again}"
    );
    assert_eq!(files(), before, "importing again adds nothing");
    assert_eq!(tengen(&["data", "verify", &store, "--json"]).json()["games"], 2);
    assert_eq!(
        tengen(&["data", "stats", &store, "--of", "imported", "--json"]).json()["games"]["games"],
        2
    );
}

/// All files under a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    for folder in found.clone().iter().filter(|path| path.is_dir()) {
        found.extend(walk(folder));
    }
    found.sort();
    found
}

#[test]
fn import_errors_give_the_reason_and_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(path(name), bytes).unwrap();
        path(name)
    };
    std::fs::create_dir(path("no-games")).unwrap();
    let huge = format!("(;SZ[52]C[{}])", "long ".repeat(400_000));
    for (file, message) in [
        (write("empty.sgf", b""), "found none: nothing"),
        (write("binary.sgf", b"\x7fELF\x02\x01\0(\0\0"), "expected a game"),
        (
            write("large.sgf", huge.as_bytes()),
            "expected a board of 1x1 to 19x19, found SZ[52]",
        ),
        (write("cut.sgf.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01"), "truncated"),
        (write("cut.zip", b"PK\x03\x04\x14\0\0\0\x08\0"), "truncated"),
        (path("no-games"), "found none in this folder"),
        (path("nowhere.sgf"), "nowhere.sgf"),
    ] {
        tengen(&["data", "import", &file, "--store", &path("store")]).refuses(1, message);
        assert!(!Path::new(&path("store")).exists(), "{file}");
    }
    let file = write("good.sgf", b"(;SZ[5];B[cc])");
    tengen(&["data", "import", &file]).refuses(2, "--store");
    tengen(&["data", "import", "--store", &path("store")]).refuses(2, "FILES");
    tengen(&["data", "import", &file, "--store", &path("store"), "--rules", "martian"]).refuses(2, "martian");
    tengen(&["data", "import", &file, "--store", &path("store"), "--name", "a/b"]).refuses(1, "import name");
}

#[cfg(feature = "torch")]
#[test]
fn quiet_leaves_stderr_empty() {
    let folder = tempfile::tempdir().unwrap();
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    let play = |store: &str, more: &[&str]| {
        let store = folder.path().join(store);
        let mut args = vec!["selfplay", "--config", config.to_str().unwrap(), "--games", "2"];
        args.extend(["--set", "selfplay.search.visits=2", "--session", "1"]);
        args.extend(["--store", store.to_str().unwrap()].iter().chain(more));
        let answer = tengen(&args);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        answer.stderr
    };
    assert!(play("loud", &[]).starts_with("device "));
    assert_eq!(play("quiet", &["--quiet"]), "");
}
