//! What is left to do on the board before both pass?
//!
//! Strict rules count what stands: a dead chain that nobody captured is alive. Whoever wants a final board that needs no
//! judgement has to capture what is dead and to take the neutral points first. What is dead is estimated by light random
//! games to the end, which know nothing but spare one-point eyes: at the end of a game that is enough, and it needs no
//! network.

use tengen_rules::{Color, Move, Point, PointSet, Position, playout::light_playout};

use tengen_rng::{self as rng, Rng};

/// Random games that judge the board.
const JUDGING_GAMES: u32 = 200;

/// Random games that judge a move on 9x9; fewer on larger boards, where a game is longer.
const GAMES_PER_MOVE: usize = 100;

/// Moves that are judged at most.
const MOST_MOVES: usize = 64;

/// The mean ownership, −1 to 1, from which on a chain counts as lost to the other color.
const DEAD_FROM: f32 = 0.6;

/// A move must promise this many points more than the board as it stands, or passing is as good.
const LEAST_GAIN: f32 = 0.5;

/// Moves within so many points of the best are taken to be equally good: the spread of the random games.
const EQUAL_WITHIN: f32 = 1.0;

/// Who owns each point at the end of light random games from a position, on average: +1 = Black, −1 = White, in reading
/// order. The same seed gives the same map. A finished game is counted as it stands.
pub fn playout_ownership(position: &Position, games: u32, seed: u64) -> Vec<f32> {
    let mut sums = vec![0i64; position.size().area()];
    play_out(position, games.max(1), seed, |end| {
        let area = end.area();
        area.black.iter().for_each(|point| sums[point.index()] += 1);
        area.white.iter().for_each(|point| sums[point.index()] -= 1);
    });
    sums.iter().map(|&sum| sum as f32 / games.max(1) as f32).collect()
}

/// The move with which the side to move makes the board complete, where `wanted` is what it would play otherwise.
///
/// While something can be gained over the board as it stands, by capturing a dead chain of the opponent or by taking a
/// neutral point, it is a move that gains it; the pass when nothing can, and `wanted` while the board is still open, so that
/// an early pass of the opponent does not end serious play.
///
/// Such a game ends: every move that is no pass changes the board, no board may come back, and against an opponent who only
/// passes each move takes away an empty point or a chain that is gone for good.
///
/// # Panics
/// When the game is over in `position`.
pub fn finishing_move(position: &Position, wanted: Move, seed: u64) -> Move {
    let mut rng = rng::stream(seed, &[position.ply() as u64]);
    let board = Board::judge(position, &mut rng);
    if wanted != Move::Pass && !board.is_settled() {
        return wanted;
    }
    let mut moves = board.work();
    if moves.is_empty() && wanted == Move::Pass {
        return Move::Pass;
    }
    if let Move::Play(point) = wanted
        && !moves.iter().any(|work| work.point == point)
    {
        moves.push(Work {
            point,
            urgency: usize::MAX,
        });
    }
    let stands = board.margin_now();
    let judged: Vec<(Work, f32)> = moves
        .into_iter()
        .map(|work| (work, board.margin_after(work.point, &mut rng)))
        .collect();
    let best = judged
        .iter()
        .map(|&(_, margin)| margin)
        .fold(f32::NEG_INFINITY, f32::max);
    if best < stands + LEAST_GAIN {
        return Move::Pass;
    }
    let good = judged
        .iter()
        .filter(|&&(_, margin)| margin >= (best - EQUAL_WITHIN).max(stands + LEAST_GAIN));
    let first = good.min_by_key(|(work, _)| (work.urgency, work.point));
    first.map_or(Move::Pass, |(work, _)| Move::Play(work.point))
}

/// A position with what the random games say about it, seen by the side to move.
struct Board<'a> {
    position: &'a Position,
    mover: Color,
    ownership: Vec<f32>,
}

/// A point where something may be gained.
#[derive(Clone, Copy, Debug)]
struct Work {
    point: Point,
    /// Liberties of the dead chain that the point takes one from, fewer first; a neutral point comes after all of these.
    urgency: usize,
}

impl<'a> Board<'a> {
    fn judge(position: &'a Position, rng: &mut Rng) -> Board<'a> {
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

    /// Whether the owner of nearly every point is clear.
    fn is_settled(&self) -> bool {
        let open = self.ownership.iter().filter(|value| value.abs() < 0.5).count();
        open * 8 <= self.ownership.len()
    }

    /// Points the side to move is ahead on the board as it stands, without komi.
    fn margin_now(&self) -> f32 {
        self.seen(self.position.board_margin() as f32)
    }

    fn seen(&self, black_margin: f32) -> f32 {
        match self.mover {
            Color::Black => black_margin,
            Color::White => -black_margin,
        }
    }

    /// The liberties of dead chains and the neutral points, the most urgent first.
    fn work(&self) -> Vec<Work> {
        let position = self.position;
        let area = position.area();
        let mut work: Vec<Work> = Vec::new();
        let legal = position.legal_points();
        for point in legal
            .iter()
            .filter(|&point| !position.is_one_point_eye(point, self.mover))
        {
            let neutral = (area.owner(point).is_none()).then_some(usize::MAX - 1);
            if let Some(urgency) = self.liberties_of_dead_beside(point).or(neutral) {
                work.push(Work { point, urgency });
            }
        }
        work.sort_by_key(|work| (work.urgency, work.point));
        work.truncate(MOST_MOVES);
        work
    }

    /// Liberties of the weakest dead chain of the opponent that has a liberty here.
    fn liberties_of_dead_beside(&self, point: Point) -> Option<usize> {
        let position = self.position;
        let theirs = position.stones(self.mover.opposite());
        let beside = point.neighbors(position.size()).filter(|&stone| theirs.contains(stone));
        let dead = beside.filter(|&stone| self.is_dead(&position.chain(stone)));
        dead.map(|stone| position.liberties(stone)).min()
    }

    /// Whether a chain of the opponent is expected to be captured.
    fn is_dead(&self, chain: &PointSet) -> bool {
        let sum: f32 = chain.iter().map(|point| self.ownership[point.index()]).sum();
        sum > DEAD_FROM * chain.len() as f32
    }

    /// Points the side to move is ahead in the mean of random games after a play, without komi.
    fn margin_after(&self, point: Point, rng: &mut Rng) -> f32 {
        let mut after = self.position.clone();
        after.play(Move::Play(point));
        let games = (GAMES_PER_MOVE * 81 / after.size().area()).clamp(24, GAMES_PER_MOVE) as u32;
        let mut sum = 0;
        play_out(&after, games, rng::bits(rng), |end| {
            sum += i64::from(end.board_margin());
        });
        self.seen(sum as f32 / games as f32)
    }
}

/// Plays light random games to their end and shows each last position.
fn play_out(position: &Position, games: u32, seed: u64, mut seen: impl FnMut(&Position)) {
    let mut rng = rng::stream(seed, &[]);
    let mut game = position.clone();
    for _ in 0..games {
        game.copy_from(position);
        light_playout(&mut game, || rng::bits(&mut rng));
        seen(&game);
    }
}
