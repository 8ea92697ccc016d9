//! How is SGF read? By hand, without recursion, the first variation of every game; errors tell line and column.

use tengen_rules::{Color, Komi, Move, Point, Size};

/// The main line of one game of an SGF file.
#[derive(Clone, Debug, PartialEq)]
pub struct SgfGame {
    /// The board; 19x19 where the file does not say.
    pub size: Size,
    /// Komi, when the file says one in half points.
    pub komi: Option<Komi>,
    /// Name of the rules as the file gives it.
    pub rules: Option<String>,
    /// Name of the player of Black.
    pub black: Option<String>,
    /// Name of the player of White.
    pub white: Option<String>,
    /// The result as the file claims it.
    pub result: Option<String>,
    /// The date as the file gives it.
    pub date: Option<String>,
    /// Stones set up before the first turn; `None` clears a point.
    pub setup: Vec<(Option<Color>, Point)>,
    /// The turns in order.
    pub moves: Vec<(Color, Move)>,
}

/// Text that is not SGF of Go on a board up to 19x19.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct SgfError {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// What was expected and found.
    pub problem: String,
}

/// Reads the main line (always the first variation) of every game in a text. Anything before the first `(` is passed
/// over, as are properties this reader does not know.
///
/// # Errors
/// [`SgfError`] at the first thing that cannot be read, or when there is no game at all.
pub fn read_sgf(text: &str) -> Result<Vec<SgfGame>, SgfError> {
    let mut reader = Reader::new(text);
    let mut games = Vec::new();
    while reader.skip_to_game() {
        games.push(reader.game()?);
    }
    if games.is_empty() {
        return Err(reader.error("expected a game that begins with '(', found none"));
    }
    Ok(games)
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
    column: usize,
}

/// One property with its values, and where it stands.
struct Property {
    name: String,
    values: Vec<String>,
    line: usize,
    column: usize,
}

impl Property {
    fn error(&self, problem: String) -> SgfError {
        SgfError {
            line: self.line,
            column: self.column,
            problem,
        }
    }

    fn first(&self) -> &str {
        self.values.first().map_or("", String::as_str)
    }
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader {
            rest: text.chars().peekable(),
            line: 1,
            column: 1,
        }
    }

    fn error(&self, problem: &str) -> SgfError {
        SgfError {
            line: self.line,
            column: self.column,
            problem: problem.to_owned(),
        }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(next)
    }

    /// Moves to the next `(`; false at the end of the text.
    fn skip_to_game(&mut self) -> bool {
        while let Some(&next) = self.rest.peek() {
            if next == '(' {
                return true;
            }
            self.next();
        }
        false
    }

    /// Reads from `(` to its `)`, keeping the properties of the first variation only.
    fn game(&mut self) -> Result<SgfGame, SgfError> {
        let mut game = GameBuilder::default();
        // For every open '(' on the main line: whether its first variation was opened already.
        let mut open: Vec<bool> = Vec::new();
        let mut skipped = 0usize;
        loop {
            match self.rest.peek().copied() {
                None => return Err(self.error("expected ')', found the end of the text")),
                Some('(') => {
                    self.next();
                    match open.last_mut() {
                        _ if skipped > 0 => skipped += 1,
                        Some(seen) if *seen => skipped = 1,
                        Some(seen) => {
                            *seen = true;
                            open.push(false);
                        }
                        None => open.push(false),
                    }
                }
                Some(')') => {
                    self.next();
                    if skipped > 0 {
                        skipped -= 1;
                    } else {
                        open.pop();
                    }
                    if open.is_empty() {
                        return game.finish();
                    }
                }
                Some(name) if name.is_ascii_alphabetic() => {
                    let property = self.property()?;
                    if skipped == 0 && open.last() == Some(&false) {
                        game.add(property)?;
                    }
                }
                Some(other) if other == ';' || other.is_whitespace() => {
                    self.next();
                }
                Some(other) => {
                    return Err(self.error(&format!("expected ';', '(', ')' or a property, found {other:?}")));
                }
            }
        }
    }

    /// A name and its values in brackets. Small letters in names (FF[3] and before) do not count.
    fn property(&mut self) -> Result<Property, SgfError> {
        let (line, column) = (self.line, self.column);
        let mut name = String::new();
        while let Some(letter) = self.rest.peek().copied().filter(char::is_ascii_alphanumeric) {
            self.next();
            if !letter.is_ascii_lowercase() {
                name.push(letter);
            }
        }
        let mut values = Vec::new();
        loop {
            match self.rest.peek() {
                Some('[') => values.push(self.value()?),
                Some(space) if space.is_whitespace() => {
                    self.next();
                }
                _ => break,
            }
        }
        if values.is_empty() {
            return Err(self.error(&format!("expected '[' after property {name}")));
        }
        Ok(Property {
            name,
            values,
            line,
            column,
        })
    }

    /// The text between brackets: `\x` stands for x, an escaped line end for nothing.
    fn value(&mut self) -> Result<String, SgfError> {
        self.next();
        let mut value = String::new();
        loop {
            match self.next() {
                None => return Err(self.error("expected ']', found the end of the text")),
                Some(']') => return Ok(value),
                Some('\\') => self.escaped(&mut value),
                Some('\r') => {}
                Some(other) => value.push(other),
            }
        }
    }

    fn escaped(&mut self, value: &mut String) {
        if self.rest.peek() == Some(&'\r') {
            self.next();
        }
        match self.next() {
            None | Some('\n') => {}
            Some(other) => value.push(other),
        }
    }
}

/// A game while its properties come in. Points wait until the size is known.
#[derive(Default)]
struct GameBuilder {
    size: Option<Size>,
    komi: Option<Komi>,
    rules: Option<String>,
    black: Option<String>,
    white: Option<String>,
    result: Option<String>,
    date: Option<String>,
    setup: Vec<(Option<Color>, Point)>,
    moves: Vec<(Color, Move)>,
}

impl GameBuilder {
    fn add(&mut self, property: Property) -> Result<(), SgfError> {
        let text = || Some(property.first().trim().to_owned());
        match property.name.as_str() {
            "GM" if property.first().trim() != "1" => {
                return Err(property.error(format!("expected Go (GM[1]), found GM[{}]", property.first())));
            }
            "SZ" => self.size = Some(parse_size(&property)?),
            "KM" => self.komi = parse_komi(property.first()),
            "RU" => self.rules = text(),
            "PB" => self.black = text(),
            "PW" => self.white = text(),
            "RE" => self.result = text(),
            "DT" => self.date = text(),
            "B" => self.turn(Color::Black, &property)?,
            "W" => self.turn(Color::White, &property)?,
            "AB" => self.set_up(Some(Color::Black), &property)?,
            "AW" => self.set_up(Some(Color::White), &property)?,
            "AE" => self.set_up(None, &property)?,
            _ => {}
        }
        Ok(())
    }

    fn size(&self) -> Size {
        self.size
            .unwrap_or_else(|| Size::square(19).expect("19 is a side of a board"))
    }

    fn turn(&mut self, color: Color, property: &Property) -> Result<(), SgfError> {
        let text = property.first().trim();
        let is_pass = text.is_empty() || text == "tt" && self.point("tt").is_none();
        let found = if is_pass {
            Some(Move::Pass)
        } else {
            self.point(text).map(Move::Play)
        };
        let size = self.size();
        let mv =
            found.ok_or_else(|| property.error(format!("expected a point on {size} or nothing, found {text:?}")))?;
        self.moves.push((color, mv));
        Ok(())
    }

    fn set_up(&mut self, color: Option<Color>, property: &Property) -> Result<(), SgfError> {
        if !self.moves.is_empty() {
            return Err(property.error("expected no stones set up after the first turn, found some".to_owned()));
        }
        for text in &property.values {
            let (from, to) = text.split_once(':').unwrap_or((text, text));
            let ends = self.point(from.trim()).zip(self.point(to.trim()));
            let size = self.size();
            let (from, to) =
                ends.ok_or_else(|| property.error(format!("expected points on {size}, found {text:?}")))?;
            for row in from.row(size)..=to.row(size) {
                for column in from.column(size)..=to.column(size) {
                    self.setup.extend(size.point(column, row).map(|point| (color, point)));
                }
            }
        }
        Ok(())
    }

    fn point(&self, text: &str) -> Option<Point> {
        let mut letters = text.bytes().map(|letter| match letter {
            b'a'..=b'z' => Some(usize::from(letter - b'a')),
            b'A'..=b'Z' => Some(usize::from(letter - b'A') + 26),
            _ => None,
        });
        let (column, row) = (letters.next()??, letters.next()??);
        if letters.next().is_some() {
            None
        } else {
            self.size().point(column, row)
        }
    }

    fn finish(self) -> Result<SgfGame, SgfError> {
        Ok(SgfGame {
            size: self.size(),
            komi: self.komi,
            rules: self.rules,
            black: self.black,
            white: self.white,
            result: self.result,
            date: self.date,
            setup: self.setup,
            moves: self.moves,
        })
    }
}

fn parse_size(property: &Property) -> Result<Size, SgfError> {
    let text = property.first().trim();
    let (width, height) = text.split_once(':').unwrap_or((text, text));
    let sides = width.trim().parse().ok().zip(height.trim().parse().ok());
    let size = sides.and_then(|(width, height)| Size::new(width, height).ok());
    size.ok_or_else(|| property.error(format!("expected a board of 1x1 to 19x19, found SZ[{text}]")))
}

/// A komi in whole or half points, with a decimal point or comma; anything else is no komi.
fn parse_komi(text: &str) -> Option<Komi> {
    let doubled = text.trim().replace(',', ".").parse::<f32>().ok()? * 2.0;
    let whole = doubled.fract() == 0.0 && doubled.abs() <= f32::from(i16::MAX);
    whole.then(|| Komi::from_half_points(doubled as i16))
}
