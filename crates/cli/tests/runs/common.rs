//! Starts the program with a tiny experiment and reads what it prints.

use std::io::BufRead;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use tengen_store::{Create, Store};

/// The settings of every test: a tiny network on 3x3.
const TINY: &[&str] = &[
    "network.blocks=1",
    "network.channels=8",
    "network.nested_blocks=false",
    "selfplay.boards=[{size=\"3x3\"}]",
    "selfplay.games_per_group=8",
    "training.batch=32",
    "training.schedule=constant",
];

/// Settings for a run that begins to train at once and publishes shards and candidates often.
pub(crate) const QUICK_RUN: &[&str] = &[
    "loop.workers=2",
    "loop.start_positions=200",
    "loop.lead_positions=500",
    "loop.shard_seconds=0.1",
    "loop.candidate_every_steps=40",
    "budget.minutes=0",
];

/// A command on the store under `configs/5x5.toml` with these lists of settings, not yet started; its output is
/// captured. A setting replaces those of the same key in earlier lists and in [`TINY`].
pub(crate) fn command(name: &str, store: &Path, settings: &[&[&str]]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tengen"));
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    command.arg(name).arg("--store").arg(store);
    match name {
        "run" => command.arg(config),
        _ => command.arg("--config").arg(config),
    };
    let key_of = |set: &str| set.split('=').next().map(str::to_owned);
    let all: Vec<&str> = TINY.iter().chain(settings.iter().copied().flatten()).copied().collect();
    for (number, set) in all.iter().enumerate() {
        if !all[number + 1..].iter().any(|later| key_of(later) == key_of(set)) {
            command.args(["--set", set]);
        }
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Reads a process's log to the next line that contains `words`, and returns what it has read.
#[track_caller]
pub(crate) fn read_until(log: &mut impl BufRead, words: &str) -> String {
    let mut all = String::new();
    loop {
        let before = all.len();
        let read = log.read_line(&mut all).expect("the log is text");
        assert!(read > 0, "it ended before {words:?}:\n{all}");
        if all[before..].contains(words) {
            return all;
        }
    }
}

pub(crate) fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The JSON object on stdout of a command that must have succeeded.
#[track_caller]
pub(crate) fn json(output: &Output) -> Value {
    let said = stderr_of(output);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The store in a folder, which must exist.
#[track_caller]
pub(crate) fn store_at(folder: &Path) -> Store {
    Store::open(folder.to_str().expect("a path in UTF-8"), Create::Never).expect("the store opens")
}

/// Replaces a part of a JSON file of a store, as a program would that writes such files.
#[track_caller]
pub(crate) fn rewrite(path: &Path, from: &str, to: &str) {
    let bytes = std::fs::read(path).expect("a file");
    let json = tengen_store::unseal("the file", &bytes).expect("an intact file");
    let text = String::from_utf8(json.into_owned()).expect("text");
    assert!(text.contains(from), "{} holds {from}", path.display());
    std::fs::write(path, tengen_store::seal(&text.replace(from, to))).expect("writable");
}
