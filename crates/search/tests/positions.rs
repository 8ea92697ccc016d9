//! The search on small positions with known optimal play.

use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size, Symmetry};
use tengen_search::{
    EvaluationCache, Lockstep, ScriptedPredictor, Search, SearchConfig, SearchMethod, SearchResult, Step,
    UniformPredictor,
};

fn play(position: &mut Position, moves: &str) {
    for text in moves.split_whitespace() {
        let mv = Move::parse(position.size(), text).unwrap();
        position.play(mv);
    }
}

fn wide(visits: u32) -> SearchConfig {
    SearchConfig {
        candidates: 400,
        ..SearchConfig::for_play(visits)
    }
}

fn uniform(config: SearchConfig, position: &Position, half_points: i16) -> SearchResult {
    let mut search = Search::new(
        config,
        position,
        Komi::from_half_points(half_points),
        rng::stream(1, &[]),
    );
    let mut cache = EvaluationCache::new(1 << 24);
    Lockstep::new()
        .run(&mut [&mut search], &mut UniformPredictor, &mut cache)
        .unwrap();
    search.result()
}

fn scripted(config: SearchConfig, position: &Position, cache: &mut EvaluationCache) -> SearchResult {
    let mut search = Search::new(config, position, Komi::from_half_points(3), rng::stream(9, &[]));
    Lockstep::new()
        .run(&mut [&mut search], &mut ScriptedPredictor::new(5), cache)
        .unwrap();
    search.result()
}

#[test]
fn optimal_play_on_tiny_boards_is_found_with_its_exact_value() {
    // (width, height, komi in half points, visits, margin after komi in points); the board values are 0, 3, 1 and 0
    // for 1x2 to 1x5 and 1 for 2x2.
    let known = [
        (1, 2, 0, 1000, 0.0),
        (1, 2, 1, 1000, -0.5),
        (1, 3, 0, 1000, 3.0),
        (1, 3, 5, 1000, 0.5),
        (1, 4, 0, 10_000, 1.0),
        (1, 4, 1, 10_000, 0.5),
        (1, 5, 0, 10_000, 0.0),
        (2, 2, 1, 10_000, 0.5),
    ];
    for (width, height, komi, visits, margin) in known {
        let position = Position::new(Size::new(width, height).unwrap());
        let result = uniform(wide(visits), &position, komi);
        let near = (result.margin - margin).abs() < 0.2;
        assert!(
            near,
            "{width}x{height} komi {komi}: {} instead of {margin}",
            result.margin
        );
        assert!((result.value - f32::signum(margin) * f32::from(margin != 0.0)).abs() < 0.1);
    }
}

#[test]
fn the_winning_capture_is_found() {
    // C3 is the last liberty of both chains, so the player who moves there captures the other chain.
    //   A B C
    // 3 X X .
    // 2 X X O
    // 1 O O O
    let mut position = Position::new(Size::square(3).unwrap());
    play(&mut position, "A2 A1 B2 B1 A3 C1 B3 C2");
    let size = position.size();
    for komi in [-5, 0] {
        let black = uniform(SearchConfig::for_play(200), &position, komi);
        assert_eq!(black.best.format(size), "C3");
        assert!(black.value > 0.0 && black.margin > 0.0, "{black:?}");
        assert_eq!(black.pv[0], black.best);
        let mut passed = position.clone();
        play(&mut passed, "pass");
        let white = uniform(SearchConfig::for_play(200), &passed, komi);
        assert_eq!(white.best.format(size), "C3");
        assert!(white.value > 0.0, "{white:?}");
    }
}

#[test]
fn a_pass_is_answered_by_a_pass_exactly_if_that_wins() {
    let mut position = Position::new(Size::square(3).unwrap());
    play(&mut position, "B2 pass");
    let ahead = uniform(SearchConfig::for_play(8), &position, 5);
    assert_eq!((ahead.best, ahead.margin), (Move::Pass, 6.5));
    let behind = uniform(SearchConfig::for_play(64), &position, 19);
    assert_ne!(behind.best, Move::Pass);
}

#[test]
fn budgets_are_spent_and_policies_cover_all_legal_moves() {
    let mut rng = rng::stream(3, &[]);
    let mut position = Position::new(Size::new(4, 3).unwrap());
    let mut cache = EvaluationCache::new(1 << 22);
    for ply in 0..40 {
        for visits in [0, 1, 2, 6, 8, 16, 77] {
            let config = SearchConfig {
                visits,
                noise: ply % 2 == 0,
                ..SearchConfig::default()
            };
            let result = scripted(config, &position, &mut cache);
            assert_eq!(result.visits.iter().map(|&(_, n)| n).sum::<u32>(), visits);
            assert_eq!(result.total_visits, visits);
            assert!((result.policy.iter().map(|&(_, p)| p).sum::<f32>() - 1.0).abs() < 1e-4);
            let mut legal: Vec<u16> = position.legal_points().iter().map(|p| p.index() as u16).collect();
            legal.push(12);
            assert_eq!(result.policy.iter().map(|&(mv, _)| mv).collect::<Vec<_>>(), legal);
            assert!(position.is_legal(result.best) && result.value.abs() <= 1.0);
        }
        let legal = position.legal_points();
        let rank = rng::below(&mut rng, legal.len() + 1);
        position.play(legal.nth(rank).map_or(Move::Pass, Move::Play));
        if position.is_over() {
            position = Position::new(position.size());
        }
    }
}

#[test]
fn moves_forbidden_by_superko_are_never_played() {
    // A ko on 3x3: after White takes it, Black may not retake immediately.
    let mut position = Position::new(Size::square(4).unwrap());
    play(&mut position, "B4 C4 A3 D3 B2 C2 C3 B3");
    let banned = Move::parse(position.size(), "C3").unwrap();
    assert!(!position.is_legal(banned));
    let result = uniform(wide(300), &position, 0);
    assert!(
        result
            .policy
            .iter()
            .all(|&(mv, _)| usize::from(mv) != banned.index(position.size()))
    );
}

#[test]
fn the_root_position_is_unchanged() {
    let mut position = Position::new(Size::square(4).unwrap());
    play(&mut position, "B2 C3 C2 B3");
    let komi = Komi::from_half_points(0);
    let mut search = Search::new(SearchConfig::for_play(50), &position, komi, rng::stream(1, &[]));
    let mut cache = EvaluationCache::new(1 << 20);
    let mut lockstep = Lockstep::new();
    for _ in 0..3 {
        lockstep
            .run(&mut [&mut search], &mut UniformPredictor, &mut cache)
            .unwrap();
        assert_eq!(search.position().moves(), position.moves());
        assert_eq!(search.position().hash(), position.hash());
        assert_eq!(search.position().legal_points(), position.legal_points());
        search.restart(&position, komi, 50, rng::stream(2, &[]));
    }
}

#[test]
fn images_of_a_position_give_images_of_the_result() {
    let mut position = Position::new(Size::square(5).unwrap());
    play(&mut position, "B2 D4 C4 A1");
    let plain = scripted(
        SearchConfig {
            visits: 64,
            ..SearchConfig::default()
        },
        &position,
        &mut EvaluationCache::new(0),
    );
    let size = position.size();
    for &symmetry in Symmetry::all(size) {
        let image = position.transformed(symmetry);
        let config = SearchConfig {
            visits: 64,
            ..SearchConfig::default()
        };
        let result = scripted(config, &image, &mut EvaluationCache::new(0));
        assert_eq!(result.best, symmetry.apply_move(size, plain.best));
        assert_eq!((result.value, result.margin), (plain.value, plain.margin));
        let mut turned: Vec<(u16, f32)> = plain
            .policy
            .iter()
            .map(|&(mv, p)| {
                let mv = Move::from_index(size, usize::from(mv)).unwrap();
                (symmetry.apply_move(size, mv).index(size) as u16, p)
            })
            .collect();
        turned.sort_by_key(|&(mv, _)| mv);
        assert_eq!(result.policy, turned);
    }
}

#[test]
fn results_do_not_depend_on_cache_batch_or_reuse() {
    let komi = Komi::from_half_points(7);
    let sizes = [
        Size::square(3).unwrap(),
        Size::new(5, 4).unwrap(),
        Size::square(3).unwrap(),
    ];
    let config = SearchConfig {
        visits: 40,
        ..SearchConfig::default()
    };
    let new = |i: usize| {
        Search::new(
            config.clone(),
            &Position::new(sizes[i]),
            komi,
            rng::stream(i as u64, &[]),
        )
    };
    let mut predictor = ScriptedPredictor::new(2);
    let alone: Vec<SearchResult> = (0..3)
        .map(|i| {
            let mut search = new(i);
            let mut cache = EvaluationCache::new(0);
            Lockstep::new()
                .run(&mut [&mut search], &mut predictor, &mut cache)
                .unwrap();
            search.result()
        })
        .collect();
    let mut together: Vec<Search> = (0..3).map(new).collect();
    let mut cache = EvaluationCache::new(1 << 22);
    let mut lockstep = Lockstep::new();
    let first = lockstep.run(&mut together, &mut predictor, &mut cache).unwrap();
    assert_eq!(together.iter().map(Search::result).collect::<Vec<_>>(), alone);
    for (i, search) in together.iter_mut().enumerate() {
        search.restart(&Position::new(sizes[i]), komi, 40, rng::stream(i as u64, &[]));
    }
    let second = lockstep.run(&mut together, &mut predictor, &mut cache).unwrap();
    assert_eq!(together.iter().map(Search::result).collect::<Vec<_>>(), alone);
    assert!(first.evaluations > 0 && second.evaluations == 0, "{first:?} {second:?}");
    assert_eq!(second.cache_hits, first.evaluations + first.cache_hits);
}

#[test]
fn equal_positions_in_one_round_are_evaluated_once() {
    let position = Position::new(Size::square(4).unwrap());
    let config = SearchConfig::for_play(10);
    let new = || {
        Search::new(
            config.clone(),
            &position,
            Komi::from_half_points(1),
            rng::stream(1, &[]),
        )
    };
    let mut searches = [new(), new(), new()];
    let mut cache = EvaluationCache::new(0);
    let stats = Lockstep::new()
        .run(&mut searches, &mut ScriptedPredictor::new(1), &mut cache)
        .unwrap();
    assert_eq!(stats.cache_hits, 2 * stats.evaluations);
    assert_eq!(searches[0].result(), searches[2].result());
}

#[test]
fn ownership_has_the_orientation_of_the_board() {
    let mut position = Position::new(Size::square(3).unwrap());
    play(&mut position, "C1");
    let config = SearchConfig {
        ownership: true,
        ..SearchConfig::for_play(4)
    };
    let of = |position: &Position| scripted(config.clone(), position, &mut EvaluationCache::new(1 << 20));
    let plain = of(&position).ownership.unwrap();
    let size = position.size();
    for &symmetry in Symmetry::all(size) {
        // The position is symmetric about a diagonal, so two ownership maps are correct.
        let turned = of(&position.transformed(symmetry)).ownership.unwrap();
        let matches = Symmetry::all(size).iter().any(|&s| {
            position.transformed(s).hash() == position.transformed(symmetry).hash()
                && size
                    .points()
                    .all(|p| turned[s.apply(size, p).index()] == plain[p.index()])
        });
        assert!(matches, "{symmetry:?}");
    }
    assert_eq!(
        of(&position).ownership,
        Some(plain),
        "the cache does not change the result"
    );
}

#[test]
fn ownership_does_not_depend_on_the_contents_of_the_cache() {
    let mut position = Position::new(Size::square(3).unwrap());
    play(&mut position, "B1");
    let config = SearchConfig {
        ownership: true,
        method: SearchMethod::Puct,
        ..SearchConfig::for_play(40)
    };
    let mut cache = EvaluationCache::new(1 << 20);
    let mut searched = || {
        let komi = Komi::from_half_points(1);
        let mut search = Search::new(config.clone(), &position, komi, rng::stream(1, &[]));
        let stats = Lockstep::new()
            .run(&mut [&mut search], &mut ScriptedPredictor::new(1), &mut cache)
            .unwrap();
        (search, stats.evaluations)
    };
    let ((cold, asked), (warm, asked_again)) = (searched(), searched());
    assert!(asked > 10 && asked_again == 0);
    assert_eq!(cold.result(), warm.result());
    let after = |search: &Search| -> Vec<_> {
        let moves = search.candidates().into_iter();
        moves.map(|candidate| search.ownership_after(candidate.mv)).collect()
    };
    assert_eq!(after(&cold), after(&warm));
    let best = cold.result().best;
    assert!(cold.ownership_after(best).is_some_and(|map| map.len() == 9));
    assert_ne!(cold.ownership_after(best), cold.result().ownership);
    assert_eq!(cold.ownership_after(Move::parse(position.size(), "B1").unwrap()), None);
    let lines = cold.candidates();
    assert!(lines.iter().all(|line| line.pv.len() == line.pv_visits.len()));
    assert!(lines.iter().all(|line| line.pv_visits[0] == line.visits));
}

#[test]
fn an_unanswered_request_is_repeated() {
    let position = Position::new(Size::square(3).unwrap());
    let mut search = Search::new(
        SearchConfig::for_play(2),
        &position,
        Komi::from_half_points(0),
        rng::stream(1, &[]),
    );
    let mut cache = EvaluationCache::new(1 << 10);
    let Step::Evaluate(first) = search.step(&mut cache) else {
        panic!("the root is not known yet")
    };
    let Step::Evaluate(second) = search.step(&mut cache) else {
        panic!("the root is not known yet")
    };
    assert_eq!(first, second);
}
