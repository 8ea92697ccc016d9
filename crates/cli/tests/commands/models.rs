//! Networks from folders, files and stores in every command that takes a player.

use std::io::Write;

use tengen_model::{Model, NetworkConfig, Weights};
use tengen_store::{Create, Promotion, Store};

use crate::common::{Answer, answer, command, start, tengen};

/// An untrained network.
fn model() -> Model {
    Model::new(Weights::random(&NetworkConfig::new(1, 8), 1).unwrap())
}

/// A short match of a player against the random player.
fn play(player: &str) -> Answer {
    let a = format!("{player},visits=4");
    tengen(&[
        "match", "--a", &a, "--b", "random", "--size", "3", "--games", "2", "--json",
    ])
}

#[test]
fn folders_and_files_are_models() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small");
    model().save(&path).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(play(&format!("model:{path}")).json()["a"], "small");
    assert_eq!(play(path).json()["a"], "small");
    assert_eq!(
        play(&format!("model:{path}/weights.safetensors")).json()["a"],
        "weights"
    );
    let verified = tengen(&[
        "verify",
        "--model",
        &format!("{path},visits=2"),
        "--games",
        "1",
        "--json",
    ]);
    assert_eq!(verified.code, 1, "{}", verified.stderr);
    assert!(verified.object()["value"].is_number());
    std::fs::write(format!("{path}/weights.safetensors"), b"nonsense").unwrap();
    play(&format!("model:{path}")).refuses(1, "SHA-256");
}

#[test]
fn the_models_of_a_folder_are_listed() {
    let shelf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
    let listed = tengen(&["model", "list", shelf, "--json"]).json();
    let names: Vec<_> = listed["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| &model["id"])
        .collect();
    assert_eq!(names[..3], ["5x5", "7x7", "9x9"]);
    tengen(&["model", "list", "/no/such/folder"]).refuses(1, "expected a store");

    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command(&["model", "list", shelf]).stdout(full).output().unwrap();
    answer(output).refuses(1, "cannot write the result to stdout: No space left on device");
}

#[test]
fn a_model_trained_under_other_rules_plays_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small");
    let mut trained = model();
    let under = |rules: &str| {
        let player = format!("model:{},visits=2", path.to_str().unwrap());
        let mut args = vec!["match", "--a", &player, "--b", "random", "--size", "3", "--games", "2"];
        args.extend(["--rules", rules]);
        let answer = tengen(&args);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        answer.stderr
    };
    trained.save(&path).unwrap();
    assert!(!under("aga").contains("warning"), "nothing is known of it");
    trained.info.rules = Some("aga".to_owned());
    trained.save(&path).unwrap();
    assert!(!under("aga").contains("warning"));
    let said = under("japanese2008");
    assert!(
        said.contains("warning: the model small was trained under aga but plays under japanese2008 here"),
        "{said}"
    );
    // Over GTP, each warning appears once: at the start and at every change.
    trained.info.fair_komi_half_points.insert("3x3".to_owned(), 6);
    trained.save(&path).unwrap();
    let player = format!("model:{}", path.to_str().unwrap());
    let args = [
        "gtp",
        "--model",
        &player,
        "--size",
        "3",
        "--komi",
        "3",
        "--rules",
        "tromp_taylor",
    ];
    let mut child = start(&args);
    let lines = "kata-set-rules aga\ntengen-warnings\nboardsize 4\nkomi 20\nkomi 17\ntengen-warnings\nshowboard\n";
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let answer = crate::common::answer(child.wait_with_output().unwrap());
    let mut lines = answer.stderr.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("device cpu ")));
    let said: Vec<&str> = lines.collect();
    assert!(
        said[0].contains("trained under aga but plays under tromp_taylor here"),
        "{said:?}"
    );
    assert!(said[1].contains("trained on 3x3 but plays on 4x4 here"), "{said:?}");
    assert!(said[2].contains("komi 20 exceeds the points of 4x4"), "{said:?}");
    assert!(said[3].contains("komi 17 exceeds") && said.len() == 4, "{said:?}");
    let answers: Vec<&str> = answer.stdout.split("\n\n").map(str::trim_end).collect();
    assert_eq!(answers[1], "=");
    assert_eq!(answers[5].lines().count(), 2, "{answers:?}");
    assert!(
        answers[6].contains("komi 17\nwarning: the model small was trained on 3x3"),
        "{answers:?}"
    );
}

#[test]
fn stores_have_champions_and_generations() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let entry = store.models().publish(3, &model()).unwrap();
    let player = format!("store:{location}");
    play(&player).refuses(1, "no champion yet");
    play(&format!("{player}@g000004")).refuses(1, "no model of generation 4");
    assert_eq!(play(&format!("{player}@g000003")).json()["a"], entry.to_string());
    let promotion = Promotion::now(&entry, None, serde_json::Value::Null);
    store.models().promote(1, &promotion).unwrap();
    assert_eq!(play(&player).json()["a"], entry.to_string());
    // The model's own folder in the store works too.
    assert_eq!(
        play(&format!("model:{location}/models/{entry}")).json()["a"],
        entry.to_string()
    );
}

#[test]
fn a_match_only_resumes_with_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (location, out) = (path("store"), path("match"));
    let store = Store::open(&location, Create::Always).unwrap();
    let crown = |number: u32| {
        let weights = Weights::random(&NetworkConfig::new(1, 8), u64::from(number)).unwrap();
        let entry = store.models().publish(number, &Model::new(weights)).unwrap();
        let promotion = Promotion::now(&entry, None, serde_json::Value::Null);
        store.models().promote(number, &promotion).unwrap();
        entry.to_string()
    };
    let play = || {
        let a = format!("store:{location},visits=4");
        tengen(&[
            "match", "--a", &a, "--b", "random", "--size", "3", "--games", "2", "--out", &out,
        ])
    };
    let first = crown(0);
    let whole = play();
    assert!(whole.code == 0 && whole.stdout.contains(&first), "{}", whole.stderr);
    let second = crown(1);
    let again = play();
    assert_eq!(
        again.stdout, whole.stdout,
        "a match that is complete needs no players: {}",
        again.stderr
    );
    std::fs::remove_file(format!("{out}/result.json")).unwrap();
    std::fs::remove_dir_all(format!("{out}/games")).unwrap();
    let refused = play();
    refused.refuses(1, &format!("started with the player {first}, but now it is {second}"));
}

#[test]
fn a_model_plays_on_its_own_board_with_its_own_komi_and_rules() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small");
    let mut trained = model();
    trained.info.rules = Some("aga".to_owned());
    trained.info.fair_komi_half_points = [("3x3".to_owned(), 17)].into();
    trained.save(&path).unwrap();
    let path = path.to_str().unwrap();
    let play = |more: &[&str]| {
        let a = format!("{path},visits=2");
        let args = ["match", "--a", "random", "--b", &a, "--games", "2", "--json"];
        let answer = tengen(&[&args[..], more].concat());
        let result = answer.json();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let conditions = [&result["size"], &result["komi"], &result["config"]["rules"]].map(text);
        (conditions.join(" "), answer.stderr)
    };
    let (own, said) = play(&[]);
    assert_eq!(own, "3x3 8.5 aga");
    assert!(
        said.contains("playing as the model small was trained: --size 3x3 --komi 8.5 --rules aga"),
        "{said}"
    );
    let all = ["--size", "2", "--komi", "1", "--rules", "tromp_taylor"];
    let (asked, said) = play(&all);
    assert_eq!(asked, "2x2 1 tromp_taylor");
    assert!(!said.contains("playing as"), "{said}");

    let mut child = start(&["gtp", "--model", path]);
    let input = b"query_boardsize\nget_komi\nkata-get-rules\nshowboard\nquit\n";
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let (said, warned) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(said.contains("8.5") && !warned.contains("warning"), "{said}\n{warned}");
}

#[test]
fn the_baseline_plays_over_gtp() {
    let mut child = start(&["gtp", "--model", "mcts,playouts=200", "--size", "3", "--komi", "0"]);
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"version\ngenmove b\nquit\n")
        .unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("(mcts)") && said.contains("= B2"), "{said}");
    tengen(&["gtp", "--model", "mcts", "--visits", "9"]).refuses(2, "playouts");
    tengen(&["analyze", "--model", "mcts"]).refuses(2, "cannot analyze");
}

#[test]
fn the_version_names_what_the_program_was_built_from() {
    let said = tengen(&["--version"]).stdout;
    assert!(
        said.contains(env!("CARGO_PKG_VERSION")) && said.contains("libtorch 2."),
        "{said}"
    );
}
