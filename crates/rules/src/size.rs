//! The size of the grid.

use std::fmt;
use std::str::FromStr;

use crate::point::Point;

/// The longest side of a grid, in points.
pub const MAX_SIDE: usize = 19;
/// The largest number of points on a grid.
pub const MAX_AREA: usize = MAX_SIDE * MAX_SIDE;

/// The size of a grid: width and height from 1 to 19 points each.
///
/// ```
/// use tengen_rules::Size;
/// let size: Size = "9x7".parse().unwrap();
/// assert_eq!((size.width(), size.height(), size.area()), (9, 7, 63));
/// assert_eq!("9".parse::<Size>(), Size::square(9));
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
pub struct Size {
    width: u8,
    height: u8,
}

impl Size {
    /// A grid of `width` columns and `height` rows.
    ///
    /// # Errors
    /// [`SizeError::OutOfRange`] if a side is not from 1 to [`MAX_SIDE`].
    pub const fn new(width: usize, height: usize) -> Result<Size, SizeError> {
        if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
            return Err(SizeError::OutOfRange { width, height });
        }
        Ok(Size {
            width: width as u8,
            height: height as u8,
        })
    }

    /// A square grid.
    ///
    /// # Errors
    /// [`SizeError::OutOfRange`] if the side is not from 1 to [`MAX_SIDE`].
    pub const fn square(side: usize) -> Result<Size, SizeError> {
        Size::new(side, side)
    }

    /// The number of columns, 1 to 19.
    #[inline]
    pub const fn width(self) -> usize {
        self.width as usize
    }

    /// The number of rows, 1 to 19.
    #[inline]
    pub const fn height(self) -> usize {
        self.height as usize
    }

    /// The number of points, 1 to 361.
    #[inline]
    pub const fn area(self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Whether width and height are equal.
    #[inline]
    pub const fn is_square(self) -> bool {
        self.width == self.height
    }

    /// All points in reading order: top row first, each row from the left.
    pub fn points(self) -> impl DoubleEndedIterator<Item = Point> + ExactSizeIterator + Clone {
        (0..self.area() as u16).map(Point::from_raw)
    }

    /// The point in a column (0 = left) and a row (0 = top), if it is on the grid.
    pub const fn point(self, column: usize, row: usize) -> Option<Point> {
        if column >= self.width() || row >= self.height() {
            return None;
        }
        Some(Point::from_raw((row * self.width() + column) as u16))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for Size {
    type Err = SizeError;

    /// Parses `9x7` (width first) or `9` for a square.
    fn from_str(text: &str) -> Result<Size, SizeError> {
        let syntax = || SizeError::Syntax(text.chars().take(40).collect());
        let side = |part: &str| -> Result<usize, SizeError> {
            if part.is_empty() || part.len() > 4 || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(syntax());
            }
            part.parse().map_err(|_| syntax())
        };
        match text.trim().split_once(['x', 'X']) {
            Some((width, height)) => Size::new(side(width)?, side(height)?),
            None => side(text.trim()).and_then(Size::square),
        }
    }
}

/// The reason why a size is invalid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SizeError {
    /// A side is not from 1 to 19 points.
    OutOfRange {
        /// The requested width.
        width: usize,
        /// The requested height.
        height: usize,
    },
    /// The text is not of the form `9x9` or `9`.
    Syntax(String),
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeError::OutOfRange { width, height } => write!(
                f,
                "a grid of {width}x{height} points is not supported: each side must be from 1 to {MAX_SIDE}"
            ),
            SizeError::Syntax(text) => {
                write!(
                    f,
                    "'{text}' is not a grid size: use WIDTHxHEIGHT, such as 9x9, or one number"
                )
            }
        }
    }
}

impl std::error::Error for SizeError {}
