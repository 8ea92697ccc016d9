//! Reanalysis from the games of a store to the trainer's samples, with a search without a network.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tengen_label::{NetworkTeacher, Teacher};
use tengen_reanalysis::{Choice, FOLDER, ReanalysisConfig, Reanalyst, Refreshed};
use tengen_records::{FULL_SEARCH, GameKind, GameRecord, PlyRecord};
use tengen_rules::{Rules, Size};
use tengen_samples::{SampleConfig, SymmetryMode, is_held_out};
use tengen_search::{SearchConfig, UniformPredictor};
use tengen_store::{Collection, Create, GamesOf, SealedShard, ShardInfo, Store};
use tengen_testing::random_game;

const HELD_OUT: f64 = 0.3;

fn teacher() -> Teacher {
    Teacher::Network(NetworkTeacher {
        name: "uniform".to_owned(),
        weights_sha256: None,
        precision: "fp32".to_owned(),
        search: SearchConfig {
            visits: 4,
            ..SearchConfig::default()
        },
        noise: 0.5,
        threads: 1,
        predictors: Box::new(|_| Ok(Box::new(UniformPredictor))),
    })
}

fn choice() -> Choice {
    Choice {
        density: 1.0,
        decided_value: 0.95,
        held_out: HELD_OUT,
        seed: 7,
    }
}

/// A finished game of self-play whose second half is decided and was not trained on.
fn game(number: u64) -> GameRecord {
    let mut game = random_game(Size::square(3).unwrap(), number, 200);
    game.game_id = format!("game-{number}");
    game.kind = GameKind::SelfPlay;
    game.opening_plies = 1;
    let half = game.plies.len() / 2;
    for (number, ply) in game.plies.iter_mut().enumerate() {
        *ply = PlyRecord {
            flags: FULL_SEARCH,
            root_value: if number >= half { 1.0 } else { 0.2 },
            ..PlyRecord::bare(ply.mv)
        };
    }
    game
}

/// A store with four shards of finished games, oldest first.
fn store(folder: &std::path::Path) -> (Store, Vec<ShardInfo>) {
    let store = Store::open(&folder.join("run").display().to_string(), Create::Always).unwrap();
    for shard in 0..4 {
        let games: Vec<GameRecord> = (0..400)
            .map(|number| game(1000 * shard + number))
            .filter(GameRecord::is_finished)
            .take(40)
            .collect();
        assert_eq!(games.len(), 40, "random games end often enough");
        let collection = Collection::SelfPlay {
            generation: shard as u32,
        };
        let sealed = SealedShard::new(&collection, "w", 0, &games).unwrap();
        store.games().publish(&sealed).unwrap();
    }
    let shards = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
    (store, shards)
}

fn reanalyzed(run: &Store) -> Vec<GameRecord> {
    let store = Store::open(&format!("{}/{FOLDER}", run.location()), Create::Always).unwrap();
    let shards = store.games().list_shards(&GamesOf::Imported).unwrap();
    shards
        .iter()
        .flat_map(|shard| store.games().read(shard).unwrap())
        .collect()
}

#[test]
fn open_positions_of_old_games_are_searched_again_but_never_those_of_held_out_games() {
    let folder = tempfile::tempdir().unwrap();
    let (run, shards) = store(folder.path());
    let mut reanalyst = Reanalyst::open(&run, choice()).unwrap();
    let go_on = AtomicBool::new(false);
    let mut searched = 0;
    for _ in 0..3 {
        let round = reanalyst.round(&shards, 100, &teacher(), &go_on).unwrap().unwrap();
        assert!(round.rows >= 100 && round.evaluations > 0 && round.shard.is_some());
        searched += round.rows;
    }
    // What is published counts as no game of the run.
    assert_eq!(run.games().list_shards(&GamesOf::SelfPlay).unwrap(), shards);
    assert!(run.games().list_shards(&GamesOf::Imported).unwrap().is_empty());

    let originals: Vec<GameRecord> = shards[..3]
        .iter()
        .flat_map(|shard| run.games().read(shard).unwrap())
        .collect();
    let games = reanalyzed(&run);
    let mut labelled = 0;
    for game in &games {
        let same = |original: &&GameRecord| original.seed == game.seed;
        let original = originals.iter().find(same).expect("an older game");
        assert!(!is_held_out(&original.game_id, HELD_OUT));
        assert_eq!(game.score_half_points, original.score_half_points);
        for (number, ply) in game.plies.iter().enumerate() {
            assert_eq!(ply.mv, original.plies[number].mv);
            let half = game.plies.len() / 2;
            assert_eq!(
                ply.weight > 0.0,
                (1..=half).contains(&number),
                "ply {number} of {}",
                game.plies.len()
            );
            assert_eq!(ply.root_visits > 0, ply.weight > 0.0);
            labelled += u64::from(ply.weight > 0.0);
        }
    }
    assert_eq!(labelled, searched);
    let ids: HashSet<&String> = games.iter().map(|game| &game.game_id).collect();
    assert_eq!(ids.len(), games.len());
}

#[test]
fn a_low_density_searches_few_positions_of_many_games() {
    let folder = tempfile::tempdir().unwrap();
    let (run, shards) = store(folder.path());
    let sparse = Choice {
        density: 0.1,
        ..choice()
    };
    let mut reanalyst = Reanalyst::open(&run, sparse).unwrap();
    let round = reanalyst
        .round(&shards, 40, &teacher(), &AtomicBool::new(false))
        .unwrap()
        .unwrap();
    let games = reanalyzed(&run);
    let open: usize = games.iter().map(|game| game.plies.len() / 2).sum();
    assert!(games.len() >= 10);
    assert!((round.rows as f64) < 0.4 * open as f64, "{} of {open}", round.rows);
}

#[test]
fn a_round_that_is_stopped_or_has_no_old_games_publishes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (run, shards) = store(folder.path());
    let mut reanalyst = Reanalyst::open(&run, choice()).unwrap();
    let stopped = reanalyst
        .round(&shards, 100, &teacher(), &AtomicBool::new(true))
        .unwrap();
    assert!(stopped.is_none());
    let nothing_old = reanalyst
        .round(&shards[..1], 100, &teacher(), &AtomicBool::new(false))
        .unwrap();
    assert!(nothing_old.is_none());
    assert!(reanalyzed(&run).is_empty());
}

#[test]
fn the_trainer_draws_its_share_from_reanalyzed_games_as_far_back_as_its_window() {
    let folder = tempfile::tempdir().unwrap();
    let (run, shards) = store(folder.path());
    let config = ReanalysisConfig { share: 0.25 };
    let open = || {
        let boards = (vec![Size::square(3).unwrap()], Rules::tromp_taylor());
        Refreshed::open(&run, config, SampleConfig::default(), boards, false).unwrap()
    };
    let mut refreshed = open();
    refreshed.admit_ready(1_000_000).unwrap();
    assert!(refreshed.draw(64, 1, SymmetryMode::Canonical).is_empty());

    let mut reanalyst = Reanalyst::open(&run, choice()).unwrap();
    let mut of_round = Vec::new();
    for _ in 0..3 {
        let round = reanalyst
            .round(&shards, 100, &teacher(), &AtomicBool::new(false))
            .unwrap()
            .unwrap();
        let shard = round.shard.unwrap();
        of_round.push(shard.positions());
        refreshed.offer(shard).unwrap();
    }
    let all: u64 = of_round.iter().sum();
    let wait_until = Instant::now() + Duration::from_secs(60);
    while refreshed.positions() < all && Instant::now() < wait_until {
        refreshed.admit_ready(1_000_000).unwrap();
    }
    assert_eq!(refreshed.positions(), all);
    let drawn: usize = (0..200)
        .map(|seed| refreshed.draw(10, seed, SymmetryMode::Canonical).len())
        .sum();
    assert!((450..=550).contains(&drawn), "{drawn} of 2,000 samples");

    // A later start reads what is stored, and a small window keeps only the newest.
    let mut later = open();
    later.admit_ready(4).unwrap();
    assert_eq!(later.positions(), of_round[2]);
}
