//! Which chains can be captured in a ladder?
//!
//! The attacker only gives atari, and the defender only extends or captures. Every ko is taken to work for the
//! defender, except where the attacker can take either of two. This is how the ladder planes of KataGo's inputs are
//! defined, and what our own networks see that ask for ladders.

mod grid;

use tengen_rules::{Color, PointSet, Size};

use crate::grid::Cells;

pub use crate::grid::{Cell, Grid};

/// Boards for which a reader has room at first.
const USUAL_DEPTH: usize = 16;

/// The ladders of a board.
#[derive(Debug, Default, PartialEq)]
pub struct Ladders {
    /// The stones of chains that cannot escape from atari, or can be put into such an atari.
    pub stones: PointSet,
    /// The plays that put a chain of the color that was asked for into such an atari.
    pub plays: PointSet,
}

/// The ladders of a board with these stones of Black and White. The plays are those that capture chains of `target`. No
/// ladder begins with a play on a `banned` point. One that takes more than `most_plays` plays to read, with all
/// variations, counts as not working.
pub fn ladders(size: Size, stones: &[PointSet; 2], banned: PointSet, target: Color, most_plays: usize) -> Ladders {
    let grid = Grid::new(size, stones);
    let mut reader = Reader::new(grid.area(), most_plays);
    let mut found = Ladders::default();
    for point in stones[0] | stones[1] {
        let stone = grid.cell(size, point);
        let Some(owner) = grid.color(stone).filter(|_| grid.head(stone) == stone) else {
            continue;
        };
        let (caught, plays) = match grid.liberties(stone) {
            1 => (reader.is_caught(&grid, stone, owner), Vec::new()),
            2 => {
                let may_begin = |&cell: &Cell| grid.point(size, cell).is_some_and(|point| !banned.contains(point));
                let plays = reader.catching_plays(&grid, stone, owner, may_begin);
                (!plays.is_empty(), plays)
            }
            _ => continue,
        };
        let points = |cell| grid.point(size, cell);
        if caught {
            found.stones.extend(grid.chain(stone).filter_map(points));
        }
        if owner == target {
            found.plays.extend(plays.into_iter().filter_map(points));
        }
    }
    found
}

/// Reads one ladder at a time, on boards that it reuses.
struct Reader {
    /// The board at each depth; they are as many as have been needed so far.
    boards: Vec<Grid>,
    /// A ladder this deep counts as working.
    deepest: usize,
    /// Plays after which a ladder counts as not working.
    most_plays: usize,
    /// Plays tried so far.
    plays: usize,
}

/// The ladder was too long to read.
struct GaveUp;

impl Reader {
    fn new(area: usize, most_plays: usize) -> Reader {
        Reader {
            most_plays,
            boards: Vec::with_capacity(USUAL_DEPTH),
            deepest: area * 3 / 2,
            plays: 0,
        }
    }

    /// The plays of the attacker, of those that may be made, after which a chain with two liberties cannot escape.
    fn catching_plays(
        &mut self,
        grid: &Grid,
        stone: Cell,
        owner: Color,
        may_begin: impl Fn(&Cell) -> bool,
    ) -> Vec<Cell> {
        let mut plays = Cells::default();
        grid.add_liberties(stone, &mut plays);
        let attacker = owner.opposite();
        let catches = |&play: &Cell| {
            if !may_begin(&play) || !grid.may_play(play, attacker) {
                return false;
            }
            self.begin(grid).play(play, attacker);
            self.is_caught_now(stone, owner)
        };
        plays.0.into_iter().filter(catches).collect()
    }

    /// Whether a chain whose owner is to move cannot escape from atari.
    fn is_caught(&mut self, grid: &Grid, stone: Cell, owner: Color) -> bool {
        self.begin(grid);
        self.is_caught_now(stone, owner)
    }

    /// The same on the first board.
    fn is_caught_now(&mut self, stone: Cell, owner: Color) -> bool {
        if self.boards[0].liberties(stone) > 1 {
            return false;
        }
        self.plays = 0;
        self.boards[0].ko = None;
        self.escaper(0, stone, owner).unwrap_or(false)
    }

    /// The first board, as a copy of this one.
    fn begin(&mut self, grid: &Grid) -> &mut Grid {
        match self.boards.first_mut() {
            Some(first) => first.copy_from(grid),
            None => self.boards.push(*grid),
        }
        &mut self.boards[0]
    }

    /// Gives up once too many plays were tried.
    fn go_on(&self) -> Result<(), GaveUp> {
        if self.plays < self.most_plays {
            Ok(())
        } else {
            Err(GaveUp)
        }
    }

    /// Tries a play; the depth at which the other side is to move, or `None` if the play is illegal.
    fn after(&mut self, depth: usize, play: Cell, mover: Color) -> Result<Option<usize>, GaveUp> {
        self.go_on()?;
        if !self.boards[depth].may_play(play, mover) {
            return Ok(None);
        }
        match self.boards.split_at_mut(depth + 1) {
            (before, [after, ..]) => after.copy_from(&before[depth]),
            (before, []) => {
                let after = before[depth];
                self.boards.push(after);
            }
        }
        self.boards[depth + 1].play(play, mover);
        self.plays += 1;
        Ok(Some(depth + 1))
    }

    /// Whether the chain is caught when its owner is to move.
    fn escaper(&mut self, depth: usize, stone: Cell, owner: Color) -> Result<bool, GaveUp> {
        if depth >= self.deepest {
            return Ok(true);
        }
        self.go_on()?;
        let board = &self.boards[depth];
        if board.liberties(stone) >= 2 || board.ko.is_some() {
            return Ok(false);
        }
        let mut plays = Cells::default();
        board.add_captures(stone, owner, &mut plays);
        board.add_liberties(stone, &mut plays);
        if let Some(&last) = plays.0.last() {
            let (least, most) = board.liberties_after(last, owner);
            if least >= 3 {
                return Ok(false);
            }
            if plays.0.len() == 1 && most <= 1 {
                return Ok(true);
            }
        }
        for play in plays.0 {
            if let Some(next) = self.after(depth, play, owner)? {
                let caught = self.chaser(next, stone, owner)?;
                self.go_on()?;
                if !caught {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether the chain is caught when its attacker is to move.
    fn chaser(&mut self, depth: usize, stone: Cell, owner: Color) -> Result<bool, GaveUp> {
        if depth >= self.deepest {
            return Ok(true);
        }
        self.go_on()?;
        let board = &self.boards[depth];
        match board.liberties(stone) {
            0 | 1 => return Ok(true),
            2 => {}
            _ => return Ok(false),
        }
        let mut plays = Cells::default();
        board.add_liberties(stone, &mut plays);
        let &[first, second] = &plays.0[..] else {
            return Ok(false);
        };
        if is_double_ko(board, stone, owner, [first, second]) {
            return Ok(true);
        }
        for play in worth_trying(board, owner, [first, second]).into_iter().flatten() {
            if let Some(next) = self.after(depth, play, owner.opposite())? {
                let caught = self.escaper(next, stone, owner)?;
                self.go_on()?;
                if caught {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Whether both liberties of a chain are mouths of kos that the attacker can take, and connecting does not help.
fn is_double_ko(board: &Grid, stone: Cell, owner: Color, liberties: [Cell; 2]) -> bool {
    let is_mouth = |&cell: &Cell| board.open_around(cell) == 0 && board.takes_ko(cell, owner.opposite());
    if !liberties.iter().all(is_mouth) || !liberties.iter().all(|&cell| board.stays_short(cell, owner)) {
        return false;
    }
    let mut captures = Cells::default();
    board.add_captures(stone, owner, &mut captures);
    captures.0.is_empty()
}

/// The attacker's plays that can work, the better one first. Unless both liberties touch, filling one leaves the other
/// with all its own, and a chain with three liberties has escaped.
fn worth_trying(board: &Grid, owner: Color, [first, second]: [Cell; 2]) -> [Option<Cell>; 2] {
    let open = [first, second].map(|cell| board.open_around(cell));
    if !board.are_adjacent(first, second) {
        match open.map(|count| count >= 3) {
            [true, true] => return [None, None],
            [true, false] => return [Some(first), None],
            [false, true] => return [Some(second), None],
            [false, false] => {}
        }
    }
    let gain = |number: usize, cell| 2 * open[number] + board.connection(cell, owner);
    match gain(1, second) > gain(0, first) {
        true => [Some(second), Some(first)],
        false => [Some(first), Some(second)],
    }
}
