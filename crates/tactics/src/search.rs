//! Depth-first proof-number search (Nagai 2002) of a goal, exact with the whole history.
//!
//! Under positional superko, the legal moves depend on all earlier grids, so a result found for a position must not be
//! reused blindly when the same position is reached in another way (Kishimoto and Müller 2004 treat the same problem
//! for chess and checkers). Each proof therefore says what it takes from the history before its position:
//!
//! * The winner's plays must be legal. A play puts a stone of the winner on a point; if the winner never had a stone
//!   there in the history, no earlier grid has that stone, and superko cannot forbid the play. A suicide leaves no such
//!   stone, so it ties the proof to its exact history.
//! * All legal moves of the loser must be answered. A ban by a grid of the proof itself, or by the grid of its first
//!   position, holds under every history. A ban by an older grid ties the proof to its exact history.
//!
//! Proofs that take nothing else from the history are kept by position and are reused where the winner has never had a
//! stone on the points played; the others are kept by the exact path from the start of the question. Proof numbers of
//! undecided positions only guide the search.

use tengen_rng::fold;
use tengen_rules::{Color, IllegalMove, Move, PointSet, Position};

use crate::goal::Goal;
use crate::table::{NEVER, Numbers, Proof, Table};

/// The search gives up on a question when a line becomes longer than this many turns, to bound the recursion.
const LONGEST_LINE: usize = 300;

/// A position of the search with what the goal and superko need to know about its history.
#[derive(Copy, Clone, Debug)]
struct Node {
    /// The grid, the player to move, the passes, and the target stones that are left.
    key: u128,
    /// The moves since the start of the question.
    path: u128,
    left: PointSet,
    /// The points where each color has or had a stone.
    had: [PointSet; 2],
}

struct Child {
    mv: Move,
    /// Whether the play removes the player's own chain.
    suicide: bool,
    guess: Numbers,
    node: Node,
}

/// One search for the answer to a question.
pub(crate) struct Search<'a> {
    position: Position,
    goal: &'a Goal,
    table: &'a mut Table,
    /// The number of positions searched so far.
    pub(crate) nodes: u64,
    max_nodes: u64,
    deepest: usize,
}

impl Node {
    /// The first position of a question.
    fn root(position: &Position, left: PointSet) -> Node {
        Node {
            key: key(position, left),
            path: 0,
            left,
            had: stones_ever(position),
        }
    }
}

impl<'a> Search<'a> {
    pub(crate) fn new(position: &Position, goal: &'a Goal, table: &'a mut Table, max_nodes: u64) -> Search<'a> {
        table.next_question();
        Search {
            position: position.clone(),
            goal,
            table,
            nodes: 0,
            max_nodes,
            deepest: position.ply() + LONGEST_LINE,
        }
    }

    /// The color that gets its way if these target stones are left; `None` if the search reached its limit.
    pub(crate) fn run(&mut self, left: PointSet) -> Option<Color> {
        let root = Node::root(&self.position, left);
        if self.table.proof(root.key, root.path, &root.had).is_none() {
            self.search(&root, Numbers::NO_LIMIT);
        }
        let proof = self.table.proof(root.key, root.path, &root.had)?;
        Some(proof.winner)
    }

    /// Searches below a position until it is decided or one of its numbers reaches its limit.
    fn search(&mut self, node: &Node, limits: Numbers) {
        self.nodes += 1;
        if let Some(winner) = self.goal.winner(&self.position, node.left) {
            self.table.set_free(node.key, node.path, Proof::immediate(winner));
            return;
        }
        if self.position.ply() >= self.deepest {
            self.nodes = self.max_nodes;
        }
        let children = self.children(node);
        loop {
            let (numbers, best, second_delta) = self.sum_up(&children);
            if numbers.phi == 0 || numbers.delta == 0 {
                if let Some(proof) = self.proof_from(&children, numbers.phi == 0) {
                    self.keep(node, proof);
                }
                return;
            }
            if !numbers.below(limits) || self.nodes >= self.max_nodes {
                self.table.set_estimate(node.key, node.path, numbers);
                return;
            }
            let child = &children[best];
            let before = self.numbers(child);
            let child_limits = Numbers {
                phi: (limits.delta - (numbers.delta - before.phi)).min(NEVER),
                delta: limits.phi.min(second_delta.saturating_add(1)),
            };
            self.position.play_unchecked(child.mv);
            self.search(&child.node, child_limits);
            self.position.undo();
        }
    }

    /// The numbers of the position after a move, for the player to move there.
    fn numbers(&self, child: &Child) -> Numbers {
        let node = &child.node;
        match self.table.proof(node.key, node.path, &node.had) {
            Some(proof) => Numbers::decided(proof.winner, self.position.to_move().opposite()),
            None => {
                let estimate = self.table.estimate(node.key, node.path).unwrap_or(child.guess);
                // Only a proof decides.
                Numbers {
                    phi: estimate.phi.clamp(1, NEVER - 1),
                    delta: estimate.delta.clamp(1, NEVER - 1),
                }
            }
        }
    }

    /// The numbers that follow from the children, the most promising child, and the `delta` of the second best.
    fn sum_up(&self, children: &[Child]) -> (Numbers, usize, u32) {
        let (mut best, mut least, mut second) = (0, u32::MAX, NEVER);
        let mut delta = 0u32;
        for (i, child) in children.iter().enumerate() {
            let numbers = self.numbers(child);
            delta = delta.saturating_add(numbers.phi).min(NEVER);
            if numbers.delta < least {
                second = least.min(NEVER);
                (best, least) = (i, numbers.delta);
            } else {
                second = second.min(numbers.delta);
            }
            if least == 0 {
                return (Numbers::WON, best, second);
            }
        }
        (Numbers { phi: least, delta }, best, second)
    }

    /// The proof for the current position, in which the player to move wins or every move loses.
    fn proof_from(&self, children: &[Child], wins: bool) -> Option<Proof> {
        let to_move = self.position.to_move();
        let proof_of = |child: &Child| {
            let Node { key, path, had, .. } = child.node;
            self.table.proof(key, path, &had)
        };
        if wins {
            let with_proof = |child| Some((child, proof_of(child)?));
            let mut won = children.iter().filter_map(with_proof);
            return won
                .find(|(_, proof)| proof.winner == to_move)
                .map(|(child, proof)| with_play(proof, child));
        }
        let mut whole = Proof::immediate(to_move.opposite());
        for child in children {
            let proof = proof_of(child).filter(|proof| proof.winner == whole.winner)?;
            whole.plays |= proof.plays;
            whole.oldest_ban = whole.oldest_ban.min(proof.oldest_ban);
        }
        whole.oldest_ban = whole.oldest_ban.min(self.oldest_ban());
        Some(whole)
    }

    /// The oldest turn whose grid bans a play of the player to move.
    fn oldest_ban(&self) -> i64 {
        let banned = self.position.superko_banned().iter();
        let turns = banned.filter_map(|point| match self.position.legality(Move::Play(point)) {
            Err(IllegalMove::Superko { repeats_ply }) => Some(repeats_ply as i64),
            _ => None,
        });
        turns.min().unwrap_or(Proof::NO_BAN)
    }

    /// Keeps a proof for the current position, as widely as it holds.
    fn keep(&mut self, node: &Node, proof: Proof) {
        // Passes leave the grid, so the current grid is as old as the last play.
        let grid = (self.position.ply() - self.position.consecutive_passes() as usize) as i64;
        let plays_are_new = !proof.plays.intersects(&node.had[proof.winner.index()]);
        if plays_are_new && proof.oldest_ban >= grid {
            self.table.set_free(node.key, node.path, proof);
        } else {
            self.table.set_bound(node.path, proof);
        }
    }

    /// All legal moves with the positions they lead to.
    fn children(&mut self, node: &Node) -> Vec<Child> {
        let mover = self.position.to_move();
        let plays = self.position.legal_points().iter().map(Move::Play);
        let moves: Vec<Move> = plays.chain([Move::Pass]).collect();
        let child = |mv: Move| {
            self.position.play_unchecked(mv);
            let left = self.goal.left(node.left, &self.position);
            let stays = mv.point().is_some_and(|point| self.position.at(point).is_some());
            let mut had = node.had;
            mv.point().iter().for_each(|&point| had[mover.index()].insert(point));
            let node = Node {
                key: key(&self.position, left),
                path: step(node.path, mv),
                left,
                had,
            };
            let guess = self.goal.guess(&self.position, left, mv);
            self.position.undo();
            Child {
                mv,
                suicide: mv != Move::Pass && !stays,
                guess,
                node,
            }
        };
        moves.into_iter().map(child).collect()
    }
}

/// The proof of the position before a winning move.
fn with_play(mut proof: Proof, child: &Child) -> Proof {
    if let Move::Play(point) = child.mv {
        proof.plays.insert(point);
    }
    if child.suicide {
        proof.oldest_ban = Proof::WHOLE_HISTORY;
    }
    proof
}

/// The points where each color has or had a stone, or at least played one.
fn stones_ever(position: &Position) -> [PointSet; 2] {
    let mut had = Color::ALL.map(|color| position.start_stones(color));
    for (ply, mv) in position.moves().iter().enumerate() {
        if let Move::Play(point) = *mv {
            had[position.start().mover(ply).index()].insert(point);
        }
    }
    had
}

/// What distinguishes positions apart from their history.
fn key(position: &Position, left: PointSet) -> u128 {
    let turn = 2 * u64::from(position.consecutive_passes()) + position.to_move().index() as u64;
    position.hash() ^ scatter(turn, left.words())
}

/// The path that goes on with a move.
fn step(path: u128, mv: Move) -> u128 {
    let mv = mv.point().map_or(u64::MAX, |point| point.index() as u64);
    scatter(mv, &[path as u64, (path >> 64) as u64])
}

fn scatter(seed: u64, words: &[u64]) -> u128 {
    let low = fold(seed, words);
    u128::from(fold(!seed, words)) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use tengen_rules::Size;

    use super::*;

    #[test]
    fn keys_tell_apart_all_that_decides_what_comes() {
        let mut position = Position::new(Size::square(3).unwrap());
        let point = Size::square(3).unwrap().point(1, 1).unwrap();
        position.play(Move::Play(point));
        let first: PointSet = [point].into_iter().collect();
        let both: PointSet = position.size().points().take(5).collect();
        let mut keys = vec![
            key(&position, first),
            key(&position, both),
            key(&position, PointSet::new()),
        ];
        position.play(Move::Pass);
        keys.push(key(&position, first));
        position.play(Move::Pass);
        keys.push(key(&position, first));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 5);
    }

    #[test]
    fn a_suicide_ties_a_proof_to_its_history() {
        let size = Size::square(3).unwrap();
        let position = Position::new(size);
        let point = size.point(1, 1).unwrap();
        let node = Node {
            key: key(&position, PointSet::new()),
            path: 0,
            left: PointSet::new(),
            had: [PointSet::new(); 2],
        };
        let guess = Numbers { phi: 1, delta: 1 };
        let proof = |suicide: bool| {
            let mv = Move::Play(point);
            let proof = Proof::immediate(Color::Black);
            with_play(
                proof,
                &Child {
                    mv,
                    suicide,
                    guess,
                    node,
                },
            )
        };
        assert_eq!(proof(true).oldest_ban, Proof::WHOLE_HISTORY);
        assert_eq!(proof(false).oldest_ban, Proof::NO_BAN);
        assert!(proof(false).plays.contains(point));
    }
}
