//! Several leaves of one search in one call of the network.

use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size};
use tengen_search::{
    EvaluationCache, Lockstep, LockstepStats, Prediction, Request, ScriptedPredictor, Search, SearchConfig,
    SearchMethod, Step, UniformPredictor,
};

const KOMI: Komi = Komi::from_half_points(3);

fn config(method: SearchMethod, visits: u32) -> SearchConfig {
    SearchConfig {
        method,
        ownership: true,
        ..SearchConfig::for_play(visits)
    }
}

fn search(config: SearchConfig, position: &Position, leaves: usize) -> (Search, LockstepStats) {
    let mut search = Search::new(config, position, KOMI, rng::stream(1, &[]));
    search.set_leaves(leaves);
    let mut cache = EvaluationCache::new(1 << 20);
    let stats = Lockstep::new().run(&mut [&mut search], &mut ScriptedPredictor::new(5), &mut cache);
    (search, stats.expect("a scripted predictor never fails"))
}

fn board(side: usize) -> Position {
    Position::new(Size::square(side).expect("a board"))
}

/// All visits are made and counted once, however many leaves wait together, and larger batches mean fewer calls.
#[test]
fn every_visit_is_counted_once_in_fewer_calls() {
    for method in SearchMethod::ALL {
        let mut calls = u64::MAX;
        for leaves in [1, 2, 8, 32] {
            let (search, stats) = search(config(method, 500), &board(5), leaves);
            let result = search.result();
            assert_eq!(result.total_visits, 500, "{method:?} {leaves}");
            let visits: u32 = result.visits.iter().map(|&(_, visits)| visits).sum();
            assert_eq!(visits, 500, "{method:?} {leaves}");
            assert!(
                result.value.abs() <= 1.0 && result.mean_value.abs() <= 1.0,
                "{result:?}"
            );
            for line in search.candidates().iter().filter(|line| line.visits > 0) {
                assert!(line.pv_visits.iter().all(|&visits| visits > 0), "{line:?}");
                assert!(line.value.abs() <= 1.0 && line.margin.abs() <= 50.0, "{line:?}");
            }
            assert!(stats.batches < calls, "{method:?} {leaves}: {stats:?}");
            calls = stats.batches;
        }
        assert!(calls < 100, "{method:?}: {calls} calls");
    }
}

#[test]
fn results_do_not_depend_on_the_cache() {
    for method in SearchMethod::ALL {
        let mut cache = EvaluationCache::new(1 << 24);
        let mut results = Vec::new();
        for visits in [200, 500, 500] {
            let mut search = Search::new(config(method, visits), &board(5), KOMI, rng::stream(1, &[]));
            search.set_leaves(8);
            let run = Lockstep::new().run(&mut [&mut search], &mut ScriptedPredictor::new(5), &mut cache);
            run.expect("a scripted predictor never fails");
            results.push(search.result());
        }
        let (cold, _) = search(config(method, 500), &board(5), 8);
        assert_eq!(results[1], cold.result(), "{method:?}: some positions are cached");
        assert_eq!(results[2], cold.result(), "{method:?}: all positions are cached");
    }
}

#[test]
fn a_search_with_few_visits_evaluates_one_leaf_at_a_time() {
    for method in SearchMethod::ALL {
        for visits in [0, 1, 4, 8] {
            let (one, _) = search(config(method, visits), &board(5), 1);
            let (many, stats) = search(config(method, visits), &board(5), 64);
            assert_eq!(one.result(), many.result(), "{method:?} {visits}");
            assert_eq!(stats.evaluations, stats.batches);
        }
    }
}

#[test]
fn several_leaves_find_the_winner_on_tiny_boards() {
    // The board values are 0, 3, 1, 0 for 1x2 to 1x5 and 1 for 2x2; the komi is half a point higher or lower.
    let won = [
        (1, 2, 1, -1.0),
        (1, 3, 5, 1.0),
        (1, 4, 1, 1.0),
        (1, 5, 1, -1.0),
        (2, 2, 1, 1.0),
    ];
    for (width, height, komi, value) in won {
        let position = Position::new(Size::new(width, height).expect("a board"));
        let komi = Komi::from_half_points(komi);
        let config = config(SearchMethod::Puct, 10_000);
        let mut search = Search::new(config, &position, komi, rng::stream(1, &[]));
        search.set_leaves(8);
        let mut cache = EvaluationCache::new(1 << 20);
        let run = Lockstep::new().run(&mut [&mut search], &mut UniformPredictor, &mut cache);
        run.expect("the uniform predictor never fails");
        let found = search.result().value;
        assert!(
            (found - value).abs() < 0.25,
            "{width}x{height}: {found} instead of {value}"
        );
    }
}

/// The requests that a search makes before the next call of the network.
fn requests(search: &mut Search, cache: &mut EvaluationCache) -> Vec<Request> {
    let mut all = Vec::new();
    if let Step::Evaluate(request) = search.step(cache) {
        all.push(request);
        all.extend(std::iter::from_fn(|| search.more(cache)));
    }
    all
}

fn answer(search: &mut Search, request: Request, cache: &mut EvaluationCache) {
    let size = search.position().size();
    let logits = vec![0.0; size.area() + 1];
    let value = (request.key() % 97) as f32 / 97.0;
    let prediction = Prediction {
        canvas: size,
        policy_logits: &logits,
        win: value,
        loss: 1.0 - value,
        margin: 0.0,
        ownership: &[],
    };
    search.respond(request, [prediction], cache).expect("finite values");
}

#[test]
fn unanswered_requests_are_repeated_and_answered_in_any_order() {
    let mut search = Search::new(config(SearchMethod::Puct, 300), &board(5), KOMI, rng::stream(1, &[]));
    search.set_leaves(8);
    let mut cache = EvaluationCache::new(1 << 20);
    let mut most = 0;
    loop {
        let first = requests(&mut search, &mut cache);
        let again = requests(&mut search, &mut cache);
        assert_eq!(first, again[..first.len()], "a lost request comes back");
        most = most.max(again.len());
        assert!(again.len() <= 8);
        if again.is_empty() {
            break;
        }
        for request in again.into_iter().rev() {
            answer(&mut search, request, &mut cache);
        }
    }
    assert_eq!(most, 8);
    assert_eq!(search.result().total_visits, 300);
}

/// What waits for a prediction is forgotten by a new search, and a finished one can be followed.
#[test]
fn waiting_leaves_end_with_their_search() {
    let mut search = Search::new(config(SearchMethod::Puct, 100), &board(5), KOMI, rng::stream(1, &[]));
    search.set_leaves(8);
    let mut cache = EvaluationCache::new(0);
    while search.visits_done() < 50 {
        for request in requests(&mut search, &mut cache) {
            answer(&mut search, request, &mut cache);
        }
    }
    assert!(requests(&mut search, &mut cache).len() > 1);
    let mut position = board(5);
    search.restart(&position, KOMI, 100, rng::stream(1, &[]));
    let run = Lockstep::new().run(&mut [&mut search], &mut ScriptedPredictor::new(5), &mut cache);
    run.expect("a scripted predictor never fails");
    let (fresh, _) = self::search(config(SearchMethod::Puct, 100), &position, 8);
    assert_eq!(search.result(), fresh.result());
    let best = search.result().best;
    position.play(best);
    let kept = search.follow(&position, KOMI, 100, rng::stream(1, &[]));
    assert!(kept > 0 && best != Move::Pass);
}
