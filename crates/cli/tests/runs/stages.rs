//! The stages of a run as separate processes: self-play, training, the gate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use tengen_store::GamesOf;

use crate::common::{self, json, rewrite, stderr_of, store_at};

/// Training begins with few games, and a gate has few.
const SETTINGS: &[&str] = &["loop.start_positions=100", "gate.games=16", "gate.visits=4"];

/// Runs a command under the configuration in the store.
fn tengen(command: &str, store: &Path, more: &[&str]) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_tengen"));
    process.arg(command).arg("--store").arg(store).arg("--json").args(more);
    process.output().expect("the program starts")
}

/// A command with these settings, and with those of [`SETTINGS`] whose keys they leave out.
fn command(name: &str, store: &Path, more: &[&str]) -> Command {
    let mut command = common::command(name, store, &[SETTINGS, more]);
    command.arg("--json");
    command
}

/// Creates a store with games that depend only on the seed.
fn begin(store: &Path, games: &str, threads: &str) -> Value {
    let mut play = command("selfplay", store, &[]);
    play.args(["--games", games, "--threads", threads]);
    play.args(["--session", "7", "--fixed-time", "0"]);
    json(&play.output().expect("the program starts"))
}

/// The end of each shard's name: games, positions and the hash of its bytes.
fn contents(done: &Value) -> Vec<String> {
    let shards = done["shards"].as_array().expect("a list");
    let end = |shard: &Value| {
        let path = shard.as_str().expect("a path");
        let parts: Vec<&str> = path.rsplit('-').take(3).collect();
        parts.join(" ")
    };
    shards.iter().map(end).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let one = begin(&folder.path().join("one"), "40", "1");
    let two = begin(&folder.path().join("two"), "40", "2");
    assert_eq!(one["games"], 40);
    assert_eq!(contents(&one), contents(&two));
    assert!(!contents(&one).is_empty());
}

/// A command that was killed is repeated: it adds the games that are missing, and no game is in the store twice.
#[test]
fn a_session_is_played_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let whole = begin(&folder.path().join("whole"), "40", "2");
    begin(&store, "40", "2");
    let shards = store_at(&store)
        .games()
        .list_shards(&GamesOf::SelfPlay)
        .expect("readable");
    assert!(shards.len() > 1);
    std::fs::remove_file(store.join(&shards[0].path)).expect("a file");
    let again = begin(&store, "40", "2");
    assert_eq!(again["games"], shards[0].games());
    assert_eq!(again["already_present"], 40 - shards[0].games());
    assert_eq!(contents(&again), contents(&whole)[..1]);
    let third = begin(&store, "40", "2");
    assert_eq!((&third["games"], &third["already_present"]), (&0.into(), &40.into()));
    let mut verify = Command::new(env!("CARGO_BIN_EXE_tengen"));
    let verified = json(
        &verify
            .args(["data", "verify", "--json"])
            .arg(&store)
            .output()
            .expect("runs"),
    );
    assert_eq!(
        (&verified["games"], &verified["doubled_games"]),
        (&40.into(), &0.into())
    );
    assert_eq!(verified["sound"], true);
}

/// A store from somewhere else does not decide where files are written.
#[test]
fn a_foreign_store_creates_no_folder_elsewhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    begin(&store, "40", "2");
    let run = store.join("run.json");
    let elsewhere = folder.path().join("elsewhere");
    rewrite(&run, "\"cache\": \"auto\"", &format!("\"cache\": {elsewhere:?}"));
    let trained = tengen("train", &store, &["--steps", "2"]);
    let said = String::from_utf8_lossy(&trained.stderr).into_owned();
    assert_eq!(json(&trained)["steps_made"], 2);
    assert!(said.contains("samples.cache"), "{said}");
    assert!(!elsewhere.exists());
}

#[test]
fn games_become_a_model_that_the_gate_decides_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    assert_eq!(
        tengen("train", &store, &[]).status.code(),
        Some(1),
        "there is no store yet"
    );
    begin(&store, "60", "2");
    let first = json(&tengen("train", &store, &["--steps", "20"]));
    assert_eq!((&first["steps"], &first["steps_made"]), (&20.into(), &20.into()));
    let second = json(&tengen("train", &store, &["--steps", "5"]));
    assert_eq!(
        (&second["steps"], &second["steps_made"]),
        (&25.into(), &5.into()),
        "training resumes"
    );
    let model = second["model"].as_str().expect("a model");
    let gate = json(&tengen("gate", &store, &[]));
    let verdict = &gate["verdicts"][0];
    assert_eq!(verdict["candidate"], model);
    assert!(verdict["games"].as_u64() > Some(0));
    let champion = if verdict["promoted"] == true {
        &verdict["candidate"]
    } else {
        &verdict["champion"]
    };
    assert_eq!(&gate["champion"], champion);
    let again = json(&tengen("gate", &store, &[]));
    assert_eq!(
        again["verdicts"],
        Value::Array(Vec::new()),
        "a recorded verdict is not played again"
    );
    assert_eq!(again["champion"], gate["champion"]);
}

/// A gate whose test accepts the candidate, but only after the last game: then an older champion is met.
const LONG_GATE: &[&str] = &[
    "gate.games=480",
    "gate.parallel=32",
    "gate.pairs_per_look=240",
    "gate.openings=random:2",
    "gate.sprt.elo0=-2000",
    "gate.sprt.elo1=-1000",
    "gate.sprt.min_pairs=240",
    "gate.older_champions=1",
    "gate.older_games=160",
];

/// The one gate of a store that was not settled without a match, or where it is going to be.
fn long_gate(store: &Path) -> Option<PathBuf> {
    let mut gates: Vec<PathBuf> = std::fs::read_dir(store.join("matches"))
        .expect("matches")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.to_string_lossy().contains("gate-g000002"))
        .collect();
    assert!(gates.len() < 2);
    gates.pop()
}

/// The verdict without what its games have cost, and the games without the day they were played on.
fn verdict_and_games(store: &Path) -> (Value, String) {
    let gate = long_gate(store).expect("a gate");
    let text = std::fs::read(gate.join("result.json")).expect("a verdict");
    let text = tengen_store::unseal("result.json", &text).expect("an intact file");
    let mut verdict: Value = serde_json::from_slice(&text).expect("JSON");
    let without_costs = |result: &mut Value| {
        for key in ["a_cost", "b_cost"] {
            result[key].take();
        }
    };
    without_costs(&mut verdict["result"]);
    assert_eq!(verdict["older"].as_array().expect("a list").len(), 1);
    without_costs(&mut verdict["older"][0]["result"]);
    let sgf = std::fs::read_to_string(gate.join("games.sgf")).expect("games");
    let day = |part: &str| part.split_once(']').expect("a value").1.to_owned();
    let mut parts = sgf.split("DT[");
    let first = parts.next().expect("a beginning").to_owned();
    (verdict, parts.fold(first, |text, part| text + &day(part)))
}

/// Names of the games published for the gate, each once.
fn published(store: &Path) -> BTreeSet<String> {
    let store_of = store_at(store);
    let gate = long_gate(store).expect("a gate");
    let id = gate.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
    let mut names = BTreeSet::new();
    for shard in store_of.games().list_shards(&GamesOf::Match(id)).expect("a listing") {
        for game in store_of.games().read(&shard).expect("a whole shard") {
            assert!(
                names.insert(game.game_id.clone()),
                "{} was published twice",
                game.game_id
            );
        }
    }
    names
}

/// Shards of the gate, counted without opening the store.
fn shards(store: &Path) -> usize {
    let Some(gate) = long_gate(store) else { return 0 };
    let id = gate.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
    let folder = store.join(format!("games/v1/kind=match/match={id}"));
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn a_gate_killed_at_any_moment_ends_as_an_undisturbed_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    begin(&whole, "60", "2");
    let gate = |store: &Path, settings: &[&str]| command("gate", store, settings);
    let ended = |mut gate: Command| json(&gate.output().expect("the program starts"));
    json(&tengen("train", &whole, &["--steps", "20"]));
    let first = ended(gate(&whole, &["gate.always_promote=true"]));
    assert_eq!(first["verdicts"][0]["reason"], "always_promote");
    json(&tengen("train", &whole, &["--steps", "20"]));
    let copied = Command::new("cp").arg("-a").args([&whole, &killed]).status();
    assert!(copied.expect("cp starts").success());

    let undisturbed = ended(gate(&whole, LONG_GATE));
    assert_eq!(undisturbed["verdicts"][0]["games"], 480);
    let mut kills = 0;
    for wanted in [0, 1, 3, 4] {
        let mut child = gate(&killed, LONG_GATE)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let begun = |store: &Path| long_gate(store).is_some_and(|gate| gate.join("spec.json").exists());
        while !begun(&killed) || shards(&killed) < wanted {
            // A busy machine may be late.
            if child.try_wait().expect("a child").is_some() {
                break;
            }
        }
        child.kill().expect("it can be killed");
        let ended = child.wait().expect("it has died");
        kills += usize::from(!ended.success());
    }
    assert!(kills >= 2, "only {kills} kills came in time");
    let after = ended(gate(&killed, &["gate.games=16", "gate.visits=1"]));
    if kills == 4 {
        assert_eq!(after["verdicts"], undisturbed["verdicts"]);
    }
    assert_eq!(after["champion"], undisturbed["champion"]);
    assert_eq!(published(&killed), published(&whole));
    assert_eq!(published(&killed).len(), 480 + 160);
    assert_eq!(verdict_and_games(&killed), verdict_and_games(&whole));
    let verified = Command::new(env!("CARGO_BIN_EXE_tengen"))
        .args(["data", "verify"])
        .arg(&killed)
        .output();
    assert!(verified.expect("the program starts").status.success());
}

#[test]
fn training_stops_if_more_than_one_percent_of_the_shards_is_damaged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let shards = begin(&store, "24", "2")["shards"].clone();
    let shards: Vec<&str> = shards
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(shards.len() >= 3, "{shards:?}");
    for shard in &shards[..2] {
        std::fs::write(store.join(shard), "damaged").expect("writable");
    }
    // At the next start, when both are already in quarantine, it still stops.
    for _ in 0..2 {
        let output = tengen("train", &store, &["--steps", "2"]);
        let said = stderr_of(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("2 of the window's") && said.contains("shards are damaged"),
            "{said}"
        );
    }
}

/// Without games there is nothing to train on, so no run is started: neither where nothing was nor in an empty folder.
#[test]
fn refused_training_starts_no_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    for is_there in [false, true] {
        if is_there {
            std::fs::create_dir(&store).expect("a folder");
        }
        let output = command("train", &store, &[]).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1));
        let said = stderr_of(&output);
        assert!(said.contains("has no self-play games yet"), "{said}");
        assert_eq!(store.exists(), is_there);
        assert!(!is_there || std::fs::read_dir(&store).expect("a folder").next().is_none());
    }
}

/// The number format that the user names is the one that training says, records, and uses.
#[test]
fn a_network_is_trained_in_the_format_that_was_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let train = |format: &str| {
        let store = folder.path().join(format);
        begin(&store, "40", "1");
        tengen("train", &store, &["--steps", "20", "--dtype", format])
    };
    let [exact, rounded] = ["fp32", "bf16"].map(|format| {
        let trained = train(format);
        let done = json(&trained);
        let device = done["device"].as_str().expect("a device");
        assert!(device.ends_with(&format!(" · {format}")), "{device}");
        let said = stderr_of(&trained);
        let named: Vec<_> = said.lines().filter(|line| line.starts_with("device ")).collect();
        assert_eq!(named, [format!("device {device}")]);
        done["total_loss"].as_f64().expect("a loss")
    });
    assert!(
        exact != rounded && (exact - rounded).abs() < 0.1 * exact,
        "{exact} {rounded}"
    );
    let refused = train("fp16");
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr_of(&refused);
    assert!(
        said.contains("training.precision is \"fp16\": expected auto, fp32, or bf16"),
        "{said}"
    );
}

/// Trains on the games of a run as games from anywhere, and begins another run with the model.
#[test]
fn a_file_names_games_and_the_model_begins_a_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (games, model) = (folder.path().join("games"), folder.path().join("model"));
    begin(&games, "40", "1");
    let file = folder.path().join("train.toml");
    let text = format!(
        "name = \"taught\"\nrules = \"tromp_taylor\"\nnetwork = {{ blocks = 1, channels = 8 }}\n\
         selfplay.boards = [{{ size = \"3x3\" }}]\ntraining.batch = 16\nloop.held_out = 0.2\n[train]\nsteps = 20\n\
         [[train.from]]\nstore = \"{}\"\nof = \"selfplay\"\npolicy = \"labels\"\nvalue = \"mixed\"\n",
        games.display()
    );
    std::fs::write(&file, text).expect("writable");
    let program = || Command::new(env!("CARGO_BIN_EXE_tengen"));
    let train = |more: &[&str]| {
        let mut train = program();
        train.arg("train").arg(&file).args(["--json"]).args(more);
        train.output().expect("the program starts")
    };
    let out = model.display().to_string();
    let done = json(&train(&["--out", &out, "--set", "train.steps=30"]));
    assert_eq!((&done["steps"], &done["steps_made"]), (&30.into(), &30.into()));
    // A game that reaches the ply limit is not counted, but its plies have values.
    let count = |kind: &str| done["sources"][0]["games"][kind].as_u64().expect("a number");
    assert_eq!(count("counted") + count("valued"), 40);
    assert!(count("counted") > 35, "{}", done["sources"]);
    let top1 = done["held_out"]["policy_top1"].as_f64().expect("a share");
    assert!((0.0..=1.0).contains(&top1));
    let judged = json(&train(&["--judge", &format!("model:{out}"), "--set", "train.steps=30"]));
    assert_eq!(judged, done["held_out"]);
    let trial = json(&train(&["--find-rate"]));
    assert!(trial["points"].as_array().is_some_and(|points| points.len() > 20));
    // The device is named with the format of training, which is fp32 by itself for so small a network on a CPU.
    let device_of = |more: &[&str]| {
        let said = stderr_of(&train(more));
        let line = said.lines().find(|line| line.starts_with("device cpu "));
        line.unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let (judge, other) = (
        format!("model:{out}"),
        folder.path().join("other").display().to_string(),
    );
    assert!(device_of(&["--judge", &judge]).ends_with(" · fp32"));
    for more in [
        ["--judge", &judge],
        ["--find-rate", "--set=train.steps=5"],
        ["--out", &other],
    ] {
        assert!(device_of(&[&more[..], &["--dtype", "bf16"]].concat()).ends_with(" · bf16"));
    }
    // A file needs to know where the model goes, and trains on its own games alone.
    assert_eq!(train(&[]).status.code(), Some(2));
    assert_eq!(train(&["--out", &out, "--follow"]).status.code(), Some(2));

    let store = folder.path().join("run");
    let run = |option: &str, model: &str| {
        let settings = [
            "loop.start_positions=100",
            "gate.games=8",
            "gate.visits=2",
            "budget.minutes=0",
            "budget.steps=2",
        ];
        let mut run = common::command("run", &store, &[&settings]);
        run.args(["--json", "--closing-games", "0", option, model]);
        run.output().expect("the program starts")
    };
    let summary = json(&run("--from", &format!("model:{out}")));
    assert!(summary["steps"].as_u64().is_some_and(|steps| steps >= 2), "{summary}");
    let models = store_at(&store);
    let first = models.models().list().expect("readable").remove(0);
    let info = models.models().info(&first).expect("a model");
    assert!(info.provenance.parent.expect("a parent").starts_with("model-"));
    // The costs of a run begin at zero, however much its first model has cost.
    assert_eq!(info.cost, tengen_model::CostLedger::default());
    let (_, began) = models.models().promotions().expect("readable").remove(0);
    assert!(
        began.verdict["cost_of_origin"]["cpu_seconds"].as_f64() > Some(0.0),
        "{began:?}"
    );
    for wrong in ["mcts", "nosuch", &format!("model:{out},visits=2")] {
        let refused = run("--from", wrong);
        let said = stderr_of(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("expected model:PATH or store:DIR"), "{said}");
    }
    let again = run("--init", &format!("store:{}", games.display()));
    assert!(stderr_of(&again).contains("leave out --init"), "{}", stderr_of(&again));
}

#[test]
fn a_run_rates_the_models_that_are_left_after_pruning() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    begin(&store, "60", "2");
    let next = |settings: &[&str]| {
        json(&tengen("train", &store, &["--steps", "5"]));
        let gate = command("gate", &store, settings).output().expect("the program starts");
        json(&gate)["verdicts"][0].clone()
    };
    // The first model becomes the champion without a match.
    assert_eq!(next(&["gate.always_promote=true"])["promoted"], true);
    let rejected = next(&["gate.sprt.elo0=1000", "gate.sprt.elo1=2000"]);
    assert_eq!(rejected["promoted"], false);
    assert_eq!(next(&["gate.always_promote=true"])["promoted"], true);
    let pruned = Command::new(env!("CARGO_BIN_EXE_tengen"))
        .args(["model", "prune", "--keep", "1", "--yes"])
        .arg(&store)
        .output();
    assert!(pruned.expect("the program starts").status.success());
    let gone = rejected["candidate"].as_str().expect("a model");
    assert!(!store.join(format!("models/{gone}/weights.safetensors")).exists());
    let mut run = common::command("run", &store, &[common::QUICK_RUN, SETTINGS, &["budget.steps=25"]]);
    let run = run.args(["--json", "--closing-games", "0"]).output();
    json(&run.expect("the program starts"));
}
