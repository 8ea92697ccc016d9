//! Points of the grid and their names.

use std::fmt;

use crate::geometry::Geometry;
use crate::size::Size;

/// Column letters from the left, without I.
const COLUMN_LETTERS: &[u8; 19] = b"ABCDEFGHJKLMNOPQRST";

/// A point of a grid, as its index in reading order: row times width plus column, the top row being row 0.
///
/// A point does not store its grid; methods take the [`Size`] if they need it.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub struct Point(u16);

impl Point {
    /// The point with this index, unchecked; the index must be below [`crate::MAX_AREA`].
    #[inline]
    pub(crate) const fn from_raw(index: u16) -> Point {
        Point(index)
    }

    /// The point with this index in reading order; `None` if it is outside the grid.
    #[inline]
    pub const fn from_index(size: Size, index: usize) -> Option<Point> {
        if index < size.area() {
            Some(Point(index as u16))
        } else {
            None
        }
    }

    /// Index in reading order, 0 to area minus 1.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The column, where 0 is the leftmost.
    #[inline]
    pub const fn column(self, size: Size) -> usize {
        self.0 as usize % size.width()
    }

    /// The row, where 0 is the top row.
    #[inline]
    pub const fn row(self, size: Size) -> usize {
        self.0 as usize / size.width()
    }

    /// The orthogonally adjacent points in a grid of this size: four, or fewer at the edge.
    ///
    /// ```
    /// use tengen_rules::{Size, format_point, parse_point};
    /// let size = Size::square(5).unwrap();
    /// let corner = parse_point(size, "A1").unwrap();
    /// let neighbors: Vec<String> = corner.neighbors(size).map(|point| format_point(size, point)).collect();
    /// assert_eq!(neighbors, ["B1", "A2"]);
    /// ```
    pub fn neighbors(self, size: Size) -> impl Iterator<Item = Point> {
        let neighbors = Geometry::of(size).neighbors[self.index()];
        neighbors
            .into_iter()
            .filter_map(move |index| Point::from_index(size, index.into()))
    }
}

/// The name of a point: column letter (A, B, … without I) and row number, row 1 at the bottom.
///
/// ```
/// use tengen_rules::{Size, format_point};
/// let size = Size::square(5).unwrap();
/// assert_eq!(format_point(size, size.point(2, 2).unwrap()), "C3");
/// assert_eq!(format_point(size, size.point(0, 0).unwrap()), "A5");
/// ```
pub fn format_point(size: Size, point: Point) -> String {
    if point.index() >= size.area() {
        return "off-board".to_owned();
    }
    let letter = COLUMN_LETTERS[point.column(size)] as char;
    format!("{letter}{}", size.height() - point.row(size))
}

/// Parses the name of a point, in upper or lower case.
///
/// # Errors
/// [`ParsePointError::Syntax`] if the text is not the name of a point, [`ParsePointError::OffBoard`] if it names a
/// point outside the grid.
pub fn parse_point(size: Size, text: &str) -> Result<Point, ParsePointError> {
    let shown = || text.chars().take(40).collect::<String>();
    let bytes = text.as_bytes();
    let (&letter, digits) = bytes.split_first().ok_or_else(|| ParsePointError::Syntax(shown()))?;
    let number_ok = matches!(digits.len(), 1 | 2) && digits.iter().all(u8::is_ascii_digit);
    let letter = letter.to_ascii_uppercase();
    if !letter.is_ascii_uppercase() || letter == b'I' || !number_ok {
        return Err(ParsePointError::Syntax(shown()));
    }
    let off_board = || ParsePointError::OffBoard { name: shown(), size };
    let column = COLUMN_LETTERS.iter().position(|&l| l == letter).ok_or_else(off_board)?;
    let number = digits.iter().fold(0usize, |n, d| n * 10 + usize::from(d - b'0'));
    if number == 0 || number > size.height() {
        return Err(off_board());
    }
    size.point(column, size.height() - number).ok_or_else(off_board)
}

/// The reason why the name of a point is invalid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ParsePointError {
    /// The text is not a column letter followed by a row number.
    Syntax(String),
    /// The name is well-formed, but the grid has no such point.
    OffBoard {
        /// The name as given, cut to 40 characters.
        name: String,
        /// The size of the grid.
        size: Size,
    },
}

impl fmt::Display for ParsePointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParsePointError::Syntax(text) => write!(
                f,
                "'{text}' is not a point: use a column letter (A.. without I) and a row number, such as C3"
            ),
            ParsePointError::OffBoard { name, size } => {
                write!(f, "the {size} grid has no point {name}")
            }
        }
    }
}

impl std::error::Error for ParsePointError {}
