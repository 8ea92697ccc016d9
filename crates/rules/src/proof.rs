//! Depth-first proof-number search (Nagai 2002) of a question about a position, exact with its history.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::color::Color;
use crate::moves::Move;
use crate::play::record_key;
use crate::position::{Position, flag};
use crate::zobrist;

/// A question that one color wins and the other loses.
pub(crate) trait Question {
    /// Who has won in a position, if that is already clear.
    fn winner(&self, position: &Position) -> Option<Color>;
    /// Whether the player to move should try to pass before trying plays.
    fn pass_first(&self, position: &Position) -> bool;
}

/// The proof numbers of a position: the smallest number of further positions that have to be decided favorably for the
/// player to move to win (`phi`) or to lose (`delta`); 0 and [`NEVER`] once the position is decided.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
struct Numbers {
    phi: u32,
    delta: u32,
}

const NEVER: u32 = u32::MAX / 2;

impl Numbers {
    const UNKNOWN: Numbers = Numbers { phi: 1, delta: 1 };
    const WON: Numbers = Numbers { phi: 0, delta: NEVER };
    const LOST: Numbers = Numbers { phi: NEVER, delta: 0 };
    const NO_LIMIT: Numbers = Numbers {
        phi: NEVER,
        delta: NEVER,
    };

    fn below(&self, limits: Numbers) -> bool {
        self.phi < limits.phi && self.delta < limits.delta
    }
}

/// A hasher that uses the low half of a key, which is already random.
#[derive(Default)]
struct LowHalf(u64);

impl Hasher for LowHalf {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("positions are hashed as u128");
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

/// The search for the answer to one question. It supports ko rules that do not record passes: positional superko and
/// fixed ko.
pub(crate) struct Proof<'a, Q> {
    position: &'a mut Position,
    question: Q,
    max_nodes: u64,
    /// The number of positions searched so far.
    pub(crate) nodes: u64,
    /// Proof numbers by position and the set of earlier grids that its ko rule compares, to keep histories separate.
    numbers: HashMap<u128, Numbers, BuildHasherDefault<LowHalf>>,
}

/// A move and the key of the position it leads to.
struct Child {
    mv: Move,
    key: u128,
    visited: u128,
}

impl<'a, Q: Question> Proof<'a, Q> {
    /// A search from a position, which each call leaves unchanged; it stops after `max_nodes` positions.
    pub(crate) fn new(position: &'a mut Position, question: Q, max_nodes: u64) -> Proof<'a, Q> {
        Proof {
            position,
            question,
            max_nodes,
            nodes: 0,
            numbers: HashMap::default(),
        }
    }

    /// The winner and a best move for the player to move; `None` if the search reached its limit.
    pub(crate) fn run(&mut self) -> Option<(Color, Move)> {
        let visited = self.visited();
        let to_move = self.position.to_move();
        let winner = match self.search(visited, Numbers::NO_LIMIT) {
            Numbers { phi: 0, .. } => to_move,
            Numbers { delta: 0, .. } => to_move.opposite(),
            _ => return None,
        };
        let children = self.children(visited);
        let winning = |child: &&Child| winner == to_move && self.known(child.key).delta == 0;
        let child = children.iter().find(winning).unwrap_or(&children[0]);
        Some((winner, child.mv))
    }

    /// A hash of the set of all keys that the ko rule compares.
    fn visited(&self) -> u128 {
        let (ko, turns) = (self.position.rules().ko, &self.position.turns);
        let recorded = (0..turns.len()).filter(|&i| turns[i].is(flag::RECORDED));
        recorded.fold(0, |set, i| set ^ zobrist::scatter(record_key(ko, turns, i)))
    }

    fn known(&self, key: u128) -> Numbers {
        self.numbers.get(&key).copied().unwrap_or(Numbers::UNKNOWN)
    }

    /// Searches below the current position until it is decided or one of its numbers reaches its limit.
    fn search(&mut self, visited: u128, limits: Numbers) -> Numbers {
        self.nodes += 1;
        if let Some(winner) = self.question.winner(self.position) {
            return if winner == self.position.to_move() {
                Numbers::WON
            } else {
                Numbers::LOST
            };
        }
        let children = self.children(visited);
        loop {
            let (numbers, best, second_delta) = self.sum_up(&children);
            if !numbers.below(limits) || self.nodes >= self.max_nodes {
                return numbers;
            }
            let child = &children[best];
            let before = self.known(child.key);
            let child_limits = Numbers {
                phi: (limits.delta - (numbers.delta - before.phi)).min(NEVER),
                delta: limits.phi.min(second_delta.saturating_add(1)),
            };
            self.position.play_unchecked(child.mv);
            let after = self.search(child.visited, child_limits);
            self.position.undo();
            self.numbers.insert(child.key, after);
        }
    }

    /// The numbers that follow from the children, the most promising child, and the `delta` of the second best.
    fn sum_up(&self, children: &[Child]) -> (Numbers, usize, u32) {
        let (mut best, mut least, mut second) = (0, u32::MAX, NEVER);
        let mut delta = 0u32;
        for (i, child) in children.iter().enumerate() {
            let numbers = self.known(child.key);
            delta = delta.saturating_add(numbers.phi).min(NEVER);
            if numbers.delta < least {
                second = least.min(NEVER);
                (best, least) = (i, numbers.delta);
            } else {
                second = second.min(numbers.delta);
            }
        }
        (Numbers { phi: least, delta }, best, second)
    }

    /// All legal moves with the keys of the positions they lead to.
    fn children(&self, visited: u128) -> Vec<Child> {
        let next = zobrist::player(self.position.to_move().opposite());
        let mut children = Vec::new();
        for point in self.position.legal_points() {
            let effect = self.position.effect(point.index());
            let visited = visited ^ zobrist::scatter(self.position.key_of_play(&effect));
            children.push(Child {
                mv: Move::Play(point),
                key: visited ^ effect.hash ^ next,
                visited,
            });
        }
        let passes = u128::from(self.position.consecutive_passes() + 1);
        let pass = Child {
            mv: Move::Pass,
            key: visited ^ self.position.hash() ^ next ^ zobrist::scatter(passes),
            visited,
        };
        if self.question.pass_first(self.position) {
            children.insert(0, pass);
        } else {
            children.push(pass);
        }
        children
    }
}
