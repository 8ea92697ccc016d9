//! The shipped configurations, and the messages about bad ones.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use tengen_rules::Rules;

use crate::fault::{self, Fault};
use crate::{Progress, RunConfig, keys};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs")
}

fn configs() -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder()).expect("configs/ exists");
    let paths = files.map(|file| file.expect("readable").path());
    paths.filter(|path| path.is_file()).collect()
}

fn text_of(file: &str) -> String {
    std::fs::read_to_string(folder().join(file)).expect("readable")
}

fn table_of(file: &str) -> Table {
    toml::from_str(&text_of(file)).expect("TOML")
}

/// Every key of a file, including those in lines such as `#key = value`, and whether a comment explains it: after
/// the value or on the line above.
fn stated(text: &str) -> Vec<(String, bool)> {
    let (mut section, mut above, mut found) = ("", "", Vec::new());
    for line in text.lines() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.split(']').next().unwrap_or_default();
        } else if let Some((name, value)) = line.trim_start_matches('#').split_once(" = ")
            && !name.contains(' ')
        {
            let explained = above.starts_with("# ") || value.contains(" # ");
            found.push((keys::join(section, name), explained));
        }
        above = line;
    }
    found
}

/// The table without one of its keys.
fn without(table: &Table, path: &str) -> Table {
    let (mut table, mut parts) = (table.clone(), path.split('.').rev());
    let name = parts.next().expect("a name");
    let mut here = &mut table;
    for section in parts.rev() {
        here = here[section].as_table_mut().expect("a section");
    }
    here.remove(name).expect("a key");
    table
}

fn effective(table: &Table) -> Result<String, Fault> {
    fault::read(table).map(|config| toml::to_string(&config).expect("TOML"))
}

/// The message of the usage error with which these overrides of 5x5.toml fail.
#[track_caller]
fn message(overrides: &[&str]) -> String {
    let overrides: Vec<String> = overrides.iter().map(|set| (*set).to_owned()).collect();
    let error = RunConfig::load(&folder().join("5x5.toml"), &overrides).expect_err("refused");
    let wrong_use = error.is::<tengen_matches::UsageError>();
    assert!(wrong_use, "a bad override is a usage error: {error:#}");
    format!("{error:#}")
}

#[test]
fn shipped_configs_load() {
    let configs = configs();
    assert!(configs.len() >= 5, "{configs:?}");
    for path in configs {
        RunConfig::load(&path, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    }
}

#[test]
fn all_keys_explains_every_key_and_no_other() {
    let stated = stated(&text_of("all-keys.toml"));
    let mut named: Vec<&str> = stated.iter().map(|(key, _)| key.as_str()).collect();
    let mut known: Vec<&str> = keys::leaves().collect();
    named.sort_unstable();
    known.sort_unstable();
    assert_eq!(named, known);
    let unexplained: Vec<_> = stated.iter().filter(|(_, explained)| !explained).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
}

#[test]
fn all_keys_holds_the_defaults() {
    let table = table_of("all-keys.toml");
    let whole = effective(&table).expect("loads");
    let mut required = Vec::new();
    for (key, _) in stated(&text_of("all-keys.toml")) {
        match keys::look_up(&table, &key).map(|_| effective(&without(&table, &key))) {
            Some(Ok(without)) => assert_eq!(without, whole, "{key} differs from its default"),
            Some(Err(_)) => required.push(key),
            // Off unless set.
            None => assert!(keys::default_of(&key).is_none(), "{key} has a default"),
        }
    }
    // Keys that are off unless set can be set as the file shows them.
    let given = text_of("all-keys.toml").replace("\n#", "\n").replace("\n ", "\n# ");
    effective(&toml::from_str(&given).expect("TOML")).expect("loads");
    let in_required = toml::from_str::<Table>(keys::REQUIRED).expect("TOML");
    let other = required.iter().find(|key| keys::look_up(&in_required, key).is_none());
    assert_eq!(other, None, "keys without a default");
}

#[test]
fn configs_only_set_what_differs_from_the_defaults_and_explain_it() {
    for path in configs().iter().filter(|path| !path.ends_with("all-keys.toml")) {
        let file = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let table = table_of(file);
        let whole = effective(&table).expect("loads");
        for (key, explained) in stated(&text_of(file)) {
            assert!(explained, "{file}: no comment at {key}");
            let without = effective(&without(&table, &key));
            assert_ne!(without, Ok(whole.clone()), "{file}: {key} is at its default");
        }
    }
}

#[test]
fn the_effective_configuration_can_be_loaded_again() {
    for path in configs() {
        let config = RunConfig::load(&path, &[]).expect("loads");
        let again = fault::read(&config.table().expect("TOML")).expect("loads");
        assert_eq!(again.id().expect("TOML"), config.id().expect("TOML"));
    }
}

#[test]
fn boards_that_are_played_later_are_known_and_past_ones_are_left_out() {
    let config = RunConfig::load(&folder().join("9x9.toml"), &[]).expect("loads");
    let sides = |positions| {
        let sizes = config.sizes_from(positions).expect("boards");
        sizes.iter().map(|size| size.width()).collect::<Vec<_>>()
    };
    assert_eq!(sides(0), [9, 7, 5]);
    assert_eq!(sides(200_000), [9, 7]);
    assert_eq!(sides(u64::MAX), [9]);
}

/// Every key either rejects a value in words that mention none of the program's types, or can use it.
#[test]
fn odd_values_are_rejected_or_usable() {
    let odd = "-1 0 1 9223372036854775807 -9223372036854775808 -0.5 1e300 inf nan true 'x' '' [] {}";
    let path = folder().join("5x5.toml");
    let mut taken = 0;
    for key in keys::all().iter().map(|key| &key.path) {
        for value in odd.split(' ') {
            match RunConfig::load(&path, &[format!("{key}={value}")]) {
                Err(error) => {
                    let message = format!("{error:#}");
                    assert!(message.starts_with(&format!("--set {key}={value}: ")), "{message}");
                    for foreign in [
                        "f64", "f32", "u64", "u32", "usize", "struct", "variant", "sequence", "TOML",
                    ] {
                        assert!(!message.contains(foreign), "{message}");
                    }
                }
                Ok(config) => {
                    taken += 1;
                    let _ = (config.sizes(), config.id(), config.budget.is_limited());
                    let _ = [0, 1, 1000, u64::MAX].map(|positions| {
                        let rejected = positions as u32;
                        config.visits_at(Progress {
                            positions,
                            rejected,
                            ..Progress::default()
                        })
                    });
                }
            }
        }
    }
    assert!(taken > 100, "{taken}");
}

#[test]
fn visits_rise_with_positions_and_with_rejected_candidates() {
    let path = folder().join("5x5.toml");
    let visits = |set: &[&str], positions: u64, rejected: u32| {
        let all = ["selfplay.search.visits=8", "loop.later_visits=[[100, 12], [200, 40]]"];
        let set: Vec<String> = all.iter().chain(set).map(|&set| set.to_owned()).collect();
        let config = RunConfig::load(&path, &set).expect("loads");
        config.visits_at(Progress {
            positions,
            rejected,
            ..Progress::default()
        })
    };
    for (positions, expected) in [(0, 8), (99, 8), (100, 12), (200, 40), (u64::MAX, 40)] {
        assert_eq!(visits(&[], positions, 9), expected, "only positions count by default");
    }
    let stalled = ["loop.stalled_visits=32"];
    for (rejected, expected) in [(0, 8), (1, 16), (2, 32), (3, 32), (u32::MAX, 32)] {
        assert_eq!(visits(&stalled, 0, rejected), expected, "{rejected}");
    }
    assert_eq!(visits(&stalled, 100, 1), 24);
    assert_eq!(visits(&stalled, 200, 5), 40, "the plan is never lowered");
}

#[test]
fn overrides_replace_values() {
    let path = folder().join("5x5.toml");
    let load = |set: &str| RunConfig::load(&path, &[set.to_owned()]).expect("loads");
    assert_eq!(load("budget.minutes=0.5").budget.minutes, 0.5);
    assert_eq!(load("budget.minutes = 3").budget.minutes, 3.0);
    assert_eq!(load("name=other").name, "other");
    assert_eq!(load("name=7").name, "7");
    assert_eq!(
        load("selfplay.komi.fixed_fair=24.5").selfplay.komi.fixed_fair,
        Some(24.5)
    );
    assert_eq!(load("selfplay.komi={spread=1}").selfplay.komi.spread, 1.0);
    // Only the middle of the komi that are played.
    let middle = load("selfplay.komi={spread=1,fixed_fair=24.3}")
        .selfplay
        .komi
        .fixed_fair;
    assert_eq!(middle, Some(24.3));
    for rules in Rules::names() {
        assert_eq!(load(&format!("rules={rules}")).rules.name(), rules);
    }
    let settled = |rules: &str| RunConfig::load(&path, &["selfplay.end_when_settled=true".into(), rules.into()]);
    assert!(settled("rules=aga").expect("counts area").selfplay.end_when_settled);
}

#[test]
fn unset_takes_out_what_the_file_sets() {
    let load = |file: &str, set: &str| RunConfig::load(&folder().join(file), &[set.to_owned()]);
    let chance = |set: &str| load("7x7.toml", set).expect("loads").selfplay.komi.least_chance;
    assert_eq!(chance("selfplay.komi.spread=3"), Some(0.2));
    assert_eq!(chance("selfplay.komi.least_chance=unset"), None);
    assert_eq!(chance("selfplay.komi.least_chance=\"unset\""), None);
    assert_eq!(chance("selfplay.komi.fixed_fair=unset"), Some(0.2), "it was not set");
    // A key that has a default goes back to it, and text is just text.
    let reuse = |set: &str| load("9x9.toml", set).expect("loads").loop_config.reuse;
    let usual = keys::default_of("loop.reuse").and_then(Value::as_float);
    assert_eq!(Some(reuse("loop.reuse=unset")), usual);
    assert_ne!(Some(reuse("seed=1")), usual);
    assert_eq!(load("5x5.toml", "name=unset").expect("loads").name, "unset");
    let error = load("5x5.toml", "network.blocks=unset").expect_err("it has no default");
    assert!(format!("{error:#}").contains("network.blocks"), "{error:#}");
}

#[test]
fn bad_overrides_are_named_with_the_fix() {
    for (set, expected) in [
        (
            "budget.minutes",
            "--set takes KEY=VALUE, such as budget.minutes=10; found \"budget.minutes\"",
        ),
        ("=3", "--set takes KEY=VALUE"),
        ("minutes=3", "minutes is not a key; did you mean `budget.minutes`?"),
        (
            "training.lr=1",
            "training.lr is not a key; did you mean `training.learning_rate`?",
        ),
        (
            "budget.minuts=3",
            "budget.minuts is not a key; did you mean `budget.minutes`?",
        ),
        (
            "komi=7",
            "komi is not a key; did you mean `selfplay.komi.uniform_share`, `selfplay.komi.spread` or",
        ),
        (
            "gate.colour=3",
            "gate.colour is not a key; the keys of gate are always_promote, games,",
        ),
        (
            "colour=3",
            "colour is not a key; configs/all-keys.toml explains every key",
        ),
        (
            "name.inner=3",
            "name is a single value, not a section: set all of it, such as name=\"5x5\"",
        ),
        (
            "selfplay.boards[0].size=7",
            "selfplay.boards is a single value, not a section: set all of it, such as \
             selfplay.boards=[{ size = \"9x9\", share = 1.0 }]",
        ),
        (
            "selfplay.boards=5x5",
            "selfplay.boards is \"5x5\": expected a list, such as [{ size = \"9x9\", share = 1.0 }]",
        ),
        (
            "selfplay.boards=[{size=5}]",
            "selfplay.boards[0].size is 5: expected text, such as \"5x5\"",
        ),
        (
            "selfplay.boards=[{}]",
            "selfplay.boards[0].size is missing: expected a value, such as \"5x5\"",
        ),
        (
            "selfplay.boards=[{size=\"5x\"}]",
            "selfplay.boards[0].size is \"5x\": expected WIDTHxHEIGHT or one number",
        ),
        (
            "selfplay.boards=[{size=\"5x5\", share=0}]",
            "selfplay.boards[0].share is 0: expected above 0, up to",
        ),
        (
            "selfplay.boards=[]",
            "selfplay.boards is []: expected at least one board",
        ),
        (
            "selfplay.boards=[5]",
            "selfplay.boards[0] is 5: expected a section in braces, such as { share = 1.0, size = \"5x5\" }",
        ),
        (
            "selfplay.boards=[{size=\"5x5\", shares=2}]",
            "selfplay.boards[0].shares is not a key: expected a value, such as [{ size = \"9x9\", share = 1.0 }]",
        ),
        (
            "selfplay.komi=7",
            "selfplay.komi is 7: expected a section with the keys uniform_share, spread, fixed_fair, least_chance, \
             such as selfplay.komi.uniform_share=0.2",
        ),
        (
            "selfplay.komi=[]",
            "selfplay.komi is []: expected a section with the keys",
        ),
        (
            "selfplay.komi={fixed_fair=24.3,spread=0}",
            "selfplay.komi.fixed_fair is 24.3: expected a multiple of 0.5, because with spread = 0 it is the komi of \
             games",
        ),
        (
            "selfplay.end_when_settled=1",
            "selfplay.end_when_settled is 1: expected true or false, such as false",
        ),
        (
            "selfplay.decided_value=1.5",
            "selfplay.decided_value is 1.5: expected 0 to 1",
        ),
        (
            "selfplay.opening.max_random_plies=0",
            "selfplay.opening.max_random_plies is 0: expected 1 to 1000",
        ),
        (
            "selfplay.search.visits=-3",
            "selfplay.search.visits is -3: expected a whole number from 0 to 4294967295",
        ),
        (
            "selfplay.search.visits=0",
            "selfplay.search.visits is 0: expected 1 or more",
        ),
        (
            "selfplay.search.margin_share=2",
            "selfplay.search.margin_share is 2: expected 0 to 1",
        ),
        (
            "training.optimizer=adam",
            "training.optimizer is \"adam\": expected adamw, sgd or muon",
        ),
        (
            "training.optimizer=3",
            "training.optimizer is \"3\": expected adamw, sgd or muon",
        ),
        (
            "training.learning_rate=fast",
            "--set training.learning_rate=fast: training.learning_rate is \"fast\": expected a number, such as \
             0.003",
        ),
        (
            "training.learning_rate=0",
            "training.learning_rate is 0: expected above 0, up to 100",
        ),
        (
            "training.precision=fp16",
            "training.precision is \"fp16\": expected auto, fp32, or bf16, because small gradients would become zero \
             in fp16",
        ),
        (
            "training.batch=1.5",
            "training.batch is 1.5: expected a whole number, 0 or more, such as 128",
        ),
        (
            "window.base_positions=0",
            "window.base_positions is 0: expected 1 or more",
        ),
        ("window.fraction=-0.1", "window.fraction is -0.1: expected 0 to 1"),
        ("window.fraction=nan", "window.fraction is NaN: expected 0 to 1"),
        ("loop.workers=100000", "loop.workers is 100000: expected 0 to 4096"),
        (
            r#"loop.grow=[[9, "b4c"]]"#,
            r#"loop.grow[0] is [9, "b4c"]: expected [positions, network] with a network such as "b5c64""#,
        ),
        (
            r#"loop.grow=[[9, "b1c8"]]"#,
            "loop.grow[0] is [9, \"b1c8\"]: expected a larger network than",
        ),
        (
            r#"loop.grow=[[9, "b90c90"], [9, "b91c90"]]"#,
            r#"loop.grow[1] is [9, "b91c90"]: expected more positions than [9, "b90c90"], the entry before it"#,
        ),
        (
            "loop.later_visits=8",
            "loop.later_visits is 8: expected a list, such as [[100000, 16], [1000000, 32]]",
        ),
        (
            "loop.later_visits=[[5]]",
            "loop.later_visits[0] is [5]: expected a list of 2 values, such as [[",
        ),
        (
            "loop.later_visits=[[5, 0]]",
            "loop.later_visits[0][1] is 0: expected 1 or more",
        ),
        (
            "loop.later_visits=[[500, 8], [200, 16]]",
            "loop.later_visits[1] is [200, 16]: expected more positions than [500, 8], the entry before it",
        ),
        (
            "selfplay.later_noise=[[5, 1.5]]",
            "selfplay.later_noise[0][1] is 1.5: expected",
        ),
        (
            "selfplay.later_noise=[[500, 0.5], [500, 0]]",
            "selfplay.later_noise[1] is [500, 0.0]: expected more positions than [500, 0.5], the entry before it",
        ),
        (
            "gate.openings=some",
            "gate.openings: 'some' does not describe openings: expected none, first-moves",
        ),
        (
            "gate.openings=book:a.sgf",
            "gate.openings is book:a.sgf: expected none, first-moves or random, not a book",
        ),
        ("gate.games=1", "gate.games is 1: expected 2 or more"),
        (
            "gate.sprt.alpha=0.5",
            "gate.sprt.alpha is 0.5: expected above 0, below 0.5",
        ),
        (
            "gate.sprt.elo0=60",
            "gate.sprt.elo1 is 0: expected more than elo0, which is 60",
        ),
        ("rules=japanese", "rules: "),
        (
            "rules=aga,button=yes",
            "rules: games between machines do not support the button",
        ),
        (
            "name=",
            "name is \"\": expected 1 to 100 letters, digits, `-`, `_` and `.`",
        ),
        ("name=a/b", "name is \"a/b\": expected 1 to 100 letters"),
        ("name=..", "name is \"..\": expected 1 to 100 letters"),
        ("name=a..b", "name is \"a..b\": expected"),
        ("name=é", "name is \"é\": expected"),
        ("seed=-1", "seed is -1: expected a whole number, 0 or more, such as 1"),
        ("network.blocks=0", "network.blocks is 0: expected 1 to 128"),
        (
            "samples.result_share=1.5",
            "samples.result_share is 1.5: expected 0 to 1",
        ),
    ] {
        let found = message(&[set]);
        assert!(
            found.contains(expected),
            "{set}\nexpected: {expected}\nfound:    {found}"
        );
    }
}

#[test]
fn conflicting_overrides_are_all_named() {
    let twice = message(&["budget.minutes=1", "gate.games=8", "budget.minutes=2"]);
    assert_eq!(
        twice,
        "--set gives budget.minutes twice: budget.minutes=1 and budget.minutes=2; leave one out"
    );
    let settled = message(&["selfplay.end_when_settled=true", "rules=japanese2008"]);
    assert!(
        settled.starts_with("--set selfplay.end_when_settled=true: selfplay.end_when_settled is true: expected false"),
        "{settled}"
    );
    // The key that becomes invalid is not among the overrides.
    let spread = message(&["gate.sprt.elo0=60", "gate.games=8"]);
    assert!(
        spread.starts_with("--set gate.sprt.elo0=60 --set gate.games=8: gate.sprt.elo1 is 0"),
        "{spread}"
    );
}

#[test]
fn errors_in_a_file_name_the_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("mine.toml");
    let refused = |text: &str, overrides: &[&str]| {
        std::fs::write(&path, text).expect("writable");
        let overrides: Vec<String> = overrides.iter().map(|set| (*set).to_owned()).collect();
        let error = RunConfig::load(&path, &overrides).expect_err("refused");
        assert!(!error.is::<tengen_matches::UsageError>(), "{error:#}");
        let message = format!("{error:#}");
        message
            .strip_prefix(&path.display().to_string())
            .expect(&message)
            .to_owned()
    };
    let begin = "name = \"a\"\nrules = \"aga\"\nnetwork = { blocks = 1, channels = 8 }\n";
    for (rest, expected) in [
        (
            "[budget]\nminutes = \"ten\"",
            ", line 5: budget.minutes is \"ten\": expected a number, such as 0.0",
        ),
        (
            "[budget]\n\nminuts = 3",
            ", line 6: budget.minuts is not a key; did you mean `budget.minutes`?",
        ),
        (
            "minutes = 3",
            ", line 4: minutes is not a key; did you mean `budget.minutes`?",
        ),
        ("[gate]\nvisits = 0", ", line 5: gate.visits is 0: expected 1 or more"),
        (
            "[loop]\nlater_visits = [\n  [9, 1],\n  [8, 1],\n]",
            ", line 7: loop.later_visits[1] is [8, 1]: expected more positions",
        ),
        (
            "gate = 3",
            ", line 4: gate is 3: expected a section with the keys always_promote",
        ),
        ("[gate", ": TOML parse error at line 4"),
    ] {
        let found = refused(&format!("{begin}{rest}"), &[]);
        assert!(found.starts_with(expected), "expected: {expected}\nfound:    {found}");
    }
    let found = refused("name = \"a\"\nrules = \"aga\"", &[]);
    assert_eq!(found, ": network.blocks is missing: expected a value, such as 4");
    let found = refused(&format!("{begin}[gate]\nvisits = 0"), &["budget.minutes=1"]);
    assert!(found.starts_with(", line 5: gate.visits is 0"), "{found}");
}

#[test]
fn changes_of_a_shipped_configuration_are_named() {
    let load = |file: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|setting| (*setting).to_owned()).collect();
        RunConfig::load(&folder().join(file), &overrides).expect(file)
    };
    let files = std::fs::read_dir(folder()).expect("configs").flatten();
    for file in files.map(|file| file.file_name().to_string_lossy().into_owned()) {
        if file.ends_with(".toml") && file != "all-keys.toml" {
            let changes = load(&file, &[]).changes().expect("TOML");
            assert_eq!(
                (changes.from, changes.settings),
                (format!("configs/{file}"), Vec::new())
            );
        }
    }
    let changed = load("5x5.toml", &["budget.minutes=1", "selfplay.komi.fixed_fair=24.5"]);
    let changes = changed.changes().expect("TOML");
    assert_eq!(
        changes.settings,
        ["selfplay.komi.fixed_fair = 24.5 (-)", "budget.minutes = 1.0 (2.5)"]
    );
    let own = load("5x5.toml", &["name=mine"]).changes().expect("TOML");
    assert_eq!(own.from, "the defaults");
    assert!(
        own.settings
            .iter()
            .any(|setting| setting == "budget.minutes = 2.5 (0.0)"),
        "{own:?}"
    );
}
