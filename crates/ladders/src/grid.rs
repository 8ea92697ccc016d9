//! A board for reading ladders: small, quick to copy, without a history.

use tengen_rules::{Color, MAX_SIDE, Point, PointSet, Size};

/// Cells with a border on all sides; rows share the border between them.
const CELLS: usize = (MAX_SIDE + 1) * (MAX_SIDE + 2) + 1;

/// A cell of a [`Grid`].
pub type Cell = u16;

/// The head of a cell without a stone; this cell is on the border.
const NONE: Cell = 0;

/// What is on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Empty,
    Border,
    Stone(Color),
}

/// The stones of a board as chains that know their liberties.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    width: u16,
    height: u16,
    cells: [On; CELLS],
    /// The head of each stone's chain.
    head: [Cell; CELLS],
    /// The next stone of the same chain; the stones of a chain form a ring.
    next: [Cell; CELLS],
    /// Number of liberties of the chain, at its head.
    liberties: [u16; CELLS],
    /// Number of stones of the chain, at its head.
    stones: [u16; CELLS],
    /// Where no one may play, because a ko would be retaken at once.
    pub(crate) ko: Option<Cell>,
}

/// A few cells, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Cells(pub(crate) Vec<Cell>);

impl Cells {
    fn add(&mut self, cell: Cell) {
        if !self.0.contains(&cell) {
            self.0.push(cell);
        }
    }
}

impl Grid {
    /// The board with these stones of Black and White.
    pub fn new(size: Size, stones: &[PointSet; 2]) -> Grid {
        let mut grid = Grid {
            width: size.width() as u16,
            height: size.height() as u16,
            cells: [On::Border; CELLS],
            head: [NONE; CELLS],
            next: [0; CELLS],
            liberties: [0; CELLS],
            stones: [0; CELLS],
            ko: None,
        };
        for row in 1..=size.height() {
            let first = row * (size.width() + 1) + 1;
            grid.cells[first..first + size.width()].fill(On::Empty);
        }
        let colors = [(Color::Black, &stones[0]), (Color::White, &stones[1])];
        for (color, stones) in colors {
            for point in stones.iter() {
                grid.cells[usize::from(grid.cell(size, point))] = On::Stone(color);
            }
        }
        let mut chain = Vec::new();
        for (color, stones) in colors {
            for point in stones.iter() {
                let cell = grid.cell(size, point);
                if grid.head(cell) == NONE {
                    grid.gather(cell, color, &mut chain);
                }
            }
        }
        grid
    }

    /// Becomes the same as another board of this size, without touching cells beyond its last row.
    pub(crate) fn copy_from(&mut self, other: &Grid) {
        debug_assert_eq!(
            (self.width, self.height),
            (other.width, other.height),
            "boards of one size"
        );
        let used = usize::from((self.width + 1) * (self.height + 2) + 1);
        self.cells[..used].copy_from_slice(&other.cells[..used]);
        self.head[..used].copy_from_slice(&other.head[..used]);
        self.next[..used].copy_from_slice(&other.next[..used]);
        self.liberties[..used].copy_from_slice(&other.liberties[..used]);
        self.stones[..used].copy_from_slice(&other.stones[..used]);
        self.ko = other.ko;
    }

    /// Makes one chain of all stones that are connected to this one, and leaves them in `chain`.
    fn gather(&mut self, head: Cell, color: Color, chain: &mut Vec<Cell>) {
        chain.clear();
        chain.push(head);
        self.head[usize::from(head)] = head;
        let mut done = 0;
        while let Some(&stone) = chain.get(done) {
            done += 1;
            for near in self.around(stone) {
                if self.is(near, color) && self.head(near) == NONE {
                    self.head[usize::from(near)] = head;
                    chain.push(near);
                }
            }
        }
        for (place, &stone) in chain.iter().enumerate() {
            self.next[usize::from(stone)] = chain[(place + 1) % chain.len()];
        }
        self.stones[usize::from(head)] = chain.len() as u16;
        self.count_liberties(head);
    }

    /// The cell of a point.
    pub fn cell(&self, size: Size, point: Point) -> Cell {
        (point.row(size) as u16 + 1) * (self.width + 1) + point.column(size) as u16 + 1
    }

    /// The point of a cell on the board.
    pub(crate) fn point(&self, size: Size, cell: Cell) -> Option<Point> {
        let (row, column) = (cell / (self.width + 1), cell % (self.width + 1));
        size.point(usize::from(column.checked_sub(1)?), usize::from(row.checked_sub(1)?))
    }

    /// Number of points of the board.
    pub(crate) fn area(&self) -> usize {
        usize::from(self.width) * usize::from(self.height)
    }

    /// The four cells around one.
    pub(crate) fn around(&self, cell: Cell) -> [Cell; 4] {
        let row = self.width + 1;
        [cell - row, cell - 1, cell + 1, cell + row]
    }

    pub(crate) fn are_adjacent(&self, a: Cell, b: Cell) -> bool {
        self.around(a).contains(&b)
    }

    fn is(&self, cell: Cell, color: Color) -> bool {
        self.cells[usize::from(cell)] == On::Stone(color)
    }

    fn is_empty(&self, cell: Cell) -> bool {
        self.cells[usize::from(cell)] == On::Empty
    }

    /// The color of the stone on a cell.
    pub fn color(&self, cell: Cell) -> Option<Color> {
        match self.cells[usize::from(cell)] {
            On::Stone(color) => Some(color),
            On::Empty | On::Border => None,
        }
    }

    /// The head of the chain of a stone.
    pub(crate) fn head(&self, stone: Cell) -> Cell {
        self.head[usize::from(stone)]
    }

    /// Number of liberties of the chain of a stone.
    pub fn liberties(&self, stone: Cell) -> u16 {
        self.liberties[usize::from(self.head(stone))]
    }

    /// Number of stones of the chain of a stone.
    fn size_of_chain(&self, stone: Cell) -> u16 {
        self.stones[usize::from(self.head(stone))]
    }

    /// Number of empty cells around one.
    pub(crate) fn open_around(&self, cell: Cell) -> usize {
        self.around(cell).iter().filter(|&&near| self.is_empty(near)).count()
    }

    /// The stones of the chain of a stone, beginning with it.
    pub(crate) fn chain(&self, stone: Cell) -> impl Iterator<Item = Cell> + '_ {
        let mut at = Some(stone);
        std::iter::from_fn(move || {
            let now = at?;
            at = Some(self.next[usize::from(now)]).filter(|&next| next != stone);
            Some(now)
        })
    }

    /// Adds the liberties of the chain of a stone to `found`, except those that are there already.
    pub(crate) fn add_liberties(&self, stone: Cell, found: &mut Cells) {
        for own in self.chain(stone) {
            for near in self.around(own) {
                if self.is_empty(near) {
                    found.add(near);
                }
            }
        }
    }

    /// Adds the plays that capture a chain next to that of a stone to `found`.
    pub(crate) fn add_captures(&self, stone: Cell, owner: Color, found: &mut Cells) {
        for own in self.chain(stone) {
            for near in self.around(own) {
                if self.is(near, owner.opposite()) && self.liberties(near) == 1 {
                    self.add_liberties(near, found);
                }
            }
        }
    }

    fn count_liberties(&mut self, stone: Cell) {
        let mut counted = [0_u64; CELLS.div_ceil(64)];
        for own in self.chain(stone) {
            for near in self.around(own) {
                if self.is_empty(near) {
                    counted[usize::from(near) / 64] |= 1 << (near % 64);
                }
            }
        }
        let count: u32 = counted.iter().map(|word| word.count_ones()).sum();
        self.liberties[usize::from(self.head(stone))] = count as u16;
    }

    /// Whether a color may play on a cell. Suicide is never allowed: it does not help in a ladder.
    pub(crate) fn may_play(&self, cell: Cell, color: Color) -> bool {
        self.is_empty(cell)
            && self.ko != Some(cell)
            && self
                .around(cell)
                .iter()
                .any(|&near| match self.cells[usize::from(near)] {
                    On::Empty => true,
                    On::Border => false,
                    On::Stone(owner) if owner == color => self.liberties(near) > 1,
                    On::Stone(_) => self.liberties(near) == 1,
                })
    }

    /// Makes a play that [may be made](Self::may_play).
    pub(crate) fn play(&mut self, cell: Cell, color: Color) {
        let place = usize::from(cell);
        self.cells[place] = On::Stone(color);
        (self.head[place], self.next[place], self.stones[place]) = (cell, cell, 1);
        let mut taken = 0;
        let mut last_taken = None;
        let mut seen = Cells::default();
        for near in self.around(cell) {
            if self.is(near, color) && self.head(near) != self.head(cell) {
                self.join(near, cell);
            } else if self.is(near, color.opposite()) && !seen.0.contains(&self.head(near)) {
                let head = self.head(near);
                seen.add(head);
                self.liberties[usize::from(head)] -= 1;
                if self.liberties(near) == 0 {
                    taken += self.remove(near, color);
                    last_taken = Some(near);
                }
            }
        }
        self.count_liberties(cell);
        let alone = self.size_of_chain(cell) == 1 && self.liberties(cell) == 1;
        self.ko = last_taken.filter(|_| taken == 1 && alone);
    }

    /// Makes one chain of two.
    fn join(&mut self, a: Cell, b: Cell) {
        let (mut kept, mut joined) = (self.head(a), self.head(b));
        if self.stones[usize::from(kept)] < self.stones[usize::from(joined)] {
            std::mem::swap(&mut kept, &mut joined);
        }
        self.stones[usize::from(kept)] += self.stones[usize::from(joined)];
        let mut last = joined;
        loop {
            self.head[usize::from(last)] = kept;
            let next = self.next[usize::from(last)];
            if next == joined {
                break;
            }
            last = next;
        }
        self.next[usize::from(last)] = self.next[usize::from(kept)];
        self.next[usize::from(kept)] = joined;
    }

    /// Removes a chain that `taker` has captured; returns its number of stones.
    fn remove(&mut self, stone: Cell, taker: Color) -> usize {
        let chain: Vec<Cell> = self.chain(stone).collect();
        for &gone in &chain {
            self.cells[usize::from(gone)] = On::Empty;
        }
        for &gone in &chain {
            let mut gainers = Cells::default();
            for near in self.around(gone) {
                if self.is(near, taker) {
                    gainers.add(self.head(near));
                }
            }
            for head in gainers.0 {
                self.liberties[usize::from(head)] += 1;
            }
        }
        chain.len()
    }

    /// At least and at most how many liberties a stone of a color would have on a cell, quickly counted.
    pub(crate) fn liberties_after(&self, cell: Cell, color: Color) -> (usize, usize) {
        let (mut captures, mut captured, mut connected, mut most) = (0, 0, 0, 0);
        for near in self.around(cell) {
            if self.is(near, color.opposite()) && self.liberties(near) == 1 {
                captures += 1;
                captured += usize::from(self.size_of_chain(near));
            } else if self.is(near, color) {
                let others = usize::from(self.liberties(near)).saturating_sub(1);
                connected += others;
                most = most.max(others);
            }
        }
        let open = self.open_around(cell);
        (captures + most.max(open), open + captured + connected)
    }

    /// Whether a play would leave its chain with at most two liberties.
    pub(crate) fn stays_short(&self, cell: Cell, color: Color) -> bool {
        let mut after = *self;
        after.ko = None;
        if !after.is_empty(cell) {
            return false;
        }
        after.play(cell, color);
        after.liberties(cell) <= 2
    }

    /// Whether a color that plays on a cell takes exactly one stone in a ko.
    pub(crate) fn takes_ko(&self, cell: Cell, color: Color) -> bool {
        let mut target = None;
        for near in self.around(cell) {
            match self.cells[usize::from(near)] {
                On::Border => continue,
                On::Stone(owner) if owner != color => {}
                On::Stone(_) | On::Empty => return false,
            }
            if self.liberties(near) == 1 && target.replace(near).is_some() {
                return false;
            }
        }
        target.is_some_and(|near| self.size_of_chain(near) == 1)
    }

    /// How much a color would gain by connecting on a cell, as an order of what to try first.
    pub(crate) fn connection(&self, cell: Cell, color: Color) -> usize {
        let gain = |near: &Cell| match self.is(*near, color) {
            true => usize::from(2 * self.liberties(*near)).saturating_sub(3),
            false => 0,
        };
        self.around(cell).iter().map(gain).sum()
    }
}
