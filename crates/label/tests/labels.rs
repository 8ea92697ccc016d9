//! Labelling from end to end, with a search without a network.

use std::collections::BTreeMap;

use tengen_datasets::DatasetFilter;
use tengen_evaluator::PlayerOptions;
use tengen_label::{LabelError, LabelReport, NetworkTeacher, SourceGames, Teacher, label, network_search};
use tengen_records::{FULL_SEARCH, GameKind, GameRecord, PlyRecord};
use tengen_rules::{Color, Move, Position, Size, solve_margin};
use tengen_search::{EvaluationCache, Lockstep, ScriptedPredictor, Search, SearchConfig, UniformPredictor};
use tengen_store::{Collection, Create, GamesOf, SealedShard, Store};
use tengen_testing::random_game;

/// Positions of a shard in these tests, so that there are several.
const SHARD_POSITIONS: u32 = 40;

fn teacher(visits: u32, threads: usize, options: &str) -> Teacher {
    let spec: tengen_evaluator::PlayerSpec = format!("uniform{options}").parse().unwrap();
    let search = SearchConfig {
        ownership: true,
        ..network_search(&spec.options, visits).unwrap()
    };
    Teacher::Network(NetworkTeacher {
        name: "uniform".to_owned(),
        weights_sha256: None,
        precision: "fp32".to_owned(),
        search,
        noise: 1.0,
        threads,
        predictors: Box::new(|_| Ok(Box::new(UniformPredictor))),
    })
}

/// A teacher with a network that has random, but fixed, opinions about everything.
fn opinionated(visits: u32, threads: usize, ownership: bool) -> Teacher {
    let mut search = network_search(&PlayerOptions::default(), visits).unwrap();
    search.ownership = ownership;
    Teacher::Network(NetworkTeacher {
        name: "scripted".to_owned(),
        weights_sha256: None,
        precision: "fp32".to_owned(),
        search,
        noise: 1.0,
        threads,
        predictors: Box::new(|_| Ok(Box::new(ScriptedPredictor::new(5)))),
    })
}

/// A store with these games of self-play.
fn store_of(folder: &std::path::Path, games: &[GameRecord]) -> String {
    let location = folder.join("games").display().to_string();
    let store = Store::open(&location, Create::Always).unwrap();
    let collection = Collection::SelfPlay { generation: 1 };
    store
        .games()
        .publish(&SealedShard::new(&collection, "w", 0, games).unwrap())
        .unwrap();
    location
}

/// A game of self-play with this id, without an opening.
fn searched(mut game: GameRecord, id: String) -> GameRecord {
    game.game_id = id;
    game.opening_plies = 0;
    game.kind = GameKind::SelfPlay;
    game.plies.iter_mut().for_each(|ply| ply.flags = FULL_SEARCH);
    game
}

/// Games on boards of several sizes, with different ids.
fn mixed_games(count: u64) -> Vec<GameRecord> {
    let sizes = [(3, 3), (4, 3), (5, 5)];
    let game = |seed: u64| {
        let (width, height) = sizes[seed as usize % sizes.len()];
        let game = random_game(Size::new(width, height).unwrap(), seed, 30);
        searched(game, format!("game-{seed}"))
    };
    (0..count).map(game).collect()
}

fn run(source: &str, into: &str, teacher: &Teacher, stop_after: u64) -> Result<LabelReport, LabelError> {
    let sources = SourceGames::open(&[source.to_owned()], DatasetFilter::default(), 1)?;
    let into = Store::open(into, Create::Always)?;
    label(sources, &into, SHARD_POSITIONS, teacher, &mut |progress| {
        progress.labelled < stop_after
    })
}

/// The bytes of all shards by the number of their chunk, and all games.
fn shards(location: &str) -> (BTreeMap<u64, Vec<u8>>, Vec<GameRecord>) {
    let store = Store::open(location, Create::Never).unwrap();
    let listed = store.games().list_shards(&GamesOf::Imported).unwrap();
    let mut games = Vec::new();
    let mut bytes = BTreeMap::new();
    for shard in listed {
        games.extend(store.games().read(&shard).unwrap());
        let file = std::fs::read(std::path::Path::new(location).join(&shard.path)).unwrap();
        assert!(
            bytes.insert(shard.name.sequence, file).is_none(),
            "one shard for each chunk"
        );
    }
    (bytes, games)
}

#[test]
fn games_keep_what_was_played_and_get_what_the_teacher_says() {
    let folder = tempfile::tempdir().unwrap();
    let games = mixed_games(6);
    let source = store_of(folder.path(), &games);
    let into = folder.path().join("into").display().to_string();
    let report = run(&source, &into, &teacher(20, 2, ""), u64::MAX).unwrap();
    assert!(report.complete);
    assert_eq!((report.games, report.already_labelled), (6, 0));
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    let (_, labelled) = shards(&into);
    for (before, after) in games.iter().zip(&labelled) {
        let moves = |game: &GameRecord| game.plies.iter().map(|ply| ply.mv).collect::<Vec<_>>();
        assert_eq!(moves(before), moves(after));
        assert_eq!(
            (
                before.score_half_points,
                &before.ownership,
                before.end_reason,
                before.komi
            ),
            (after.score_half_points, &after.ownership, after.end_reason, after.komi)
        );
        assert_eq!(after.kind, GameKind::Import);
        let origin = after.origin.as_ref().unwrap();
        let said: serde_json::Value = serde_json::from_str(origin.teacher.as_ref().unwrap()).unwrap();
        assert_eq!(
            (&said["name"], &said["search"]["visits"]),
            (&"uniform".into(), &20.into())
        );
        for ply in &after.plies {
            assert_eq!((ply.root_visits, ply.weight), (20, 1.0));
            assert!(ply.has(FULL_SEARCH) && !ply.policy.is_empty());
        }
    }
    assert_eq!(report.positions, positions as u64);
    let again = run(&source, &into, &teacher(20, 1, ""), u64::MAX).unwrap();
    assert_eq!((again.games, again.already_labelled, again.evaluations), (0, 6, 0));
    let deeper = run(&source, &into, &teacher(21, 1, ""), u64::MAX).unwrap();
    assert_eq!(
        (deeper.games, deeper.already_labelled),
        (6, 0),
        "other settings give other games"
    );
}

#[test]
fn neither_threads_nor_interruptions_change_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let source = store_of(folder.path(), &mixed_games(24));
    let path = |name: &str| folder.path().join(name).display().to_string();
    run(&source, &path("whole"), &teacher(30, 1, ""), u64::MAX).unwrap();
    let (expected, _) = shards(&path("whole"));
    assert!(expected.len() > 4, "{} shards", expected.len());
    run(&source, &path("threads"), &teacher(30, 3, ""), u64::MAX).unwrap();
    assert!(shards(&path("threads")).0 == expected);
    let mut starts = 0;
    while !run(&source, &path("stopped"), &teacher(30, 1 + starts % 3, ""), 1)
        .unwrap()
        .complete
    {
        starts += 1;
        assert!(starts < 1000, "every start goes on");
    }
    assert!(shards(&path("stopped")).0 == expected);
}

/// What a search of one position by itself says about the owners, in percent from Black's view.
fn searched_alone(config: &SearchConfig, position: &Position, game: &GameRecord) -> Vec<i8> {
    let mut search = Search::new(config.clone(), position, game.komi, tengen_rng::stream(1, &[]));
    let mut cache = EvaluationCache::new(1 << 20);
    Lockstep::new()
        .run(
            std::slice::from_mut(&mut search),
            &mut ScriptedPredictor::new(5),
            &mut cache,
        )
        .unwrap();
    let sign = match position.to_move() {
        Color::Black => 100.0,
        Color::White => -100.0,
    };
    let map = search.result().ownership.unwrap();
    map.iter().map(|owner| (sign * owner).round() as i8).collect()
}

#[test]
fn labels_hold_the_owners_that_the_search_expects() {
    let folder = tempfile::tempdir().unwrap();
    let source = store_of(folder.path(), &mixed_games(9));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let report = run(&source, &path("maps"), &opinionated(12, 2, true), u64::MAX).unwrap();
    assert_eq!(report.teacher["search"]["ownership"], true);
    let Teacher::Network(NetworkTeacher { search, .. }) = opinionated(12, 1, true) else {
        panic!("expected a network");
    };
    let mut positions = 0;
    for game in shards(&path("maps")).1 {
        game.replay_with(|position, number, ply| {
            let alone = searched_alone(&search, position, &game);
            assert_eq!(ply.expected_ownership, alone, "{} ply {number}", game.game_id);
            positions += 1;
        })
        .unwrap();
    }
    assert!(positions > 60, "{positions}");
    // Without maps, labels are otherwise the same.
    run(&source, &path("bare"), &opinionated(12, 1, false), u64::MAX).unwrap();
    let (with, without) = (shards(&path("maps")).1, shards(&path("bare")).1);
    for (with, without) in with.iter().zip(&without) {
        assert_ne!(with.game_id, without.game_id, "the choice is a setting of the teacher");
        for (with, without) in with.plies.iter().zip(&without.plies) {
            let bare = PlyRecord {
                expected_ownership: Vec::new(),
                ..with.clone()
            };
            assert_eq!(&bare, without);
        }
    }
    let again = run(&source, &path("maps"), &opinionated(12, 1, true), u64::MAX).unwrap();
    assert_eq!((again.games, again.already_labelled), (0, 9));
    let other = run(&source, &path("maps"), &opinionated(12, 1, false), u64::MAX).unwrap();
    assert_eq!((other.games, other.already_labelled), (9, 0));
    let uniform = run(&source, &path("uniform"), &teacher(5, 1, ""), u64::MAX).unwrap();
    assert_eq!(uniform.games, 9);
    let plies = shards(&path("uniform")).1.into_iter().flat_map(|game| game.plies);
    assert!(plies.into_iter().all(|ply| ply.expected_ownership.is_empty()));
}

#[test]
fn neither_threads_nor_interruptions_change_a_byte_of_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let source = store_of(folder.path(), &mixed_games(24));
    let path = |name: &str| folder.path().join(name).display().to_string();
    run(&source, &path("whole"), &opinionated(30, 1, true), u64::MAX).unwrap();
    let (expected, games) = shards(&path("whole"));
    let mut plies = games.iter().flat_map(|game| &game.plies);
    assert!(plies.all(|ply| !ply.expected_ownership.is_empty()));
    run(&source, &path("threads"), &opinionated(30, 3, true), u64::MAX).unwrap();
    assert!(shards(&path("threads")).0 == expected);
    let mut starts = 0;
    while !run(&source, &path("stopped"), &opinionated(30, 1 + starts % 3, true), 1)
        .unwrap()
        .complete
    {
        starts += 1;
        assert!(starts < 1000, "every start goes on");
    }
    assert!(shards(&path("stopped")).0 == expected);
}

#[test]
fn what_cannot_be_labelled_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let source = store_of(folder.path(), &mixed_games(2));
    let into = folder.path().join("into").display().to_string();
    let itself = run(&source, &source, &teacher(2, 1, ""), u64::MAX).unwrap_err();
    assert!(matches!(itself, LabelError::IntoItself(_)), "{itself}");
    let filter = DatasetFilter {
        games: GamesOf::Imported,
        ..DatasetFilter::default()
    };
    let sources = SourceGames::open(&[source], filter, 1).unwrap();
    let store = Store::open(&into, Create::Always).unwrap();
    let nothing = label(sources, &store, 1, &teacher(2, 1, ""), &mut |_| true).unwrap_err();
    assert!(nothing.to_string().contains("--of"), "{nothing}");
    let options = |text: &str| {
        let spec: tengen_evaluator::PlayerSpec = text.parse().unwrap();
        network_search(&spec.options, 5)
    };
    assert!(options("uniform,time=3").unwrap_err().contains("method"));
    assert!(options("uniform,margin_share=0.5").is_ok());
    assert!(network_search(&PlayerOptions::default(), 5).is_ok());
}

/// The exact margins after every move for the side to move, in points after komi.
fn exact_margins(position: &Position, komi: f32) -> Vec<(usize, f32)> {
    let sign = if position.to_move() == Color::Black { 1.0 } else { -1.0 };
    let plays = position.legal_points().iter().map(Move::Play);
    let margin = |mv: Move| {
        let mut after = position.clone();
        after.play(mv);
        let margin = solve_margin(&after, 1_000_000).expect("tiny boards are solved") as f32;
        (mv.index(position.size()), sign * (margin - komi))
    };
    plays.chain([Move::Pass]).map(margin).collect()
}

/// How labels without a network agree with the exact solution of tiny boards: positions, those whose likeliest move is
/// a best move, and those whose margin is within half a point.
fn agreement(folder: &std::path::Path, source: &str, visits: u32) -> (usize, usize, usize) {
    let into = folder.join(visits.to_string()).display().to_string();
    run(
        source,
        &into,
        &teacher(visits, 2, ",method=puct,margin_share=1"),
        u64::MAX,
    )
    .unwrap();
    let (mut positions, mut best, mut close) = (0, 0, 0);
    for game in shards(&into).1 {
        let komi = game.komi.points();
        let visit = |position: &Position, _: usize, ply: &PlyRecord| {
            let exact = exact_margins(position, komi);
            let most = exact.iter().map(|pair| pair.1).fold(f32::NEG_INFINITY, f32::max);
            let likely = ply.policy.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
            let chosen = exact.iter().find(|pair| pair.0 == usize::from(likely)).unwrap().1;
            positions += 1;
            best += usize::from(chosen == most);
            close += usize::from((ply.root_margin - most).abs() < 0.5);
        };
        game.replay_with(visit).unwrap();
    }
    (positions, best, close)
}

#[test]
fn labels_of_tiny_boards_approach_their_solution() {
    let folder = tempfile::tempdir().unwrap();
    let game = |seed: u64| {
        let game = random_game(Size::new(2, 2 + seed as usize % 2).unwrap(), seed, 8);
        searched(game, format!("tiny-{seed}"))
    };
    let games: Vec<GameRecord> = (0..12).map(game).collect();
    let source = store_of(folder.path(), &games);
    let few = agreement(folder.path(), &source, 100);
    let many = agreement(folder.path(), &source, 3000);
    assert!(many.0 > 60 && few.0 == many.0, "{few:?} {many:?}");
    assert!(
        many.1 * 10 >= many.0 * 9,
        "the likeliest move is nearly always a best move: {many:?}"
    );
    assert!(many.2 * 2 > few.2 * 3, "more visits come closer: {few:?} {many:?}");
}
