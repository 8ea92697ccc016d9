//! Reads a tree as a game of Go: the main line, which is the first variation at every branch.

use tengen_records::SgfResult;
use tengen_rules::{Color, Handicap, Komi, Move, Point, PointSet, Setup, Size};

use crate::encoding::SgfText;
use crate::error::{SgfError, SgfPlace, shown};
use crate::parse::{SgfTrees, no_game};
use crate::tree::{SgfNode, SgfProperty, SgfTree};
use crate::value::{SgfPoint, SgfValue};

/// Most stones set up and points cleared before the first turn. A file that lists a full board needs 361.
const MAX_SETUP: usize = 1 << 14;

/// The main line of one game of an SGF file.
#[derive(Clone, Debug, PartialEq)]
pub struct SgfGame {
    /// Board size; 19x19 if the file does not say.
    pub size: Size,
    /// Komi, if the file states one in whole or half points.
    pub komi: Option<Komi>,
    /// Komi as written in the file.
    pub komi_text: Option<String>,
    /// Number of handicap stones, if the file states one.
    pub handicap: Option<u16>,
    /// Name of the rules as written in the file.
    pub rules: Option<String>,
    /// Name of the Black player.
    pub black: Option<String>,
    /// Name of the White player.
    pub white: Option<String>,
    /// Rank of the Black player.
    pub black_rank: Option<String>,
    /// Rank of the White player.
    pub white_rank: Option<String>,
    /// The result claimed by the file.
    pub result: Option<String>,
    /// The date as written in the file.
    pub date: Option<String>,
    /// The event where the game was played.
    pub event: Option<String>,
    /// Stones set up before the first turn, in file order; `None` clears a point.
    pub setup: Vec<(Option<Color>, Point)>,
    /// The side to move first, if the file says so (`PL`).
    pub to_move: Option<Color>,
    /// The turns in order.
    pub moves: Vec<(Color, Move)>,
    /// Position of each turn in the text.
    pub places: Vec<SgfPlace>,
    /// Position of the start of the game or, if stones are set up, of the first of them.
    pub start_place: SgfPlace,
}

/// Reads the main line (always the first variation) of every game in a text. Text between games and unknown properties
/// are skipped.
///
/// # Errors
/// [`SgfError`] at the first error, or if the text contains no game. [`SgfGames`] continues after a broken game.
pub fn read_sgf(text: &str) -> Result<Vec<SgfGame>, SgfError> {
    let games = SgfGames::new(text).collect::<Result<Vec<_>, _>>()?;
    match games.is_empty() {
        true => Err(no_game(text)),
        false => Ok(games),
    }
}

/// [`read_sgf`] for the bytes of a file in any encoding ([`SgfText::decode`]).
///
/// # Errors
/// As [`read_sgf`].
pub fn read_sgf_bytes(bytes: &[u8]) -> Result<Vec<SgfGame>, SgfError> {
    read_sgf(&SgfText::decode(bytes).text)
}

/// Iterates over the games of a text, continuing after a broken one as [`SgfTrees`] does.
pub struct SgfGames<'a>(SgfTrees<'a>);

impl<'a> SgfGames<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a str) -> SgfGames<'a> {
        SgfGames(SgfTrees::new(text))
    }

    /// Number of bytes read so far.
    pub fn bytes_read(&self) -> usize {
        self.0.bytes_read()
    }

    /// After the last game: why the rest of the text was not read although it may hold games.
    pub fn unread(&self) -> Option<&SgfError> {
        self.0.unread()
    }
}

impl Iterator for SgfGames<'_> {
    type Item = Result<SgfGame, SgfError>;

    fn next(&mut self) -> Option<Result<SgfGame, SgfError>> {
        let tree = self.0.next()?;
        Some(tree.and_then(|tree| {
            let game = SgfGame::of_tree(&tree);
            if game.is_err() && has_two_games(&tree) {
                self.0.split_last();
            }
            game
        }))
    }
}

impl SgfGame {
    /// The main line of a tree as a game of Go on a board from 1x1 to 19x19.
    ///
    /// # Errors
    /// [`SgfError`] for a game other than Go, an unsupported board, points off the board, stones set up after the first
    /// turn, and a size or kind of game that is stated twice.
    pub fn of_tree(tree: &SgfTree) -> Result<SgfGame, SgfError> {
        let size = board(tree)?;
        let mut game = SgfGame::empty(size);
        if let Some(first) = tree.nodes().flat_map(SgfNode::properties).next() {
            game.start_place = first.place();
        }
        for node in tree.main_line() {
            game.add_node(node)?;
        }
        Ok(game)
    }

    fn empty(size: Size) -> SgfGame {
        SgfGame {
            size,
            komi: None,
            komi_text: None,
            handicap: None,
            rules: None,
            black: None,
            white: None,
            black_rank: None,
            white_rank: None,
            result: None,
            date: None,
            event: None,
            setup: Vec::new(),
            to_move: None,
            moves: Vec::new(),
            places: Vec::new(),
            start_place: SgfPlace::START,
        }
    }

    /// An error about the setup stones, with their position.
    pub fn error_at_setup(&self, problem: impl Into<String>) -> SgfError {
        SgfError::new(self.start_place, problem)
    }

    /// The stones set up before the first turn, Black's and White's.
    pub fn setup_stones(&self) -> [PointSet; 2] {
        let mut stones = [PointSet::new(); 2];
        for &(color, point) in &self.setup {
            for (index, set) in stones.iter_mut().enumerate() {
                match color.is_some_and(|color| color.index() == index) {
                    true => set.insert(point),
                    false => set.remove(point),
                };
            }
        }
        stones
    }

    /// The setup of the game. The color of the first turn moves first, regardless of `PL`. Without turns, it is the
    /// side named by `PL`, else White if there is a handicap, else Black. A handicap of `HA` stones is
    ///
    /// - among the setup stones, if that many black stones were set up;
    /// - else played, if no stones were set up and Black starts with that many plays;
    /// - else given by passes, if no stones were set up and White passes on one turn fewer than that;
    /// - else ignored.
    pub fn start(&self) -> Setup {
        let stones = self.setup_stones();
        let handicap = match self.handicap {
            Some(n @ 2..) => self.handicap_kind(n, &stones),
            _ => Handicap::Even,
        };
        let unplayed = match handicap {
            Handicap::Fixed(_) => Color::White,
            _ => Color::Black,
        };
        let first = self.moves.first().map(|&(color, _)| color);
        Setup {
            stones,
            to_move: first.or(self.to_move).unwrap_or(unplayed),
            handicap,
        }
    }

    fn handicap_kind(&self, stones: u16, setup: &[PointSet; 2]) -> Handicap {
        let n = usize::from(stones);
        let is_play = |&(color, mv): &(Color, Move)| color == Color::Black && mv != Move::Pass;
        let is_white_pass = |turn: usize| self.moves.get(turn) == Some(&(Color::White, Move::Pass));
        if setup[0].len() >= n {
            Handicap::Fixed(stones)
        } else if !self.setup.is_empty() {
            Handicap::Even
        } else if self.moves.len() >= n && self.moves[..n].iter().all(is_play) {
            Handicap::Consecutive(stones)
        } else if (1..n).all(|pass| is_white_pass(2 * pass - 1)) {
            Handicap::WhitePasses(stones)
        } else {
            Handicap::Even
        }
    }

    /// The result claimed by the file.
    pub fn claim(&self) -> SgfResult {
        self.result.as_deref().map_or(SgfResult::Unknown, SgfResult::parse)
    }

    /// Adds a node: first its setup stones, then its turns, in whatever order the node has them.
    fn add_node(&mut self, node: SgfNode<'_>) -> Result<(), SgfError> {
        for property in node.properties() {
            match property.name() {
                "AB" => self.set_up(Some(Color::Black), property)?,
                "AW" => self.set_up(Some(Color::White), property)?,
                "AE" => self.set_up(None, property)?,
                _ => self.add_information(property),
            }
        }
        for property in node.properties() {
            match property.name() {
                "B" => self.turn(Color::Black, property)?,
                "W" => self.turn(Color::White, property)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps the first value of each kind of information.
    fn add_information(&mut self, property: SgfProperty<'_>) {
        let value = property.first().map(SgfValue::simple_text).unwrap_or_default();
        if value.is_empty() {
            return;
        }
        let place = match property.name() {
            "KM" => {
                self.komi = self.komi.or_else(|| parse_komi(&value));
                &mut self.komi_text
            }
            "HA" => {
                self.handicap = self.handicap.or_else(|| value.parse().ok());
                return;
            }
            "PL" => {
                self.to_move = self.to_move.or_else(|| color(&value));
                return;
            }
            "RU" => &mut self.rules,
            "PB" => &mut self.black,
            "PW" => &mut self.white,
            "BR" => &mut self.black_rank,
            "WR" => &mut self.white_rank,
            "RE" => &mut self.result,
            "DT" => &mut self.date,
            "EV" => &mut self.event,
            _ => return,
        };
        if place.is_none() {
            *place = Some(value.into_owned());
        }
    }

    fn turn(&mut self, color: Color, property: SgfProperty<'_>) -> Result<(), SgfError> {
        let number = self.moves.len() + 1;
        let wrong = |problem: String| SgfError::new(property.place(), problem).of_turn(number);
        let mut values = property.values();
        let value = values.next().expect("every property of a tree has a value");
        if values.next().is_some() {
            return Err(wrong(format!(
                "expected one move, found several values of {}",
                property.name()
            )));
        }
        let mv = self.read_move(value).ok_or_else(|| {
            let (size, found) = (self.size, shown(value.raw()));
            wrong(format!("expected a point on {size} or nothing, found {found:?}"))
        })?;
        self.moves.push((color, mv));
        self.places.push(property.place());
        Ok(())
    }

    /// Parses a move. An empty value is a pass and so is `tt`, since boards are at most 19x19.
    fn read_move(&self, value: SgfValue<'_>) -> Option<Move> {
        match value.raw().trim() {
            "" | "tt" => Some(Move::Pass),
            _ => Some(Move::Play(self.on_board(value.point()?)?)),
        }
    }

    fn set_up(&mut self, color: Option<Color>, property: SgfProperty<'_>) -> Result<(), SgfError> {
        let wrong = |problem: String| Err(SgfError::new(property.place(), problem));
        let size = self.size;
        for value in property.values().filter(|value| !value.raw().trim().is_empty()) {
            if !self.moves.is_empty() {
                let problem = "expected no stones set up after the first turn, found some".to_owned();
                return wrong(problem).map_err(|error: SgfError| error.of_turn(self.moves.len()));
            }
            let corners = value.rectangle();
            let Some((from, to)) = corners.filter(|&(_, to)| self.on_board(to).is_some()) else {
                return wrong(format!("expected points on {size}, found {:?}", shown(value.raw())));
            };
            if self.setup.is_empty() {
                self.start_place = property.place();
            }
            if self.setup.len() > MAX_SETUP {
                return wrong(format!("expected at most {MAX_SETUP} stones set up, found more"));
            }
            let points = (from.row..=to.row).flat_map(|row| (from.column..=to.column).map(move |column| (column, row)));
            let points = points.filter_map(|(column, row)| size.point(column.into(), row.into()));
            self.setup.extend(points.map(|point| (color, point)));
        }
        Ok(())
    }

    fn on_board(&self, point: SgfPoint) -> Option<Point> {
        self.size.point(point.column.into(), point.row.into())
    }
}

/// Whether a tree states its size or kind of game twice, which indicates that a missing `]` merged two games into one.
fn has_two_games(tree: &SgfTree) -> bool {
    let names = || tree.main_line().flat_map(SgfNode::properties).map(SgfProperty::name);
    ["SZ", "GM"]
        .iter()
        .any(|name| names().filter(|found| found == name).count() > 1)
}

/// The board of a tree, after checking that it is a game of Go whose size and kind are stated once.
fn board(tree: &SgfTree) -> Result<Size, SgfError> {
    let mut size = None;
    let mut is_go = false;
    for property in tree.main_line().flat_map(SgfNode::properties) {
        let wrong = |problem: String| Err(SgfError::new(property.place(), problem));
        let value = property.first().map(SgfValue::simple_text).unwrap_or_default();
        let name = property.name();
        match name {
            "GM" if value != "1" => return wrong(format!("expected Go (GM[1]), found GM[{}]", shown(&value))),
            "GM" if is_go => return wrong(twice(name)),
            "SZ" if size.is_some() => return wrong(twice(name)),
            "GM" => is_go = true,
            "SZ" => match parse_size(&value) {
                None => return wrong(wrong_size(&value)),
                found => size = found,
            },
            _ => {}
        }
    }
    Ok(size.unwrap_or_else(|| Size::square(19).expect("19 is a valid board size")))
}

fn twice(name: &str) -> String {
    format!("expected {name} once, found it again: is a ']' or ')' missing before it?")
}

fn wrong_size(found: &str) -> String {
    format!("expected a board of 1x1 to 19x19, found SZ[{}]", shown(found))
}

fn parse_size(text: &str) -> Option<Size> {
    let (width, height) = text.split_once(':').unwrap_or((text, text));
    Size::new(width.trim().parse().ok()?, height.trim().parse().ok()?).ok()
}

/// Parses a komi in whole or half points, with a decimal point or comma; anything else gives `None`.
fn parse_komi(text: &str) -> Option<Komi> {
    let text = text.replace(',', ".");
    let text = text.strip_suffix('.').unwrap_or(&text);
    match text.strip_prefix('.') {
        Some(fraction) => format!("0.{fraction}").parse().ok(),
        None => text.parse().ok(),
    }
}

fn color(text: &str) -> Option<Color> {
    match text.as_bytes().first()?.to_ascii_lowercase() {
        b'b' | b'1' => Some(Color::Black),
        b'w' | b'2' => Some(Color::White),
        _ => None,
    }
}
