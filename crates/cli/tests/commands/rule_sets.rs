//! Every named rule set, from the command line to the records.

use std::path::Path;

use tengen_records::{EndReason, GameRecord};
use tengen_rules::{LongCycle, Rules};
use tengen_store::{Create, GamesOf, Store};

use crate::common::{Answer, tengen};

/// The games in a folder, after checking it with `tengen data verify`.
#[track_caller]
fn sound_games(folder: &str) -> Vec<GameRecord> {
    let verified = tengen(&["data", "verify", folder]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    let store = Store::open(folder, Create::Never).unwrap();
    let shards = store.games().list_shards(&GamesOf::All).unwrap();
    let games = shards.iter().flat_map(|shard| store.games().read(shard).unwrap());
    games.collect()
}

/// Requires games that name these rules and that ended in a way these rules allow.
#[track_caller]
fn check_rules(games: &[GameRecord], name: &str) {
    let rules: Rules = name.parse().unwrap();
    assert!(!games.is_empty(), "{name}");
    for game in games {
        assert_eq!(game.rules, name);
        let tied = game.end_reason == EndReason::LongCycle;
        assert!(!tied || rules.long_cycle != LongCycle::GoesOn, "{name}");
    }
}

#[cfg(feature = "torch")]
fn self_play(name: &str, folder: &Path) -> Answer {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    let rules = format!("rules={name}");
    let settings = [
        rules.as_str(),
        "network.blocks=1",
        "network.channels=8",
        "network.nested_blocks=false",
        "selfplay.boards=[{size=\"3x3\"}]",
        "selfplay.games_per_group=4",
        "selfplay.search.visits=2",
    ];
    let mut args = vec!["selfplay", "--config", config.to_str().unwrap()];
    args.extend(settings.iter().flat_map(|set| ["--set", set]));
    args.extend(["--games", "4", "--threads", "1", "--session", "7", "--fixed-time", "0"]);
    args.extend(["--store", folder.to_str().unwrap(), "--json"]);
    tengen(&args)
}

#[cfg(feature = "torch")]
#[test]
fn self_play_under_every_named_set_is_recorded_under_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in Rules::names() {
        let store = folder.path().join(name);
        assert_eq!(self_play(name, &store).json()["games"], 4, "{name}");
        let games = sound_games(store.to_str().unwrap());
        assert_eq!(games.len(), 4, "{name}");
        check_rules(&games, name);
        let run = std::fs::read_to_string(store.join("run.json")).unwrap();
        let run: serde_json::Value = serde_json::from_str(&run).unwrap();
        assert_eq!(run["rules"], name);
    }
}

#[test]
fn matches_under_every_named_set_are_recorded_under_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in Rules::names() {
        let out = folder.path().join(name);
        let out = out.to_str().unwrap();
        let mut args = vec!["match", "--a", "random", "--b", "uniform,visits=4", "--size", "3"];
        args.extend(["--komi", "0.5", "--games", "4", "--rules", name, "--out", out, "--json"]);
        let result = tengen(&args).json();
        assert_eq!(result["config"]["rules"], name);
        assert_eq!(result["faults"], 0, "{name}");
        let games = sound_games(out);
        assert_eq!(games.len(), 4, "{name}");
        check_rules(&games, name);
        let scored = tengen(&["rules", "score", &format!("{out}/games.sgf"), "--rules", name, "--json"]).json();
        for game in scored["games"].as_array().unwrap() {
            assert_eq!(game["legal"], true, "{name}: {game}");
        }
    }
}
