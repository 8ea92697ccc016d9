//! Samples drawn from games: correct targets, fair shares, reproducible by seed, bounded memory.

use std::collections::BTreeMap;

use ndarray::{Array2, Axis};
use tempfile::TempDir;

use tengen_encoding::{Features, PlaneSet, Sample, TrainingBatch};
use tengen_records::{EndReason, GameRecord, OPENING};
use tengen_rules::{Color, Size, Symmetry};
use tengen_samples::{
    CachePlace, SampleConfig, SampleError, SampleSource, SymmetryMode, Window, WindowConfig, is_held_out,
};
use tengen_store::{Collection, Create, GamesOf, Store};
use tengen_testing::{random_game, random_games};

fn source_of(games: &[GameRecord], config: SampleConfig) -> SampleSource {
    let mut source = SampleSource::new(config).with_replies(true);
    source.add_games("all", games).unwrap();
    source
}

/// The values over the next plies as plain sums: of the values from this ply on, and of the result after the last.
fn short_term(game: &GameRecord, first: usize) -> [f32; 3] {
    let black_wins = f64::from(game.score_half_points.unwrap().signum());
    let sign = |ply: usize| if game.mover(ply) == Color::Black { 1.0 } else { -1.0 };
    [0.016, 0.056, 0.176].map(|plies_per_point| {
        let now = 1.0 / (1.0 + plies_per_point * game.size.area() as f64);
        let weight = |ply: usize| (1.0 - now).powi((ply - first) as i32);
        let later = first..game.plies.len();
        let values = later.map(|ply| now * weight(ply) * sign(ply) * f64::from(game.plies[ply].root_value));
        let for_black = values.sum::<f64>() + weight(game.plies.len()) * black_wins;
        (sign(first) * for_black) as f32
    })
}

/// Whether two samples are equal but for rounding of the short-term values.
fn is_like(sample: &Sample, other: &Sample) -> bool {
    let near = sample
        .short_term
        .iter()
        .zip(other.short_term)
        .all(|(a, b)| (a - b).abs() < 1e-4);
    let short_term = sample.short_term;
    near && *sample
        == Sample {
            short_term,
            ..other.clone()
        }
}

/// Every trainable position of a game with its sample computed the slow way, by replay.
fn expected_samples(game: &GameRecord, result_share: f32, symmetry: impl Fn(&Features) -> Symmetry) -> Vec<Sample> {
    let mut samples = Vec::new();
    let owners = |sign: i8| {
        game.ownership
            .iter()
            .map(|&owner| f32::from(owner * sign))
            .collect::<Vec<f32>>()
    };
    let last = game.replay().unwrap();
    game.replay_with(|position, ply, record| {
        if ply < usize::from(game.opening_plies) || record.has(OPENING) || record.weight == 0.0 {
            return;
        }
        let features = Features::of(position, game.komi);
        let symmetry = symmetry(&features);
        let sign = if position.to_move() == Color::Black { 1 } else { -1 };
        let board_margin = last.board_margin() * i32::from(sign);
        let result = board_margin as f32 + features.komi;
        let won = if result > 0.0 {
            0
        } else if result == 0.0 {
            1
        } else {
            2
        };
        let search = 1.0 - result_share;
        // Within the area of the whole board both sides can win; beyond it, one side can at best tie, or can only lose.
        let (area, value) = (game.size.area() as f32, record.root_value);
        let mut value_target = if features.komi.abs() < area && won == 1 {
            [value.max(0.0), 1.0 - value.abs(), (-value).max(0.0)]
        } else if features.komi.abs() < area {
            [(1.0 + value) / 2.0, 0.0, (1.0 - value) / 2.0]
        } else if features.komi == -area {
            [0.0, 1.0 + value.min(0.0), -value.min(0.0)]
        } else if features.komi == area {
            [value.max(0.0), 1.0 - value.max(0.0), 0.0]
        } else if features.komi < 0.0 {
            [0.0, 0.0, 1.0]
        } else {
            [1.0, 0.0, 0.0]
        };
        for share in &mut value_target {
            *share *= search;
        }
        value_target[won] += result_share;
        let mut ownership = vec![0.0; game.size.area()];
        for (point, owner) in game.size.points().zip(owners(sign)) {
            ownership[symmetry.apply(game.size, point).index()] = owner;
        }
        let map = |index: u16| {
            let mv = tengen_rules::Move::from_index(game.size, usize::from(index)).unwrap();
            symmetry.apply_move(game.size, mv).index(game.size) as u16
        };
        let image = |policy: &[(u16, f32)]| policy.iter().map(|&(index, p)| (map(index), p)).collect();
        samples.push(Sample {
            features: features.transformed(symmetry),
            policy: image(&record.policy),
            reply: game.plies.get(ply + 1).map_or(Vec::new(), |next| image(&next.policy)),
            policy_weight: if record.policy.is_empty() { 0.0 } else { 1.0 },
            board_margin,
            value_target,
            short_term: short_term(game, ply),
            ownership: Array2::from_shape_vec((game.size.height(), game.size.width()), ownership).unwrap(),
            ownership_weight: 1.0,
            result_weight: 1.0,
            value_weight: 1.0,
            weight: 1.0,
        });
    })
    .unwrap();
    samples
}

#[test]
fn samples_match_a_replay_wherever_the_games_are_kept() {
    for size in [
        Size::square(5).unwrap(),
        Size::new(4, 6).unwrap(),
        Size::square(9).unwrap(),
    ] {
        let game = (0..)
            .map(|seed| random_game(size, seed, 200))
            .find(|game| game.is_finished())
            .unwrap();
        let expected = expected_samples(&game, 0.7, Features::canonical_symmetry);
        let cached = source_of(std::slice::from_ref(&game), SampleConfig::default());
        let drawn = cached.draw_samples(100, 7, SymmetryMode::Canonical).unwrap();
        let part = cached.draw_part(30..70, 7, SymmetryMode::Canonical).unwrap();
        assert_eq!(part, drawn[30..70]);
        for (cache, planes) in [
            (CachePlace::Auto, false),
            (CachePlace::Memory, true),
            (CachePlace::Memory, false),
        ] {
            let other = source_of(
                std::slice::from_ref(&game),
                SampleConfig {
                    cache,
                    planes,
                    ..SampleConfig::default()
                },
            );
            assert_eq!(drawn, other.draw_samples(100, 7, SymmetryMode::Canonical).unwrap());
        }
        for sample in &drawn {
            assert!(expected.iter().any(|expected| is_like(sample, expected)));
        }
        assert!(drawn.iter().any(|sample| !sample.reply.is_empty()));
        let mut without = SampleSource::new(SampleConfig::default());
        without.add_games("all", std::slice::from_ref(&game)).unwrap();
        for (sample, full) in without
            .draw_samples(100, 7, SymmetryMode::Canonical)
            .unwrap()
            .iter()
            .zip(&drawn)
        {
            let reply = Vec::new();
            assert_eq!(sample, &Sample { reply, ..full.clone() });
        }
        for sample in cached.draw_samples(60, 8, SymmetryMode::Random).unwrap() {
            let (symmetry, _) = sample.features.canonical();
            assert!(
                expected
                    .iter()
                    .any(|other| other.features == sample.features.transformed(symmetry))
            );
        }
    }
}

#[test]
fn tied_games_match_a_replay() {
    let games = (0..).map(|seed| random_game(Size::square(5).unwrap(), seed, 200));
    let tied = games.filter(|game| game.is_finished() && game.score_half_points == Some(0));
    for game in tied.take(2) {
        let expected = expected_samples(&game, 0.7, Features::canonical_symmetry);
        let source = source_of(std::slice::from_ref(&game), SampleConfig::default());
        for sample in source.draw_samples(50, 7, SymmetryMode::Canonical).unwrap() {
            assert!(expected.iter().any(|expected| is_like(&sample, expected)));
            assert!(sample.value_target[1] > 0.7, "{:?}", sample.value_target);
        }
    }
}

#[test]
fn the_same_seed_draws_the_same_batch_on_any_number_of_threads() {
    let source = source_of(&random_games(4, 30), SampleConfig::default());
    let draw = |threads: usize, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| source.draw_samples(256, seed, SymmetryMode::Random).unwrap())
    };
    assert_eq!(draw(1, 5), draw(3, 5));
    assert_ne!(draw(1, 5), draw(1, 6));
}

#[test]
fn positions_are_drawn_by_weight() {
    let game = random_games(4, 60)
        .into_iter()
        .filter(|game| game.is_finished())
        .max_by_key(|game| game.plies.len());
    let game = game.unwrap();
    let total: f64 = game
        .plies
        .iter()
        .enumerate()
        .filter(|(ply, record)| *ply >= usize::from(game.opening_plies) && !record.has(OPENING))
        .map(|(_, record)| f64::from(record.weight))
        .sum();
    let mut shares: BTreeMap<u128, f64> = BTreeMap::new();
    game.replay_with(|position, ply, record| {
        if ply >= usize::from(game.opening_plies) && !record.has(OPENING) {
            let key = Features::of(position, game.komi).canonical().1.key();
            *shares.entry(key).or_default() += f64::from(record.weight) / total;
        }
    })
    .unwrap();
    let source = source_of(&[game], SampleConfig::default());
    let count = 40_000;
    let mut drawn: BTreeMap<u128, f64> = BTreeMap::new();
    for sample in source.draw_samples(count, 1, SymmetryMode::Canonical).unwrap() {
        *drawn.entry(sample.features.key()).or_default() += 1.0;
    }
    for (key, share) in shares {
        let found = drawn.remove(&key).unwrap_or(0.0);
        let expected = share * count as f64;
        let spread = (expected * (1.0 - share)).sqrt();
        assert!(
            (found - expected).abs() < 5.0 * spread + 1.0,
            "expected {expected}, found {found}"
        );
    }
    assert!(drawn.is_empty(), "positions were drawn that must not be drawn");
}

#[test]
fn games_without_a_score_and_openings_are_not_drawn() {
    let size = Size::square(4).unwrap();
    let unfinished = random_game(size, 1, 5);
    assert_eq!(unfinished.end_reason, EndReason::PlyLimit);
    let mut resigned = unfinished.clone();
    resigned.end_reason = EndReason::Resign;
    let source = source_of(&[unfinished, resigned], SampleConfig::default());
    assert_eq!(source.games(), 0);
    assert!(source.draw_samples(8, 1, SymmetryMode::Canonical).is_none());
}

#[test]
fn held_out_games_are_never_drawn_to_train_on() {
    let games: Vec<_> = random_games(4, 60)
        .into_iter()
        .filter(|game| game.is_finished())
        .collect();
    let (held_out, trained): (Vec<_>, Vec<_>) = games.iter().cloned().partition(|game| is_held_out(&game.game_id, 0.4));
    assert!(held_out.len() >= 5 && trained.len() >= 5, "a share of either kind");
    let mut source = SampleSource::new(SampleConfig::default())
        .holding_out(0.4)
        .with_replies(true);
    source.add_games("all", &games).unwrap();
    assert_eq!(
        (source.games(), source.held_out_games()),
        (trained.len(), held_out.len())
    );
    // What is drawn is what a source of only these games draws.
    let only_trained = source_of(&trained, SampleConfig::default());
    let only_held_out = source_of(&held_out, SampleConfig::default());
    let mode = SymmetryMode::Random;
    assert_eq!(
        source.draw_samples(500, 3, mode),
        only_trained.draw_samples(500, 3, mode)
    );
    assert_eq!(
        source.draw_held_out(500, 3, mode),
        only_held_out.draw_samples(500, 3, mode)
    );
    assert_eq!(source.positions(), only_trained.positions());
    assert_eq!(source.held_out_positions(), only_held_out.positions());
    assert_eq!(only_trained.draw_held_out(1, 3, mode), None);
}

#[test]
fn memory_is_bounded_and_the_oldest_shards_are_dropped_first() {
    let games = random_games(4, 40);
    let positions: u64 = games[..10]
        .iter()
        .filter(|game| game.is_finished())
        .map(|game| game.plies.len() as u64)
        .sum();
    let mut source = SampleSource::new(SampleConfig {
        max_positions: positions * 2,
        ..SampleConfig::default()
    });
    for (number, part) in games.chunks(10).enumerate() {
        source.add_games(&number.to_string(), part).unwrap();
        assert!(source.positions() <= positions * 2);
    }
    assert!(!source.contains("0") && source.contains("3"));
    source.retain(|key| key == "3");
    assert_eq!(
        source.games(),
        games[30..].iter().filter(|game| game.is_finished()).count()
    );
}

/// Sources that hold the same games on disk, on disk with almost no memory allowed, and in memory.
fn sources_of(games: &[GameRecord], folder: &std::path::Path) -> [SampleSource; 3] {
    let on_disk = SampleConfig {
        cache: CachePlace::Folder(folder.join("scratch")),
        ..SampleConfig::default()
    };
    let squeezed = SampleConfig {
        cache_bytes: 0,
        ..on_disk.clone()
    };
    let in_memory = SampleConfig {
        cache: CachePlace::Memory,
        ..SampleConfig::default()
    };
    [on_disk, squeezed, in_memory].map(|config| {
        let mut source = SampleSource::new(config);
        for (number, part) in games.chunks(5).enumerate() {
            source.add_games(&number.to_string(), part).unwrap();
        }
        source
    })
}

#[test]
fn releasing_memory_does_not_change_the_samples() {
    let folder = TempDir::new().unwrap();
    let games = random_games(4, 40);
    let [on_disk, squeezed, in_memory] = sources_of(&games, folder.path());
    assert_eq!(on_disk.disk_bytes(), squeezed.disk_bytes());
    assert!(on_disk.disk_bytes() > 0 && in_memory.disk_bytes() == 0);
    assert!(squeezed.memory_bytes() < in_memory.memory_bytes());
    for seed in 0..20 {
        let drawn = on_disk.draw_samples(200, seed, SymmetryMode::Random).unwrap();
        assert_eq!(drawn, squeezed.draw_samples(200, seed, SymmetryMode::Random).unwrap());
        assert_eq!(drawn, in_memory.draw_samples(200, seed, SymmetryMode::Random).unwrap());
    }
    assert_eq!(std::fs::read_dir(folder.path().join("scratch")).unwrap().count(), 0);
}

#[test]
fn in_memory_the_window_is_limited_to_the_allowed_bytes() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let games = random_games(4, 40);
    let mut source = SampleSource::new(SampleConfig {
        cache: CachePlace::Memory,
        cache_bytes: 20_000,
        ..SampleConfig::default()
    });
    let everything = WindowConfig {
        base_positions: u64::MAX,
        fraction: 0.0,
    };
    let window = || Window::select(&store.games().list_shards(&GamesOf::SelfPlay).unwrap(), everything);
    let mut load = None;
    for (number, part) in games.chunks(4).enumerate() {
        let generation = number as u32;
        store
            .games()
            .publish_games(&Collection::SelfPlay { generation }, "w", 0, part)
            .unwrap();
        load = Some(source.load_window(&store, &window(), |_, _| ()).unwrap());
        assert!(source.memory_bytes() <= 20_000);
    }
    let (load, window) = (load.unwrap(), window());
    assert_eq!(load.loaded, 1, "shards that did not fit are not read again");
    let held = window.shards.iter().filter(|shard| source.contains(&shard.path));
    let held: u64 = held.map(|shard| shard.positions()).sum();
    assert!(held > 0 && load.left_out > 0);
    assert_eq!(held + load.left_out, window.positions);
    assert!(source.contains(&window.shards.last().unwrap().path));

    let mut fresh = SampleSource::new(SampleConfig {
        cache: CachePlace::Memory,
        cache_bytes: 20_000,
        ..SampleConfig::default()
    });
    assert_eq!(
        fresh.load_window(&store, &window, |_, _| ()).unwrap().left_out,
        load.left_out
    );
    let draw = |source: &SampleSource| source.draw_samples(64, 9, SymmetryMode::Canonical).unwrap();
    assert_eq!(draw(&source), draw(&fresh));
}

#[test]
fn a_store_keeps_its_scratch_files_in_its_own_folder() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let mut source = SampleSource::for_store(&store, SampleConfig::default());
    source.add_games("all", &random_games(4, 10)).unwrap();
    assert!(source.disk_bytes() > 0);
    let cache = store.local_path().unwrap().join("cache");
    assert_eq!(std::fs::read_dir(cache).unwrap().count(), 0, "its files are unlinked");

    // If the folder cannot be created, nothing is added and the error gives the reason.
    std::fs::remove_dir(store.local_path().unwrap().join("cache")).unwrap();
    std::fs::write(store.local_path().unwrap().join("cache"), b"in the way").unwrap();
    let error = source.add_games("more", &random_games(4, 10)).unwrap_err();
    assert!(matches!(error, SampleError::Cache(_)), "{error}");
    assert!(!source.contains("more") && source.draw_samples(8, 1, SymmetryMode::Random).is_some());
}

#[test]
fn mixed_boards_share_the_largest_canvas() {
    let sizes = [
        Size::new(3, 6).unwrap(),
        Size::new(5, 2).unwrap(),
        Size::square(4).unwrap(),
    ];
    let games: Vec<_> = sizes
        .iter()
        .flat_map(|&size| (0..8).map(move |seed| random_game(size, seed, 300)))
        .collect();
    let source = source_of(&games, SampleConfig::default());
    assert_eq!(source.sizes().len(), 3);
    let samples = source.draw_samples(128, 3, SymmetryMode::Random).unwrap();
    let batch = TrainingBatch::of(&samples, PlaneSet::default());
    let canvas = batch.inputs.canvas();
    assert_eq!((canvas.width(), canvas.height()), (5, 6));
    assert_eq!(batch.len(), 128);
    assert_eq!(batch.policy.dim(), (128, 31));
    assert_eq!(batch.ownership.dim(), (128, 6, 5));
    for (number, sample) in samples.iter().enumerate() {
        let policy = batch.policy.row(number);
        let sum = policy.sum();
        assert!((sum - batch.policy_weight[number]).abs() < 1e-5);
        let margin = batch.ownership.index_axis(Axis(0), number).sum();
        assert_eq!(margin as i32, batch.board_margin[number]);
        let value = batch.value.row(number).sum();
        assert!((value - 1.0).abs() < 1e-5);
        let size = sample.features.size;
        for &(index, probability) in &sample.policy {
            let index = usize::from(index);
            let place = if index == size.area() {
                30
            } else {
                (index / size.width()) * 5 + index % size.width()
            };
            assert_eq!(policy[place], probability);
        }
    }
}

#[test]
fn a_source_follows_the_window_of_a_store() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let games = random_games(4, 24);
    let config = WindowConfig {
        base_positions: 150,
        fraction: 0.2,
    };
    let mut source = SampleSource::new(SampleConfig::default());
    for (number, part) in games.chunks(4).enumerate() {
        store
            .games()
            .publish_games(
                &Collection::SelfPlay {
                    generation: number as u32,
                },
                "w",
                0,
                part,
            )
            .unwrap();
        let window = Window::select(&store.games().list_shards(&GamesOf::SelfPlay).unwrap(), config);
        let load = source.load_window(&store, &window, |_, _| ()).unwrap();
        assert!(load.loaded >= 1 && load.quarantined.is_empty());
        assert!(window.shards.iter().all(|shard| source.contains(&shard.path)));
    }
    let window = Window::select(&store.games().list_shards(&GamesOf::SelfPlay).unwrap(), config);
    let mut fresh = SampleSource::new(SampleConfig::default());
    fresh.load_window(&store, &window, |_, _| ()).unwrap();
    let draw = |source: &SampleSource| source.draw_samples(64, 9, SymmetryMode::Canonical).unwrap();
    assert_eq!(
        draw(&source),
        draw(&fresh),
        "a source that followed the store equals one that was loaded at once"
    );

    // A shard that is damaged in the meantime is reported and skipped.
    let last = window.shards.last().unwrap();
    std::fs::write(store.local_path().unwrap().join(&last.path), b"damaged").unwrap();
    let mut late = SampleSource::new(SampleConfig::default());
    let again = Store::open(store.location(), Create::Never).unwrap();
    let load = late.load_window(&again, &window, |_, _| ()).unwrap();
    assert_eq!(load.quarantined.len(), 1);
    assert_eq!(load.quarantined[0].0, last.path);
    assert!(!late.contains(&last.path));
}

#[test]
fn an_illegal_game_is_not_added() {
    let mut games = random_games(4, 3);
    let finished = games
        .iter_mut()
        .find(|game| game.is_finished() && game.plies.len() > 10)
        .unwrap();
    let first = finished.plies[0].mv;
    finished.plies[2].mv = if finished.plies[2].mv == first {
        finished.plies[1].mv
    } else {
        first
    };
    let mut source = SampleSource::new(SampleConfig::default());
    if source.add_games("bad", &games).is_err() {
        assert!(!source.contains("bad"));
    }
}
