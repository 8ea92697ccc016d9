//! Runs `tengen match` and `tengen verify`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tengen_records::GameRecord;
use tengen_store::{Create, GamesOf, Store};

use crate::common::{Answer, answer, command, start, tengen};

const QUICK: [&str; 10] = [
    "match",
    "--a",
    "uniform,visits=32",
    "--b",
    "random",
    "--size",
    "4",
    "--komi",
    "2",
    "--concurrency=4",
];

fn quick(more: &[&str]) -> Answer {
    tengen(&[&QUICK[..], more].concat())
}

#[test]
fn a_match_reports_points_elo_and_games() {
    let result = quick(&["--games", "6", "--json"]).json();
    assert_eq!(result["games"], 6);
    let number = |key: &str| result[key].as_f64().unwrap_or_else(|| panic!("{key} is not a number"));
    assert_eq!(number("a_points") + number("b_points"), 6.0);
    assert!(number("elo_low") < number("elo") && number("elo") < number("elo_high"));
    assert_eq!(
        (result["faults"].as_u64(), result["size"].as_str()),
        (Some(0), Some("4x4"))
    );
    assert_eq!(result["game_list"].as_array().unwrap().len(), 6);
}

#[test]
fn the_same_seed_gives_the_same_match() {
    let games = |seed: &str| quick(&["--games", "4", "--seed", seed, "--json"]).json()["game_list"].clone();
    assert_eq!(games("5"), games("5"));
    assert_ne!(games("5"), games("6"));
}

#[test]
fn the_folder_holds_the_whole_match() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matches/first");
    let text = out.to_str().unwrap();
    let answer = quick(&["--games", "4", "--out", text]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("as Black"), "{}", answer.stdout);
    let result: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("result.json")).unwrap()).unwrap();
    assert_eq!(result["games"], 4);
    let sgf = std::fs::read_to_string(out.join("games.sgf")).unwrap();
    assert_eq!(sgf.matches("SZ[4]").count(), 4);
    let stats = tengen(&["data", "stats", text, "--of", "all", "--json"]).json();
    assert_eq!(stats["games"]["games"], 4);
    let scored = tengen(&["rules", "score", out.join("games.sgf").to_str().unwrap(), "--json"]).json();
    for game in scored["games"].as_array().unwrap() {
        assert_eq!((&game["legal"], &game["over"]), (&true.into(), &true.into()));
        assert_eq!(game["result"], game["claimed"]);
    }
    // The report is about the match, not about a run.
    let page = folder.path().join("page.html");
    let report = ["report", "--store", text, "--out", page.to_str().unwrap()];
    assert_eq!(tengen(&report).code, 0);
    let html = std::fs::read_to_string(&page).unwrap();
    let (a, b) = (result["a"].as_str().unwrap(), result["b"].as_str().unwrap());
    let (points, games) = (result["a_points"].as_f64().unwrap(), "4 games");
    let (heading, cell) = (format!("<h1>{a} against {b}</h1>"), format!("<td>{points}</td>"));
    for part in [heading.as_str(), &cell, games, "Score so far"] {
        assert!(html.contains(part), "{part}: {html}");
    }
    // The script of the page fills the elements with these names.
    for id in ["result", "players", "choice", "turn", "values"] {
        assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(
        !html.contains("Models and their cost") && !html.contains("No data yet"),
        "{html}"
    );
    // The same command finds everything played; a different one is rejected.
    let again = quick(&["--games", "4", "--out", text]);
    assert_eq!((again.code, &again.stdout), (0, &answer.stdout), "{}", again.stderr);
    quick(&["--games", "6", "--out", text]).refuses(2, "its match.games is 4, not 6");
    quick(&["--games", "4", "--out", folder.path().to_str().unwrap()]).refuses(2, "is not a match");
    let leftovers = names(out.parent().unwrap());
    assert_eq!(leftovers, ["first"], "nothing else is next to the match");
    // The same match inside a run store.
    let store = Store::open(folder.path().join("store").to_str().unwrap(), Create::Always).unwrap();
    let run = tengen_store::RunInfo::new("test", 0, "tromp_taylor", Vec::new(), serde_json::Value::Null);
    store.put_run_info(&run).unwrap();
    let inside = quick(&["--games", "4", "--store", store.location()]);
    assert_eq!((inside.code, &inside.stdout), (0, &answer.stdout), "{}", inside.stderr);
    let id = store.matches().list().unwrap().remove(0);
    assert!(
        store
            .matches()
            .get(&id, tengen_store::MatchFile::Result)
            .unwrap()
            .is_some()
    );
    quick(&["--games", "4", "--out", store.location()]).refuses(2, "is a run store");
    let failed = folder.path().join("failed");
    let text = failed.to_str().unwrap();
    tengen(&["match", "--a", "random", "--b", "gtp:no-such-engine", "--out", text]).refuses(1, "no such program");
    assert!(!failed.exists(), "a match that cannot begin leaves nothing");
}

/// The games of a match on disk by name, without their start time.
fn games(folder: &Path) -> BTreeMap<String, GameRecord> {
    let store = Store::open(folder.to_str().unwrap(), Create::Never).unwrap();
    let mut games = BTreeMap::new();
    for shard in store.games().list_shards(&GamesOf::All).unwrap() {
        for mut game in store.games().read(&shard).unwrap() {
            game.start_time_ms = 0;
            let other = games.insert(game.game_id.clone(), game.clone());
            assert!(
                other.is_none_or(|other| other == game),
                "a game does not depend on when it is played"
            );
        }
    }
    games
}

/// One of the two formats is not the one that is chosen without `--dtype`.
#[test]
fn a_match_goes_on_in_the_number_format_that_it_began_in() {
    let folder = tempfile::tempdir().unwrap();
    for dtype in ["fp32", "bf16"] {
        let out = folder.path().join(dtype).to_str().unwrap().to_owned();
        let again = ["--games", "2", "--json", "--out", &out];
        let begun = quick(&[&again[..], &["--dtype", dtype]].concat());
        if begun.code != 0 {
            assert_eq!(dtype, "bf16", "{}", begun.stderr);
            begun.refuses(1, "bf16");
            continue;
        }
        assert_eq!(quick(&again).json(), begun.json(), "{dtype}");
        let other = if dtype == "fp32" { "bf16" } else { "fp32" };
        assert_ne!(
            quick(&[&again[..], &["--dtype", other]].concat()).code,
            0,
            "{other} is another match"
        );
    }
}

#[test]
fn a_match_killed_at_any_moment_resumes_with_the_same_games() {
    let folder = tempfile::tempdir().unwrap();
    let match_in = |name: &str, concurrency: &str| {
        let out = folder.path().join(name).to_str().unwrap().to_owned();
        let args = [
            "match",
            "--a",
            "uniform,visits=2",
            "--b",
            "random",
            "--size",
            "3",
            "--komi",
            "9",
            "--games",
            "3600",
            "--json",
        ];
        let more = ["--concurrency", concurrency, "--out", &out];
        command(&[&args[..], &more].concat())
    };
    let shards = folder.path().join("killed/games/v1/kind=match");
    let published = || {
        let folders = std::fs::read_dir(&shards).into_iter().flatten();
        folders
            .map(|folder| names(&folder.unwrap().path()).len())
            .sum::<usize>()
    };
    for wanted in [1, 3, 4, 7] {
        let mut child = match_in("killed", "24")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while published() < wanted {
            assert!(child.try_wait().unwrap().is_none(), "the child is at work");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(!folder.path().join("killed/result.json").exists());
    // Resuming with a different number of parallel games changes no game.
    let killed = answer(match_in("killed", "7").output().unwrap()).json();
    let whole = answer(match_in("whole", "64").output().unwrap()).json();
    for key in [
        "games",
        "a_points",
        "pentanomial",
        "elo",
        "elo_low",
        "game_list",
        "mean_plies",
        "a",
    ] {
        assert_eq!(killed[key], whole[key], "{key}");
    }
    let (killed, whole) = (
        games(&folder.path().join("killed")),
        games(&folder.path().join("whole")),
    );
    assert_eq!(whole.len(), 3600);
    assert!(killed == whole, "the same games, move by move");
}

#[test]
fn ctrl_c_publishes_the_finished_games() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("m");
    let text = out.to_str().unwrap();
    let child = start(&[&QUICK[..], &["--games", "100000", "--out", text]].concat());
    while !out.join("spec.json").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(700));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    let stopped = answer(child.wait_with_output().unwrap());
    assert_eq!(stopped.code, 130, "{}", stopped.stderr);
    assert!(
        stopped.stderr.contains("run the same command again"),
        "{}",
        stopped.stderr
    );
    assert!(!out.join("result.json").exists() && !games(&out).is_empty());
}

#[test]
fn openings_come_from_a_book() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book.txt");
    std::fs::write(&book, "B2 C3 # a corner\nC2 B3 A1\n").unwrap();
    let openings = format!("book:{}", book.display());
    let out = folder.path().join("m");
    let text = out.to_str().unwrap();
    let all = [
        "--games",
        "8",
        "--openings",
        &openings,
        "--book-plies",
        "2",
        "--out",
        text,
    ];
    assert_eq!(quick(&all).code, 0);
    let mut begins: Vec<String> = games(&out)
        .values()
        .map(|game| {
            let two: Vec<String> = game.plies[..2].iter().map(|ply| ply.mv.format(game.size)).collect();
            two.join(" ")
        })
        .collect();
    begins.sort();
    assert_eq!(begins, [["B2 C3"; 4], ["C2 B3"; 4]].concat());
    std::fs::write(&book, "B2 C3\nC2 B2\n").unwrap();
    quick(&all).refuses(2, "its book.sha256 is");
    quick(&["--openings", "book:/no/such/book"]).refuses(1, "/no/such/book");
    std::fs::write(&book, "B2 B2\n").unwrap();
    quick(&["--openings", &openings]).refuses(2, "B2 is illegal");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_sequential_test_stops_early() {
    let result = quick(&["--sprt", "0,100", "--games", "40", "--a-color", "alternate", "--json"]).json();
    assert!(result["sprt"]["llr"].is_number() && result["games"].as_u64().unwrap() <= 40);
}

#[test]
fn usage_errors_are_one_sentence() {
    for (more, message) in [
        (vec!["--a", "unifrom"], "did you mean 'uniform'?"),
        (vec!["--komi", "7.3"], "7.3"),
        (vec!["--komi", "99"], "larger than the board"),
        (vec!["--size", "20"], "each side from 1 to 19"),
        (vec!["--sprt", "50"], "two numbers"),
        (
            vec!["--sprt", "50,0"],
            "elo1 is 0: expected more than elo0, which is 50",
        ),
        (vec!["--sprt", "0,50", "--a-color", "black"], "pairs"),
        (vec!["--openings", "some"], "does not describe openings"),
        (vec!["--games", "0"], "at least 1"),
        (vec!["--games", "-3"], "not a whole number from 1"),
        (vec!["--seed", "-1"], "invalid value '-1' for '--seed"),
        (vec!["--concurrency", "-1"], "not a whole number from 1"),
        (vec!["--komi", "-82"], "larger than the board"),
        (vec!["--rules", "japanese"], "japanese2008"),
        (vec!["--rules", "tromp"], "there are no rules named 'tromp'"),
        (vec!["--out", ""], "--out needs a folder"),
    ] {
        let args = ["match", "--a", "uniform", "--b", "random"];
        let args: Vec<&str> = match more[0] {
            "--a" => [&["match", "--b", "random"], &more[..]].concat(),
            _ => [&args[..], &more].concat(),
        };
        tengen(&args).refuses(2, message);
    }
}

#[test]
fn errors_name_players_that_cannot_play() {
    for (player, message) in [
        ("model:/no/such/model", "/no/such/model"),
        ("store:/no/such/store", "/no/such/store"),
        (
            "gtp:no-such-engine --mode gtp",
            "player 'gtp:no-such-engine --mode gtp': cannot start the engine",
        ),
        (
            "gtp:true",
            "player 'gtp:true': the engine exited with code 0 during 'protocol_version'; does it need",
        ),
        (
            "gtp:cat",
            "an invalid answer to 'protocol_version': \"1 protocol_version\"; does it need an option to speak GTP",
        ),
        ("gtp:\"sleep 60\",start_s=0.2", "within 0.2 s; does it need"),
    ] {
        tengen(&["match", "--a", player, "--b", "random", "--games", "2", "--size", "3"]).refuses(1, message);
    }
}

#[test]
fn tengen_plays_against_itself_over_gtp() {
    let engine = format!("gtp:{} gtp --model uniform --visits 8", env!("CARGO_BIN_EXE_tengen"));
    let answer = tengen(&[
        "match", "--a", &engine, "--b", "random", "--games", "2", "--size", "4", "--json",
    ])
    .json();
    assert_eq!(
        (answer["faults"].as_u64(), answer["games"].as_u64()),
        (Some(0), Some(2))
    );
    assert!(answer["a"].as_str().unwrap().starts_with("Tengen"), "{answer}");
}

#[test]
fn a_player_without_a_network_contradicts_theory() {
    let answer = tengen(&[
        "verify",
        "--model",
        "uniform,visits=16",
        "--board",
        "5x5",
        "--games",
        "2",
        "--json",
    ]);
    answer.refuses(1, "contradicts the theory of 5x5");
    let report = answer.object();
    assert_eq!((&report["board"], &report["passed"]), (&"5x5".into(), &false.into()));
    let questions: Vec<&str> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|check| check["question"].as_str())
        .collect();
    assert_eq!(questions.len(), 6, "{questions:?}");
    tengen(&["verify", "--model", "uniform", "--board", "6x6"]).refuses(2, "5x5");
}

#[test]
fn players_are_named_by_place_or_by_option() {
    let settings = ["--size", "3", "--komi", "0", "--games", "2"];
    let with = |players: &[&str]| tengen(&[&["match"], players, &settings[..]].concat());
    let (places, options) = (
        with(&["random", "uniform,visits=4"]),
        with(&["--a", "random", "--b", "uniform,visits=4"]),
    );
    assert_eq!((places.code, &places.stdout), (0, &options.stdout), "{}", places.stderr);
    with(&["random"]).refuses(2, "2 values required");
    with(&["random", "random", "--a", "random"]).refuses(2, "cannot be used with");
    with(&["--a", "random"]).refuses(2, "--b <PLAYER>");
    with(&[]).refuses(2, "<PLAYER> <PLAYER>");
}
