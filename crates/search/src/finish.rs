//! Finishing moves: capturing dead stones and taking neutral points before both players pass.
//!
//! Strict rules count all stones left on the board, so a dead chain that is not captured counts as alive. To reach a
//! final board that needs no judgment, a player must first capture the dead chains and take the neutral points. Light
//! playouts, random games that only avoid filling one-point eyes, estimate which chains are dead. Near the end of a
//! game, that is good enough and needs no network.

use tengen_rng::{self as rng, Rng};
use tengen_rules::{Color, Move, Point, PointSet, Position, playout::light_playout};

/// The number of random games that estimate the status of the board.
const JUDGING_GAMES: u32 = 200;

/// The number of random games that evaluate a move on 9x9; fewer on larger boards, where games are longer.
const GAMES_PER_MOVE: usize = 100;

/// The most moves that are evaluated.
const MAX_MOVES: usize = 64;

/// A chain counts as dead if the opponent's mean ownership of its points, −1 to 1, is above this value.
const DEAD_FROM: f32 = 0.6;

/// A move must gain at least this many points over the current board to be preferred to passing.
const MIN_GAIN: f32 = 0.5;

/// Moves within this many points of the best are considered equal, since random games are noisy.
const EQUAL_WITHIN: f32 = 1.0;

/// The mean ownership of each point at the end of light random games from a position: +1 = Black, −1 = White, in
/// reading order. The same seed gives the same map. A finished game is counted as it is.
pub fn playout_ownership(position: &Position, games: u32, seed: u64) -> Vec<f32> {
    let mut sums = vec![0i64; position.size().area()];
    play_out(position, games.max(1), seed, |end| {
        let area = end.area();
        area.black.iter().for_each(|point| sums[point.index()] += 1);
        area.white.iter().for_each(|point| sums[point.index()] -= 1);
    });
    sums.iter().map(|&sum| sum as f32 / games.max(1) as f32).collect()
}

/// The move by which the side to move finishes the board, where `preferred` is the move it would otherwise play.
///
/// While the board is still open, this is `preferred`, so an early pass by the opponent does not end an undecided game.
/// After that, it is a move that gains something over the current board, by capturing a dead chain or taking a neutral
/// point, or the pass if there is no such move.
///
/// The game is sure to end: every play changes the board, no board may repeat, and against an opponent who only passes,
/// each play fills an empty point or helps capture a chain that cannot return.
///
/// # Panics
/// If the game is over in `position`.
pub fn finishing_move(position: &Position, preferred: Move, seed: u64) -> Move {
    let mut rng = rng::stream(seed, &[position.ply() as u64]);
    let board = Board::estimate(position, &mut rng);
    if preferred != Move::Pass && !board.is_settled() {
        return preferred;
    }
    let mut moves = board.tasks();
    if moves.is_empty() && preferred == Move::Pass {
        return Move::Pass;
    }
    if let Move::Play(point) = preferred
        && !moves.iter().any(|task| task.point == point)
    {
        moves.push(Task {
            point,
            urgency: usize::MAX,
        });
    }
    let current = board.margin_now();
    let evaluated: Vec<(Task, f32)> = moves
        .into_iter()
        .map(|task| (task, board.margin_after(task.point, &mut rng)))
        .collect();
    let best = evaluated
        .iter()
        .map(|&(_, margin)| margin)
        .fold(f32::NEG_INFINITY, f32::max);
    if best < current + MIN_GAIN {
        return Move::Pass;
    }
    let good = evaluated
        .iter()
        .filter(|&&(_, margin)| margin >= (best - EQUAL_WITHIN).max(current + MIN_GAIN));
    let first = good.min_by_key(|(task, _)| (task.urgency, task.point));
    first.map_or(Move::Pass, |(task, _)| Move::Play(task.point))
}

/// A position with the ownership estimated by random games, from the viewpoint of the side to move.
struct Board<'a> {
    position: &'a Position,
    mover: Color,
    ownership: Vec<f32>,
}

/// A point where the side to move may gain something.
#[derive(Clone, Copy, Debug)]
struct Task {
    point: Point,
    /// The liberties of the dead chain that the play attacks, fewer first; neutral points come last.
    urgency: usize,
}

impl<'a> Board<'a> {
    fn estimate(position: &'a Position, rng: &mut Rng) -> Board<'a> {
        let mover = position.to_move();
        let mut ownership = playout_ownership(position, JUDGING_GAMES, rng::bits(rng));
        if mover == Color::White {
            ownership.iter_mut().for_each(|value| *value = -*value);
        }
        Board {
            position,
            mover,
            ownership,
        }
    }

    /// Whether nearly every point has a clear owner.
    fn is_settled(&self) -> bool {
        let open = self.ownership.iter().filter(|value| value.abs() < 0.5).count();
        open * 8 <= self.ownership.len()
    }

    /// The margin of the current board in points without komi, from the viewpoint of the side to move.
    fn margin_now(&self) -> f32 {
        self.for_mover(self.position.board_margin() as f32)
    }

    fn for_mover(&self, black_margin: f32) -> f32 {
        match self.mover {
            Color::Black => black_margin,
            Color::White => -black_margin,
        }
    }

    /// The liberties of dead chains and the neutral points, most urgent first.
    fn tasks(&self) -> Vec<Task> {
        let position = self.position;
        let area = position.area();
        let mut tasks: Vec<Task> = Vec::new();
        let legal = position.legal_points();
        for point in legal
            .iter()
            .filter(|&point| !position.is_one_point_eye(point, self.mover))
        {
            let neutral = (area.owner(point).is_none()).then_some(usize::MAX - 1);
            if let Some(urgency) = self.liberties_of_adjacent_dead(point).or(neutral) {
                tasks.push(Task { point, urgency });
            }
        }
        tasks.sort_by_key(|task| (task.urgency, task.point));
        tasks.truncate(MAX_MOVES);
        tasks
    }

    /// The number of liberties of the opponent's dead chain with the fewest liberties next to this point.
    fn liberties_of_adjacent_dead(&self, point: Point) -> Option<usize> {
        let position = self.position;
        let theirs = position.stones(self.mover.opposite());
        let adjacent = point.neighbors(position.size()).filter(|&stone| theirs.contains(stone));
        let dead = adjacent.filter(|&stone| self.is_dead(&position.chain(stone)));
        dead.map(|stone| position.liberties(stone)).min()
    }

    /// Whether a chain of the opponent is expected to be captured.
    fn is_dead(&self, chain: &PointSet) -> bool {
        let sum: f32 = chain.iter().map(|point| self.ownership[point.index()]).sum();
        sum > DEAD_FROM * chain.len() as f32
    }

    /// The mean margin of random games after a play in points without komi, from the viewpoint of the side to move.
    fn margin_after(&self, point: Point, rng: &mut Rng) -> f32 {
        let mut after = self.position.clone();
        after.play(Move::Play(point));
        let games = (GAMES_PER_MOVE * 81 / after.size().area()).clamp(24, GAMES_PER_MOVE) as u32;
        let mut sum = 0;
        play_out(&after, games, rng::bits(rng), |end| {
            sum += i64::from(end.board_margin());
        });
        self.for_mover(sum as f32 / games as f32)
    }
}

/// Plays light random games to their end and passes each final position to `count`.
fn play_out(position: &Position, games: u32, seed: u64, mut count: impl FnMut(&Position)) {
    let mut rng = rng::stream(seed, &[]);
    let mut game = position.clone();
    for _ in 0..games {
        game.copy_from(position);
        light_playout(&mut game, || rng::bits(&mut rng));
        count(&game);
    }
}
