//! Training on imported games: resuming, refusing, and runs that begin with another model.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tengen_import::{ImportRules, Importer, MissingTurns, SgfSource};
use tengen_model::{Model, NetworkConfig};
use tengen_records::GameRecord;
use tengen_rules::{Rules, Size};
use tengen_run::{Opened, RunConfig, Setup, Silent, Training};
use tengen_sgf::write_sgf;
use tengen_store::{Collection, Create, Store};
use tengen_teach::{Material, Origin, Step, find_rate, found, judge_model, teach};
use tengen_testing::random_game;

/// Random games on 3x3.
fn games() -> Vec<GameRecord> {
    let size = Size::square(3).expect("a board");
    (0..60).map(|seed| random_game(size, seed, 60)).collect()
}

/// A store into which these games were imported from SGF.
fn imported(folder: &Path) -> String {
    let location = folder.join("games").display().to_string();
    let store = Store::open(&location, Create::Always).expect("a store");
    let how = ImportRules {
        rules: Rules::tromp_taylor(),
        komi: None,
        missing_turns: MissingTurns::Refuse,
    };
    let mut importer = Importer::new(Some(&store), "test", how).expect("an importer");
    for (number, game) in games().iter().enumerate() {
        let source = SgfSource {
            name: format!("{number}.sgf"),
            bytes: write_sgf(game).into_bytes(),
        };
        importer.take(&source, |_| true).expect("imported");
    }
    let report = importer.finish().expect("published");
    assert!(report.kept > 50 && report.illegal == 0, "{report:?}");
    location
}

/// A configuration that trains a tiny network on games for some steps.
fn config(folder: &Path, from: &str, more: &[&str]) -> RunConfig {
    let file = folder.join("train.toml");
    let text = format!(
        "name = \"test\"\nrules = \"tromp_taylor\"\nnetwork = {{ blocks = 1, channels = 8 }}\n\
         selfplay.boards = [{{ size = \"3x3\" }}]\ntraining.batch = 16\nloop.checkpoint_seconds = 0\n\
         loop.held_out = 0.2\n[train]\nsteps = 12\n{from}"
    );
    std::fs::write(&file, text).expect("writable");
    let more: Vec<String> = more.iter().map(|set| (*set).to_owned()).collect();
    RunConfig::load(&file, &more).expect("a configuration")
}

fn from(store: &str) -> String {
    format!("[[train.from]]\nstore = \"{store}\"\n")
}

fn setup(folder: &Path) -> Setup {
    Setup {
        scratch: Some(folder.join("scratch")),
        stop: Arc::new(AtomicBool::new(false)),
        ..Setup::default()
    }
}

fn weights(folder: &Path) -> Vec<Vec<f32>> {
    Model::load(folder).expect("a model").weights.values().to_vec()
}

fn ignore(_: Step) {}

#[test]
fn stopped_training_resumes_to_the_same_bits() {
    tengen_network::limit_threads();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = config(folder.path(), &from(&imported(folder.path())), &[]);
    let setup = setup(folder.path());
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let undisturbed = teach(&config, None, &whole, &setup, &mut ignore).expect("trained");
    assert_eq!((undisturbed.steps, undisturbed.steps_made), (12, 12));
    let held_out = undisturbed.held_out.expect("held-out games");
    assert!(held_out.total_loss > 0.0 && held_out.policy_top1.is_some() && held_out.brier.is_some());
    assert!(undisturbed.sources[0].held_out_games > 0);

    let mut stop_after_5 = |step: Step| setup.stop.store(step.step == 5, Ordering::SeqCst);
    let first = teach(&config, None, &parts, &setup, &mut stop_after_5).expect("stopped");
    assert_eq!((first.steps, first.model), (5, None));
    assert!(
        !parts.join("model.json").exists(),
        "a model that is not finished is no model"
    );
    setup.stop.store(false, Ordering::SeqCst);
    let second = teach(&config, None, &parts, &setup, &mut ignore).expect("resumed");
    assert_eq!((second.steps, second.steps_made), (12, 7));
    assert_eq!(weights(&whole), weights(&parts));
    assert_eq!(second.held_out, undisturbed.held_out);

    // Once it is done, the same command says so again and changes nothing.
    let third = teach(&config, None, &parts, &setup, &mut ignore).expect("done before");
    assert_eq!((third.steps_made, third.held_out), (0, undisturbed.held_out));
    let model = Model::load(&parts).expect("a model");
    assert_eq!(model.info.provenance.step, 12);
    assert_eq!(model.info.rules.as_deref(), Some("tromp_taylor"));

    // A model is judged by the same positions as at the end of its training.
    let spec = format!("model:{}", parts.display()).parse().expect("a model");
    let origin = Origin::load(&spec).expect("a model");
    let judged = judge_model(&config, &origin, &setup).expect("judged");
    assert_eq!(Some(judged), undisturbed.held_out);
}

#[test]
fn refused_training_leaves_nothing() {
    tengen_network::limit_threads();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = imported(folder.path());
    let setup = setup(folder.path());
    let out = folder.path().join("out");
    let refuse = |config: &RunConfig, words: &str| {
        let error = teach(config, None, &out, &setup, &mut ignore).expect_err(words);
        assert!(format!("{error:#}").contains(words), "{error:#}");
        assert!(!out.exists(), "{words}");
    };
    let with = |text: &str, more: &[&str]| config(folder.path(), text, more);
    refuse(&with("", &[]), "names no games");
    refuse(&with(&from("/no/such/store"), &[]), "/no/such/store");
    let selfplay = from(&store) + "of = \"selfplay\"\n";
    refuse(&with(&selfplay, &[]), "found 60 imported games (of = \"imported\")");
    let labels = from(&store) + "policy = \"labels\"\n";
    refuse(&with(&labels, &[]), "60 have no ply to learn from");
    refuse(
        &with(&from(&store), &["selfplay.boards=[{size=\"5x5\"}]"]),
        "60 are not on 5x5",
    );
    refuse(&with(&from(&store), &["rules=aga"]), "60 are not under");

    // Nor does it touch a folder that holds something else.
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("notes.txt"), "mine").expect("a file");
    let error = teach(&with(&from(&store), &[]), None, &out, &setup, &mut ignore).expect_err("another's folder");
    assert!(error.to_string().contains("holds other files"), "{error:#}");
    assert_eq!(std::fs::read_dir(&out).expect("a folder").count(), 1);
}

#[test]
fn another_network_does_not_go_on_in_the_same_folder() {
    tengen_network::limit_threads();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let games = from(&imported(folder.path()));
    let setup = setup(folder.path());
    let out = folder.path().join("out");
    let train = |more: &[&str]| {
        let config = config(folder.path(), &games, more);
        teach(&config, None, &out, &setup, &mut ignore)
    };
    train(&["train.steps=3"]).expect("trained");
    let error = train(&["network.channels=16"])
        .expect_err("another network")
        .to_string();
    assert!(error.contains("b1c8") && error.contains("b1c16"), "{error}");
    // More steps go on, and the model is replaced.
    let before = weights(&out);
    let files = ["weights.safetensors", "model.json"].map(|name| out.join(name));
    let old = files.clone().map(|file| std::fs::read(file).expect("a file"));
    assert_eq!(train(&["train.steps=5"]).expect("more steps").steps_made, 2);
    let after = weights(&out);
    assert_ne!(after, before);
    // A process that dies after its last checkpoint leaves the model before, or one file of it; the next puts it right.
    for stale in [&[0, 1][..], &[1]] {
        for &file in stale {
            std::fs::write(&files[file], &old[file]).expect("writable");
        }
        assert_eq!(train(&["train.steps=5"]).expect("nothing to do").steps_made, 0);
        assert_eq!(weights(&out), after);
    }
}

#[test]
fn the_trial_of_rates_writes_nothing() {
    tengen_network::limit_threads();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = config(folder.path(), &from(&imported(folder.path())), &["training.batch=32"]);
    let before = std::fs::read_dir(folder.path()).expect("a folder").count();
    let trial = find_rate(&config, None, &setup(folder.path()), &mut ignore).expect("a trial");
    assert!(trial.points.len() > 50 && trial.points.is_sorted_by(|a, b| a.rate < b.rate));
    let suggestion = trial.suggestion.expect("the loss falls");
    assert!((1e-5..0.1).contains(&suggestion), "{suggestion}");
    assert!(trial.in_words().contains("training.learning_rate = "));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), before);
}

/// A model trained on the games, and the run's configuration with these settings.
fn first_model(folder: &Path) -> (Origin, PathBuf) {
    let out = folder.join("model");
    let config = config(folder, &from(&imported(folder)), &[]);
    teach(&config, None, &out, &setup(folder), &mut ignore).expect("trained");
    let spec = format!("model:{}", out.display()).parse().expect("a model");
    (Origin::load(&spec).expect("a model"), out)
}

/// The first model of a run, with which its trainer begins.
fn begun(config: &RunConfig, location: &str, folder: &Path) -> Model {
    let run = Opened::open(config, location, &setup(folder)).expect("a run");
    run.first_model().expect("it has one");
    let models = run.store.models().list().expect("models");
    assert_eq!(models.len(), 1);
    let (_, champion) = run.store.models().champion().expect("readable").expect("a champion");
    assert_eq!(champion.model_id, models[0]);
    let (mut training, _) = Training::resume(&run).expect("a trainer");
    let model = run.store.models().load(&models[0]).expect("a model");
    assert_eq!(training.weights().expect("no step"), model.weights);
    model
}

#[test]
fn a_run_begins_with_a_model_of_its_shape_or_grows_from_it() {
    tengen_network::limit_threads();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (origin, _) = first_model(folder.path());
    let setup = setup(folder.path());
    for (name, sets, network) in [
        ("same", &[][..], NetworkConfig::new(1, 8)),
        (
            "larger",
            &["network.blocks=2", "network.channels=12"][..],
            NetworkConfig::new(2, 12),
        ),
    ] {
        let config = config(folder.path(), "", sets);
        let location = folder.path().join(name).display().to_string();
        assert!(found(&config, &location, &origin, &setup, &mut ignore).expect("founded"));
        let model = begun(&config, &location, folder.path());
        assert_eq!(model.weights.config(), &network);
        assert_eq!(model.info.provenance.parent.as_deref(), Some(origin.name.as_str()));
        if name == "same" {
            assert_eq!(model.weights, origin.model.weights);
        }
        // The same command again resumes the run; another model does not.
        assert!(found(&config, &location, &origin, &setup, &mut ignore).expect("founded before"));
        let other = Origin {
            name: "other".to_owned(),
            ..origin.clone()
        };
        let error = found(&config, &location, &other, &setup, &mut ignore).expect_err("another start");
        assert!(error.to_string().contains("leave out --init"), "{error:#}");
    }
}

#[test]
fn a_network_that_cannot_grow_catches_up_on_games() {
    tengen_network::limit_threads();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (origin, _) = first_model(folder.path());
    let setup = setup(folder.path());
    let smaller = &["network.channels=6", "network.blocks=2"];
    let location = folder.path().join("run").display().to_string();

    // Without games there is nothing to learn from, and nothing is left behind.
    let without = config(folder.path(), "", smaller);
    let error = found(&without, &location, &origin, &setup, &mut ignore).expect_err("no games");
    assert!(error.to_string().contains("[[train.from]]"), "{error:#}");
    assert!(!Path::new(&location).exists());

    // With games, and stopped in between.
    let games = folder.path().join("games").display().to_string();
    let with = config(folder.path(), &from(&games), smaller);
    let mut stop = |step: Step| setup.stop.store(step.step == 4, Ordering::SeqCst);
    assert!(!found(&with, &location, &origin, &setup, &mut stop).expect("stopped"));
    assert!(!Path::new(&location).exists());
    setup.stop.store(false, Ordering::SeqCst);
    let mut first = None;
    assert!(
        found(&with, &location, &origin, &setup, &mut |step| {
            first.get_or_insert(step.step);
        })
        .expect("founded")
    );
    assert_eq!(first, Some(5), "it resumes");
    let model = begun(&with, &location, folder.path());
    assert_eq!(model.weights.config(), &NetworkConfig::new(2, 6));
    let left: Vec<_> = std::fs::read_dir(folder.path().join("scratch"))
        .expect("the scratch folder")
        .collect();
    assert!(left.is_empty(), "the work is done: {left:?}");
}

#[test]
fn a_network_catches_up_on_the_self_play_of_the_store() {
    tengen_network::limit_threads();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut origin, _) = first_model(folder.path());
    let store = folder.path().join("before").display().to_string();
    let before = Store::open(&store, Create::Always).expect("a store");
    let collection = Collection::SelfPlay { generation: 0 };
    before
        .games()
        .publish_games(&collection, "test", 0, &games())
        .expect("published");
    origin.store = Some(store);
    let config = config(folder.path(), "", &["network.channels=4"]);
    let location = folder.path().join("run").display().to_string();
    assert!(found(&config, &location, &origin, &setup(folder.path()), &mut ignore).expect("founded"));
    let model = begun(&config, &location, folder.path());
    assert_eq!(model.weights.config(), &NetworkConfig::new(1, 4));
}

#[test]
fn only_the_newest_games_are_read_if_that_is_asked_for() {
    tengen_network::limit_threads();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let location = folder.path().join("before").display().to_string();
    let store = Store::open(&location, Create::Always).expect("a store");
    for (generation, games) in (0..).zip(games().chunks(20)) {
        let collection = Collection::SelfPlay { generation };
        store
            .games()
            .publish_games(&collection, "test", 0, games)
            .expect("published");
    }
    let from = from(&location) + "of = \"selfplay\"\n";
    let count = |newest: &str| {
        let config = config(folder.path(), &format!("{from}{newest}"), &[]);
        let material = Material::gather(&config, &Silent).expect("games");
        material.sources[0].games.taught()
    };
    assert_eq!(count(""), 60);
    assert_eq!(count("newest = 1\n"), 20, "whole shards, at least one");
}
