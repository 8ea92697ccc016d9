//! Parses SGF text into trees, without recursion and game by game, continuing after a broken one.

use std::borrow::Cow;

use crate::error::{SgfError, SgfPlace};
use crate::tree::{ROOT_ONLY, SgfNodeId, SgfTree};

/// After this many broken games that extend to the end of the text, the rest is not searched further.
const MAX_UNTERMINATED: usize = 64;

/// How many times the length of the text may be read again, to continue inside broken games and to split games that a
/// missing bracket made one.
const MAX_REREAD: usize = 8;

/// Number of bytes of a node that are searched for a property of a first node.
const ROOT_BYTES: usize = 512;

/// Most nodes of a game, and most parentheses open at once; the largest collections of variations have a tenth of it.
const MAX_NODES: usize = 1 << 20;

/// Most values of a game's properties, of which every property has at least one.
const MAX_VALUES: usize = 1 << 22;

/// Parses all games of a text into trees. Text between games (mail headers, signatures, a byte order mark) is skipped.
///
/// # Errors
/// [`SgfError`] at the first error, or if the text contains no game. [`SgfTrees`] continues after a broken game.
pub fn parse_sgf(text: &str) -> Result<Vec<SgfTree>, SgfError> {
    let trees = SgfTrees::new(text).collect::<Result<Vec<_>, _>>()?;
    match trees.is_empty() {
        true => Err(no_game(text)),
        false => Ok(trees),
    }
}

/// The error for a text without a game.
pub fn no_game(text: &str) -> SgfError {
    let found = match text.trim_start_matches('\u{feff}').trim().chars().next() {
        None => "nothing".to_owned(),
        Some(first) => format!("text that starts with {first:?} and contains no game"),
    };
    SgfError::new(
        SgfPlace::START,
        format!("expected a game that starts with '(;', found none: {found}"),
    )
}

/// Iterates over the games of a text. After a broken game it continues where the game's parentheses close, if
/// everything between brackets is ignored, or at the next unmistakable start of a game, whichever comes first: `(;` and
/// a node with a property that belongs only in a first node (`GM`, `FF`, `CA`, `AP` or `SZ`).
pub struct SgfTrees<'a> {
    text: &'a str,
    at: usize,
    mark: Mark,
    /// Where the last game starts.
    start: Mark,
    unended: usize,
    /// Number of bytes that were read again; see [`MAX_REREAD`].
    reread: usize,
    unread: Option<SgfError>,
}

/// A position in the text with known line and column.
#[derive(Copy, Clone)]
struct Mark {
    at: usize,
    place: SgfPlace,
}

impl<'a> SgfTrees<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a str) -> SgfTrees<'a> {
        let mark = Mark {
            at: 0,
            place: SgfPlace::START,
        };
        SgfTrees {
            text,
            at: 0,
            mark,
            start: mark,
            unended: 0,
            reread: 0,
            unread: None,
        }
    }

    /// After the last game: why the rest of the text was not read although it may hold games.
    pub fn unread(&self) -> Option<&SgfError> {
        self.unread.as_ref()
    }

    /// Number of bytes read so far.
    pub fn bytes_read(&self) -> usize {
        self.at
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Line and column of an offset, which must not precede the previous one.
    fn place(&mut self, at: usize) -> SgfPlace {
        let bytes = self.text.as_bytes();
        let SgfPlace { mut line, mut column } = self.mark.place;
        for index in self.mark.at..at {
            match bytes[index] {
                b'\r' if bytes.get(index + 1) == Some(&b'\n') => {}
                b'\r' | b'\n' => (line, column) = (line.saturating_add(1), 1),
                byte if byte & 0xc0 == 0x80 => {}
                _ => column = column.saturating_add(1),
            }
        }
        let place = SgfPlace { line, column };
        self.mark = Mark { at, place };
        place
    }

    fn error(&mut self, at: usize, problem: impl Into<String>) -> SgfError {
        SgfError::new(self.place(at), problem)
    }

    fn found(&self) -> String {
        match self.text[self.at..].chars().next() {
            None => "the end of the text".to_owned(),
            Some(other) => format!("{other:?}"),
        }
    }

    /// Moves to the next `(` that starts a game; false if there is none.
    fn skip_to_game(&mut self) -> bool {
        while let Some(found) = self.text[self.at..].find('(') {
            self.at += found;
            if begins_game(&self.text[self.at..]) {
                return true;
            }
            self.at += 1;
        }
        self.at = self.text.len();
        false
    }

    /// Moves behind a broken game: to its end or to the next start of a game.
    fn skip_broken(&mut self) {
        let (start, read_to) = (self.start.at, self.at);
        let may_continue = self.unended < MAX_UNTERMINATED && self.reread <= MAX_REREAD * self.text.len();
        let (next, unread) = match may_continue {
            true => (after_broken(&self.text[start..]), read_to),
            false => (None, start + 1),
        };
        self.mark = self.start;
        self.at = start + next.unwrap_or(self.text.len() - start);
        self.reread += read_to.saturating_sub(self.at);
        if next.is_none() {
            self.note_unread(unread);
        }
    }

    /// Notes that the text from here on is not read, if it may hold games.
    fn note_unread(&mut self, from: usize) {
        let rest = &self.text[from..];
        if rest.match_indices('(').any(|(at, _)| begins_game(&rest[at..])) {
            let problem = format!(
                "expected the end of the broken game before this place, found none: the last {} bytes of the text were \
                 not read, fix the game or remove it",
                rest.len()
            );
            self.unread = Some(SgfError::new(self.place(from), problem));
        }
    }

    /// Continues inside the last game, at the start of another one that a missing bracket made part of it.
    pub(super) fn split_last(&mut self) {
        let text = &self.text[self.start.at..self.at];
        let mut starts = text.match_indices('(').skip(1).map(|(at, _)| at);
        let Some(at) = starts.find(|&at| begins_root(&text[at..])) else {
            return;
        };
        self.reread += text.len() - at;
        if self.reread <= MAX_REREAD * self.text.len() {
            self.mark = self.start;
            self.at = self.start.at + at;
        }
    }

    /// Parses from `(` to the matching `)`.
    fn tree(&mut self) -> Result<SgfTree, SgfError> {
        let mut line = Line::default();
        loop {
            let Some(byte) = self.byte() else {
                self.unended += 1;
                return Err(self.error(self.text.len(), "expected ')', found the end of the text"));
            };
            match byte {
                b'(' => self.open(&mut line)?,
                b')' => {
                    self.at += 1;
                    if line.close() {
                        return line
                            .tree
                            .ok_or_else(|| self.error(self.at - 1, "expected ';', found ')'"));
                    }
                }
                b';' => {
                    self.check_open(&line)?;
                    self.check_size(&line)?;
                    self.at += 1;
                    line.add_node();
                }
                _ if byte.is_ascii_alphabetic() => {
                    self.check_open(&line)?;
                    self.property(&mut line)?;
                }
                _ => self.skip_space(byte)?,
            }
        }
    }

    fn open(&mut self, line: &mut Line) -> Result<(), SgfError> {
        let rest = &self.text[self.at..];
        if !line.open.is_empty() && rest.starts_with("(;") && begins_root(rest) {
            return Err(self.error(
                self.at,
                "expected ')' before the next game, found '(;' and properties of a new game",
            ));
        }
        self.check_size(line)?;
        self.at += 1;
        line.open.push(line.last);
        line.is_fresh = true;
        line.is_closed = false;
        Ok(())
    }

    /// Rejects nodes and properties after variations because it is unclear which line they belong to.
    fn check_open(&mut self, line: &Line) -> Result<(), SgfError> {
        match line.is_closed {
            false => Ok(()),
            true => {
                let found = self.found();
                Err(self.error(self.at, format!("expected '(' or ')' after a variation, found {found}")))
            }
        }
    }

    /// Rejects games that would take too much memory.
    fn check_size(&mut self, line: &Line) -> Result<(), SgfError> {
        let nodes = line.tree.as_ref().map_or(0, SgfTree::node_count);
        match nodes.max(line.open.len()) < MAX_NODES {
            true => Ok(()),
            false => Err(self.error(
                self.at,
                format!("expected at most {MAX_NODES} nodes and open parentheses in a game, found more"),
            )),
        }
    }

    fn skip_space(&mut self, byte: u8) -> Result<(), SgfError> {
        if byte.is_ascii_control() || byte == b' ' {
            self.at += 1;
            return Ok(());
        }
        match self.text[self.at..].chars().next() {
            Some(other) if is_space(other) => {
                self.at += other.len_utf8();
                Ok(())
            }
            _ => {
                let found = self.found();
                Err(self.error(self.at, format!("expected ';', '(', ')' or a property, found {found}")))
            }
        }
    }

    /// Parses a name and its values in brackets.
    fn property(&mut self, line: &mut Line) -> Result<(), SgfError> {
        let start = self.at;
        let name = identifier(&self.text[start..]);
        self.at += name.len();
        let place = self.place(start);
        self.skip_spaces();
        if self.byte() != Some(b'[') {
            let found = self.found();
            return Err(self.error(self.at, format!("expected '[' after property {name}, found {found}")));
        }
        let tree = line.tree_for_property();
        tree.begin_property(&normal_name(name), place);
        while self.byte() == Some(b'[') {
            if tree.value_count() >= MAX_VALUES {
                return Err(self.error(
                    self.at,
                    format!("expected at most {MAX_VALUES} values in a game, found more"),
                ));
            }
            let end = self.value_end()?;
            tree.push_value(&self.text[self.at + 1..end]);
            self.at = end + 1;
            self.skip_spaces();
        }
        Ok(())
    }

    fn skip_spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
    }

    /// The offset of the `]` that ends the value starting here.
    fn value_end(&mut self) -> Result<usize, SgfError> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        while let Some(found) = bytes[at.min(bytes.len())..]
            .iter()
            .position(|&byte| matches!(byte, b']' | b'\\'))
        {
            at += found;
            match bytes[at] {
                b']' => return Ok(at),
                _ => at += 2,
            }
        }
        self.unended += 1;
        Err(self.error(
            self.at,
            "expected ']' at the end of this value, found the end of the text",
        ))
    }
}

impl Iterator for SgfTrees<'_> {
    type Item = Result<SgfTree, SgfError>;

    fn next(&mut self) -> Option<Result<SgfTree, SgfError>> {
        if self.text.len() >= u32::MAX as usize {
            *self = SgfTrees::new("");
            let problem = "expected less than 4 GiB of text: split the file";
            return Some(Err(SgfError::new(SgfPlace::START, problem)));
        }
        if !self.skip_to_game() {
            return None;
        }
        self.place(self.at);
        self.start = self.mark;
        let tree = self.tree();
        if tree.is_err() {
            self.skip_broken();
        }
        Some(tree)
    }
}

/// The tree built so far and the current position in it.
#[derive(Default)]
struct Line {
    tree: Option<SgfTree>,
    /// The node to continue from; `None` before the first node.
    last: Option<SgfNodeId>,
    /// For every open parenthesis, the node before it.
    open: Vec<Option<SgfNodeId>>,
    /// Whether a parenthesis was opened and no node has followed yet.
    is_fresh: bool,
    /// Whether a parenthesis was closed and none has been opened since.
    is_closed: bool,
}

impl Line {
    fn add_node(&mut self) {
        let node = match (&mut self.tree, self.last) {
            (Some(tree), Some(parent)) => tree.add_node(parent),
            (tree, _) => tree.insert(SgfTree::new()).root().id(),
        };
        self.last = Some(node);
        self.is_fresh = false;
    }

    /// The tree, with a new node if the property has no `;` before it.
    fn tree_for_property(&mut self) -> &mut SgfTree {
        if self.is_fresh {
            self.add_node();
        }
        self.tree.get_or_insert_default()
    }

    /// Returns to where the last parenthesis was opened; true if that was the game's own.
    fn close(&mut self) -> bool {
        self.last = self.open.pop().flatten();
        self.is_fresh = false;
        self.is_closed = true;
        self.open.is_empty()
    }
}

/// Unicode white space, control characters, and byte order marks inside a text.
fn is_space(character: char) -> bool {
    character.is_whitespace() || character.is_control() || character == '\u{feff}'
}

/// The letters and digits at the start of a text, if a letter comes first.
fn identifier(text: &str) -> &str {
    let end = text.bytes().position(|byte| !byte.is_ascii_alphanumeric());
    match text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => &text[..end.unwrap_or(text.len())],
        false => "",
    }
}

/// A name without its lowercase letters, or in uppercase if all letters are lowercase.
fn normal_name(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(name);
    }
    let kept: String = name.chars().filter(|letter| !letter.is_ascii_lowercase()).collect();
    match kept.starts_with(|first: char| first.is_ascii_uppercase()) {
        true => Cow::Owned(kept),
        false => Cow::Owned(name.to_ascii_uppercase()),
    }
}

/// Whether a text that starts with `(` starts a game: a node follows or, if its `;` is missing, a property.
fn begins_game(text: &str) -> bool {
    let rest = text[1..].trim_start_matches(is_space);
    let after_name = rest[identifier(rest).len()..].trim_start_matches(is_space);
    rest.starts_with(';') || (after_name.len() < rest.len() && after_name.starts_with('['))
}

/// The offset behind a broken game in a text that starts with it: where its parentheses close, or where a node begins
/// that can only be a first node. `None` if there is neither.
fn after_broken(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut in_value) = (0, 0, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' if at > 0 && begins_root_bytes(&bytes[at..]) => return Some(at),
            b'\\' if in_value && !matches!(bytes.get(at + 1), Some(b'(')) => at += 1,
            b']' => in_value = false,
            _ if in_value => {}
            b'[' => in_value = true,
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at + 1),
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether a text that starts with `(` starts a node that can only be a first node.
fn begins_root(text: &str) -> bool {
    begins_root_bytes(text.as_bytes())
}

/// The same for bytes in any ASCII-compatible encoding; they start with `(`.
pub(super) fn begins_root_bytes(bytes: &[u8]) -> bool {
    let rest = bytes[1..bytes.len().min(ROOT_BYTES)].trim_ascii_start();
    let mut rest = rest.strip_prefix(b";").unwrap_or(rest).trim_ascii_start();
    loop {
        let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric());
        let (name, values) = rest.split_at(end.unwrap_or(rest.len()));
        let Some(name) = std::str::from_utf8(name).ok().filter(|name| !name.is_empty()) else {
            return false;
        };
        rest = values.trim_ascii_start();
        if rest.first() != Some(&b'[') {
            return false;
        }
        if ROOT_ONLY.contains(&&*normal_name(name)) {
            return true;
        }
        while rest.first() == Some(&b'[') {
            rest = after_value(rest).trim_ascii_start();
        }
    }
}

/// What follows a value at the start of a text; nothing if the value does not end.
fn after_value(bytes: &[u8]) -> &[u8] {
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b']' => return &bytes[at + 1..],
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    &[]
}
