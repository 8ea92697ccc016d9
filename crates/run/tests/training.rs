//! The trainer's side of the loop by itself: games that are read in the background are learned from as if the trainer
//! had read them itself, and the small parts around it.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use tengen_network::DeviceChoice;
use tengen_records::{EndReason, GameRecord};
use tengen_rules::Size;
use tengen_run::{Ledger, Opened, Outbox, RunConfig, Setup, Training, fair_komi, left_over};
use tengen_selfplay::FairKomi;
use tengen_store::{Collection, ShardInfo, Store};
use tengen_testing::{random_game, random_games};
use tengen_trainer::Trainer;

/// A tiny network on 3x3 that trains on one thread.
fn config(boards: &str, more: &[&str]) -> RunConfig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    let boards = format!("selfplay.boards=[{boards}]");
    let settings = [
        boards.as_str(),
        "network.blocks=1",
        "network.channels=8",
        "network.nested_blocks=false",
        "training.batch=16",
        "training.threads=1",
        "loop.start_positions=1",
        "window.base_positions=200",
    ];
    let settings: Vec<String> = settings.iter().chain(more).map(|set| (*set).to_owned()).collect();
    RunConfig::load(&path, &settings).unwrap()
}

const SMALL: &str = "{size=\"3x3\"}";

fn open(folder: &TempDir) -> Opened {
    open_with(folder, &config(SMALL, &[]))
}

fn open_with(folder: &TempDir, config: &RunConfig) -> Opened {
    let location = folder.path().join("store").display().to_string();
    let setup = Setup {
        scratch: Some(folder.path().to_owned()),
        ..Setup::default()
    };
    Opened::open(config, &location, &setup).unwrap()
}

/// Publishes shards of four games each.
fn publish(store: &Store, shards: u64) -> Vec<ShardInfo> {
    publish_games(store, &random_games(3, 4 * shards))
}

fn publish_games(store: &Store, games: &[GameRecord]) -> Vec<ShardInfo> {
    let generation = Collection::SelfPlay { generation: 1 };
    let publish = |(number, part): (usize, &[_])| {
        let published = store.games().publish_games(&generation, "w", number as u64, part);
        published.unwrap()
    };
    games.chunks(4).enumerate().map(publish).collect()
}

/// Admits what is ready until as many positions count as should.
fn admit(training: &mut Training, positions: u64) {
    for _ in 0..500 {
        training.admit_ready().unwrap();
        if training.positions() == positions {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} of {positions} positions", training.positions());
}

fn positions(shards: &[ShardInfo]) -> u64 {
    shards.iter().map(ShardInfo::positions).sum()
}

/// What a step of training teaches, as text.
fn step(training: &mut Training) -> String {
    format!("{:?}", training.step(&Ledger::default()).unwrap())
}

#[test]
fn offered_games_teach_what_games_taken_in_teach() {
    let folder = TempDir::new().unwrap();
    let run = open(&folder);
    let (mut waiting, _) = Training::resume(&run).unwrap();
    let (mut following, _) = Training::resume(&run).unwrap();
    let shards = publish(&run.store, 12);
    for (number, shard) in shards.iter().enumerate() {
        waiting.take_in(vec![shard.clone()]).unwrap();
        assert_eq!(
            following.positions(),
            positions(&shards[..number]),
            "not before it is admitted"
        );
        // The same shard offered twice is one shard.
        following.offer(shards[..=number].to_vec()).unwrap();
        admit(&mut following, positions(&shards[..=number]));
        assert_eq!(following.games(), waiting.games());
        assert_eq!(following.window_positions(), waiting.window_positions());
        assert_eq!(step(&mut following), step(&mut waiting));
    }
    assert!(
        waiting.window_positions() < positions(&shards),
        "old games left the window"
    );
    // Everything at once is the same window, and so is a new start.
    let (mut resumed, _) = Training::resume(&run).unwrap();
    let (mut again, _) = Training::resume(&run).unwrap();
    assert_eq!(step(&mut resumed), step(&mut again));
    assert_eq!(resumed.window_positions(), waiting.window_positions());
}

/// What the steps of a new run teach that trains on the games of 12 shards, with these settings.
fn lessons(more: &[&str]) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    let run = open_with(&folder, &config(SMALL, more));
    publish(&run.store, 12);
    let (mut training, _) = Training::resume(&run).unwrap();
    (0..STEPS).map(|_| step(&mut training)).collect()
}

/// The steps of these runs.
const STEPS: usize = 8;

#[test]
fn from_a_share_of_the_budget_on_only_the_canonical_image_is_trained_on() {
    let budget = format!("budget.steps={STEPS}");
    let with = |symmetry, from| lessons(&[&budget, symmetry, from]);
    let (canonical, random) = ("loop.symmetry=canonical", "loop.symmetry=random");
    let any_image = with(random, "loop.canonical_from=1");
    let one_image = with(canonical, "loop.canonical_from=1");
    assert_ne!(any_image[0], one_image[0]);
    assert_eq!(with(random, "loop.canonical_from=0"), one_image);
    let both = with(random, "loop.canonical_from=0.5");
    let half = STEPS / 2;
    assert_eq!(both[..half], any_image[..half]);
    assert_ne!(both[half], any_image[half]);
    // Without a budget, no share of it is ever spent.
    let endless = [
        "budget.minutes=0",
        "training.schedule=constant",
        random,
        "loop.canonical_from=0.5",
    ];
    assert_eq!(lessons(&endless)[..=half], any_image[..=half]);
}

#[test]
fn fair_komi_is_what_the_newest_weights_expect_of_boards_that_are_played() {
    let folder = TempDir::new().unwrap();
    let boards = "{size=\"3x3\"},{size=\"4x4\",until=1000000},{size=\"5x5\",until=1}";
    let run = open_with(&folder, &config(boards, &[]));
    let [small, middle, large] = [3, 4, 5].map(|side| Size::square(side).unwrap());
    let (mut training, _) = Training::resume(&run).unwrap();
    training.weights().unwrap();
    assert_eq!(training.fair_komi(), &FairKomi::new(), "before the first step");
    training.take_in(publish(&run.store, 12)).unwrap();
    for _ in 0..20 {
        step(&mut training);
    }
    let (id, _) = training.publish(1, &Ledger::default()).unwrap();
    let model = run.store.models().load(&id).unwrap();
    let mut trainer = Trainer::from_weights(&model.weights, run.config.training.clone(), DeviceChoice::Cpu).unwrap();
    let expected = fair_komi(&mut trainer, &[small, middle], run.config.rules).unwrap();
    assert_ne!(expected.of(small), 0.0);
    assert_eq!(training.fair_komi(), &expected);
    for size in [small, middle] {
        let stated = model.info.fair_komi(size).unwrap().points();
        assert!((f64::from(stated) - expected.of(size)).abs() <= 0.25, "{expected:?}");
    }
    assert_eq!(model.info.fair_komi(large), None, "no more games there");
    // A run that goes on begins with what its newest model states, and asks the weights, not the games of its window.
    training.last_checkpoint(&Ledger::default()).unwrap();
    let (mut resumed, _) = Training::resume(&run).unwrap();
    assert_eq!(
        resumed.fair_komi().of(small),
        f64::from(model.info.fair_komi(small).unwrap().points())
    );
    resumed.weights().unwrap();
    assert_eq!(resumed.fair_komi(), &expected);
    // What the network said about a board stays when no more games are played there.
    let run = open_with(&folder, &config("{size=\"3x3\"},{size=\"4x4\",until=2}", &[]));
    let (mut later, _) = Training::resume(&run).unwrap();
    later.weights().unwrap();
    let stated = model.info.fair_komi(middle).map(|komi| f64::from(komi.points()));
    assert_eq!(
        (later.fair_komi().known(middle), later.fair_komi().of(small)),
        (stated, expected.of(small))
    );
}

/// Damages a file of the run's store.
fn damage(run: &Opened, path: &str) {
    std::fs::write(run.store.local_path().unwrap().join(path), "{}").unwrap();
}

/// Trains and publishes models after 5, 10, and 15 steps, a checkpoint with each of the last two.
fn trained(folder: &TempDir) -> Opened {
    let run = open(folder);
    run.first_model().unwrap();
    publish(&run.store, 12);
    let (mut training, _) = Training::resume(&run).unwrap();
    for generation in 1..=3 {
        (0..5).for_each(|_| drop(step(&mut training)));
        let ledger = Ledger {
            evaluations: 100 * u64::from(generation),
            ..Ledger::default()
        };
        training.publish(generation, &ledger).unwrap();
        if generation > 1 {
            training.last_checkpoint(&ledger).unwrap();
        }
    }
    open(folder)
}

/// Where a start resumes, and the evaluations that it knows of.
fn resumed(run: &Opened) -> (u64, u64) {
    let (training, ledger) = Training::resume(run).unwrap();
    assert_eq!(training.trained(), 16 * training.steps());
    (training.steps(), ledger.evaluations)
}

#[test]
fn training_resumes_where_the_newest_intact_checkpoint_or_else_model_was_made() {
    let folder = TempDir::new().unwrap();
    let run = trained(&folder);
    let models = run.store.models().list().unwrap();
    assert_eq!(resumed(&run), (15, 300));
    damage(&run, "checkpoints/000000015/trainer.json");
    // A start takes the lock first and deletes what is old.
    drop(open(&folder).lock().unwrap());
    assert_eq!(resumed(&open(&folder)), (10, 200));
    damage(&run, "checkpoints/000000010/checkpoint.json");
    assert_eq!(
        resumed(&open(&folder)),
        (15, 300),
        "no checkpoint, but a model of step 15"
    );
    assert_eq!(run.store.games().quarantine_notes().unwrap().len(), 2);
    damage(&run, &format!("models/{}/weights.safetensors", models[3]));
    damage(&run, &format!("models/{}/model.json", models[2]));
    assert_eq!(resumed(&open(&folder)), (5, 100));
    std::fs::remove_file(
        run.store
            .local_path()
            .unwrap()
            .join(format!("models/{}/weights.safetensors", models[1])),
    )
    .unwrap();
    let error = Training::resume(&run).err().expect("nothing to go on from").to_string();
    assert!(
        error.contains("nor an intact model after the first: restore"),
        "{error}"
    );
}

/// A checkpoint of a step is written once, but a trainer that waits for games goes on costing time.
#[test]
fn costs_are_kept_while_a_trainer_waits() {
    let folder = TempDir::new().unwrap();
    let run = trained(&folder);
    let costs = |evaluations, cpu_seconds| Ledger {
        evaluations,
        cpu_seconds,
        ..Ledger::default()
    };
    let (mut training, _) = Training::resume(&run).unwrap();
    training.last_checkpoint(&costs(700, 60.0)).unwrap();
    assert_eq!(resumed(&run), (15, 700));
    let mut limited = open(&folder);
    limited.config.budget.cpu_seconds = 120.0;
    limited.config.budget.minutes = 0.0;
    assert_eq!(limited.progress().unwrap().spent, 0.5);
    damage(&run, "costs.json");
    assert_eq!(resumed(&run), (15, 300), "the checkpoint has costs, too");
    assert_eq!(limited.progress().unwrap().spent, 0.0);
    // The costs of a later step say nothing about an earlier one.
    training.last_checkpoint(&costs(800, 60.0)).unwrap();
    damage(&run, "checkpoints/000000015/trainer.json");
    assert_eq!(resumed(&open(&folder)), (10, 200));
}

#[test]
fn a_damaged_description_of_the_newest_model_stops_no_training() {
    let folder = TempDir::new().unwrap();
    let run = trained(&folder);
    let newest = run.store.models().list().unwrap().pop().unwrap();
    damage(&run, &format!("models/{newest}/model.json"));
    assert_eq!(resumed(&run), (15, 300));
    assert!(left_over(&run).unwrap().is_none(), "it cannot become champion");
}

#[test]
fn a_damaged_shard_in_the_spool_is_set_aside_and_looked_at_once() {
    let folder = TempDir::new().unwrap();
    let run = open(&folder);
    let elsewhere = TempDir::new().unwrap();
    let shards = publish(&open(&elsewhere).store, 2);
    let (spool, settings) = (folder.path().join("spool"), &run.config.loop_config);
    let outbox = || Outbox::new(&run.store, &spool, settings).unwrap();
    let place = |shard: &ShardInfo| {
        let file = spool.join(&shard.path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "damaged").unwrap();
        file
    };
    let set_aside = |file: &Path| !file.exists() && file.with_extension("parquet.damaged").is_file();
    let first = place(&shards[0]);
    let mut running = outbox();
    assert!(running.flush().unwrap().is_empty() && set_aside(&first));
    // Nothing waits in the spool, so nobody looks there until the next start.
    let second = place(&shards[1]);
    assert!(running.flush().unwrap().is_empty() && second.is_file());
    assert!(outbox().flush().unwrap().is_empty() && set_aside(&second));
}

#[test]
fn without_results_selfplay_goes_on_and_no_training_is_owed() {
    let folder = TempDir::new().unwrap();
    let settings = ["loop.lead_positions=60", "loop.held_out=0", "window.fraction=0"];
    let mut run = open_with(&folder, &config(SMALL, &settings));
    run.config.loop_config.start_positions = 50;
    let (mut training, _) = Training::resume(&run).unwrap();
    let games = (0..).map(|seed| random_game(Size::square(3).unwrap(), seed, 4));
    let without_result = games.filter(|game| game.end_reason == EndReason::PlyLimit);
    let unfinished: Vec<GameRecord> = without_result.take(160).collect();
    let shards = publish_games(&run.store, &unfinished[..80]);
    assert_eq!(positions(&shards), 320);
    for (number, shard) in shards.iter().enumerate() {
        training.take_in(vec![shard.clone()]).unwrap();
        let played = 16 * (number as u64 + 1);
        assert_eq!(training.lacks_results(), played >= 50);
        assert_eq!(training.lead(), if played < 50 { 110 - played } else { 60 });
        assert!(!training.may_step());
    }
    // Only the new positions count towards steps of 16 samples.
    let games = publish(&run.store, 3);
    training.take_in(games.clone()).unwrap();
    assert!(!training.lacks_results());
    let steps = positions(&games) / 16;
    assert!(steps >= 3 && training.may_make(steps) && !training.may_make(steps + 1));
    // If a window later has none again, the steps until then still count.
    drop((step(&mut training), step(&mut training)));
    let lead = training.lead();
    training.take_in(publish_games(&run.store, &unfinished[80..])).unwrap();
    assert!(training.lacks_results() && !training.may_step());
    assert_eq!((lead < 60, training.lead()), (true, 60));
    let games = publish(&run.store, 3);
    training.take_in(games.clone()).unwrap();
    assert!(training.may_make(steps) && !training.may_make(steps + 1));
}

#[test]
fn a_run_whose_budget_is_spent_counts_its_games_but_reads_none() {
    let folder = TempDir::new().unwrap();
    let mut run = trained(&folder);
    let (training, _) = Training::resume(&run).unwrap();
    let totals = |training: &Training| (training.steps(), training.games(), training.positions());
    assert!(!training.window().is_empty() && training.may_step());
    run.config.budget.steps = 15;
    let (spent, _) = Training::resume_within_budget(&run).unwrap();
    assert_eq!(totals(&spent), totals(&training));
    assert!(spent.spent() >= 1.0 && spent.window().is_empty() && !spent.may_step());
    // `tengen train --steps` goes on beyond the budget.
    let (beyond, _) = Training::resume(&run).unwrap();
    assert!(beyond.spent() >= 1.0 && beyond.window() == training.window());
    run.config.budget.steps = 16;
    let (longer, _) = Training::resume_within_budget(&run).unwrap();
    assert_eq!(longer.window(), training.window());
}

#[test]
fn offered_shards_that_are_damaged_or_missing_are_found() {
    let folder = TempDir::new().unwrap();
    let run = open(&folder);
    let (mut training, _) = Training::resume(&run).unwrap();
    let shards = publish(&run.store, 6);
    let file = |shard: &ShardInfo| run.store.local_path().unwrap().join(&shard.path);
    std::fs::write(file(&shards[1]), b"damaged").unwrap();
    training.offer(shards[..3].to_vec()).unwrap();
    admit(&mut training, shards[0].positions() + shards[2].positions());
    assert_eq!(run.store.games().quarantine_notes().unwrap()[0].shard, shards[1].path);
    training.offer(shards[..3].to_vec()).unwrap();
    training.admit_ready().unwrap();
    assert_eq!(training.positions(), shards[0].positions() + shards[2].positions());

    let until_it_fails = |training: &mut Training| {
        (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            training.admit_ready().err()
        })
    };
    // A store that does not answer with the file it promised ends the training as it does without a loader.
    std::fs::remove_file(file(&shards[3])).unwrap();
    let (mut waiting, _) = Training::resume(&run).unwrap();
    training.offer(vec![shards[3].clone()]).unwrap();
    let error = until_it_fails(&mut training).expect("a missing file");
    let expected = waiting.take_in(vec![shards[3].clone()]).unwrap_err();
    assert_eq!(format!("{error:#}"), format!("{expected:#}"));

    // A second damaged shard is too many.
    std::fs::write(file(&shards[4]), b"damaged").unwrap();
    training.offer(vec![shards[4].clone()]).unwrap();
    let error = format!("{:#}", until_it_fails(&mut training).expect("two damaged shards"));
    assert!(
        error.contains("2 of the window's") && error.contains("tengen data verify"),
        "{error}"
    );
}
