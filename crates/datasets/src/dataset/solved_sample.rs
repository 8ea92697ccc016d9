//! Random states of small boards, solved: positions in the middle of a game, where all states would be too many.

use std::collections::HashSet;

use rayon::prelude::*;

use tengen_rng as rng;
use tengen_rules::{Color, Move, Position, Size, SolveError, solve_margin};

use super::error::DatasetError;
use super::solved::{SolveOptions, SolveProgress, state_key};
use super::solved_rows::Solved;

/// Draws at most this many states for each one that is wanted.
const DRAWS_PER_STATE: u64 = 50;

/// Number of states solved between two progress reports.
const CHUNK: u64 = 8;

/// Which random states to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolveSample {
    /// Number of states of each board.
    pub count: u64,
    /// Seed of the random games.
    pub seed: u64,
    /// Keep only states in which at most so many moves keep the margin, which are harder; `None` keeps all.
    pub most_right: Option<usize>,
}

/// Solved states after `options.plies` random plays, no two of them mirror images of each other, and how many were left
/// out because they were not decided within the limit.
pub(crate) fn solve_sample(
    size: Size,
    sample: SolveSample,
    options: &SolveOptions,
    watch: &mut dyn FnMut(SolveProgress) -> bool,
) -> Result<(Vec<Solved>, u64), DatasetError> {
    let (mut solved, mut undecided) = (Vec::new(), 0);
    let mut seen = HashSet::new();
    for first in (0..DRAWS_PER_STATE * sample.count).step_by(CHUNK as usize) {
        let found = solved.len() as u64;
        if found == sample.count {
            break;
        }
        let (solved_so_far, all) = (found, sample.count);
        let progress = SolveProgress {
            size,
            solved: solved_so_far,
            all,
        };
        if !watch(progress) {
            return Err(DatasetError::Stopped);
        }
        let drawn = (first..first + CHUNK).filter_map(|draw| random_state(size, sample.seed, draw, options));
        let new: Vec<Position> = drawn.filter(|position| seen.insert(state_key(position))).collect();
        let results: Vec<Option<Solved>> = new
            .into_par_iter()
            .map(|position| solve(position, options.most_nodes))
            .collect::<Result<_, _>>()?;
        undecided += results.iter().filter(|result| result.is_none()).count() as u64;
        let is_hard = |state: &Solved| sample.most_right.is_none_or(|most| right_moves(state) <= most);
        solved.extend(results.into_iter().flatten().filter(is_hard));
        solved.truncate(sample.count as usize);
    }
    match solved.is_empty() {
        true => Err(DatasetError::Unsolved(format!(
            "no state of {size} after {} random plays is decided within {} positions{}: use more plies, another board \
             or a larger limit",
            options.plies,
            options.most_nodes,
            match sample.most_right {
                Some(most) => format!(" and has at most {most} right moves"),
                None => String::new(),
            }
        ))),
        false => Ok((solved, undecided)),
    }
}

/// Number of moves that keep the margin.
fn right_moves(state: &Solved) -> usize {
    state
        .moves
        .iter()
        .filter(|&&(_, margin)| margin == state.margin)
        .count()
}

/// The state after so many random plays; `None` if a side has no play before that.
fn random_state(size: Size, seed: u64, draw: u64, options: &SolveOptions) -> Option<Position> {
    let mut rng = rng::stream(seed, &[size.width() as u64, size.height() as u64, draw]);
    let mut position = Position::with_rules(size, options.rules);
    for _ in 0..options.plies {
        let points: Vec<_> = position.legal_points().iter().collect();
        if points.is_empty() {
            return None;
        }
        position.play(Move::Play(points[rng::below(&mut rng, points.len())]));
    }
    Some(position)
}

/// A state with the margin after each of its moves; `None` if one is not decided within the limit.
fn solve(position: Position, most_nodes: u64) -> Result<Option<Solved>, DatasetError> {
    let plays = position.legal_points().iter().map(Move::Play);
    let mut moves = Vec::new();
    for mv in plays.chain([Move::Pass]) {
        let mut after = position.clone();
        after.play(mv);
        match solve_margin(&after, most_nodes) {
            Ok(margin) => moves.push((mv, margin)),
            Err(SolveError::NotDecided { .. }) => return Ok(None),
            Err(other) => return Err(DatasetError::Unsolved(other.to_string())),
        }
    }
    let margins = moves.iter().map(|&(_, margin)| margin);
    let best = match position.to_move() {
        Color::Black => margins.max(),
        Color::White => margins.min(),
    };
    Ok(best.map(|margin| Solved {
        position,
        sequences: 0,
        margin,
        moves,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::writer::FileFormat;
    use tengen_rules::Rules;

    #[test]
    fn random_states_are_distinct_and_have_the_solvers_margins() {
        let size = Size::new(3, 2).unwrap();
        let options = SolveOptions {
            sizes: vec![size],
            rules: Rules::tromp_taylor(),
            plies: 4,
            sample: None,
            most_nodes: 100_000,
            format: FileFormat::Parquet,
        };
        let sample = SolveSample {
            count: 12,
            seed: 3,
            most_right: None,
        };
        let draw = || solve_sample(size, sample, &options, &mut |_| true).unwrap();
        let (states, _) = draw();
        assert_eq!(states.len(), 12);
        let keys: HashSet<_> = states.iter().map(|state| state_key(&state.position)).collect();
        assert_eq!(keys.len(), 12);
        for state in &states {
            assert_eq!(state.position.ply(), 4);
            assert_eq!(solve_margin(&state.position, 1_000_000), Ok(state.margin));
            assert_eq!(state.moves.len(), state.position.legal_points().len() + 1);
        }
        let again: Vec<_> = draw().0.iter().map(|state| state_key(&state.position)).collect();
        let first: Vec<_> = states.iter().map(|state| state_key(&state.position)).collect();
        assert_eq!(first, again, "the same seed gives the same states");
        let hard = SolveSample {
            most_right: Some(1),
            ..sample
        };
        let (hard, _) = solve_sample(size, hard, &options, &mut |_| true).unwrap();
        assert!(!hard.is_empty());
        for state in &hard {
            assert_eq!(right_moves(state), 1);
        }
    }

    #[test]
    fn hopeless_limits_are_named() {
        let size = Size::square(4).unwrap();
        let options = SolveOptions {
            sizes: vec![size],
            rules: Rules::tromp_taylor(),
            plies: 1,
            sample: None,
            most_nodes: 10,
            format: FileFormat::Parquet,
        };
        let sample = SolveSample {
            count: 1,
            seed: 1,
            most_right: None,
        };
        let error = solve_sample(size, sample, &options, &mut |_| true).err().unwrap();
        assert!(error.to_string().contains("use more plies"), "{error}");
    }
}
