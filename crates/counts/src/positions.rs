//! The exact number of legal positions of a grid, by dynamic programming, cell by cell.
//!
//! After each cell only the border matters: the last `width` cells, which of their chains have a liberty, and which
//! stones without one belong to the same chain (Tromp and Farnebäck, Combinatorics of Go, 2007, section 3).

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use tengen_rules::Size;

/// The limit for the shorter side; beyond it the borders would not fit into memory.
const MAX_WIDTH: usize = 11;

/// The number of legal positions of a grid, in decimal: colorings in which every chain has a liberty.
///
/// Up to 7x7 this takes well under a second, for 9x9 about 15 seconds; each additional row of the shorter side takes
/// about five times the time and memory.
///
/// # Errors
/// [`TooLarge`] if the shorter side is longer than 11 points.
pub fn count_legal_positions(size: Size) -> Result<String, TooLarge> {
    let width = size.width().min(size.height());
    if width > MAX_WIDTH {
        return Err(TooLarge { size });
    }
    let length = size.area() / width;
    // Three to the power of the area bounds the count: 80 points fit into 128 bits, 161 into 256, 242 into 384.
    Ok(match size.area() {
        0..=80 => count::<2>(width, length).to_string(),
        81..=161 => count::<4>(width, length).to_string(),
        _ => count::<6>(width, length).to_string(),
    })
}

/// The grid is too large to have its positions counted.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct TooLarge {
    /// The size of the rejected grid.
    pub size: Size,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "positions of a {} grid cannot be counted here: the shorter side must have at most {MAX_WIDTH} points",
            self.size
        )
    }
}

impl std::error::Error for TooLarge {}

/// An unsigned integer of `N` 64-bit digits, the lowest first.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
struct Natural<const N: usize>([u64; N]);

impl<const N: usize> Natural<N> {
    const ZERO: Natural<N> = Natural([0; N]);

    fn one() -> Natural<N> {
        let mut digits = [0; N];
        digits[0] = 1;
        Natural(digits)
    }

    fn add(&mut self, other: &Natural<N>) {
        let mut carry = false;
        for (digit, &more) in self.0.iter_mut().zip(&other.0) {
            let (sum, over) = digit.overflowing_add(more);
            let (sum, over_again) = sum.overflowing_add(carry.into());
            *digit = sum;
            carry = over || over_again;
        }
        assert!(!carry, "a count does not fit into {N} digits");
    }

    /// Divides by a small number and returns the remainder.
    fn divide(&mut self, divisor: u64) -> u64 {
        let mut rest = 0u128;
        for digit in self.0.iter_mut().rev() {
            let value = rest << 64 | u128::from(*digit);
            *digit = (value / u128::from(divisor)) as u64;
            rest = value % u128::from(divisor);
        }
        rest as u64
    }
}

impl<const N: usize> fmt::Display for Natural<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHUNK: u64 = 1_000_000_000_000_000_000;
        let mut left = *self;
        let mut chunks = vec![left.divide(CHUNK)];
        while left != Natural::ZERO {
            chunks.push(left.divide(CHUNK));
        }
        write!(f, "{}", chunks.pop().expect("there is a chunk"))?;
        chunks.iter().rev().try_for_each(|chunk| write!(f, "{chunk:018}"))
    }
}

/// A border: five bits per cell, with the leftmost cell in the lowest bits. 0 is empty, 1 and 2 are black and white
/// stones of chains that have a liberty, `3 + 2 * label + color` is a stone of a chain that still needs one; labels
/// count from 0 in order of appearance.
type Border = u64;

const EMPTY: u8 = 0;
const BITS: usize = 5;

/// A hasher that multiplies the key by an odd constant, which is enough for small integers such as borders.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("borders are hashed as u64");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type Counts<const N: usize> = HashMap<Border, Natural<N>, BuildHasherDefault<Spread>>;

fn count<const N: usize>(width: usize, length: usize) -> Natural<N> {
    let mut counts: Counts<N> = HashMap::default();
    // Before the first row the border is a wall, which neither needs a liberty nor connects to any stone.
    counts.insert(pack(&[WALL; MAX_WIDTH], width), Natural::one());
    for _ in 0..length {
        for column in 0..width {
            let mut next: Counts<N> =
                HashMap::with_capacity_and_hasher(2 * counts.len(), BuildHasherDefault::default());
            for (&border, number) in &counts {
                let cells = unpack(border, width);
                for choice in [EMPTY, 1, 2] {
                    if let Some(after) = place(cells, width, column, choice) {
                        next.entry(pack(&after, width)).or_insert(Natural::ZERO).add(number);
                    }
                }
            }
            counts = next;
        }
    }
    let mut sum = Natural::ZERO;
    for (&border, number) in &counts {
        if unpack(border, width)[..width].iter().all(|&cell| !needs_liberty(cell)) {
            sum.add(number);
        }
    }
    sum
}

/// The highest five-bit value, for cells above the grid, which need no liberty and connect to nothing.
const WALL: u8 = 31;

fn needs_liberty(cell: u8) -> bool {
    (3..WALL).contains(&cell)
}

/// 1 for a black stone, 2 for a white one, 0 for anything else.
fn color(cell: u8) -> u8 {
    match cell {
        EMPTY | WALL => 0,
        1 | 2 => cell,
        _ => 1 + (cell - 3) % 2,
    }
}

fn unpack(border: Border, width: usize) -> [u8; MAX_WIDTH] {
    let mut cells = [0; MAX_WIDTH];
    for (i, cell) in cells[..width].iter_mut().enumerate() {
        *cell = (border >> (BITS * i)) as u8 & 31;
    }
    cells
}

/// Packs a border and renumbers its labels from the left.
fn pack(cells: &[u8; MAX_WIDTH], width: usize) -> Border {
    let mut labels = [u8::MAX; 32];
    let mut fresh = 0;
    let mut border = 0;
    for (i, &cell) in cells[..width].iter().enumerate() {
        let mut value = cell;
        if needs_liberty(cell) {
            let label = &mut labels[usize::from(cell)];
            if *label == u8::MAX {
                *label = fresh;
                fresh += 1;
            }
            value = 3 + 2 * *label + (color(cell) - 1);
        }
        border |= Border::from(value) << (BITS * i);
    }
    border
}

/// The border after choosing the next cell in a column, or `None` if a chain then can never get a liberty.
fn place(mut cells: [u8; MAX_WIDTH], width: usize, column: usize, choice: u8) -> Option<[u8; MAX_WIDTH]> {
    let above = cells[column];
    let left = if column > 0 { cells[column - 1] } else { WALL };
    if choice == EMPTY {
        give_liberty(&mut cells, width, above);
        give_liberty(&mut cells, width, left);
        cells[column] = EMPTY;
        return Some(cells);
    }
    let dies = needs_liberty(above)
        && color(above) != choice
        && cells[..width].iter().filter(|&&cell| cell == above).count() == 1;
    if dies {
        return None;
    }
    let own_chains = [above, left].map(|cell| if color(cell) == choice { cell } else { WALL });
    cells[column] = WALL;
    if above == EMPTY || left == EMPTY || own_chains.contains(&choice) {
        own_chains
            .iter()
            .for_each(|&cell| give_liberty(&mut cells, width, cell));
        cells[column] = choice;
        return Some(cells);
    }
    cells[column] = match own_chains {
        [WALL, WALL] => unused_label(&cells, width, choice),
        [WALL, chain] | [chain, WALL] => chain,
        [chain, other] => {
            cells[..width]
                .iter_mut()
                .filter(|cell| **cell == other)
                .for_each(|cell| *cell = chain);
            chain
        }
    };
    Some(cells)
}

fn give_liberty(cells: &mut [u8; MAX_WIDTH], width: usize, chain: u8) {
    if needs_liberty(chain) {
        cells[..width]
            .iter_mut()
            .filter(|cell| **cell == chain)
            .for_each(|cell| *cell = color(chain));
    }
}

/// The code of a new chain that needs a liberty, with a label that no cell of the border uses.
fn unused_label(cells: &[u8; MAX_WIDTH], width: usize, color: u8) -> u8 {
    let free = |code: &u8| {
        !cells[..width]
            .iter()
            .any(|&cell| needs_liberty(cell) && (cell - 3) / 2 == (code - 3) / 2)
    };
    (0..)
        .map(|label| 3 + 2 * label + (color - 1))
        .find(free)
        .expect("a border has fewer chains than labels")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naturals_print_all_digits() {
        let mut n: Natural<4> = Natural::one();
        for _ in 0..100 {
            let same = n;
            n.add(&same);
        }
        assert_eq!(n.to_string(), (1u128 << 100).to_string());
        assert_eq!(Natural::<2>::ZERO.to_string(), "0");
    }

    #[test]
    fn too_large_grids_are_rejected() {
        let size = Size::square(12).unwrap();
        assert!(count_legal_positions(size).unwrap_err().to_string().contains("12x12"));
    }
}
