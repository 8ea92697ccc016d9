//! PUCT, and reusing the tree from move to move.

use tengen_encoding::InputBatch;
use tengen_rng as rng;
use tengen_rules::{Color, Handicap, Komi, Move, PointSet, Position, Size};
use tengen_search::{
    EvaluationCache, Lockstep, PredictError, Predictions, Predictor, RootMoves, ScriptedPredictor, Search,
    SearchConfig, SearchMethod, UniformPredictor,
};

const KOMI: Komi = Komi::from_half_points(3);

fn puct(visits: u32) -> SearchConfig {
    SearchConfig {
        method: SearchMethod::Puct,
        ..SearchConfig::for_play(visits)
    }
}

fn play(position: &mut Position, moves: &str) {
    for text in moves.split_whitespace() {
        position.play(Move::parse(position.size(), text).unwrap());
    }
}

fn run<P: Predictor>(search: &mut Search, predictor: &mut P) {
    let mut cache = EvaluationCache::new(1 << 20);
    Lockstep::new().run(&mut [search], predictor, &mut cache).unwrap();
}

fn searched(config: SearchConfig, position: &Position) -> Search {
    let mut search = Search::new(config, position, KOMI, rng::stream(1, &[]));
    run(&mut search, &mut ScriptedPredictor::new(5));
    search
}

#[test]
fn puct_finds_the_winner_on_tiny_boards() {
    // The board values are 0, 3, 1, 0 for 1x2 to 1x5 and 1 for 2x2; the komi is half a point higher or lower.
    let won = [
        (1, 2, 1, -1.0),
        (1, 3, 5, 1.0),
        (1, 4, 1, 1.0),
        (1, 5, 1, -1.0),
        (2, 2, 1, 1.0),
    ];
    for (width, height, komi, value) in won {
        let position = Position::new(Size::new(width, height).unwrap());
        let komi = Komi::from_half_points(komi);
        let mut search = Search::new(puct(10_000), &position, komi, rng::stream(1, &[]));
        run(&mut search, &mut UniformPredictor);
        let found = search.result().value;
        assert!(
            (found - value).abs() < 0.25,
            "{width}x{height}: {found} instead of {value}"
        );
    }
}

#[test]
fn puct_scores_a_second_pass_exactly() {
    let mut position = Position::new(Size::square(3).unwrap());
    play(&mut position, "B2 pass");
    let mut search = Search::new(puct(8), &position, Komi::from_half_points(5), rng::stream(1, &[]));
    run(&mut search, &mut UniformPredictor);
    assert_eq!((search.result().best, search.result().margin), (Move::Pass, 6.5));
}

#[test]
fn visits_can_be_added_at_any_time() {
    let mut position = Position::new(Size::square(5).unwrap());
    play(&mut position, "B2 C3 D4");
    let whole = searched(puct(300), &position);
    let mut sliced = searched(puct(7), &position);
    for visits in [8, 50, 51, 299, 300] {
        sliced.set_visits(visits);
        run(&mut sliced, &mut ScriptedPredictor::new(5));
        assert_eq!(sliced.visits_done(), visits);
    }
    assert_eq!(sliced.result(), whole.result());
    assert_eq!(sliced.candidates(), whole.candidates());
    assert_eq!(whole.result().visits.iter().map(|&(_, n)| n).sum::<u32>(), 300);
}

#[test]
fn the_subtree_of_the_moves_played_is_kept() {
    let mut position = Position::new(Size::square(5).unwrap());
    play(&mut position, "B2 C3");
    for method in SearchMethod::ALL {
        let config = SearchConfig { method, ..puct(400) };
        let mut search = searched(config, &position);
        let line = search.candidates()[0].pv.clone();
        let after_one = search.candidates()[0].visits;
        let mut next = position.clone();
        next.play(line[0]);
        next.play(line[1]);
        let kept = search.follow(&next, KOMI, 400, rng::stream(2, &[]));
        assert!(kept > 0 && kept < after_one, "{kept} of {after_one}");
        assert!(!search.has_result(), "the root's prediction has to be looked up first");
        run(&mut search, &mut ScriptedPredictor::new(5));
        let result = search.result();
        assert_eq!(result.total_visits, 400);
        assert_eq!(result.visits.iter().map(|&(_, n)| n).sum::<u32>(), 400);
        assert!(next.is_legal(result.best));
        let mut legal: Vec<usize> = next.legal_points().iter().map(|point| point.index()).collect();
        legal.push(25);
        assert_eq!(
            result.policy.iter().map(|&(mv, _)| usize::from(mv)).collect::<Vec<_>>(),
            legal
        );
        assert_eq!(search.position().moves(), next.moves());
        let fresh = searched(puct(1), &next).result();
        assert_eq!(
            (result.network_value, result.network_margin),
            (fresh.network_value, fresh.network_margin)
        );
    }
}

#[test]
fn the_same_position_keeps_everything() {
    let position = Position::new(Size::square(4).unwrap());
    let mut search = searched(puct(200), &position);
    let before = search.result();
    assert_eq!(search.follow(&position, KOMI, 200, rng::stream(1, &[])), 200);
    run(&mut search, &mut ScriptedPredictor::new(5));
    assert_eq!(search.result(), before);
}

#[test]
fn a_position_that_is_not_a_continuation_starts_over() {
    let mut position = Position::new(Size::square(4).unwrap());
    play(&mut position, "B2");
    let mut longer = position.clone();
    play(&mut longer, "C3 pass");
    let mut other = Position::new(Size::square(4).unwrap());
    play(&mut other, "C2 C3");
    let mut handicap = Position::with_handicap(position.size(), position.rules(), Handicap::Consecutive(2)).unwrap();
    play(&mut handicap, "B2 C3");
    let cases = [
        (handicap, KOMI),
        (Position::new(Size::square(4).unwrap()), KOMI),
        (other, KOMI),
        (Position::new(Size::square(5).unwrap()), KOMI),
        (position.clone(), Komi::from_half_points(4)),
    ];
    for (next, komi) in cases {
        let mut search = searched(puct(60), &position);
        assert_eq!(search.follow(&next, komi, 60, rng::stream(1, &[])), 0);
        run(&mut search, &mut ScriptedPredictor::new(5));
        assert_eq!(search.result().total_visits, 60);
    }
    let mut narrow = searched(puct(1), &position);
    assert_eq!(
        narrow.follow(&longer, KOMI, 5, rng::stream(1, &[])),
        0,
        "that move was not visited"
    );
}

#[test]
fn following_a_game_move_by_move_gives_legal_moves() {
    let mut position = Position::new(Size::square(3).unwrap());
    let mut search = searched(puct(50), &position);
    let mut kept = 0;
    for turn in 0..60 {
        let best = search.result().best;
        assert!(position.is_legal(best), "{turn}");
        position.play(best);
        if position.is_over() {
            assert!(kept > 0);
            return;
        }
        kept += search.follow(&position, KOMI, 50, rng::stream(turn, &[]));
        run(&mut search, &mut ScriptedPredictor::new(5));
    }
    panic!("the game did not end");
}

#[test]
fn only_allowed_root_moves_are_visited() {
    let position = Position::new(Size::square(4).unwrap());
    let mut search = searched(puct(40), &position);
    let before = search.result();
    let points: PointSet = ["A1", "D4"]
        .iter()
        .filter_map(|text| tengen_rules::parse_point(position.size(), text).ok())
        .collect();
    search.set_root_moves(Some(RootMoves { points, pass: false }));
    search.set_visits(100);
    run(&mut search, &mut ScriptedPredictor::new(5));
    let result = search.result();
    assert!(matches!(result.best, Move::Play(point) if points.contains(point)));
    let others = |visits: &[(Move, u32)]| -> u32 {
        let outside = visits
            .iter()
            .filter(|(mv, _)| !matches!(mv, Move::Play(point) if points.contains(*point)));
        outside.map(|&(_, count)| count).sum()
    };
    assert_eq!(
        others(&result.visits),
        others(&before.visits),
        "no other move was visited"
    );
    search.set_root_moves(None);
    search.set_visits(100);
    assert!(search.result().visits[0].1 >= 30);
}

#[test]
fn candidates_report_the_results_of_the_visits() {
    let mut position = Position::new(Size::square(4).unwrap());
    play(&mut position, "B2 C3");
    let search = searched(puct(200), &position);
    let (result, candidates) = (search.result(), search.candidates());
    assert_eq!(candidates.len(), position.legal_points().len() + 1);
    let first = &candidates[0];
    assert_eq!(
        (first.mv, first.value, first.margin, &first.pv),
        (result.best, result.value, result.margin, &result.pv)
    );
    assert!(candidates[1..].windows(2).all(|pair| pair[0].visits >= pair[1].visits));
    assert!((candidates.iter().map(|candidate| candidate.prior).sum::<f32>() - 1.0).abs() < 1e-4);
    for candidate in &candidates {
        assert_eq!(candidate.pv[0], candidate.mv);
        assert!(candidate.value_lcb <= candidate.value && candidate.value_lcb >= -1.0);
    }
    let narrow = |visits: u32| (searched(puct(visits), &position).candidates()[0].clone(), visits);
    let ((few, _), (many, _)) = (narrow(10), narrow(2000));
    assert!(
        many.value - many.value_lcb < few.value - few.value_lcb,
        "more visits narrow the interval"
    );
}

/// Predicts that Black will own every point.
struct AllBlack;

impl Predictor for AllBlack {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        out.reset(inputs.len(), inputs.canvas());
        out.reset_ownership(inputs.canvas());
        for (mut ownership, &komi) in out.ownership.outer_iter_mut().zip(inputs.komi()) {
            // The mover's komi is negative for Black here.
            ownership.fill(if komi < 0.0 { 1.0 } else { -1.0 });
        }
        Ok(())
    }

    fn name(&self) -> String {
        "all black".to_owned()
    }
}

#[test]
fn ownership_is_from_the_viewpoint_of_the_side_to_move_at_every_depth() {
    for (moves, color, sign) in [("", Color::Black, 1.0), ("B2", Color::White, -1.0)] {
        let mut position = Position::new(Size::square(3).unwrap());
        play(&mut position, moves);
        assert_eq!(position.to_move(), color);
        let config = SearchConfig {
            ownership: true,
            ..puct(100)
        };
        let mut search = Search::new(config, &position, KOMI, rng::stream(1, &[]));
        run(&mut search, &mut AllBlack);
        assert_eq!(search.result().ownership, Some(vec![sign; 9]));
    }
}

#[test]
fn noise_changes_the_root_priors_within_limits() {
    let position = Position::new(Size::square(5).unwrap());
    let noisy = SearchConfig {
        noise: true,
        ..puct(10)
    };
    let (plain, noisy) = (searched(puct(10), &position), searched(noisy, &position));
    let prior = |search: &Search| {
        let mut candidates = search.candidates();
        candidates.sort_by_key(|candidate| candidate.mv.index(position.size()));
        candidates
            .into_iter()
            .map(|candidate| candidate.prior)
            .collect::<Vec<_>>()
    };
    let (plain, noisy) = (prior(&plain), prior(&noisy));
    assert_ne!(plain, noisy);
    assert!((noisy.iter().sum::<f32>() - 1.0).abs() < 1e-4);
    assert!(
        plain
            .iter()
            .zip(&noisy)
            .all(|(before, after)| *after >= 0.75 * before - 1e-6)
    );
}
