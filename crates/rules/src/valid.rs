//! Slow checks of all incrementally updated state.

use crate::color::Color;
use crate::play::record_key;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::{EMPTY, Position, flag};
use crate::zobrist;

impl Position {
    /// Recomputes all derived state from the stones and the record and checks that it matches. This is slow.
    ///
    /// # Panics
    /// If anything differs; the message says what.
    pub fn assert_valid(&self) {
        self.assert_sets_valid();
        self.assert_chains_valid();
        self.assert_record_valid();
        let mut replayed = Position::from_start(self.size(), self.rules, self.start);
        replayed.machines_from = self.machines_from;
        for &mv in &self.moves {
            replayed.play_unchecked(mv);
        }
        assert!(replayed == *self, "replaying the record gives a different position");
    }

    fn assert_sets_valid(&self) {
        let [black, white] = self.stones;
        assert!(!black.intersects(&white), "a point has two stones");
        assert_eq!(self.empty, self.geometry.all - black - white, "empty points");
        for point in self.size().points() {
            let color = self.at(point).map_or(EMPTY, |c| c as u8);
            assert_eq!(self.cells[point.index()].color, color, "color of {point:?}");
        }
        let keys = Color::ALL.iter().flat_map(|&c| {
            self.stones(c)
                .into_iter()
                .map(move |p| zobrist::stone(c.index(), p.index()))
        });
        assert_eq!(self.hash, keys.fold(0, |sum, key| sum ^ key), "hash of the grid");
    }

    fn assert_chains_valid(&self) {
        for color in Color::ALL {
            for chain in self.geometry.components(&self.stones(color)) {
                self.assert_chain_valid(color, &chain);
            }
        }
    }

    fn assert_chain_valid(&self, color: Color, chain: &PointSet) {
        let first = chain.next_from(0).expect("a chain has stones");
        let head = self.cells[first.index()].head;
        assert!(chain.has(head.into()), "head of {first:?}");
        assert!(
            chain.iter().all(|p| self.cells[p.index()].head == head),
            "heads of {first:?}"
        );
        assert_eq!(self.chain(first), *chain, "ring of {first:?}");
        let pseudo_liberties: usize = chain
            .iter()
            .flat_map(|p| self.geometry.neighbors[p.index()])
            .filter(|&n| self.cells[usize::from(n)].color == EMPTY)
            .count();
        let key = |p: Point| zobrist::stone(color.index(), p.index());
        let data = &self.cells[usize::from(head)];
        assert!(pseudo_liberties > 0, "the chain of {first:?} has no liberty");
        assert_eq!(
            usize::from(data.pseudo_liberties),
            pseudo_liberties,
            "pseudo_liberties of {first:?}"
        );
        assert_eq!(usize::from(data.stones), chain.len(), "stones of {first:?}");
        assert_eq!(
            data.chain_hash(),
            chain.iter().fold(0, |sum, p| sum ^ key(p)),
            "hash of {first:?}"
        );
    }

    fn assert_record_valid(&self) {
        assert_eq!(self.turns.len(), self.moves.len() + 1, "turns and moves");
        assert_eq!(self.hash, self.last_turn().hash(), "hash of the last turn");
        assert_eq!(self.to_move, self.last_turn().next(), "player to move");
        assert_eq!(
            self.removed.len() as u32,
            self.prisoners.iter().sum::<u32>(),
            "removed stones"
        );
        let recorded: Vec<usize> = (0..self.turns.len())
            .filter(|&i| self.turns[i].is(flag::RECORDED))
            .collect();
        assert_eq!(self.table.turns(), recorded, "turns in the table");
        assert_eq!(self.table.len(), recorded.len(), "number of turns in the table");
        let key_of = |i| record_key(self.rules.ko, &self.turns, i);
        for &turn in &recorded {
            assert!(
                self.table.find_all(key_of(turn), key_of).contains(&turn),
                "turn {turn} is not found"
            );
        }
    }
}

impl PartialEq for Position {
    /// Compares every field: size, rules, start, record, and the board including the order of stones in chains.
    fn eq(&self, other: &Position) -> bool {
        self.size() == other.size()
            && self.rules == other.rules
            && self.start == other.start
            && self.machines_from == other.machines_from
            && self.to_move == other.to_move
            && self.hash == other.hash
            && self.stones == other.stones
            && self.empty == other.empty
            && self.vacated == other.vacated
            && self.prisoners == other.prisoners
            && self.moves == other.moves
            && self.turns == other.turns
            && self.removed == other.removed
            && self.merged == other.merged
            && self.table.turns() == other.table.turns()
            && self.size().points().all(|p| self.same_cell(other, p.index()))
    }
}

impl Eq for Position {}

impl Position {
    /// Compares the meaningful fields of a cell; the others may be left over from earlier stones.
    fn same_cell(&self, other: &Position, index: usize) -> bool {
        let (a, b) = (&self.cells[index], &other.cells[index]);
        let head = usize::from(a.head) == index;
        a.color == b.color
            && (a.color == EMPTY || (a.head == b.head && a.next == b.next))
            && (a.color == EMPTY
                || !head
                || (a.pseudo_liberties == b.pseudo_liberties && a.stones == b.stones && a.hash == b.hash))
    }
}
