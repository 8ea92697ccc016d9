//! Komi, margins and outcomes, in half points so that they are always exact.

use std::fmt;
use std::ops::Neg;
use std::str::FromStr;

use crate::color::Color;

/// Points given to White, counted in half points.
///
/// ```
/// use tengen_rules::Komi;
/// let komi: Komi = "24.5".parse().unwrap();
/// assert_eq!(komi.half_points(), 49);
/// assert_eq!(komi.to_string(), "24.5");
/// assert!("7.25".parse::<Komi>().is_err());
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Komi(i16);

impl Komi {
    /// A komi of 0 points.
    pub const ZERO: Komi = Komi(0);

    /// A komi given in half points; 15 means 7.5 points for White.
    #[inline]
    pub const fn from_half_points(half_points: i16) -> Komi {
        Komi(half_points)
    }

    /// The komi in half points.
    #[inline]
    pub const fn half_points(self) -> i16 {
        self.0
    }

    /// The komi in points; exact, since `f32` can represent half points.
    #[inline]
    pub fn points(self) -> f32 {
        f32::from(self.0) / 2.0
    }
}

impl fmt::Display for Komi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        write_half_points(f, i32::from(self.0).unsigned_abs())
    }
}

fn write_half_points(f: &mut fmt::Formatter<'_>, half_points: u32) -> fmt::Result {
    let half = if half_points % 2 == 1 { ".5" } else { "" };
    write!(f, "{}{half}", half_points / 2)
}

impl FromStr for Komi {
    type Err = ParseKomiError;

    /// Parses whole and half points such as `7`, `24.5`, `-3.5` or `6.0`.
    fn from_str(text: &str) -> Result<Komi, ParseKomiError> {
        let error = || ParseKomiError(text.chars().take(40).collect());
        let (sign, digits) = match text.as_bytes().first() {
            Some(b'-') => (-1, &text[1..]),
            Some(b'+') => (1, &text[1..]),
            _ => (1, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        if whole.is_empty() || whole.len() > 5 || !whole.bytes().all(|b| b.is_ascii_digit()) {
            return Err(error());
        }
        let half = match (fraction.as_bytes().split_first(), fraction) {
            (Some((b'5', rest)), _) if rest.iter().all(|&b| b == b'0') => 1,
            (Some(_), all) if all.bytes().all(|b| b == b'0') => 0,
            _ => return Err(error()),
        };
        let whole: i32 = whole.parse().map_err(|_| error())?;
        i16::try_from(sign * (2 * whole + half)).map(Komi).map_err(|_| error())
    }
}

/// The text is not a komi in whole or half points within ±16383.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParseKomiError(String);

impl fmt::Display for ParseKomiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is not a komi: use whole or half points such as 7 or 7.5",
            self.0
        )
    }
}

impl std::error::Error for ParseKomiError {}

/// The margin of a finished game: Black minus White after komi, in half points.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Margin(i32);

impl Margin {
    /// A margin given in half points, Black minus White.
    #[inline]
    pub const fn from_half_points(half_points: i32) -> Margin {
        Margin(half_points)
    }

    /// The margin in half points, Black minus White after komi.
    #[inline]
    pub const fn half_points(self) -> i32 {
        self.0
    }

    /// The margin in points, Black minus White after komi.
    #[inline]
    pub fn points(self) -> f32 {
        self.0 as f32 / 2.0
    }

    /// The outcome: Black wins with a positive margin, White with a negative one, and zero is a tie.
    #[inline]
    pub const fn outcome(self) -> Outcome {
        match self.0 {
            1.. => Outcome::BlackWins,
            0 => Outcome::Tie,
            _ => Outcome::WhiteWins,
        }
    }

    /// The margin in half points from the viewpoint of `color`: positive if that player is ahead.
    #[inline]
    pub const fn seen_by(self, color: Color) -> i32 {
        match color {
            Color::Black => self.0,
            Color::White => -self.0,
        }
    }
}

impl Neg for Margin {
    type Output = Margin;

    fn neg(self) -> Margin {
        Margin(-self.0)
    }
}

impl fmt::Display for Margin {
    /// Writes the result as game records do: `B+3.5`, `W+12` or `0` for a tie.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome() {
            Outcome::BlackWins => f.write_str("B+")?,
            Outcome::WhiteWins => f.write_str("W+")?,
            Outcome::Tie => {}
        }
        write_half_points(f, self.0.unsigned_abs())
    }
}

/// The winner of a game, or a tie.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub enum Outcome {
    /// Black has the higher score.
    BlackWins,
    /// White has the higher score.
    WhiteWins,
    /// The scores are equal.
    Tie,
}

impl Outcome {
    /// The winner, if there is one.
    #[inline]
    pub const fn winner(self) -> Option<Color> {
        match self {
            Outcome::BlackWins => Some(Color::Black),
            Outcome::WhiteWins => Some(Color::White),
            Outcome::Tie => None,
        }
    }
}
