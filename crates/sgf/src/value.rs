//! Property values: escapes, text, points and composed values.

use std::borrow::Cow;
use std::fmt;

/// One value of a property: the raw text between `[` and `]`, with its escapes.
///
/// ```
/// use tengen_sgf::parse_sgf;
/// let trees = parse_sgf(r"(;C[3\] is not \\ end]AP[a\:b:1.0])").unwrap();
/// let value = |name| trees[0].root().get(name).unwrap().first().unwrap();
/// assert_eq!(value("C").text(), r"3] is not \ end");
/// assert_eq!(value("AP").compose().unwrap().0.simple_text(), "a:b");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct SgfValue<'a>(&'a str);

impl<'a> SgfValue<'a> {
    pub(super) fn from_raw(raw: &'a str) -> SgfValue<'a> {
        SgfValue(raw)
    }

    /// The raw text, including escapes.
    pub fn raw(self) -> &'a str {
        self.0
    }

    /// The value as multi-line text: a backslash makes the next character literal, an escaped line end is dropped,
    /// every other line end (`\r`, `
    /// ` or both) becomes `
    /// `, and other white space becomes a space.
    pub fn text(self) -> Cow<'a, str> {
        match self.0.bytes().any(|byte| byte == b'\\' || byte.is_ascii_control()) {
            false => Cow::Borrowed(self.0),
            true => Cow::Owned(unescape(self.0)),
        }
    }

    /// The value as single-line text: like [`SgfValue::text`], but with spaces for line ends and trimmed.
    pub fn simple_text(self) -> Cow<'a, str> {
        match self.text() {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.replace('\n', " ").trim().to_owned()),
        }
    }

    /// The two parts of a composed value, split at the first unescaped colon; `None` if there is none.
    pub fn compose(self) -> Option<(SgfValue<'a>, SgfValue<'a>)> {
        let mut escaped = false;
        for (at, byte) in self.0.bytes().enumerate() {
            match byte {
                b':' if !escaped => return Some((SgfValue(&self.0[..at]), SgfValue(&self.0[at + 1..]))),
                _ => escaped = byte == b'\\' && !escaped,
            }
        }
        None
    }

    /// The value as a point in letters; `None` if it is not two letters.
    pub fn point(self) -> Option<SgfPoint> {
        SgfPoint::parse(self.0.trim())
    }

    /// The value as two opposite corners of a rectangle of points, or as one point twice. The upper left corner comes
    /// first, whichever corners the file names.
    pub fn rectangle(self) -> Option<(SgfPoint, SgfPoint)> {
        let (from, to) = match self.compose() {
            None => (self.point()?, self.point()?),
            Some((from, to)) => (from.point()?, to.point()?),
        };
        let corner = |pick: fn(u8, u8) -> u8| SgfPoint {
            column: pick(from.column, to.column),
            row: pick(from.row, to.row),
        };
        Some((corner(u8::min), corner(u8::max)))
    }
}

fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars().peekable();
    while let Some(next) = rest.next() {
        let escaped = next == '\\';
        let next = match escaped {
            true => rest.next(),
            false => Some(next),
        };
        match next {
            None => {}
            Some(end @ ('\r' | '\n')) => {
                // A line end is one character or two different ones.
                if rest
                    .peek()
                    .is_some_and(|&other| other != end && matches!(other, '\r' | '\n'))
                {
                    rest.next();
                }
                if !escaped {
                    text.push('\n');
                }
            }
            Some(space) if space.is_ascii_control() => text.push(' '),
            Some(other) => text.push(other),
        }
    }
    text
}

/// Escapes the characters that would end a value.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    match text.contains([']', '\\']) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.replace('\\', "\\\\").replace(']', "\\]")),
    }
}

/// A point in SGF letters, on boards up to 52x52: `a` to `z` are 0 to 25, `A` to `Z` are 26 to 51. The column comes
/// first; the row is counted from the top.
///
/// ```
/// use tengen_sgf::SgfPoint;
/// assert_eq!(SgfPoint::parse("aZ"), Some(SgfPoint { column: 0, row: 51 }));
/// assert_eq!(SgfPoint { column: 51, row: 26 }.to_string(), "ZA");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SgfPoint {
    /// Column from the left, 0 to 51.
    pub column: u8,
    /// Row from the top, 0 to 51.
    pub row: u8,
}

impl SgfPoint {
    /// Parses two letters, the column and the row from the top left corner.
    pub fn parse(text: &str) -> Option<SgfPoint> {
        let index = |letter: u8| match letter {
            b'a'..=b'z' => Some(letter - b'a'),
            b'A'..=b'Z' => Some(letter - b'A' + 26),
            _ => None,
        };
        match *text.as_bytes() {
            [column, row] => Some(SgfPoint {
                column: index(column)?,
                row: index(row)?,
            }),
            _ => None,
        }
    }
}

impl fmt::Display for SgfPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |index: u8| match index {
            0..26 => char::from(b'a' + index),
            26..52 => char::from(b'A' + (index - 26)),
            _ => '?',
        };
        write!(f, "{}{}", letter(self.column), letter(self.row))
    }
}
