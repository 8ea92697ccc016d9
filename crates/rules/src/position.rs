//! A position: the coloring, the player to move, and the whole history.

use crate::color::Color;
use crate::geometry::Geometry;
use crate::history::TurnTable;
use crate::moves::Move;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::rules::{GameEnd, Rules};
use crate::setup::Setup;
use crate::size::Size;

pub(crate) const EMPTY: u8 = 2;
pub(crate) const WALL: u8 = 3;

/// One point of the board; the fields below the line are meaningful only for the first stone ("head") of a chain.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Cell {
    /// Index of a [`Color`], [`EMPTY`], or [`WALL`] for the cell that represents everything outside the grid.
    pub(crate) color: u8,
    /// The head of the chain this stone belongs to.
    pub(crate) head: u16,
    /// The next stone of the same chain; the stones of a chain form a ring.
    pub(crate) next: u16,
    // ---
    /// The number of pairs of a stone of the chain and an adjacent empty point; 0 exactly if the chain has no liberty.
    pub(crate) pseudo_liberties: u16,
    /// The number of stones of the chain.
    pub(crate) stones: u16,
    /// The sum (exclusive or) of the stones' keys, low and high half.
    pub(crate) hash: [u64; 2],
}

impl Cell {
    pub(crate) const fn without_stone(color: u8) -> Cell {
        Cell {
            color,
            head: 0,
            next: 0,
            pseudo_liberties: 0,
            stones: 0,
            hash: [0; 2],
        }
    }

    #[inline]
    pub(crate) fn chain_hash(&self) -> u128 {
        join(self.hash)
    }
}

#[inline]
pub(crate) const fn join(halves: [u64; 2]) -> u128 {
    (halves[1] as u128) << 64 | halves[0] as u128
}

#[inline]
pub(crate) const fn halves(hash: u128) -> [u64; 2] {
    [hash as u64, (hash >> 64) as u64]
}

/// A chain before it was joined to another.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Joined {
    pub(crate) head: u16,
    pub(crate) pseudo_liberties: u16,
}

/// The state after a turn; entry 0 of a history represents the start.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Turn {
    /// The hash of the coloring after the turn.
    hash: [u64; 2],
    /// The length of the list of removed stones before the turn.
    pub(crate) removed_before: u32,
    /// The number of consecutive passes after the turn.
    pub(crate) passes: u16,
    /// The number of chains that the play joined to another.
    pub(crate) merges: u8,
    /// Bit 0: index of the player who took the turn; bit 1: index of the next player; other bits: see [`flag`].
    pub(crate) flags: u8,
}

/// The single bits of [`Turn::flags`], for events up to and including the turn.
pub(crate) mod flag {
    /// The ko rule compares later plays with this turn.
    pub(crate) const RECORDED: u8 = 1 << 2;
    /// The button has been taken.
    pub(crate) const BUTTON: u8 = 1 << 3;
    /// There was a second consecutive pass, so that the players could have agreed on the end.
    pub(crate) const STOPPED: u8 = 1 << 4;
    pub(crate) const OVER: u8 = 1 << 5;
    /// A long cycle has tied the game.
    pub(crate) const TIED: u8 = 1 << 6;
}

impl Turn {
    pub(crate) fn new(hash: u128, mover: Color, next: Color, passes: u16, removed_before: u32, merges: u8) -> Turn {
        Turn {
            hash: halves(hash),
            removed_before,
            passes,
            merges,
            flags: mover as u8 | (next as u8) << 1,
        }
    }

    #[inline]
    pub(crate) fn hash(&self) -> u128 {
        join(self.hash)
    }

    #[inline]
    pub(crate) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(crate) fn mover(&self) -> Color {
        color_of(self.flags & 1)
    }

    #[inline]
    pub(crate) fn next(&self) -> Color {
        color_of(self.flags >> 1 & 1)
    }
}

#[inline]
pub(crate) const fn color_of(index: u8) -> Color {
    if index == 0 { Color::Black } else { Color::White }
}

/// A Go position with its whole history, so that every ko rule is exact and every move can be undone.
///
/// The board is stored both as chains (rings of stones with counts of pseudo-liberties) and as bit sets of stones and
/// empty points; [`Position::assert_valid`] recomputes all of it.
///
/// ```
/// use tengen_rules::{Color, Komi, Move, Position, Size};
/// let size = Size::square(3).unwrap();
/// let mut position = Position::new(size);
/// position.play(Move::parse(size, "B2").unwrap());
/// position.play(Move::Pass);
/// position.play(Move::Pass);
/// assert!(position.is_over());
/// assert_eq!(position.margin(Komi::ZERO).to_string(), "B+9");
/// ```
#[derive(Debug)]
pub struct Position {
    pub(crate) geometry: &'static Geometry,
    pub(crate) rules: Rules,
    pub(crate) start: Setup,
    /// From this ply on, two consecutive passes end the game, even if people could then agree on dead stones.
    pub(crate) machines_from: usize,
    pub(crate) to_move: Color,
    /// The hash of the current coloring.
    pub(crate) hash: u128,
    pub(crate) stones: [PointSet; 2],
    pub(crate) empty: PointSet,
    /// The points from which a stone has ever been removed, by its color. A play elsewhere that stays on the board puts
    /// a stone where there has never been one of that color, so it cannot repeat an earlier grid.
    pub(crate) vacated: [PointSet; 2],
    /// The number of stones removed so far, by their color.
    pub(crate) prisoners: [u32; 2],
    /// One cell per point, then the cell for everything outside.
    pub(crate) cells: Box<[Cell]>,
    pub(crate) moves: Vec<Move>,
    /// `turns[i]` is the state after turn i; one longer than `moves`.
    pub(crate) turns: Vec<Turn>,
    /// The stones removed so far, chain by chain; see `play.rs` for the marks.
    pub(crate) removed: Vec<u16>,
    /// The chains that were joined to others, in order.
    pub(crate) merged: Vec<Joined>,
    pub(crate) table: TurnTable,
}

impl Position {
    /// The empty grid under Tromp-Taylor rules, Black to move.
    pub fn new(size: Size) -> Position {
        Position::with_rules(size, Rules::tromp_taylor())
    }

    /// The empty grid under the given rules, Black to move.
    pub fn with_rules(size: Size, rules: Rules) -> Position {
        Position::from_start(size, rules, Setup::EVEN)
    }

    /// The empty grid with an empty record, which does not even contain the start yet.
    pub(crate) fn without_record(size: Size, rules: Rules, start: Setup) -> Position {
        let geometry = Geometry::of(size);
        let area = geometry.area;
        let mut cells = vec![Cell::without_stone(EMPTY); area + 1];
        cells[area].color = WALL;
        Position {
            geometry,
            rules,
            start,
            machines_from: usize::MAX,
            to_move: start.to_move,
            hash: 0,
            stones: [PointSet::new(); 2],
            empty: geometry.all,
            vacated: [PointSet::new(); 2],
            prisoners: [0; 2],
            cells: cells.into_boxed_slice(),
            moves: Vec::new(),
            turns: Vec::new(),
            removed: Vec::new(),
            merged: Vec::new(),
            table: TurnTable::with_room_for(area),
        }
    }

    /// Makes this position equal to another and reuses its memory, which makes it cheap to refill a scratch board.
    pub fn copy_from(&mut self, other: &Position) {
        self.geometry = other.geometry;
        self.rules = other.rules;
        self.start = other.start;
        self.machines_from = other.machines_from;
        self.to_move = other.to_move;
        self.hash = other.hash;
        self.stones = other.stones;
        self.empty = other.empty;
        self.vacated = other.vacated;
        self.prisoners = other.prisoners;
        if self.cells.len() == other.cells.len() {
            self.cells.copy_from_slice(&other.cells);
        } else {
            self.cells = other.cells.clone();
        }
        self.moves.clone_from(&other.moves);
        self.turns.clone_from(&other.turns);
        self.removed.clone_from(&other.removed);
        self.merged.clone_from(&other.merged);
        self.table.clone_from(&other.table);
    }

    /// The memory in bytes that this position and its history use, including spare capacity for later turns.
    pub fn memory_bytes(&self) -> usize {
        fn held<T>(list: &Vec<T>) -> usize {
            list.capacity() * size_of::<T>()
        }
        size_of::<Position>()
            + size_of_val(&*self.cells)
            + held(&self.moves)
            + held(&self.turns)
            + held(&self.removed)
            + held(&self.merged)
            + self.table.memory_bytes()
    }

    /// The size of the grid.
    #[inline]
    pub fn size(&self) -> Size {
        self.geometry.size
    }

    /// The rules of the game.
    #[inline]
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The player to take the next turn.
    #[inline]
    pub fn to_move(&self) -> Color {
        self.to_move
    }

    /// The number of turns taken since the start.
    #[inline]
    pub fn ply(&self) -> usize {
        self.moves.len()
    }

    /// The moves since the start, oldest first.
    #[inline]
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The move of the last turn; `None` at the start.
    #[inline]
    pub fn last_move(&self) -> Option<Move> {
        self.moves.last().copied()
    }

    /// The number of passes since the last play, the taking of the button or the start.
    #[inline]
    pub fn consecutive_passes(&self) -> u32 {
        u32::from(self.last_turn().passes)
    }

    /// Whether the game is over; no move is legal then.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.last_turn().is(flag::OVER)
    }

    /// Whether a long cycle has ended the game as a tie, regardless of the score.
    #[inline]
    pub fn is_tied_by_cycle(&self) -> bool {
        self.last_turn().is(flag::TIED)
    }

    /// Whether the last two turns were passes and the rules now let the players agree on dead stones. The game then has
    /// the result of [`margin_without`](Position::margin_without) the dead stones, or under territory scoring that of
    /// the [`territory`](Position::territory) of the alive ones. Players who do not agree continue with the next turn,
    /// or under the Simplified Japanese Rules with [`undo`](Position::undo) of both passes.
    pub fn may_agree(&self) -> bool {
        let exactly_two = self.last_turn().passes == 2 && self.machines_from == usize::MAX;
        match self.rules.end {
            GameEnd::TwoPasses => false,
            GameEnd::OneResumption => exactly_two && !self.is_over(),
            GameEnd::FourPasses | GameEnd::Agreement | GameEnd::Japanese2008 => exactly_two,
        }
    }

    /// The number of stones of a color that plays have removed from the board, by capture or suicide.
    #[inline]
    pub fn prisoners(&self, color: Color) -> u32 {
        self.prisoners[color.index()]
    }

    /// The color of the stone at a point; `None` if the point is empty or off the grid.
    #[inline]
    pub fn at(&self, point: Point) -> Option<Color> {
        if self.stones[0].contains(point) {
            Some(Color::Black)
        } else if self.stones[1].contains(point) {
            Some(Color::White)
        } else {
            None
        }
    }

    /// The stones of a color.
    #[inline]
    pub fn stones(&self, color: Color) -> PointSet {
        self.stones[color.index()]
    }

    /// The points without a stone.
    #[inline]
    pub fn empty_points(&self) -> PointSet {
        self.empty
    }

    /// The stones of the chain at a point; empty if there is no stone.
    pub fn chain(&self, point: Point) -> PointSet {
        let mut set = PointSet::new();
        if self.at(point).is_some() {
            let mut stone = point.index();
            loop {
                set.set(stone);
                stone = usize::from(self.cells[stone].next);
                if stone == point.index() {
                    break;
                }
            }
        }
        set
    }

    /// The number of liberties of the chain at a point; 0 if there is no stone.
    pub fn liberties(&self, point: Point) -> usize {
        (self.geometry.adjacent(&self.chain(point)) & self.empty).len()
    }

    /// The stones of both colors in chains with exactly one, two and three liberties.
    pub fn chains_by_liberties(&self) -> [PointSet; 3] {
        let mut sets = [PointSet::new(); 3];
        for point in self.stones[0] | self.stones[1] {
            if usize::from(self.cells[point.index()].head) == point.index() {
                let chain = self.chain(point);
                let liberties = (self.geometry.adjacent(&chain) & self.empty).len();
                if let Some(set) = liberties.checked_sub(1).and_then(|n| sets.get_mut(n)) {
                    *set |= chain;
                }
            }
        }
        sets
    }

    /// The 128-bit hash of the coloring alone: equal colorings of the same size have equal hashes, regardless of who is
    /// to move.
    #[inline]
    pub fn hash(&self) -> u128 {
        self.hash
    }

    #[inline]
    pub(crate) fn geometry(&self) -> &'static Geometry {
        self.geometry
    }

    #[inline]
    pub(crate) fn stone_sets(&self) -> &[PointSet; 2] {
        &self.stones
    }

    #[inline]
    pub(crate) fn last_turn(&self) -> &Turn {
        self.turns.last().expect("a history begins with the start")
    }
}

impl Clone for Position {
    fn clone(&self) -> Position {
        Position {
            cells: self.cells.clone(),
            moves: self.moves.clone(),
            turns: self.turns.clone(),
            removed: self.removed.clone(),
            merged: self.merged.clone(),
            table: self.table.clone(),
            ..*self
        }
    }

    fn clone_from(&mut self, source: &Position) {
        self.copy_from(source);
    }
}
