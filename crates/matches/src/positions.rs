//! Tests a model on positions with known answers, by itself and with its search.

use anyhow::Context;
use serde::Serialize;

use tengen_encoding::Features;
use tengen_evaluator::Player;
use tengen_records::LabelledPosition;
use tengen_rules::Move;
use tengen_search::{Prediction, Predictions, Predictor};

use crate::theory::{Question, ask};

/// The factor from a standard error to half the width of a 95% interval.
const HALF_95: f64 = 1.96;

/// The maximum number of positions per request to a player.
const CHUNK: usize = 1024;

/// The mean of a measure over the positions that have the label.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Mean {
    /// Number of positions.
    pub positions: u64,
    /// The mean.
    pub mean: f64,
    /// Half the width of the mean's 95% interval; 0 for fewer than two positions.
    pub half_95: f64,
}

/// How close answers are to the labels.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Agreement {
    /// Share of positions in which the first choice is right: a move with the highest probability of the label.
    pub top_1: Mean,
    /// Kullback-Leibler divergence of the answer's policy from the label's, in nats; only for a network without search.
    pub policy_kl: Mean,
    /// Brier score: squared difference between the expected result (a win is 1, a tie 0.5) and the label's.
    pub value_brier: Mean,
    /// Absolute difference between the expected margin and the label's, in points.
    pub score_error: Mean,
}

/// Sums of one measure.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    sum: f64,
    squares: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    top_1: Sums,
    policy_kl: Sums,
    value_brier: Sums,
    score_error: Sums,
}

impl Sums {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(self) -> Mean {
        let count = self.count as f64;
        let mean = if self.count == 0 { 0.0 } else { self.sum / count };
        let half_95 = match self.count {
            0 | 1 => 0.0,
            _ => HALF_95 * ((self.squares / count - mean * mean).max(0.0) / (count - 1.0)).sqrt(),
        };
        Mean {
            positions: self.count,
            mean,
            half_95,
        }
    }
}

impl Tally {
    fn agreement(&self) -> Agreement {
        Agreement {
            top_1: self.top_1.mean(),
            policy_kl: self.policy_kl.mean(),
            value_brier: self.value_brier.mean(),
            score_error: self.score_error.mean(),
        }
    }

    fn add_choice(&mut self, label: &LabelledPosition, chosen: Move) {
        if let Some(policy) = &label.policy {
            let most = policy.iter().copied().fold(0.0, f32::max);
            let right = policy[chosen.index(label.position.size())] == most;
            self.top_1.add(f64::from(u8::from(right)));
        }
    }

    /// `result` and `margin` are expectations for the side to move.
    fn add_value(&mut self, label: &LabelledPosition, result: f64, margin: f64) {
        if let Some(known) = label.result {
            self.value_brier.add((result - f64::from(known)).powi(2));
        }
        if let Some(known) = label.margin {
            self.score_error.add((margin - f64::from(known)).abs());
        }
    }
}

/// Asks the network about each position, without a search. Calls `done` with the number of positions after each batch.
///
/// # Errors
/// If the network cannot be run.
pub fn without_search(
    predictor: &mut dyn Predictor,
    labels: &[LabelledPosition],
    done: &dyn Fn(usize),
) -> anyhow::Result<Agreement> {
    let mut tally = Tally::default();
    let mut out = Predictions::default();
    // Boards of one size fill their batch's canvas, which is faster.
    let mut order: Vec<&LabelledPosition> = labels.iter().collect();
    order.sort_by_key(|label| label.position.size());
    for same_size in order.chunk_by(|a, b| a.position.size() == b.position.size()) {
        let size = same_size[0].position.size();
        for chunk in same_size.chunks(predictor.preferred_batch()) {
            let mut batch = predictor.new_batch(size);
            for label in chunk {
                let plane_set = batch.plane_set();
                batch.push(&Features::seen_with(plane_set, &label.position, label.komi));
            }
            predictor.predict(&batch, &mut out)?;
            out.check(batch.len(), size)?;
            for (row, label) in chunk.iter().enumerate() {
                add_prediction(&mut tally, label, &out.row(row, size));
            }
            done(chunk.len());
        }
    }
    Ok(tally.agreement())
}

fn add_prediction(tally: &mut Tally, label: &LabelledPosition, prediction: &Prediction<'_>) {
    let size = label.position.size();
    let legal = |&index: &usize| Move::from_index(size, index).is_some_and(|mv| label.position.is_legal(mv));
    let legal: Vec<usize> = (0..=size.area()).filter(legal).collect();
    let logit = |index: usize| f64::from(prediction.policy_logits[index]);
    let best = legal.iter().copied().max_by(|&a, &b| logit(a).total_cmp(&logit(b)));
    if let Some(chosen) = best.and_then(|index| Move::from_index(size, index)) {
        tally.add_choice(label, chosen);
    }
    if let Some(policy) = &label.policy {
        let most = legal
            .iter()
            .map(|&index| logit(index))
            .fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = legal.iter().map(|&index| (logit(index) - most).exp()).sum();
        let log_probability = |index: usize| logit(index) - most - total.ln();
        let term = |&index: &usize| {
            let known = f64::from(policy[index]);
            if known > 0.0 {
                known * (known.ln() - log_probability(index))
            } else {
                0.0
            }
        };
        tally.policy_kl.add(legal.iter().map(term).sum());
    }
    let result = (1.0 + f64::from(prediction.win) - f64::from(prediction.loss)) / 2.0;
    tally.add_value(label, result, f64::from(prediction.margin));
}

/// Asks a player for its move in each position. Its value and margin count if it reports them.
///
/// # Errors
/// If the player fails, resigns or cannot be asked.
pub fn with_search(
    player: &mut dyn Player,
    labels: &[LabelledPosition],
    seed: u64,
    done: &dyn Fn(usize),
) -> anyhow::Result<Agreement> {
    let mut tally = Tally::default();
    let mut asked = 0;
    for chunk in labels.chunks(CHUNK.min(player.max_parallel())) {
        let numbered = chunk.iter().enumerate();
        let questions: Vec<_> = numbered
            .map(|(slot, label)| Question {
                slot,
                game: asked + slot as u64,
                position: &label.position,
                komi: label.komi,
            })
            .collect();
        let choices = ask(player, &questions, seed).context("the player cannot answer every position")?;
        asked += chunk.len() as u64;
        for (label, choice) in chunk.iter().zip(choices) {
            tally.add_choice(label, choice.mv);
            if let Some(search) = choice.search {
                let result = (1.0 + f64::from(search.value)) / 2.0;
                tally.add_value(label, result, f64::from(search.margin));
            }
        }
        done(chunk.len());
    }
    Ok(tally.agreement())
}

impl Agreement {
    /// The measures that any position has a label for, one line each: name, mean, half the width of the 95% interval,
    /// and number of positions.
    pub fn lines(&self) -> Vec<String> {
        let measures = [
            ("right move (share)", self.top_1),
            ("policy divergence (nats)", self.policy_kl),
            ("value (Brier score)", self.value_brier),
            ("score error (points)", self.score_error),
        ];
        let line = |(name, mean): (&str, Mean)| {
            let (Mean { mean, half_95, .. }, positions) = (mean, mean.positions);
            format!("{name:<25} {mean:>8.3} ± {half_95:.3}  {positions:>9} positions")
        };
        let known = measures.into_iter().filter(|(_, mean)| mean.positions > 0);
        known.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_evaluator::{Answer, Choice, PlayerError, SearchSummary, Turn};
    use tengen_rules::{Komi, Position, Size, solve_margin};
    use tengen_search::UniformPredictor;

    /// A player that solves positions and is sure of its values.
    struct Solver;

    impl Player for Solver {
        fn name(&self) -> String {
            "solver".to_owned()
        }

        fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError> {
            let games: std::collections::BTreeSet<u64> = turns.iter().map(|turn| turn.game).collect();
            assert_eq!(games.len(), turns.len(), "every position is a game of its own");
            Ok(turns.iter().map(|turn| Answer::Play(solve(turn))).collect())
        }
    }

    fn solve(turn: &Turn<'_>) -> Choice {
        let sign = if turn.color() == tengen_rules::Color::Black {
            1
        } else {
            -1
        };
        let after = |mv: Move| {
            let mut next = turn.position.clone();
            next.play(mv);
            let margin = if next.is_over() {
                Ok(next.board_margin())
            } else {
                solve_margin(&next, 1_000_000)
            };
            sign * (2 * margin.expect("a tiny board") - i32::from(turn.komi.half_points()))
        };
        let plays = turn.position.legal_points().iter().map(Move::Play);
        let best = plays.chain([Move::Pass]).max_by_key(|&mv| after(mv)).expect("a pass");
        Choice {
            mv: best,
            search: Some(SearchSummary {
                value: after(best).signum() as f32,
                margin: after(best) as f32 / 2.0,
                visits: 1,
                network_value: 0.0,
                best: true,
            }),
        }
    }

    /// The empty 2x2 board, where Black's four plays are worth 1 point and a pass is not.
    fn labels(count: usize) -> Vec<LabelledPosition> {
        let label = LabelledPosition {
            position: Position::new(Size::square(2).expect("a board")),
            komi: Komi::from_half_points(1),
            policy: Some(vec![0.25, 0.25, 0.25, 0.25, 0.0]),
            result: Some(1.0),
            margin: Some(0.5),
        };
        vec![label; count]
    }

    #[test]
    fn a_solver_is_always_right() {
        let done = std::cell::Cell::new(0);
        let count = 2 * CHUNK + 3;
        let found = with_search(&mut Solver, &labels(count), 1, &|more| done.set(done.get() + more)).expect("answers");
        assert_eq!(
            (found.top_1.positions, found.top_1.mean, found.top_1.half_95),
            (count as u64, 1.0, 0.0)
        );
        assert_eq!((found.value_brier.mean, found.score_error.mean), (0.0, 0.0));
        assert_eq!(found.policy_kl.positions, 0, "a search reports one move");
        assert_eq!(done.get(), count);
    }

    #[test]
    fn a_network_that_knows_nothing_is_as_wrong_as_chance() {
        let mut labels = labels(3);
        labels[2].policy = None;
        labels[1].result = None;
        labels[1].margin = Some(-2.5);
        let found = without_search(&mut UniformPredictor, &labels, &|_| ()).expect("predictions");
        assert_eq!(found.policy_kl.positions, 2);
        assert!((found.policy_kl.mean - (5.0f64 / 4.0).ln()).abs() < 1e-6, "{found:?}");
        assert_eq!((found.value_brier.positions, found.value_brier.mean), (2, 0.25));
        assert_eq!((found.score_error.positions, found.score_error.mean), (3, 3.5 / 3.0));
        let spread = ((0.25 + 6.25 + 0.25) / 3.0 - (3.5f64 / 3.0).powi(2)) / 2.0;
        assert!((found.score_error.half_95 - 1.96 * spread.sqrt()).abs() < 1e-9);
        let lines = found.lines();
        assert!(lines[2].starts_with("value (Brier score)"), "{lines:?}");
    }
}
