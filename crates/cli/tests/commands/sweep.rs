//! Runs `tengen sweep`.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Answer, answer, command, tengen};

/// A sweep of tiny runs on 3x3, which end after a few training steps; `compared` are its arms or factors.
fn write(folder: &Path, runs: &str, steps: u32, compared: &str) -> String {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    let text = format!(
        r#"
name = "Tiny sweep"
base = "{}"
{runs}
[set]
network = {{ blocks = 1, channels = 8 }}
selfplay.boards = [{{ size = "3x3" }}]
selfplay.games_per_group = 8
training = {{ batch = 32, schedule = "constant" }}
gate.always_promote = true
budget = {{ steps = {steps}, minutes = 0 }}
loop = {{ workers = 1, start_positions = 100, shard_seconds = 0.1, candidate_every_steps = 10 }}
{compared}
[rating]
games = 4
visits = 4
models = 2
komi = 3
"#,
        base.display()
    );
    let path = folder.join("sweep.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A sweep of two arms.
fn write_sweep(folder: &Path, seeds: &str, visits: u32, steps: u32) -> String {
    let arms = format!(
        r#"
[[arms]]
name = "few"
set.selfplay.search.visits = 2
[[arms]]
name = "more"
set.selfplay.search.visits = {visits}
"#
    );
    write(folder, &format!("seeds = {seeds}"), steps, &arms)
}

/// A sweep of two factors.
fn write_factors(folder: &Path, runs: usize) -> String {
    let factors = r#"
[[factors]]
name = "more visits"
set.selfplay.search.visits = 6
[[factors]]
name = "tree reuse"
set.selfplay.tree_reuse = true
"#;
    write(folder, &format!("runs = {runs}"), 20, factors)
}

fn sweep(file: &str, out: &Path, more: &[&str]) -> Answer {
    let all = [&["sweep", file, "--out", out.to_str().unwrap()], more].concat();
    tengen(&all)
}

#[test]
fn arms_are_trained_rated_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let file = write_sweep(folder.path(), "[1, 2]", 6, 40);
    let first = sweep(&file, &out, &["--json", "--jobs", "2"]).json();
    let arms = first["arms"].as_array().unwrap();
    let names: Vec<&Value> = arms.iter().map(|arm| &arm["name"]).collect();
    assert_eq!(names, ["few", "more"]);
    assert_eq!((&arms[0]["seeds"], &arms[0]["difference"]), (&2.into(), &Value::Null));
    assert!(
        arms[0]["elo"]["value"].as_f64().unwrap().abs() < 1e-9,
        "the first arm is the zero"
    );
    let difference = &arms[1]["difference"];
    let value = |estimate: &Value| estimate["value"].as_f64().unwrap();
    assert!((value(&difference["elo"]) - value(&arms[1]["elo"])).abs() < 1e-6);
    // An interval has no end on the side on which an arm won every game.
    let end = |name: &str, open: f64| difference["elo"][name].as_f64().unwrap_or(open);
    assert!(end("low", f64::NEG_INFINITY) < end("high", f64::INFINITY));
    assert_eq!(arms[0]["curve"].as_array().unwrap().len(), 2);
    assert_eq!(first["runs"].as_array().unwrap().len(), 4);
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("few") && page.contains("<svg"), "{page}");
    // The last models of both arms meet with all seeds, those before meet the next one and the neighbor.
    assert_eq!(first["matches"].as_array().unwrap().len(), 4 + 4 + 2);

    let again = sweep(&file, &out, &["--json"]).json();
    assert_eq!(again, first, "nothing is trained or played again");
    let file = write_sweep(folder.path(), "[1, 2, 3]", 6, 40);
    let more = sweep(&file, &out, &[]);
    assert_eq!(more.code, 0, "{}", more.stderr);
    assert!(
        more.stdout.contains("more") && more.stdout.contains("verdict"),
        "{}",
        more.stdout
    );
    assert_eq!(
        more.stderr.matches(" of 18: ").count(),
        8,
        "only matches of new runs: {}",
        more.stderr
    );
}

#[test]
fn factors_are_rated_by_all_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let four = sweep(&write_factors(folder.path(), 4), &out, &["--json", "--jobs", "2"]).json();
    assert!(four["arms"].is_null());
    let runs = four["runs"].as_array().unwrap();
    let has: Vec<&Value> = runs.iter().map(|run| &run["has"]).collect();
    let (none, visits, reuse, both) = (
        json!([]),
        json!(["more visits"]),
        json!(["tree reuse"]),
        json!(["more visits", "tree reuse"]),
    );
    assert_eq!(has, [&none, &both, &visits, &reuse]);
    // Two models of every run meet, and last models of runs that are one and two places apart.
    assert_eq!(four["matches"].as_array().unwrap().len(), 4 + 3 + 2);
    let last = |run: &Value| run["models"][1]["elo"].as_f64().unwrap();
    let elo: Vec<f64> = runs.iter().map(last).collect();
    assert!(
        elo.iter().sum::<f64>().abs() < 1e-6,
        "the mean run is the zero: {elo:?}"
    );
    let factors = four["factors"].as_array().unwrap();
    let effect = |factor: usize| factors[factor]["effect"]["elo"]["value"].as_f64().unwrap();
    assert!((effect(0) - (elo[1] + elo[2] - elo[0] - elo[3]) / 2.0).abs() < 1e-6);
    assert!((effect(1) - (elo[1] + elo[3] - elo[0] - elo[2]) / 2.0).abs() < 1e-6);
    assert_eq!(
        (&factors[0]["with"]["seeds"], &four["all"]["seeds"]),
        (&2.into(), &4.into())
    );
    assert!(four["deviation"].as_f64().unwrap() >= 0.0);
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(
        page.contains("What each factor is worth") && page.contains("1: more visits"),
        "{page}"
    );

    let eight = sweep(&write_factors(folder.path(), 8), &out, &[]);
    assert_eq!(eight.code, 0, "{}", eight.stderr);
    assert!(
        eight.stdout.contains("8 runs, each with its own half of 2 factors"),
        "{}",
        eight.stdout
    );
    // 8 within runs, 7, 6, and 4 between them; those of the first four runs are not played again.
    assert_eq!(eight.stderr.matches(" of 25: ").count(), 25 - 9, "{}", eight.stderr);
    std::fs::write(folder.path().join("sweep.toml"), {
        let text = std::fs::read_to_string(folder.path().join("sweep.toml")).unwrap();
        text.replace("search.visits = 6", "search.visits = 7")
    })
    .unwrap();
    let file = folder.path().join("sweep.toml");
    let changed = sweep(file.to_str().unwrap(), &out, &[]);
    changed.refuses(
        2,
        "the run run-02 began with other settings: selfplay.search.visits 6 -> 7",
    );
}

#[test]
fn a_killed_sweep_goes_on_and_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let file = write_sweep(folder.path(), "[1]", 6, 400);
    let mut child = command(&["sweep", &file, "--out", out.to_str().unwrap()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let store = out.join("runs/few-s1");
    let wait = |what: &str, until: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !until() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait("the first run has begun", &|| {
        store.join("promotions/000000.json").exists()
    });
    child.kill().unwrap();
    answer(child.wait_with_output().unwrap());
    // The run still works, and holds the lock of its store, until it has saved what it has.
    let file = write_sweep(folder.path(), "[1]", 6, 400);
    let result = sweep(&file, &out, &["--json"]).json();
    assert_eq!(result["runs"].as_array().unwrap().len(), 2);
    assert_eq!(result["arms"][1]["difference"]["verdict"], "one_seed");
}

#[test]
fn mistakes_are_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    tengen(&["sweep", "/no/such/file.toml"]).refuses(1, "/no/such/file.toml");
    let file = write_sweep(folder.path(), "[1]", 6, 5);
    assert_eq!(sweep(&file, &out, &[]).code, 0);
    let changed = write_sweep(folder.path(), "[1]", 7, 5);
    sweep(&changed, &out, &[]).refuses(2, "selfplay.search.visits 6 -> 7");
    sweep(&changed, folder.path(), &[]).refuses(2, "is not a sweep");
    sweep(&changed, Path::new("s3://bucket/sweep"), &[]).refuses(2, "a local folder");
    let text = std::fs::read_to_string(&file).unwrap();
    let refuse = |from: &str, to: &str, code, message| {
        std::fs::write(&file, text.replace(from, to)).unwrap();
        sweep(&file, &folder.path().join("other"), &[]).refuses(code, message);
        assert!(!folder.path().join("other").exists(), "nothing is left behind");
    };
    refuse("games = 4\n", "game = 4\n", 2, "unknown field `game`");
    refuse("search.visits = 7", "search.visit = 7", 2, "selfplay.search.visit");
    refuse("steps = 5", "steps = 0", 2, "must end");
    refuse("name = \"more\"", "name = \"Few\"", 2, "two of the arms are called few");
    refuse("komi = 3", "komi = \"x\"", 2, "komi");
}
