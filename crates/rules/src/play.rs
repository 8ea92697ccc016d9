//! Making and undoing moves.
//!
//! Every step of a play has an exact inverse: joined rings of stones are split at the same places, and removed chains
//! are restored from the list of removed stones. That list has each chain's stones in the order of their ring, with the
//! head last.

use crate::color::Color;
use crate::handicap::Handicap;
use crate::illegal_move::IllegalMove;
use crate::moves::Move;
use crate::point::Point;
use crate::position::{Cell, EMPTY, Joined, Position, Turn, flag, halves, join};
use crate::rules::{GameEnd, KoRule, LongCycle};
use crate::zobrist;

/// Marks the last stone of a chain in the list, its head.
const HEAD: u16 = 1 << 15;
/// Marks the first stone of its color ever removed from its point.
const FIRST: u16 = 1 << 14;
/// The bit of the stone's color.
const COLOR: u16 = 1 << 13;
/// The bits of the stone's point.
pub(crate) const INDEX: u16 = COLOR - 1;

/// The color of a stone in the list of removed stones.
#[inline]
pub(crate) fn removed_color(entry: u16) -> usize {
    usize::from(entry & COLOR != 0)
}

impl Position {
    /// Makes a move if it is legal.
    ///
    /// # Errors
    /// The reason why the move is illegal; the position is then unchanged.
    pub fn try_play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        self.legality(mv)?;
        self.play_unchecked(mv);
        Ok(())
    }

    /// Makes a legal move.
    ///
    /// # Panics
    /// If the move is illegal.
    pub fn play(&mut self, mv: Move) {
        if let Err(reason) = self.try_play(mv) {
            panic!("{} is illegal: {reason}", mv.format(self.size()));
        }
    }

    /// Makes a move that the caller knows to be legal.
    ///
    /// Superko, suicide and the end of the game are not checked. Suicides are carried out, and the rest of the game
    /// continues from the record of exactly the moves made.
    ///
    /// # Panics
    /// If the point is off the board. Playing on a stone corrupts the position (debug builds panic).
    #[inline]
    pub fn play_unchecked(&mut self, mv: Move) {
        match mv {
            Move::Play(point) => self.place(point),
            Move::Pass => self.pass(),
        }
    }

    fn pass(&mut self) {
        let mover = self.to_move;
        let takes_button = self.rules.button && !self.last_turn().is(flag::BUTTON);
        let passes = if takes_button {
            0
        } else {
            self.last_turn().passes.saturating_add(1)
        };
        self.to_move = self.next_after_turn();
        let removed = self.removed.len() as u32;
        let mut turn = Turn::new(self.hash, mover, self.to_move, passes, removed, 0);
        turn.flags |= self.last_turn().flags & (flag::BUTTON | flag::STOPPED);
        if takes_button {
            turn.flags |= flag::BUTTON;
        }
        if passes > 0 && passes % 2 == 0 {
            turn.flags |= flag::STOPPED;
        }
        let over = match self.rules.end {
            _ if self.moves.len() >= self.machines_from => passes >= 2,
            GameEnd::TwoPasses | GameEnd::Japanese2008 => passes >= 2,
            GameEnd::FourPasses | GameEnd::Agreement => passes >= 4,
            GameEnd::OneResumption => passes >= 2 && passes % 2 == 0 && self.last_turn().is(flag::STOPPED),
        };
        if over || self.is_over() {
            turn.flags |= flag::OVER;
        }
        self.push_turn(turn, Some(Move::Pass));
    }

    fn place(&mut self, point: Point) {
        let index = point.index();
        debug_assert!(self.empty.has(index), "{point:?} has a stone");
        let mover = self.to_move;
        let removed_before = self.removed.len() as u32;
        let neighbors = self.neighbors(index);
        self.add_stone(index, mover, &neighbors);
        let merges = self.join_neighbors(index, mover, &neighbors);
        self.remove_captured(index, mover, &neighbors);
        self.to_move = self.next_after_turn();
        let mut turn = Turn::new(self.hash, mover, self.to_move, 0, removed_before, merges);
        turn.flags |= self.last_turn().flags & (flag::BUTTON | flag::STOPPED);
        if self.rules.long_cycle != LongCycle::GoesOn && self.closes_cycle(point, &turn) {
            turn.flags |= flag::TIED | flag::OVER;
        }
        self.push_turn(turn, Some(Move::Play(point)));
    }

    /// The player to move after the current turn.
    #[inline]
    pub(crate) fn next_after_turn(&self) -> Color {
        match self.start.handicap {
            Handicap::Consecutive(plays) if self.moves.len() + 1 < usize::from(plays) => Color::Black,
            _ => self.to_move.opposite(),
        }
    }

    /// Puts a stone of the starting position on the board.
    pub(crate) fn set_up(&mut self, point: Point, color: Color) {
        let neighbors = self.neighbors(point.index());
        self.add_stone(point.index(), color, &neighbors);
        self.join_neighbors(point.index(), color, &neighbors);
        self.merged.clear();
    }

    /// The color and head of each neighbor of a point, read once for the whole turn.
    #[inline]
    fn neighbors(&self, index: usize) -> [(u8, u16); 4] {
        self.geometry.neighbors[index].map(|neighbor| {
            let cell = &self.cells[usize::from(neighbor)];
            (cell.color, cell.head)
        })
    }

    /// Adds a stone as a chain of its own.
    #[inline]
    fn add_stone(&mut self, index: usize, color: Color, neighbors: &[(u8, u16); 4]) {
        let mut pseudo_liberties = 0;
        for &(color, head) in neighbors {
            if color == EMPTY {
                pseudo_liberties += 1;
            } else if color < EMPTY {
                self.cells[usize::from(head)].pseudo_liberties -= 1;
            }
        }
        let key = zobrist::stone(color.index(), index);
        self.cells[index] = Cell {
            color: color as u8,
            head: index as u16,
            next: index as u16,
            pseudo_liberties,
            stones: 1,
            hash: halves(key),
        };
        self.hash ^= key;
        self.stones[color.index()].set(index);
        self.empty.clear(index);
    }

    /// Joins the new stone with the adjacent chains of its color; returns the number of joins.
    #[inline]
    fn join_neighbors(&mut self, index: usize, mover: Color, neighbors: &[(u8, u16); 4]) -> u8 {
        let mut merges = 0;
        let mut own = index as u16;
        for &(color, head) in neighbors {
            if color != mover as u8 {
                continue;
            }
            // The chain may already have been joined.
            let head = self.cells[usize::from(head)].head;
            if head != own {
                let (kept, joined) = self.smaller_last(own, head);
                self.join(kept, joined);
                own = kept;
                merges += 1;
            }
        }
        merges
    }

    fn smaller_last(&self, a: u16, b: u16) -> (u16, u16) {
        if self.cells[usize::from(a)].stones >= self.cells[usize::from(b)].stones {
            (a, b)
        } else {
            (b, a)
        }
    }

    /// Joins the chain with head `joined` to the one with head `kept`.
    fn join(&mut self, kept: u16, joined: u16) {
        let added = self.cells[usize::from(joined)];
        self.merged.push(Joined {
            head: joined,
            pseudo_liberties: added.pseudo_liberties,
        });
        let mut stone = joined;
        loop {
            let cell = &mut self.cells[usize::from(stone)];
            cell.head = kept;
            stone = cell.next;
            if stone == joined {
                break;
            }
        }
        let keeper = &mut self.cells[usize::from(kept)];
        let after_kept = keeper.next;
        keeper.next = added.next;
        keeper.stones += added.stones;
        keeper.pseudo_liberties += added.pseudo_liberties;
        keeper.hash[0] ^= added.hash[0];
        keeper.hash[1] ^= added.hash[1];
        self.cells[usize::from(joined)].next = after_kept;
    }

    /// Undoes the last [`Position::join`].
    fn split(&mut self) {
        let joined = self.merged.pop().expect("each join is listed");
        let head = usize::from(joined.head);
        let kept = usize::from(self.cells[head].head);
        let after_kept = self.cells[head].next;
        self.cells[head].next = std::mem::replace(&mut self.cells[kept].next, after_kept);
        let (stones, hash) = self.take_ring(joined.head);
        let keeper = &mut self.cells[kept];
        keeper.stones -= stones;
        keeper.pseudo_liberties -= joined.pseudo_liberties;
        keeper.hash[0] ^= hash[0];
        keeper.hash[1] ^= hash[1];
        let cell = &mut self.cells[head];
        cell.stones = stones;
        cell.pseudo_liberties = joined.pseudo_liberties;
        cell.hash = hash;
    }

    /// Makes `head` the head of all stones in its ring; returns their number and the sum of their keys.
    fn take_ring(&mut self, head: u16) -> (u16, [u64; 2]) {
        let color = usize::from(self.cells[usize::from(head)].color & 1);
        let (mut stones, mut hash, mut stone) = (0, 0, head);
        loop {
            let cell = &mut self.cells[usize::from(stone)];
            cell.head = head;
            hash ^= zobrist::stone(color, usize::from(stone));
            stones += 1;
            stone = cell.next;
            if stone == head {
                return (stones, halves(hash));
            }
        }
    }

    /// Removes adjacent opposing chains without liberties, then the new stone's own chain if it has none.
    #[inline]
    fn remove_captured(&mut self, index: usize, mover: Color, neighbors: &[(u8, u16); 4]) {
        for &(color, head) in neighbors {
            let head_cell = &self.cells[usize::from(head)];
            // Two neighbors may belong to the same chain, which is then already removed.
            if color == mover.opposite() as u8 && head_cell.color == color && head_cell.pseudo_liberties == 0 {
                self.remove_chain(head);
            }
        }
        let own = self.cells[index].head;
        if self.cells[usize::from(own)].pseudo_liberties == 0 {
            self.remove_chain(own);
        }
    }

    fn remove_chain(&mut self, head: u16) {
        let Cell {
            color, hash, stones, ..
        } = self.cells[usize::from(head)];
        let owner = usize::from(color & 1);
        let mark = if owner == 0 { 0 } else { COLOR };
        self.hash ^= join(hash);
        self.prisoners[owner] += u32::from(stones);
        let mut stone = head;
        loop {
            stone = self.cells[usize::from(stone)].next;
            let index = usize::from(stone);
            self.cells[index].color = EMPTY;
            self.stones[owner].clear(index);
            self.empty.set(index);
            for neighbor in self.geometry.neighbors[index] {
                let Cell { color, head, .. } = self.cells[usize::from(neighbor)];
                if color < EMPTY {
                    self.cells[usize::from(head)].pseudo_liberties += 1;
                }
            }
            let first = if self.vacated[owner].has(index) { 0 } else { FIRST };
            self.vacated[owner].set(index);
            if stone == head {
                self.removed.push(stone | mark | first | HEAD);
                return;
            }
            self.removed.push(stone | mark | first);
        }
    }

    /// Undoes the last turn and returns its move; `None` at the start.
    pub fn undo(&mut self) -> Option<Move> {
        let mv = self.moves.pop()?;
        let turn = *self.last_turn();
        if turn.is(flag::RECORDED) {
            let number = self.turns.len() - 1;
            let key = record_key(self.rules.ko, &self.turns, number);
            self.table.remove_last(key, number);
        }
        self.turns.pop();
        self.to_move = turn.mover();
        if let Move::Play(point) = mv {
            self.take_back(point.index(), &turn);
        }
        self.hash = self.last_turn().hash();
        Some(mv)
    }

    fn take_back(&mut self, index: usize, turn: &Turn) {
        let mover = turn.mover();
        while self.removed.len() > turn.removed_before as usize {
            let color = if self.empty.has(index) { mover } else { mover.opposite() };
            self.restore_chain(color);
        }
        for _ in 0..turn.merges {
            self.split();
        }
        for neighbor in self.geometry.neighbors[index] {
            let Cell { color, head, .. } = self.cells[usize::from(neighbor)];
            if color < EMPTY {
                self.cells[usize::from(head)].pseudo_liberties += 1;
            }
        }
        self.cells[index].color = EMPTY;
        self.stones[mover.index()].clear(index);
        self.empty.set(index);
    }

    /// Restores the chain that was removed last.
    fn restore_chain(&mut self, color: Color) {
        let end = self.removed.len();
        let earlier = self.removed[..end - 1].iter().rposition(|e| e & HEAD != 0);
        // The stones before the head reach back to the previous chain's head, or to the start of the list.
        let start = earlier.map_or(0, |i| i + 1);
        let head = self.removed[end - 1] & INDEX;
        let mut hash = 0;
        let mut previous = head;
        for i in start..end {
            let entry = self.removed[i];
            let index = usize::from(entry & INDEX);
            self.remove_pseudo_liberties(index);
            hash ^= zobrist::stone(color.index(), index);
            self.cells[usize::from(previous)].next = entry & INDEX;
            previous = entry & INDEX;
            if entry & FIRST != 0 {
                self.vacated[color.index()].clear(index);
            }
        }
        for i in start..end {
            let index = usize::from(self.removed[i] & INDEX);
            self.cells[index].color = color as u8;
            self.cells[index].head = head;
            self.stones[color.index()].set(index);
            self.empty.clear(index);
        }
        let cell = &mut self.cells[usize::from(head)];
        cell.stones = (end - start) as u16;
        cell.pseudo_liberties = 0;
        cell.hash = halves(hash);
        self.prisoners[color.index()] -= (end - start) as u32;
        self.removed.truncate(start);
    }

    fn remove_pseudo_liberties(&mut self, index: usize) {
        for neighbor in self.geometry.neighbors[index] {
            let Cell { color, head, .. } = self.cells[usize::from(neighbor)];
            if color < EMPTY {
                self.cells[usize::from(head)].pseudo_liberties -= 1;
            }
        }
    }

    /// Appends a turn to the record; `mv` is `None` for the start.
    #[inline]
    pub(crate) fn push_turn(&mut self, mut turn: Turn, mv: Option<Move>) {
        let number = self.turns.len();
        let recorded = self.is_recorded(&turn, mv);
        if recorded {
            turn.flags |= flag::RECORDED;
        }
        self.turns.push(turn);
        if let Some(mv) = mv {
            self.moves.push(mv);
        }
        if recorded {
            let (ko, turns) = (self.rules.ko, &self.turns);
            let key = record_key(ko, turns, number);
            self.table.insert(key, number, |i| record_key(ko, turns, i));
        }
    }

    /// Whether the ko rule compares later plays with a turn with this move (`None`: the start).
    #[inline]
    fn is_recorded(&self, turn: &Turn, mv: Option<Move>) -> bool {
        match self.rules.ko {
            KoRule::PositionalSuperko => {
                // The pass that takes the button creates something new: the grid without the button.
                mv != Some(Move::Pass) || turn.is(flag::BUTTON) && !self.last_turn().is(flag::BUTTON)
            }
            KoRule::SituationalSuperko => true,
            KoRule::Superko1996 => mv.is_some(),
            KoRule::NaturalSituationalSuperko | KoRule::Fixed => matches!(mv, Some(Move::Play(_))),
            KoRule::Basic => self.rules.long_cycle != LongCycle::GoesOn && matches!(mv, Some(Move::Play(_))),
        }
    }
}

/// The key of turn `number` that the ko rule compares.
#[inline]
pub(crate) fn record_key(ko: KoRule, turns: &[Turn], number: usize) -> u128 {
    let turn = &turns[number];
    button_key(turn)
        ^ match ko {
            KoRule::PositionalSuperko | KoRule::Basic => turn.hash(),
            KoRule::SituationalSuperko => turn.hash() ^ zobrist::player(turn.next()),
            KoRule::Superko1996 | KoRule::NaturalSituationalSuperko => turn.hash() ^ zobrist::player(turn.mover()),
            KoRule::Fixed => zobrist::pair(turns[number - 1].hash(), turn.hash()),
        }
}

/// Part of the key that distinguishes turns after the button was taken from those before.
#[inline]
pub(crate) fn button_key(turn: &Turn) -> u128 {
    if turn.is(flag::BUTTON) { zobrist::BUTTON } else { 0 }
}
