//! The result that a file claims for its game.

use std::fmt;

use tengen_rules::Color;

use crate::end_reason::EndReason;

/// The result that a file claims (property `RE`).
///
/// ```
/// use tengen_records::SgfResult;
/// use tengen_rules::Color::{Black, White};
/// assert_eq!(SgfResult::parse("W+3,5"), SgfResult::Count { hundredths: -350 });
/// assert_eq!(SgfResult::parse("b+Resign"), SgfResult::Resignation(Black));
/// assert_eq!(SgfResult::parse("Jigo"), SgfResult::Count { hundredths: 0 });
/// assert_eq!(SgfResult::parse("W+1.75 zi"), SgfResult::Won(White));
/// assert_eq!(SgfResult::parse("?"), SgfResult::Unknown);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum SgfResult {
    /// A score after komi: Black minus White in hundredths of a point, 0 for a tie.
    Count {
        /// Hundredths of a point; files may claim quarters.
        hundredths: i32,
    },
    /// This side won because the other side resigned.
    Resignation(Color),
    /// This side won because the other side ran out of time.
    Time(Color),
    /// This side won because the other side forfeited the game.
    Forfeit(Color),
    /// This side won; the reason is not stated.
    Won(Color),
    /// The game has no result.
    Void,
    /// The result is unknown, or the text does not follow the SGF format.
    Unknown,
}

impl SgfResult {
    /// Parses the text of `RE`, with a decimal comma or point in numbers and in upper or lower case.
    pub fn parse(text: &str) -> SgfResult {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "0" | "draw" | "jigo" | "tie" => return SgfResult::Count { hundredths: 0 },
            "void" => return SgfResult::Void,
            _ => {}
        }
        let Some((winner, how)) = text.split_once('+') else {
            return SgfResult::Unknown;
        };
        let winner = match winner.trim() {
            "b" | "black" => Color::Black,
            "w" | "white" => Color::White,
            _ => return SgfResult::Unknown,
        };
        let sign = if winner == Color::Black { 1 } else { -1 };
        match how.trim() {
            "r" | "res" | "resign" | "resignation" => SgfResult::Resignation(winner),
            "t" | "time" => SgfResult::Time(winner),
            "f" | "forfeit" => SgfResult::Forfeit(winner),
            count => match hundredths(count) {
                Some(count) if count > 0 => SgfResult::Count {
                    hundredths: sign * count,
                },
                _ => SgfResult::Won(winner),
            },
        }
    }

    /// The claimed winner; `None` for a tie and if there is no winner.
    pub fn winner(self) -> Option<Color> {
        match self {
            SgfResult::Count { hundredths } => match hundredths.signum() {
                1 => Some(Color::Black),
                -1 => Some(Color::White),
                _ => None,
            },
            SgfResult::Resignation(winner)
            | SgfResult::Time(winner)
            | SgfResult::Forfeit(winner)
            | SgfResult::Won(winner) => Some(winner),
            SgfResult::Void | SgfResult::Unknown => None,
        }
    }
}

/// A number with at most five digits before the decimal point and two after it, times 100.
fn hundredths(text: &str) -> Option<i32> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() > 5 || whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let (cents, rest) = fraction.split_at(fraction.len().min(2));
    if rest.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let whole: i32 = format!("0{whole}").parse().ok()?;
    let cents: i32 = format!("{cents:0<2}").parse().ok()?;
    Some(whole * 100 + cents)
}

impl fmt::Display for SgfResult {
    /// The kind of claim in one word, for tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SgfResult::Count { .. } => "count",
            SgfResult::Resignation(_) => "resignation",
            SgfResult::Time(_) => "time",
            SgfResult::Forfeit(_) => "forfeit",
            SgfResult::Won(_) => "win",
            SgfResult::Void => "void",
            SgfResult::Unknown => "unknown",
        })
    }
}

impl SgfResult {
    /// How a game stopped that has this claimed result and did not end under its rules. Without two passes the board
    /// was not counted under the rules, so a claimed score does not count as an end.
    pub fn stopped(self) -> EndReason {
        match self {
            SgfResult::Resignation(_) => EndReason::Resign,
            SgfResult::Time(_) | SgfResult::Forfeit(_) => EndReason::Forfeit,
            SgfResult::Count { .. } | SgfResult::Won(_) | SgfResult::Void | SgfResult::Unknown => EndReason::Unfinished,
        }
    }
}
