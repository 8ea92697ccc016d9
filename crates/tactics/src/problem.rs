//! Problems with proved answers, and what a candidate must prove to become one.

use tengen_rules::{Color, Komi, Move, PointSet, Position};

use crate::goal::Goal;
use crate::komi::guess_margin;
use crate::prover::{Prover, Verdict, legal_moves};

/// A position with a goal, all moves that work for the side to move, and the outcome of the game.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The position, which has no history.
    pub position: Position,
    /// The side to move either reaches this goal or prevents it.
    pub goal: Goal,
    /// All moves that work, in the order of their indexes; not empty, and not all legal moves.
    pub right: Vec<Move>,
    /// The komi of the game.
    pub komi: Komi,
    /// Whether it is proved that the side to move wins the game at this komi with exactly the right moves. Otherwise
    /// only the goal was decided within the limits, and random games led to a komi between the two outcomes.
    pub wins_game: bool,
    /// For a ladder, whether the target is captured by nothing but ataris.
    pub ladder_works: Option<bool>,
}

/// A position that may be a problem.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) position: Position,
    /// The color that tries to capture the target.
    pub(crate) attacker: Color,
    pub(crate) target: PointSet,
    /// In a race, the stones that the other side captures if the side to move passes.
    pub(crate) rival: Option<PointSet>,
    /// Whether the game must be decided, too.
    pub(crate) decides_game: bool,
    /// As [`Problem::ladder_works`].
    pub(crate) ladder_works: Option<bool>,
    /// The points that probably go to whoever gets its way.
    pub(crate) stakes: PointSet,
}

/// What is known about the game in which a candidate stands.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Game {
    /// The same moves win the game if Black needs this margin.
    Decided(i32),
    /// No margin is known that the same moves decide.
    Differs,
    /// Nothing was proved within the limit.
    Unknown,
}

/// The limits of the proofs, in positions.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Limits {
    /// For the first questions about a candidate.
    pub(crate) first: u64,
    /// For each of its moves.
    pub(crate) each: u64,
    /// For each of its moves, about the outcome of the game.
    pub(crate) game: u64,
}

/// A candidate is too easy if fewer positions prove that the side to move needs its turn.
const FEWEST_NODES: u64 = 64;

/// The most moves of a problem that may work.
const MOST_RIGHT: usize = 3;

impl Candidate {
    /// The problem, if all of this is proved: the side to move gets its way, but not by a pass; each of its moves works
    /// or not; few do; and exactly the same moves win the game at a komi. In a race, the other side wins if it plays
    /// first. The komi must not be extreme. On open boards, the game may be
    /// too long to be decided.
    pub(crate) fn prove(&self, limits: Limits) -> Option<Problem> {
        if self.balance().abs() > self.position.size().area() as i32 / 3 + 4 {
            return None;
        }
        let mover = self.position.to_move();
        let mut passed = self.position.clone();
        passed.play(Move::Pass);
        let goal = self.capture(self.attacker, self.target);
        let mut first = Prover::new(goal, limits.first);
        if first.winner(&passed)? == mover || first.winner(&self.position)? != mover || first.nodes() < FEWEST_NODES {
            return None;
        }
        if let Some(rival) = self.rival {
            let other = mover.opposite();
            if Prover::new(self.capture(other, rival), limits.first).winner(&passed)? != other {
                return None;
            }
        }
        let right = right_moves(goal, limits.each, &self.position)?;
        let game = self.game(&right, limits.game);
        if game == Game::Differs || game == Game::Unknown && self.decides_game {
            return None;
        }
        let least = match game {
            Game::Decided(least) => least,
            Game::Differs | Game::Unknown => guess_margin(&self.position, *right.first()?),
        };
        Some(Problem {
            position: self.position.clone(),
            goal,
            right,
            komi: Komi::from_half_points(2 * least as i16 - 1),
            wins_game: game != Game::Unknown,
            ladder_works: self.ladder_works,
        })
    }

    /// Whether the game can be decided by the same moves.
    fn game(&self, right: &[Move], most_nodes: u64) -> Game {
        let Some(first) = right.first() else {
            return Game::Differs;
        };
        match self.deciding_margin(*first, most_nodes) {
            Ok(least) => match right_moves(Goal::Margin(least), most_nodes, &self.position) {
                Some(moves) if moves == right => Game::Decided(least),
                _ => Game::Differs,
            },
            Err(game) => game,
        }
    }

    fn capture(&self, attacker: Color, stones: PointSet) -> Goal {
        Goal::Capture { attacker, stones }
    }

    /// The least margin of a game that Black wins if it gets its way, by this move if it is to move, but loses if it
    /// does not.
    fn deciding_margin(&self, right: Move, most_nodes: u64) -> Result<i32, Game> {
        let mover = self.position.to_move();
        let area = self.position.size().area() as i32;
        let (mut least, mut most) = (1 - area, area);
        let mut middle = self.balance();
        while least <= most {
            let mut prover = Prover::new(Goal::Margin(middle), most_nodes);
            let too_hard = match prover.answer(&self.position, right) {
                Verdict::Unknown => return Err(Game::Unknown),
                Verdict::Disproved => true,
                Verdict::Proved => match prover.answer(&self.position, Move::Pass) {
                    Verdict::Unknown => return Err(Game::Unknown),
                    Verdict::Disproved => return Ok(middle),
                    Verdict::Proved => false,
                },
            };
            match too_hard == (mover == Color::Black) {
                true => most = middle - 1,
                false => least = middle + 1,
            }
            middle = (least + most).div_euclid(2);
        }
        Err(Game::Differs)
    }

    /// The margin that Black needs for half of the stakes and all it has elsewhere.
    fn balance(&self) -> i32 {
        let area = self.position.area();
        let outside = Color::ALL.map(|color| (*area.of(color) - self.stakes).len() as i32);
        outside[0] - outside[1] + 1
    }
}

/// The moves that work; `None` if one is not decided within the limit, or if too many work.
fn right_moves(goal: Goal, most_nodes: u64, position: &Position) -> Option<Vec<Move>> {
    let mut prover = Prover::new(goal, most_nodes);
    let mut right = Vec::new();
    for mv in legal_moves(position) {
        match prover.answer(position, mv) {
            Verdict::Proved => right.push(mv),
            Verdict::Disproved => {}
            Verdict::Unknown => return None,
        }
        if right.len() > MOST_RIGHT {
            return None;
        }
    }
    Some(right)
}
