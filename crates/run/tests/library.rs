//! A program trains and plays through the library alone: nothing is printed, a watch sees what happens, a flag stops
//! it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tengen_evaluator::{MatchConfig, MatchContext, RandomPlayer, SearchPlayer, run_match};
use tengen_network::{PredictorOptions, TorchPredictor};
use tengen_run::{RunConfig, Setup, View, Watch};
use tengen_search::SearchConfig;
use tengen_store::{Create, GamesOf, Store};

/// Remembers what it was shown.
#[derive(Default)]
struct Seen {
    titles: Mutex<Vec<String>>,
    views: Mutex<usize>,
    champions: Mutex<Vec<String>>,
    standing: Mutex<Vec<(String, f64)>>,
    said: Mutex<Vec<String>>,
    ends: Mutex<usize>,
}

impl Watch for Seen {
    fn begin(&self, title: &str) {
        self.titles.lock().unwrap().push(title.to_owned());
    }

    fn show(&self, view: &View) {
        assert!(!view.selfplay.is_empty());
        *self.views.lock().unwrap() += 1;
        self.champions.lock().unwrap().push(view.champion.clone());
    }

    fn standing(&self, champion: &str, seconds: f64) {
        self.standing.lock().unwrap().push((champion.to_owned(), seconds));
    }

    fn say(&self, sentence: &str) {
        self.said.lock().unwrap().push(sentence.to_owned());
    }

    fn end(&self) {
        *self.ends.lock().unwrap() += 1;
    }
}

fn config(settings: &[&str]) -> RunConfig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    let small = [
        "name=small",
        "network.blocks=1",
        "network.channels=8",
        "network.nested_blocks=false",
        "selfplay.boards=[{size=\"3x3\"}]",
        "selfplay.games_per_group=8",
        "training.batch=32",
        "training.schedule=constant",
        "loop.workers=1",
        "loop.start_positions=100",
        "loop.lead_positions=500",
        "loop.shard_seconds=0.1",
        "loop.candidate_every_steps=20",
        "gate.always_promote=true",
        "budget.minutes=0",
    ];
    let key = |set: &str| set.split('=').next().map(str::to_owned);
    let usual = small
        .iter()
        .filter(|set| settings.iter().all(|other| key(other) != key(set)));
    let settings: Vec<String> = usual.chain(settings).map(|set| (*set).to_owned()).collect();
    RunConfig::load(&path, &settings).unwrap()
}

#[test]
fn a_run_trains_a_champion_that_plays_a_match() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let seen = Arc::new(Seen::default());
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        watch: Arc::clone(&seen) as Arc<dyn Watch>,
        ..Setup::default()
    };
    let summary = tengen_run::run(&config(&["budget.steps=60"]), &location, &setup)
        .unwrap()
        .expect("nothing stops the run");
    let words = summary.in_words("elsewhere/store");
    assert!(
        words.contains("3x3") && words.contains("elsewhere/store/report.html"),
        "{words}"
    );
    assert!(!words.contains(&location), "{words}");
    assert_eq!(seen.titles.lock().unwrap().len(), 1);
    assert!(*seen.views.lock().unwrap() > 0);
    assert_eq!(*seen.ends.lock().unwrap(), 1);

    let store = Store::open(&location, Create::Never).unwrap();
    let (number, champion) = store.models().champion().unwrap().unwrap();
    assert!(number > 0, "a trained model was promoted");
    let model = store.models().load(&champion.model_id).unwrap();
    assert!(model.info.provenance.step > 0 && model.info.cost.games > 0);
    let predictor = TorchPredictor::new(&model.weights, PredictorOptions::default()).unwrap();
    let mut champion = SearchPlayer::new("champion".to_owned(), Box::new(predictor), SearchConfig::for_play(8));
    let games = MatchConfig {
        size: "3x3".parse().unwrap(),
        games: 4,
        ..MatchConfig::default()
    };
    let result = run_match(
        &games,
        &mut champion,
        &mut RandomPlayer::new(None),
        &MatchContext::default(),
        &mut |_: &_| ControlFlow::Continue(()),
    )
    .unwrap();
    assert_eq!(result.game_list.len(), 4);
}

#[test]
fn a_run_that_is_told_to_stop_ends_cleanly_and_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        ..Setup::default()
    };
    setup.stop.store(true, Ordering::SeqCst);
    let config = config(&["budget.steps=30"]);
    assert!(tengen_run::run(&config, &location, &setup).unwrap().is_none());
    let store = Store::open(&location, Create::Never).unwrap();
    assert!(
        store.checkpoints().latest().unwrap().is_some(),
        "a stop writes a checkpoint"
    );
    setup.stop.store(false, Ordering::SeqCst);
    assert!(tengen_run::run(&config, &location, &setup).unwrap().is_some());
}

/// Self-play publishes before its lead is used up, however old shards may grow: otherwise self-play and the trainer
/// would wait for each other until then.
#[test]
fn nobody_waits_for_a_shard_to_come_of_age() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        ..Setup::default()
    };
    // Without games that the trainer can see, the run would end after its minutes.
    let config = config(&["budget.steps=100", "budget.minutes=2", "loop.shard_seconds=10000"]);
    tengen_run::run(&config, &location, &setup).unwrap();
    let store = Store::open(&location, Create::Never).unwrap();
    let (step, _) = store.checkpoints().latest().unwrap().unwrap();
    assert!(step >= 100, "{step}");
}

/// A batch that needs more positions than self-play may be ahead: they would wait for each other forever.
#[test]
fn a_batch_larger_than_the_lead_is_filled() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        ..Setup::default()
    };
    let sizes = ["training.batch=600", "loop.reuse=1", "loop.lead_positions=100"];
    let config = config(&[&sizes[..], &["budget.steps=4", "budget.minutes=2"]].concat());
    tengen_run::run(&config, &location, &setup).unwrap();
    let store = Store::open(&location, Create::Never).unwrap();
    let (step, _) = store.checkpoints().latest().unwrap().unwrap();
    assert!(step >= 4, "{step}");
}

/// The network grows in the middle of a run, and a later start goes on with the larger one.
#[test]
fn the_network_grows_during_a_run_and_stays_large() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        ..Setup::default()
    };
    let grow = r#"loop.grow=[[300, "b1c16"], [700, "b2c16"]]"#;
    let sizes = |store: &Store| -> Vec<String> {
        let models = store.models().list().unwrap();
        let name = |id| store.models().load(id).unwrap().weights.config().name();
        models.iter().map(name).collect()
    };
    tengen_run::run(&config(&["budget.steps=60", grow]), &location, &setup).unwrap();
    let store = Store::open(&location, Create::Never).unwrap();
    let before = sizes(&store);
    assert_eq!(
        (before[0].as_str(), before.last().unwrap().as_str()),
        ("b1c8", "b2c16"),
        "{before:?}"
    );
    tengen_run::run(&config(&["budget.steps=100"]), &location, &setup).unwrap();
    let after = sizes(&store);
    assert!(after.len() > before.len());
    assert_eq!(after.last().unwrap(), "b2c16", "a network never shrinks");
}

/// Self-play that plays with champions follows the run's schedules between promotions, too.
#[test]
fn schedules_go_on_while_the_champion_stays() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        ..Setup::default()
    };
    let settings = config(&[
        "selfplay.search.visits=4",
        "loop.later_visits=[[400, 11]]",
        "loop.champions_only=true",
        "loop.candidate_every_steps=1000",
        "loop.validate_every_steps=20",
        "loop.held_out=0.3",
        "budget.steps=120",
    ]);
    tengen_run::run(&settings, &location, &setup).unwrap();
    let store = Store::open(&location, Create::Never).unwrap();
    let shards = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
    let games = shards.iter().flat_map(|shard| store.games().read(shard).unwrap());
    let played: Vec<_> = games.filter(|game| game.black_model.starts_with("g000000")).collect();
    let visits = |game: &tengen_records::GameRecord| game.plies.iter().map(|ply| ply.root_visits).max();
    assert_eq!(visits(&played[0]), Some(4));
    assert!(
        played.iter().any(|game| visits(game) == Some(11)),
        "no promotion, but positions"
    );

    // The same run has compared its predictions on held-out games with those on the window.
    let mut validations = Vec::new();
    tengen_metrics::read_each(&store, &mut Vec::new(), &mut |event| {
        if let tengen_metrics::Measured::Validation(validation) = event.measured {
            validations.push(validation);
        }
    })
    .unwrap();
    assert!(!validations.is_empty());
    for at in &validations {
        assert!(at.step.is_multiple_of(20) && at.held_out_games > 0, "{at:?}");
        assert!(at.total_loss > 0.0 && at.window_total_loss > 0.0, "{at:?}");
        assert!(
            (0.0..=1.0).contains(&at.brier) && (0.0..=1.0).contains(&at.random_brier),
            "{at:?}"
        );
    }
    let page = std::fs::read_to_string(Path::new(&location).join("report.html")).unwrap();
    let (_, plots) = page.split_once("Total loss on held-out games").unwrap();
    assert!(
        plots.split_once("</figure>").unwrap().0.contains("<svg"),
        "the curve is drawn"
    );
}

/// Visits double with each rejected candidate, also for self-play that plays with champions, and a later start counts
/// the candidates that earlier ones have rejected.
#[test]
fn visits_double_while_the_gate_rejects_candidates() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let seen = Arc::new(Seen::default());
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        watch: Arc::clone(&seen) as Arc<dyn Watch>,
        ..Setup::default()
    };
    let settings = |steps, every| {
        config(&[
            "gate.always_promote=false",
            "gate.games=2",
            "gate.at_limit=reject",
            "selfplay.search.visits=4",
            "loop.champions_only=true",
            "loop.stalled_visits=11",
            steps,
            every,
        ])
    };
    let most_visits = |from: usize| {
        let store = Store::open(&location, Create::Never).unwrap();
        let shards = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
        let games = shards.iter().flat_map(|shard| store.games().read(shard).unwrap());
        let visits = games.skip(from).flat_map(|game| game.plies).map(|ply| ply.root_visits);
        visits.max().unwrap()
    };
    let never = settings("budget.steps=40", "loop.candidate_every_steps=1000");
    tengen_run::run(&never, &location, &setup).unwrap();
    assert_eq!(most_visits(0), 4);
    let often = settings("budget.steps=300", "loop.candidate_every_steps=20");
    tengen_run::run(&often, &location, &setup).unwrap();
    assert_eq!(most_visits(0), 11);
    let store = Store::open(&location, Create::Never).unwrap();
    let played = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
    let played = played
        .iter()
        .map(|shard| store.games().read(shard).unwrap().len())
        .sum();
    let never = settings("budget.steps=400", "loop.candidate_every_steps=1000");
    tengen_run::run(&never, &location, &setup).unwrap();
    assert_eq!(most_visits(played), 11, "later starts count what earlier ones rejected");

    let champions = seen.champions.lock().unwrap();
    assert!(champions.iter().any(|words| words == "g000000"), "{champions:?}");
    let counted = |words: &String| words.ends_with(" promoted");
    assert!(champions.iter().any(counted), "{champions:?}");
    // The end of each run says who is champion, first before its last gate match.
    let standing = seen.standing.lock().unwrap();
    let is_told = |(champion, seconds): &(String, f64)| champion.starts_with("g0000") && *seconds > 0.0;
    assert!(standing.len() > 2 && standing.iter().all(is_told), "{standing:?}");
    let said = seen.said.lock().unwrap();
    let verdicts: Vec<&String> = said.iter().filter(|line| line.starts_with("gate: g")).collect();
    assert!(verdicts.len() > 2, "{said:?}");
    for verdict in verdicts {
        let fits = verdict.contains(" against g0000") && verdict.len() <= 80;
        assert!(fits, "one line of a terminal: {verdict}");
    }
}

/// Old verdicts and models serve only counts and ratings, so damage to them ends no run.
#[test]
fn damage_to_old_gates_and_candidates_stops_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        closing_games: Some(0),
        ..Setup::default()
    };
    let settings = |steps| {
        config(&[
            "gate.always_promote=false",
            "gate.games=2",
            "gate.at_limit=reject",
            "loop.stalled_visits=11",
            steps,
        ])
    };
    tengen_run::run(&settings("budget.steps=300"), &location, &setup).unwrap();
    let store = Store::open(&location, Create::Never).unwrap();
    let gates = store.matches().list().unwrap();
    let candidate = |gate: &str| gate["gate-".len()..].split("-vs-").next().unwrap().to_owned();
    assert!(gates.len() > 1, "{gates:?}");
    let (first, second) = (&gates[0], candidate(&gates[1]));
    let champion = store.models().champion().unwrap().unwrap().1.model_id.to_string();
    assert_ne!(second, champion);
    for path in [
        format!("matches/{first}/result.json"),
        format!("models/{second}/model.json"),
    ] {
        std::fs::write(store.local_path().unwrap().join(path), "damaged").unwrap();
    }
    tengen_run::run(&settings("budget.steps=340"), &location, &setup)
        .unwrap()
        .expect("nothing stops the run");
    assert!(store.matches().list().unwrap().len() > gates.len());
}

/// Boards and books come and go from start to start and during a run; the first board stays.
#[test]
fn boards_and_books_change_during_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        ..Setup::default()
    };
    let grow = r#"selfplay.boards=[{size="3x3", from=400}, {size="2x2", until=400}]"#;
    tengen_run::run(&config(&["budget.steps=60", grow]), &location, &setup).unwrap();
    let book = folder.path().join("book.txt");
    std::fs::write(&book, "B2 A1\n").unwrap();
    let books = format!(
        "selfplay.opening.books=[{{book={:?}, share=0.5}}]",
        book.display().to_string()
    );
    let later = r#"selfplay.boards=[{size="3x3"}, {size="3x4"}]"#;
    // Enough steps for new games, however many the first start has left for training.
    tengen_run::run(&config(&["budget.steps=300", later, &books]), &location, &setup).unwrap();
    let bad = folder.path().join("bad.txt");
    std::fs::write(&bad, "B2 A1\nB2 B2\n").unwrap();
    let bad = books.replace("book.txt", "bad.txt");
    let error = tengen_run::run(&config(&["budget.steps=400", &bad]), &location, &setup).unwrap_err();
    assert!(format!("{error:#}").contains("bad.txt: B2 is illegal"), "{error:#}");
    let store = Store::open(&location, Create::Never).unwrap();
    let shards = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
    let games: Vec<_> = shards
        .iter()
        .flat_map(|shard| store.games().read(shard).unwrap())
        .collect();
    let count = |size: &str| games.iter().filter(|game| game.size.to_string() == size).count();
    for size in ["2x2", "3x3", "3x4"] {
        assert!(count(size) > 0, "no games on {size}");
    }
    let from_book = games.iter().filter(|game| {
        let moves: Vec<String> = game.plies.iter().take(2).map(|ply| ply.mv.format(game.size)).collect();
        game.opening_plies == 2 && moves == ["B2", "A1"]
    });
    assert!(from_book.count() > 5);

    let other = r#"selfplay.boards=[{size="3x4"}]"#;
    let error = tengen_run::run(&config(&[other]), &location, &setup)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("has the first board 3x3, but the config has 3x4"),
        "{error}"
    );
    for (line, reason) in [
        ("B2 B2\n", "is illegal"),
        ("K9\n", "line 1"),
        ("# none\n", "no opening for"),
    ] {
        std::fs::write(&book, line).unwrap();
        let error = tengen_run::run(&config(&[&books]), &location, &setup).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains("book.txt") && error.contains(reason), "{error}");
    }
}

#[test]
fn a_run_that_reanalyzes_trains_on_old_games_too_and_resumes_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        closing_games: Some(0),
        ..Setup::default()
    };
    let run = |steps: &str| {
        let config = config(&[
            steps,
            "reanalysis.share=0.5",
            "loop.reuse=2",
            "loop.candidate_every_steps=1000000",
        ]);
        tengen_run::run(&config, &location, &setup)
            .unwrap()
            .expect("nothing stops the run");
        let listed = |location: &str, of| {
            let store = Store::open(location, Create::Never).unwrap();
            let shards = store.games().list(&of).unwrap().shards;
            (store, shards)
        };
        let (store, played) = listed(&location, GamesOf::SelfPlay);
        let (old, labelled) = listed(&format!("{location}/reanalysis"), GamesOf::Imported);
        let positions: u64 = played.iter().map(tengen_store::ShardInfo::positions).sum();
        let rows = |shard| {
            old.games()
                .read(shard)
                .unwrap()
                .iter()
                .flat_map(|game| game.plies.clone())
                .collect::<Vec<_>>()
        };
        let rows = labelled.iter().flat_map(rows).filter(|ply| ply.weight > 0.0).count() as u64;
        let (step, _) = store.checkpoints().latest().unwrap().expect("a checkpoint");
        (step, positions, rows)
    };
    let (steps, positions, rows) = run("budget.steps=800");
    // At most 4 samples per position, and more than the 2 that self-play alone allows.
    assert!(
        steps * 32 <= positions * 4 && steps * 32 > positions * 2,
        "{steps} steps, {positions} positions"
    );
    assert!(
        (1000..=positions + 1100).contains(&rows),
        "{rows} rows beside {positions} positions"
    );
    let (later_steps, later_positions, later_rows) = run("budget.steps=1100");
    assert!(later_steps > steps && later_positions > positions && later_rows > rows);
}
