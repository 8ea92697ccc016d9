//! Searches for predictors that see how positions came about.

use tengen_encoding::{InputBatch, PlaneSet};
use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size};
use tengen_search::{
    EvaluationCache, Lockstep, PredictError, Predictions, Predictor, Search, SearchConfig, SearchMethod,
    UniformPredictor,
};

/// Prefers the point where the last turn was played, mirrored, and counts the positions it has seen.
#[derive(Default)]
struct Copycat {
    seen: usize,
}

impl Predictor for Copycat {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        out.reset(inputs.len(), inputs.canvas());
        assert_eq!(inputs.trails().len(), inputs.len());
        for (row, trail) in inputs.trails().iter().enumerate() {
            let trail = trail.as_ref().expect("the search shows trails");
            if let Some((color, Move::Play(point))) = trail.turns[0] {
                assert_eq!(color, trail.mover.opposite());
                assert!(trail.boards[0].stones[color.index()].contains(point));
                assert!(!trail.boards[1].stones[color.index()].contains(point));
                out.policy_logits[[row, inputs.canvas().area() - 1 - point.index()]] = 5.0;
            }
        }
        self.seen += inputs.len();
        Ok(())
    }

    fn name(&self) -> String {
        "copycat".to_owned()
    }

    fn new_batch(&self, canvas: Size) -> InputBatch {
        InputBatch::with_planes(canvas, PlaneSet::TRAIL)
    }
}

fn search(position: &Position, method: SearchMethod) -> Search {
    let config = SearchConfig {
        method,
        ..SearchConfig::for_play(40)
    };
    Search::new(config, position, Komi::from_half_points(7), rng::stream(1, &[]))
}

#[test]
fn every_position_comes_with_its_trail() {
    let size = Size::square(5).unwrap();
    let mut position = Position::new(size);
    position.play(Move::parse(size, "B4").unwrap());
    for (method, leaves) in [
        (SearchMethod::Gumbel, 1),
        (SearchMethod::Puct, 1),
        (SearchMethod::Puct, 4),
    ] {
        let mut search = search(&position, method);
        search.set_leaves(leaves);
        let mut cache = EvaluationCache::new(1 << 20);
        let mut predictor = Copycat::default();
        Lockstep::new()
            .run(&mut [&mut search], &mut predictor, &mut cache)
            .unwrap();
        assert!(predictor.seen > 20);
        assert_eq!(search.result().total_visits, 40);
        // The answer to B4 has most of the prior, in the board's own orientation.
        let best = search
            .result()
            .policy
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap();
        assert_eq!(Move::from_index(size, usize::from(best.0)).unwrap().format(size), "D2");
    }
}

#[test]
fn a_search_starts_over_for_a_predictor_that_sees_something_else() {
    let position = Position::new(Size::square(4).unwrap());
    let mut search = search(&position, SearchMethod::Puct);
    let mut cache = EvaluationCache::new(1 << 20);
    let run = |search: &mut Search, predictor: &mut dyn Predictor, cache: &mut EvaluationCache| {
        Lockstep::new()
            .run(&mut [search], predictor, cache)
            .unwrap()
            .evaluations
    };
    assert!(run(&mut search, &mut UniformPredictor, &mut cache) > 0);
    assert_eq!(run(&mut search, &mut UniformPredictor, &mut cache), 0, "it is finished");
    let mut copycat = Copycat::default();
    assert!(run(&mut search, &mut copycat, &mut cache) > 20);
    assert_eq!(run(&mut search, &mut copycat, &mut cache), 0);
    assert_eq!(search.result().total_visits, 40);
}
