//! Runs `tengen data label`: killed while it works, with another engine as the teacher, and with what it refuses.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tengen_records::GameRecord;
use tengen_store::{Collection, Create, GamesOf, Store};

use crate::common::{command, finished_game, tengen, wait_until};

/// A store with so many finished games on 3x3, five positions each.
fn store(folder: &Path, games: usize) -> String {
    let location = folder.join("store").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let game = |number: usize| {
        let third = ["A1", "B1", "C3"][number % 3];
        finished_game(number, 3, 7, &["B2", "pass", third, "pass", "pass"])
    };
    let games: Vec<GameRecord> = (0..games).map(game).collect();
    store
        .games()
        .publish_games(&Collection::SelfPlay { generation: 1 }, "test", 0, &games)
        .unwrap();
    location
}

/// The arguments of a labelling into a folder.
fn words<'a>(source: &'a str, model: &'a str, visits: &'a str, into: &'a str) -> Vec<&'a str> {
    let mut words = vec![
        "data", "label", source, "--model", model, "--visits", visits, "--into", into,
    ];
    words.extend(["--shard-positions", "20", "--threads", "2", "--json"]);
    words
}

/// The labelled games of a store.
fn labelled(location: &str) -> Vec<GameRecord> {
    let store = Store::open(location, Create::Never).unwrap();
    let shards = store.games().list_shards(&GamesOf::Imported).unwrap();
    shards
        .iter()
        .flat_map(|shard| store.games().read(shard).unwrap())
        .collect()
}

/// The bytes of the shards that count, by their number.
fn bytes(location: &str) -> BTreeMap<u64, Vec<u8>> {
    let store = Store::open(location, Create::Never).unwrap();
    let shards = store.games().list_shards(&GamesOf::Imported).unwrap();
    let read = |path: &str| std::fs::read(Path::new(location).join(path)).unwrap();
    let bytes: BTreeMap<_, _> = shards
        .iter()
        .map(|shard| (shard.name.sequence, read(&shard.path)))
        .collect();
    assert_eq!(bytes.len(), shards.len(), "every chunk has one shard");
    bytes
}

#[test]
fn killed_labelling_continues_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let source = store(folder.path(), 48);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (whole, killed) = (path("whole"), path("killed"));
    let done = tengen(&words(&source, "uniform", "4000", &whole)).json();
    assert_eq!((&done["positions"], &done["complete"]), (&240.into(), &true.into()));
    let shards = Path::new(&killed).join("games/v1/kind=import/import=labels");
    // A file that is being written has `#1` behind its name.
    let published = |file: &std::fs::DirEntry| file.path().extension().is_some_and(|end| end == "parquet");
    let count = || std::fs::read_dir(&shards).map_or(0, |files| files.flatten().filter(published).count());
    let mut kills = 0;
    for _ in 0..3 {
        let before = count();
        let mut child = command(&words(&source, "uniform", "4000", &killed))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        wait_until("a new shard, or the end", || {
            count() > before || child.try_wait().unwrap().is_some()
        });
        std::thread::sleep(Duration::from_millis(5 * kills));
        kills += u64::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(kills > 0, "at least one start was killed while it worked");
    let rest = tengen(&words(&source, "uniform", "4000", &killed)).json();
    let before = rest["already_labelled"].as_u64().unwrap();
    assert_eq!((before + rest["games"].as_u64().unwrap(), before > 0), (48, true));
    assert!(bytes(&killed) == bytes(&whole), "the same shards, byte for byte");
    let verified = tengen(&["data", "verify", &killed]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
}

#[test]
fn another_engine_is_a_teacher() {
    let folder = tempfile::tempdir().unwrap();
    let source = store(folder.path(), 3);
    let into = folder.path().join("into").display().to_string();
    let model = format!("analysis:{} analyze --model uniform", env!("CARGO_BIN_EXE_tengen"));
    let done = tengen(&words(&source, &model, "50", &into)).json();
    assert_eq!(done["positions"], 15);
    assert_eq!(done["teacher"]["models"], serde_json::json!(["uniform"]));
    for game in labelled(&into) {
        for ply in &game.plies {
            assert_eq!(ply.root_visits, 50);
            let sum: f32 = ply.policy.iter().map(|entry| entry.1).sum();
            assert_eq!(sum, 1.0);
        }
        let owners = game.plies.iter().map(|ply| ply.expected_ownership.len());
        assert!(
            owners.eq([9; 5]),
            "an engine without a network estimates owners by random games"
        );
        let (black, white): (Vec<i8>, Vec<i8>) = game.plies[4].expected_ownership.iter().partition(|owner| **owner > 0);
        assert!(black.len() >= 7, "Black owns nearly everything: {black:?} {white:?}");
        // After Black's play in the center and White's pass, Black wins with any move.
        assert!(game.plies[2].root_value > 0.9 && game.plies[2].root_margin > 3.0);
    }
    // After Black's passes, White wins by passing, too: values are from the viewpoint of the side to move.
    let (file, whites) = (folder.path().join("white.sgf"), folder.path().join("whites"));
    std::fs::write(&file, "(;GM[1]FF[4]SZ[3]KM[3.5];B[];W[bb];B[];W[])").unwrap();
    let (file, whites) = (file.display().to_string(), whites.display().to_string());
    assert_eq!(tengen(&words(&file, &model, "50", &whites)).json()["positions"], 4);
    for number in [1, 3] {
        let ply = &labelled(&whites)[0].plies[number];
        assert!(ply.root_value > 0.9 && ply.root_margin > 3.0, "ply {number}");
        let owned = ply.expected_ownership.iter().filter(|owner| **owner < 0).count();
        assert!(
            number == 1 || owned >= 7,
            "White owns nearly everything: {:?}",
            ply.expected_ownership
        );
    }
    let bare = folder.path().join("bare").display().to_string();
    let done = tengen(&[words(&source, &model, "50", &bare), vec!["--no-ownership"]].concat()).json();
    assert!(done["teacher"].get("ownership").is_none());
    let mut plies = labelled(&bare).into_iter().flat_map(|game| game.plies);
    assert!(plies.all(|ply| ply.root_visits == 50 && ply.expected_ownership.is_empty()));
    // A game is left out if the engine refuses a position of it, and labelled by the next start.
    let filtered = |name: &str, filter: &str| {
        let script = folder.path().join(name);
        let engine = format!(
            "{} analyze --model uniform | sed -u '{filter}'",
            env!("CARGO_BIN_EXE_tengen")
        );
        std::fs::write(&script, engine).unwrap();
        format!("analysis:sh {}", script.display())
    };
    let moody = filtered("moody", r#"s/.*"id":"7".*/{"id":"7","error":"not today"}/"#);
    let some = folder.path().join("some").display().to_string();
    let done = tengen(&words(&source, &moody, "5", &some)).json();
    assert_eq!((&done["games"], &done["refused"]), (&2.into(), &1.into()), "{done}");
    let reason = done["refusals"][0].as_str().unwrap();
    assert!(reason.contains("ply 1: not today"), "{reason}");
    let done = tengen(&words(&source, &moody, "5", &some)).json();
    assert_eq!(
        (&done["games"], &done["already_labelled"], &done["refused"]),
        (&1.into(), &2.into(), &0.into())
    );
    assert_eq!(tengen(&["data", "verify", &some]).code, 0);
    let mute = filtered("mute", "s/moveInfos/moves/");
    let none = folder.path().join("none").display().to_string();
    tengen(&words(&source, &mute, "5", &none)).refuses(1, "labelled none of 3 games");
    assert!(!Path::new(&none).join("games/v1/kind=import").exists());
    let gone = tengen(&words(&source, "analysis:/no/such/engine", "5", &into));
    gone.refuses(1, "no such program");
    let deaf = tengen(&words(&source, "analysis:false", "5", &into));
    deaf.refuses(1, "exited with code 1");
    let wrong = tengen(&words(&source, "analysis:echo hello", "5", &into));
    wrong.refuses(1, "invalid answer");
}

#[test]
fn sgf_files_are_labelled_directly_and_mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("into").display().to_string();
    let file = folder.path().join("games.sgf").display().to_string();
    std::fs::write(
        &file,
        "(;GM[1]FF[4]SZ[5]KM[2.5];B[cc];W[bb];B[];W[])(;SZ[5];B[aa];W[aa])",
    )
    .unwrap();
    let mut words = words(&file, "uniform", "8", &into);
    words.extend(["--every", "2"]);
    let done = tengen(&words).json();
    assert_eq!((&done["positions"], &done["rejected"]), (&2.into(), &1.into()));
    let game = &labelled(&into)[0];
    let visits: Vec<u16> = game.plies.iter().map(|ply| ply.root_visits).collect();
    assert_eq!((visits, game.komi.points()), (vec![8, 0, 8, 0], 2.5));
    let model = |model: &str| {
        tengen(&[
            "data", "label", &file, "--model", model, "--visits", "2", "--into", &into,
        ])
    };
    model("uniform,time=2").refuses(2, "method");
    model("random").refuses(2, "cannot label");
    model("store:/no/such/store").refuses(1, "/no/such/store");
    #[cfg(feature = "torch")]
    {
        let weights = tengen_model::Weights::random(&tengen_model::NetworkConfig::new(1, 8), 1).unwrap();
        let network = folder.path().join("weights.safetensors");
        std::fs::write(&network, weights.to_safetensors()).unwrap();
        let network = format!("model:{}", network.display());
        let two = [
            "--device",
            "cuda:0,cuda:1",
            "--threads",
            "1",
            "--visits",
            "2",
            "--into",
            &into,
        ];
        let answer = tengen(&[&["data", "label", &file, "--model", &network], &two[..]].concat());
        answer.refuses(2, "there are 2 devices, but only 1 thread");
    }
    let missing = tengen(&[
        "data",
        "label",
        "/no/such.sgf",
        "--model",
        "uniform",
        "--visits",
        "2",
        "--into",
        &into,
    ]);
    missing.refuses(1, "/no/such.sgf");
}
