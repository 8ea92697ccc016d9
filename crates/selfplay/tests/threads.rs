//! Worker threads: the same games for any number of threads, and clean stops.

mod common;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tengen_encoding::InputBatch;
use tengen_records::{EndReason, GameRecord};
use tengen_rules::Rules;
use tengen_search::{PredictError, PredictionServer, Predictions, Predictor, ScriptedPredictor, ServerSetup};
use tengen_selfplay::{
    Counters, FairKomi, GenerateSetup, Generator, GeneratorError, GeneratorSetup, ModelUpdate, RunIdentity,
    SelfPlayConfig, Snapshot, generate,
};

use common::{config, run, scripted, served, uniform};

const WAIT: Duration = Duration::from_secs(60);

fn generated(games: u64, threads: usize) -> Vec<GameRecord> {
    generated_by(&scripted(1), games, threads)
}

fn generated_by(model: &ModelUpdate, games: u64, threads: usize) -> Vec<GameRecord> {
    let setup = GenerateSetup {
        run: run(11),
        session: 0,
        games,
        threads,
        known: BTreeSet::new(),
    };
    let mut records = Vec::new();
    let counters = Arc::new(Counters::new());
    let stop = AtomicBool::new(false);
    let sink = |games: Vec<GameRecord>| records.extend(games);
    let handed = generate(&config(&["4x4", "3x3"]), &setup, model, &counters, &stop, sink).unwrap();
    assert_eq!(handed, games);
    assert_eq!(counters.values().games + counters.values().unfinished, games);
    records
}

#[test]
fn generated_games_are_byte_identical_for_any_number_of_threads() {
    let one = generated(50, 1);
    assert_eq!(one.len(), 50);
    let ids: HashSet<&str> = one.iter().map(|game| game.game_id.as_str()).collect();
    assert_eq!(ids.len(), 50);
    let bytes = |games: &[GameRecord]| tengen_store::encode(games);
    let expected = bytes(&one);
    for threads in [2, 4] {
        assert!(bytes(&generated(50, threads)) == expected, "{threads} threads");
    }
}

/// With a server, each worker plays several groups in turn, and batches of several groups are joined.
#[test]
fn generated_games_are_byte_identical_through_a_server() {
    let bytes = |games: &[GameRecord]| tengen_store::encode(games);
    let expected = bytes(&generated(50, 1));
    for (lanes, threads) in [(1, 1), (1, 4), (2, 3)] {
        let setup = ServerSetup {
            lanes,
            most_positions: 64,
        };
        let server = PredictionServer::start(setup).unwrap();
        let games = generated_by(&served(&server, 1), 50, threads);
        assert!(bytes(&games) == expected, "{lanes} lanes, {threads} threads");
        let stats = server.stats();
        assert!(0 < stats.batches && stats.batches <= stats.jobs, "{stats:?}");
    }
}

/// A repeated call adds what is missing, also if it asks for another number of games, which gives other groups.
#[test]
fn games_that_exist_are_not_delivered_again() {
    let all = generated(50, 2);
    let known = |games: &[GameRecord]| games.iter().map(|game| game.game_id.clone()).collect::<BTreeSet<_>>();
    let add = |known: BTreeSet<String>, games| {
        let setup = GenerateSetup {
            run: run(11),
            session: 0,
            games,
            threads: 2,
            known,
        };
        let (counters, stop, mut records) = (Arc::new(Counters::new()), AtomicBool::new(false), Vec::new());
        let sink = |games: Vec<GameRecord>| records.extend(games);
        let handed = generate(&config(&["4x4", "3x3"]), &setup, &scripted(1), &counters, &stop, sink).unwrap();
        assert_eq!(handed, records.len() as u64);
        (records, counters.values().evaluations)
    };
    assert_eq!(add(known(&all), 50), (Vec::new(), 0), "nothing is played");
    assert_eq!(add(known(&all[..20]), 50).0, all[20..]);
    let more = add(known(&all), 200).0;
    assert_eq!(known(&all).intersection(&known(&more)).count(), 0);
    assert!(!more.is_empty());
}

#[test]
fn generate_reports_a_failing_worker_and_a_stop() {
    let counters = Arc::new(Counters::new());
    let setup = GenerateSetup {
        run: run(1),
        session: 0,
        games: 20,
        threads: 2,
        known: BTreeSet::new(),
    };
    let broken = ModelUpdate {
        predictor: Arc::new(|_| Err(PredictError::Failed("no weights".into()))),
        ..uniform()
    };
    let stop = AtomicBool::new(false);
    let error = generate(&config(&["3x3"]), &setup, &broken, &counters, &stop, |_| ()).unwrap_err();
    assert!(matches!(error, GeneratorError::Predict { worker: 0, .. }), "{error}");
    let stop = AtomicBool::new(true);
    assert_eq!(
        generate(&config(&["3x3"]), &setup, &uniform(), &counters, &stop, |_| ()).unwrap(),
        0
    );
}

fn start(threads: usize, session: u64, model: ModelUpdate, limit: u64, in_flight: Option<&Snapshot>) -> Generator {
    start_with(&config(&["4x4"]), threads, session, model, limit, in_flight)
}

fn start_with(
    config: &SelfPlayConfig,
    threads: usize,
    session: u64,
    model: ModelUpdate,
    limit: u64,
    in_flight: Option<&Snapshot>,
) -> Generator {
    let setup = GeneratorSetup {
        run: run(5),
        session,
        threads,
        groups_per_thread: 2,
        channel_capacity: 4,
        first_limit: limit,
    };
    Generator::start(config, setup, model, in_flight).unwrap()
}

#[test]
fn a_generator_stops_cleanly_and_resumes_with_a_different_number_of_threads() {
    let generator = start(2, 0, scripted(1), u64::MAX, None);
    let mut games: Vec<_> = (0..40).map(|_| generator.games().recv_timeout(WAIT).unwrap()).collect();
    let stopped = generator.stop();
    stopped.result.unwrap();
    games.extend(stopped.games);
    assert_eq!(stopped.snapshot.games(), 4 * 8, "every slot holds a game in flight");
    let begun: u64 = stopped.snapshot.groups.iter().map(|group| group.next_index).sum();
    assert_eq!(
        games.len() as u64 + 32,
        begun,
        "every game begun is finished or in flight"
    );

    let generator = start(1, 1, scripted(1), u64::MAX, Some(&stopped.snapshot));
    let (mut resumed, mut fresh) = (0, 0);
    while resumed < 32 {
        let game = generator.games().recv_timeout(WAIT).unwrap();
        game.record.validate().unwrap();
        assert!(
            games.iter().all(|old| old.record.game_id != game.record.game_id),
            "no game is delivered twice"
        );
        if game.address.session == 0 {
            resumed += 1;
        } else {
            fresh += 1;
        }
        games.push(game);
    }
    assert!(fresh > 0, "new games follow the resumed ones");
}

#[test]
fn forks_after_a_resume_begin_from_the_games_before_it() {
    let mut forking = config(&["4x4"]);
    forking.opening.fork_share = 0.5;
    let remembered = |snapshot: &Snapshot| -> Vec<serde_json::Value> {
        let snapshot: serde_json::Value = serde_json::from_slice(&snapshot.to_bytes()).unwrap();
        let groups = snapshot["groups"].as_array().unwrap();
        groups.iter().map(|group| group["earlier"].clone()).collect()
    };
    let generator = start_with(&forking, 2, 0, scripted(1), u64::MAX, None);
    (0..200).for_each(|_| drop(generator.games().recv_timeout(WAIT).unwrap()));
    let stopped = generator.stop();
    let before = remembered(&stopped.snapshot);
    assert_eq!(before.len(), 4);
    assert!(before.iter().all(serde_json::Value::is_array), "{before:?}");

    let fewer = start_with(&forking, 1, 1, scripted(1), 0, Some(&stopped.snapshot)).stop();
    assert_eq!(remembered(&fewer.snapshot), before[..2]);
    let more = start_with(&forking, 3, 1, scripted(1), 0, Some(&stopped.snapshot)).stop();
    assert_eq!(remembered(&more.snapshot), [&before[..], &before[..2]].concat());
}

#[test]
fn the_lead_limits_the_number_of_positions() {
    let generator = start(2, 0, scripted(1), 0, None);
    assert!(
        generator.games().recv_timeout(Duration::from_millis(50)).is_err(),
        "the limit is 0"
    );
    assert_eq!(generator.counters().plies, 0);
    generator.lead().set_limit(1);
    generator.games().recv_timeout(WAIT).unwrap();
    generator.lead().set_limit(u64::MAX);
    for _ in 0..40 {
        generator.games().recv_timeout(WAIT).unwrap();
    }
    generator.lead().set_limit(0);
    generator.stop().result.unwrap();
}

#[test]
fn new_models_arrive_without_losing_a_game() {
    new_models_arrive(scripted(1), scripted(2));
    let setup = ServerSetup {
        lanes: 2,
        most_positions: 64,
    };
    let server = PredictionServer::start(setup).unwrap();
    new_models_arrive(served(&server, 1), served(&server, 2));
}

fn new_models_arrive(first: ModelUpdate, second: ModelUpdate) {
    let generator = start(2, 0, first, u64::MAX, None);
    let mut seen = HashSet::new();
    for _ in 0..10 {
        seen.insert(generator.games().recv_timeout(WAIT).unwrap().address);
    }
    let mut fair_komi = FairKomi::new();
    fair_komi.set("4x4".parse().unwrap(), 2.0);
    generator.set_model(ModelUpdate { fair_komi, ..second });
    loop {
        let game = generator.games().recv_timeout(WAIT).unwrap();
        assert!(seen.insert(game.address), "no game is delivered twice");
        if game.record.black_model == "scripted-2" {
            break;
        }
    }
    let stopped = generator.stop();
    seen.extend(stopped.games.iter().map(|game| game.address));
    for group in 0..4u64 {
        let snapshot = stopped
            .snapshot
            .groups
            .iter()
            .find(|snapshot| snapshot.number == group)
            .unwrap();
        let finished = seen.iter().filter(|address| address.group == group).count();
        assert_eq!(
            finished + snapshot.games.len(),
            snapshot.next_index as usize,
            "every game begun is accounted for"
        );
    }
}

#[test]
fn a_worker_that_fails_or_panics_stops_self_play_with_its_error() {
    let failing = ModelUpdate {
        predictor: Arc::new(|worker| match worker {
            1 => Err(PredictError::Failed("no device".to_owned())),
            _ => Ok(Box::new(ScriptedPredictor::new(1)) as Box<dyn Predictor>),
        }),
        ..scripted(1)
    };
    let generator = start(2, 0, failing, u64::MAX, None);
    while generator.games().recv_timeout(WAIT).is_ok() {}
    assert!(generator.is_stopped());
    let stopped = generator.stop();
    assert!(matches!(stopped.result, Err(GeneratorError::Predict { worker: 1, .. })));
    assert_eq!(stopped.snapshot.groups.len(), 4, "games in flight are kept anyway");

    let panicking = ModelUpdate {
        predictor: Arc::new(|_| panic!("broken driver")),
        ..scripted(1)
    };
    let generator = start(1, 0, panicking, u64::MAX, None);
    while generator.games().recv_timeout(WAIT).is_ok() {}
    let error = generator.stop().result.unwrap_err();
    assert!(error.to_string().contains("broken driver"), "{error}");
}

/// The first worker's predictor answers a number of calls until another worker is active; then it fails or panics. The
/// other predictors always work.
struct Mortal {
    inner: ScriptedPredictor,
    calls: Option<u32>,
    panics: bool,
    others_play: Arc<AtomicBool>,
}

impl Predictor for Mortal {
    fn predict(&mut self, batch: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        match &mut self.calls {
            None => self.others_play.store(true, Ordering::SeqCst),
            Some(0) => {
                while !self.others_play.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                assert!(!self.panics, "broken driver");
                return Err(PredictError::Failed("no device".to_owned()));
            }
            Some(calls) => *calls -= 1,
        }
        self.inner.predict(batch, out)
    }

    fn name(&self) -> String {
        self.inner.name()
    }
}

fn mortal(calls: u32, panics: bool) -> ModelUpdate {
    let others_play = Arc::new(AtomicBool::new(false));
    ModelUpdate {
        predictor: Arc::new(move |worker| {
            Ok(Box::new(Mortal {
                inner: ScriptedPredictor::new(1),
                calls: (worker == 0).then_some(calls),
                panics,
                others_play: others_play.clone(),
            }) as Box<dyn Predictor>)
        }),
        ..scripted(1)
    }
}

#[test]
fn a_worker_that_fails_or_panics_mid_game_loses_no_games() {
    for panics in [false, true] {
        let generator = start(2, 0, mortal(300, panics), u64::MAX, None);
        let mut games = Vec::new();
        while let Ok(game) = generator.games().recv_timeout(WAIT) {
            games.push(game);
        }
        let stopped = generator.stop();
        games.extend(stopped.games);
        match stopped.result.unwrap_err() {
            GeneratorError::Panicked { worker: 0, message } if panics => assert_eq!(message, "broken driver"),
            GeneratorError::Predict { worker: 0, .. } if !panics => {}
            other => panic!("{other}"),
        }
        let begun: u64 = stopped.snapshot.groups.iter().map(|group| group.next_index).sum();
        assert_eq!(
            games.len() as u64 + 4 * 8,
            begun,
            "every game begun is finished or in flight"
        );
        assert_eq!(stopped.snapshot.games(), 4 * 8);

        // The saved games can be continued.
        let generator = start(2, 1, scripted(1), u64::MAX, Some(&stopped.snapshot));
        let mut resumed = HashSet::new();
        while resumed.len() < 32 {
            let game = generator.games().recv_timeout(WAIT).unwrap();
            game.record.validate().unwrap();
            if game.address.session == 0 {
                resumed.insert(game.address);
            }
        }
        assert!(
            games.iter().all(|game| !resumed.contains(&game.address)),
            "no game is delivered twice"
        );
    }
}

#[test]
fn generate_hands_over_every_finished_group_before_it_reports_a_failure() {
    for panics in [false, true] {
        let counters = Arc::new(Counters::new());
        let setup = GenerateSetup {
            run: run(1),
            session: 0,
            games: 400,
            threads: 2,
            known: BTreeSet::new(),
        };
        let (stop, mut groups) = (AtomicBool::new(false), Vec::new());
        let sink = |games: Vec<GameRecord>| groups.push(games.len());
        let error = generate(&config(&["3x3"]), &setup, &mortal(5, panics), &counters, &stop, sink).unwrap_err();
        assert!(!error.to_string().is_empty());
        // The failing worker finishes no group; the other one finishes the group it has started, which is the last and
        // smaller one if the failing worker was slow.
        assert!(!groups.is_empty(), "{error}");
        let whole = |&games: &usize| games == 32 || games == 400 % 32;
        assert!(groups.iter().all(whole), "whole groups only: {groups:?}");
    }
}

/// Games end as soon as they are settled if the settings ask for it, and not otherwise.
#[test]
fn settled_games_end_if_configured() {
    let ends = |wanted: bool, threads: usize| {
        let setup = GenerateSetup {
            run: run(3),
            session: 0,
            games: 64,
            threads,
            known: BTreeSet::new(),
        };
        let config = SelfPlayConfig {
            end_when_settled: wanted,
            ..config(&["5x5"])
        };
        let mut games = Vec::new();
        let (counters, stop) = (Arc::new(Counters::new()), AtomicBool::new(false));
        generate(&config, &setup, &uniform(), &counters, &stop, |more| games.extend(more)).unwrap();
        for game in &games {
            let last = game.validate().unwrap();
            assert_eq!(
                game.end_reason == EndReason::Settled,
                wanted && last.is_settled() && !last.is_over()
            );
            game.replay_with(|position, ply, _| {
                // A random opening is always played, and the first search after it plays a move.
                let own_turn = ply > usize::from(game.opening_plies);
                assert!(!wanted || !own_turn || !position.is_settled());
            })
            .unwrap();
        }
        games
    };
    let settled = |games: &[GameRecord]| {
        games
            .iter()
            .filter(|game| game.end_reason == EndReason::Settled)
            .count()
    };
    let (off, on) = (ends(false, 1), ends(true, 1));
    assert_eq!(settled(&off), 0);
    assert!(settled(&on) > 0, "{}", settled(&on));
    assert!(
        tengen_store::encode(&on) == tengen_store::encode(&ends(true, 3)),
        "independent of the number of threads"
    );
    let plies = |games: &[GameRecord]| games.iter().map(|game| game.plies.len()).sum::<usize>();
    assert!(plies(&on) < plies(&off), "{} {}", plies(&on), plies(&off));
}

#[test]
fn territory_games_cannot_end_when_settled() {
    let setup = GenerateSetup {
        run: RunIdentity {
            rules: Rules::japanese2008(),
            ..run(3)
        },
        session: 0,
        games: 1,
        threads: 1,
        known: BTreeSet::new(),
    };
    let config = SelfPlayConfig {
        end_when_settled: true,
        ..config(&["5x5"])
    };
    let (counters, stop) = (Arc::new(Counters::new()), AtomicBool::new(false));
    let error = generate(&config, &setup, &uniform(), &counters, &stop, |_| ()).unwrap_err();
    assert!(error.to_string().contains("selfplay.end_when_settled"), "{error}");
}

/// Every worker's time is its own, and all together are what the counters say.
#[test]
fn the_time_of_each_worker_is_counted() {
    let setup = GeneratorSetup {
        run: run(5),
        session: 0,
        threads: 3,
        groups_per_thread: 2,
        channel_capacity: 4096,
        first_limit: u64::MAX,
    };
    let generator = Generator::start(&config(&["4x4"]), setup, scripted(1), None).unwrap();
    // On a busy machine, one worker may finish many games before another begins.
    let began = Instant::now();
    let times = loop {
        generator.games().recv_timeout(WAIT).unwrap();
        let times = generator.worker_times();
        assert_eq!(times.len(), 3);
        let mut all = times.iter();
        if all.all(|times| times.descend > 0.0 && times.predict > 0.0 && times.absorb > 0.0) {
            break times;
        }
        assert!(began.elapsed() < WAIT, "{times:?}");
    };
    let counters = generator.counters();
    let sum: f64 = times.iter().map(|times| times.descend).sum();
    assert!(sum <= counters.descend_ns as f64 * 1e-9 + 1e-6);
    let later = generator.worker_times()[0].since(&times[0]);
    assert!(later.descend >= 0.0 && later.descend < 60.0, "{later:?}");
    generator.stop().result.unwrap();
}
