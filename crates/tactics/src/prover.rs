//! Questions and their exact answers.

use tengen_rules::{Color, Move, PointSet, Position, Rules};

use crate::goal::Goal;
use crate::search::Search;
use crate::table::Table;

/// What is proved about a goal.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It is reached, whatever the other side does.
    Proved,
    /// It is not: the other side can prevent it.
    Disproved,
    /// The search ended at its limit.
    Unknown,
}

/// A legal move and whether the side that makes it gets its way: it reaches the goal if it is the claimant, and
/// prevents it otherwise.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct MoveAnswer {
    /// The move.
    pub mv: Move,
    /// Whether it works.
    pub works: Verdict,
}

/// Answers questions about one goal under Tromp-Taylor rules, exact with the whole history of each position.
///
/// It remembers results that do not depend on the history, so related questions are faster together.
///
/// ```
/// use tengen_rules::{Color, Move, PointSet, Position, Size};
/// use tengen_tactics::{Goal, Prover, Verdict};
/// // A white stone in the corner of a 3x3 board, in atari.
/// let size = Size::square(3).unwrap();
/// let mut position = Position::new(size);
/// for name in ["A2", "A1", "C3"] {
///     position.play(Move::parse(size, name).unwrap());
/// }
/// let stones = position.stones(Color::White);
/// let mut prover = Prover::new(Goal::Capture { attacker: Color::Black, stones }, 100_000);
/// let saving = prover.answers(&position).unwrap();
/// assert!(saving.iter().all(|answer| answer.works == Verdict::Disproved));
/// ```
#[derive(Debug)]
pub struct Prover {
    goal: Goal,
    max_nodes: u64,
    table: Table,
    nodes: u64,
}

impl Prover {
    /// A prover that searches at most `max_nodes` positions for each question.
    pub fn new(goal: Goal, max_nodes: u64) -> Prover {
        Prover {
            goal,
            max_nodes,
            table: Table::default(),
            nodes: 0,
        }
    }

    /// The number of positions searched so far.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The color that gets its way from a position on; `None` if the search reached its limit.
    ///
    /// The stones of [`Goal::Capture`] are those that stand on its points in this position.
    ///
    /// # Panics
    /// If the rules of the position are not Tromp-Taylor. All positions must have the same size.
    pub fn winner(&mut self, position: &Position) -> Option<Color> {
        self.winner_with(position, self.goal.targets(position))
    }

    /// The same if these target stones are left.
    fn winner_with(&mut self, position: &Position, left: PointSet) -> Option<Color> {
        assert_eq!(
            position.rules(),
            Rules::tromp_taylor(),
            "only Tromp-Taylor rules are supported"
        );
        let mut search = Search::new(position, &self.goal, &mut self.table, self.max_nodes);
        let winner = search.run(left);
        self.nodes += search.nodes;
        winner
    }

    /// Whether the claimant reaches the goal.
    ///
    /// # Panics
    /// As [`Prover::winner`].
    pub fn prove(&mut self, position: &Position) -> Verdict {
        verdict(self.winner(position), self.goal.claimant())
    }

    /// Whether each legal move of the side to move, the pass included, gets it its way; `None` as soon as one of them
    /// is not decided within the limit.
    ///
    /// # Panics
    /// As [`Prover::winner`].
    pub fn answers(&mut self, position: &Position) -> Option<Vec<MoveAnswer>> {
        let mut answers = Vec::new();
        for mv in legal_moves(position) {
            let works = self.answer(position, mv);
            if works == Verdict::Unknown {
                return None;
            }
            answers.push(MoveAnswer { mv, works });
        }
        Some(answers)
    }

    /// Whether a move gets the side to move its way.
    ///
    /// # Panics
    /// As [`Prover::winner`], or if the move is illegal.
    pub fn answer(&mut self, position: &Position, mv: Move) -> Verdict {
        let mut after = position.clone();
        after.play(mv);
        let left = self.goal.left(self.goal.targets(position), &after);
        verdict(self.winner_with(&after, left), position.to_move())
    }
}

/// All legal moves in the order of their indexes; none once the game is over.
pub(crate) fn legal_moves(position: &Position) -> Vec<Move> {
    let plays = position.legal_points().iter().map(Move::Play);
    plays.chain((!position.is_over()).then_some(Move::Pass)).collect()
}

fn verdict(winner: Option<Color>, color: Color) -> Verdict {
    match winner {
        None => Verdict::Unknown,
        Some(winner) if winner == color => Verdict::Proved,
        Some(_) => Verdict::Disproved,
    }
}
