//! Separates an engine's command line from its options.

use std::borrow::Cow;

use tengen_gtp::CommandLineError;

use super::error::SpecError;
use super::options::{GTP_KEYS, split_options};

/// Splits the text into a command line and its options. Only a quoted command line can have options.
pub(super) fn split_command(rest: &str) -> Result<(Cow<'_, str>, &str), SpecError> {
    let whole = || {
        let (_, options) = split_options(rest);
        let key = options.split(['=', ',']).nth(1).unwrap_or_default();
        match GTP_KEYS.contains(&key.trim()) {
            true => Err(SpecError::UnquotedOptions(options.to_owned())),
            false => Ok((Cow::Borrowed(rest), "")),
        }
    };
    let Some(quote) = rest.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else {
        return whole();
    };
    let end = closing_quote(rest, quote).ok_or(CommandLineError::OpenQuote(quote))?;
    let (inside, after) = (&rest[1..end], &rest[end + 1..]);
    match after.chars().next() {
        None | Some(',') if quote == '"' => Ok((Cow::Owned(unescaped(inside)), after)),
        None | Some(',') => Ok((Cow::Borrowed(inside), after)),
        // Only the program was quoted.
        Some(next) if next.is_whitespace() => whole(),
        Some(_) => Err(SpecError::AfterQuote(after.to_owned())),
    }
}

/// The index of the quote that closes the one at the start of the text. Backslashes escape inside double quotes.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote == '"' => drop(chars.next()),
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(escaped @ ('"' | '\\'))) => {
                plain.push(escaped);
                chars.next();
            }
            (c, _) => plain.push(c),
        }
    }
    plain
}
