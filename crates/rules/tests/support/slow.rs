//! A literal implementation of the rules with whole grids in lists and no optimizations; the oracle for the fast board.

use tengen_rules::{Color, GameEnd, IllegalMove, KoRule, LongCycle, Move, Rules, Size, Suicide};

pub type Grid = Vec<Option<Color>>;

/// The state after one turn; the first entry is the start.
struct Entry {
    grid: Grid,
    mover: Option<Color>,
    mv: Option<Move>,
    next: Color,
    removed: [usize; 2],
    button_taken: bool,
    tie: bool,
}

pub struct SlowGame {
    size: Size,
    rules: Rules,
    record: Vec<Entry>,
}

fn adjacent(size: Size, a: usize, b: usize) -> bool {
    let (ax, ay) = (a % size.width(), a / size.width());
    let (bx, by) = (b % size.width(), b / size.width());
    ax.abs_diff(bx) + ay.abs_diff(by) == 1
}

/// The points that paths of `start`'s own color lead to, including `start` and the points where those paths end.
fn reached(size: Size, grid: &Grid, start: usize) -> Vec<usize> {
    let mut path = vec![start];
    let mut ends = Vec::new();
    let mut i = 0;
    while i < path.len() {
        for q in 0..size.area() {
            if adjacent(size, path[i], q) {
                if grid[q] == grid[start] && !path.contains(&q) {
                    path.push(q);
                } else if grid[q] != grid[start] {
                    ends.push(q);
                }
            }
        }
        i += 1;
    }
    path.extend(ends);
    path
}

pub fn reaches(size: Size, grid: &Grid, start: usize, color: Option<Color>) -> bool {
    reached(size, grid, start).iter().any(|&q| grid[q] == color)
}

/// Empties every point of a color that does not reach an empty point; returns their number.
fn clear(size: Size, grid: &mut Grid, color: Color) -> usize {
    let before = grid.clone();
    let mut count = 0;
    for p in 0..size.area() {
        if before[p] == Some(color) && !reaches(size, &before, p, None) {
            grid[p] = None;
            count += 1;
        }
    }
    count
}

impl SlowGame {
    pub fn new(size: Size, rules: Rules) -> SlowGame {
        let start = Entry {
            grid: vec![None; size.area()],
            mover: None,
            mv: None,
            next: Color::Black,
            removed: [0; 2],
            button_taken: false,
            tie: false,
        };
        SlowGame {
            size,
            rules,
            record: vec![start],
        }
    }

    fn last(&self) -> &Entry {
        self.record.last().unwrap()
    }

    pub fn grid(&self) -> &Grid {
        &self.last().grid
    }

    pub fn to_move(&self) -> Color {
        self.last().next
    }

    pub fn prisoners(&self, color: Color) -> usize {
        self.record.iter().map(|e| e.removed[color.index()]).sum()
    }

    /// Whether entry `i` is the pass that took the button.
    fn takes_button(&self, i: usize) -> bool {
        self.record[i].button_taken && !self.record[i - 1].button_taken
    }

    pub fn tie(&self) -> bool {
        self.last().tie
    }

    pub fn is_over(&self) -> bool {
        let (mut over, mut run, mut pairs) = (false, 0, 0);
        for i in 1..self.record.len() {
            if self.record[i].mv != Some(Move::Pass) {
                over = self.record[i].tie;
                run = 0;
                continue;
            }
            run = if self.takes_button(i) { 0 } else { run + 1 };
            let pair = run > 0 && run % 2 == 0;
            pairs += usize::from(pair);
            over |= match self.rules.end {
                GameEnd::TwoPasses | GameEnd::Japanese2008 => run == 2,
                GameEnd::FourPasses | GameEnd::Agreement => run == 4,
                GameEnd::OneResumption => pair && pairs >= 2,
            };
        }
        over
    }

    /// The grid after a play and the number of stones of each color that it removes.
    fn grid_after(&self, p: usize, color: Color) -> (Grid, [usize; 2]) {
        let mut grid = self.grid().clone();
        let mut removed = [0; 2];
        grid[p] = Some(color);
        removed[color.opposite().index()] = clear(self.size, &mut grid, color.opposite());
        removed[color.index()] = clear(self.size, &mut grid, color);
        (grid, removed)
    }

    pub fn legality(&self, mv: Move) -> Result<(), IllegalMove> {
        if let Move::Play(point) = mv
            && point.index() >= self.size.area()
        {
            return Err(IllegalMove::OffBoard);
        }
        if self.is_over() {
            return Err(IllegalMove::GameOver);
        }
        let Move::Play(point) = mv else { return Ok(()) };
        let color = self.to_move();
        if self.grid()[point.index()].is_some() {
            return Err(IllegalMove::Occupied);
        }
        let (grid, removed) = self.grid_after(point.index(), color);
        let own = removed[color.index()];
        match self.rules.suicide {
            Suicide::Forbidden if own > 0 => return Err(IllegalMove::Suicide),
            Suicide::MultiOnly if own == 1 => return Err(IllegalMove::Suicide),
            _ => {}
        }
        match self.repeated(&grid, color) {
            Some(repeats_ply) => Err(IllegalMove::Superko { repeats_ply }),
            None => Ok(()),
        }
    }

    /// The earliest turn i because of which the ko rule forbids the grid.
    fn repeated(&self, grid: &Grid, color: Color) -> Option<usize> {
        let button = self.last().button_taken;
        (0..self.record.len()).find(|&i| {
            let e = &self.record[i];
            e.grid == *grid
                && e.button_taken == button
                && match self.rules.ko {
                    KoRule::PositionalSuperko => true,
                    KoRule::SituationalSuperko => e.next == color.opposite(),
                    KoRule::Superko1996 => e.mover == Some(color),
                    KoRule::NaturalSituationalSuperko => e.mover == Some(color) && e.mv != Some(Move::Pass),
                    KoRule::Basic => i + 2 == self.record.len(),
                    KoRule::Fixed => i > 0 && e.mv != Some(Move::Pass) && self.record[i - 1].grid == *self.grid(),
                }
        })
    }

    fn closes_cycle(&self, grid: &Grid, removed: [usize; 2], next: Color) -> bool {
        if self.rules.ko != KoRule::Basic {
            return false;
        }
        let button = self.last().button_taken;
        (1..self.record.len()).any(|i| {
            let e = &self.record[i];
            let later = &self.record[i + 1..];
            let since = |c: usize| later.iter().map(|e| e.removed[c]).sum::<usize>() + removed[c];
            e.grid == *grid
                && e.button_taken == button
                && e.mv != Some(Move::Pass)
                && match self.rules.long_cycle {
                    LongCycle::GoesOn => false,
                    LongCycle::TieIfEqual => since(0) == since(1),
                    LongCycle::PracticeTie => e.next == next && later.iter().all(|e| e.mv != Some(Move::Pass)),
                }
        })
    }

    pub fn play(&mut self, mv: Move) {
        let mover = self.to_move();
        let last = self.last();
        let mut entry = Entry {
            grid: last.grid.clone(),
            mover: Some(mover),
            mv: Some(mv),
            next: mover.opposite(),
            removed: [0; 2],
            button_taken: last.button_taken,
            tie: false,
        };
        match mv {
            Move::Pass => entry.button_taken |= self.rules.button,
            Move::Play(point) => {
                (entry.grid, entry.removed) = self.grid_after(point.index(), mover);
                entry.tie = self.closes_cycle(&entry.grid, entry.removed, entry.next);
            }
        }
        self.record.push(entry);
    }

    /// The area of Black and of White.
    pub fn area(&self) -> [usize; 2] {
        Color::ALL.map(|c| {
            let owns = |&p: &usize| match self.grid()[p] {
                Some(color) => color == c,
                None => {
                    reaches(self.size, self.grid(), p, Some(c))
                        && !reaches(self.size, self.grid(), p, Some(c.opposite()))
                }
            };
            (0..self.size.area()).filter(owns).count()
        })
    }
}
