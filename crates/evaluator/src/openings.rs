//! The openings that the games of a match start from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use tengen_rng as rng;
use tengen_rules::{Move, Point, Position, Rules, Size, Symmetry};

use crate::book::Book;

/// Opening moves, the same for both games of a pair.
///
/// Written as `none`, `first-moves`, `random:PLIES`, or `book:PATH`; `+random:PLIES` may follow `first-moves` and
/// `book:PATH`.
///
/// `first-moves` uses every first move that is distinct under the board's symmetries, and `book:` uses the lines of a
/// book (see [`Book`]); both go through all their openings in shuffled order before repeating any. `random:PLIES` adds
/// plays chosen uniformly from all legal ones. Without random plies, deterministic players repeat a game whenever an
/// opening repeats.
///
/// ```
/// let openings: tengen_evaluator::Openings = "first-moves+random:2".parse().unwrap();
/// assert!(openings.first_moves);
/// assert_eq!(openings.random_plies, 2);
/// assert_eq!(openings.to_string(), "first-moves+random:2");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Openings {
    /// Whether pairs start with the distinct first moves.
    pub first_moves: bool,
    /// The book whose lines the pairs start with; never together with `first_moves`.
    pub book: Option<Book>,
    /// The number of random legal plays that follow, 0 to 361.
    pub random_plies: usize,
}

impl Openings {
    /// Random plies from the empty board.
    pub fn random(plies: usize) -> Openings {
        Openings {
            random_plies: plies,
            ..Openings::default()
        }
    }

    /// The opening of a pair of games: legal moves from the empty board that do not end the game. The same arguments
    /// give the same moves.
    pub fn moves(&self, size: Size, rules: Rules, seed: u64, pair: usize) -> Vec<Move> {
        let mut position = Position::with_rules(size, rules);
        if self.first_moves {
            let points = distinct_first_moves(size);
            // On a one-point board, the only play may be a forbidden suicide.
            let _ = position.try_play(Move::Play(points[shuffled(points.len(), seed, pair)]));
        }
        if let Some(lines) = self.book.as_ref().map(Book::lines).filter(|lines| !lines.is_empty()) {
            let line = &lines[shuffled(lines.len(), seed, pair)];
            line.iter().for_each(|&mv| position.play(mv));
        }
        let mut rng = rng::stream(seed, &[STREAM_RANDOM, pair as u64]);
        for _ in 0..self.random_plies {
            let legal = position.legal_points();
            if legal.is_empty() {
                break;
            }
            let point = legal
                .nth(rng::below(&mut rng, legal.len()))
                .expect("the rank is below the count");
            position.play(Move::Play(point));
            if position.is_over() {
                // A long cycle has tied the game.
                position.undo();
                break;
            }
        }
        position.moves().to_vec()
    }

    /// Checks that the book, if there is one, has lines and that they are playable on this board under these rules.
    ///
    /// # Errors
    /// A sentence naming the line that cannot be played.
    pub fn validate(&self, size: Size, rules: Rules) -> Result<(), String> {
        self.book.as_ref().map_or(Ok(()), |book| book.validate(size, rules))
    }
}

const STREAM_RANDOM: u64 = 1;
const STREAM_SHUFFLE: u64 = 2;

/// The opening, of `count`, that a pair starts with: all in one shuffled order, then all again in another.
fn shuffled(count: usize, seed: u64, pair: usize) -> usize {
    let mut order: Vec<usize> = (0..count).collect();
    let mut rng = rng::stream(seed, &[STREAM_SHUFFLE, (pair / count) as u64]);
    for last in (1..count).rev() {
        order.swap(last, rng::below(&mut rng, last + 1));
    }
    order[pair % count]
}

/// The first point, in reading order, of every class of points that the board's symmetries map onto each other: six on
/// 5x5.
pub fn distinct_first_moves(size: Size) -> Vec<Point> {
    let is_first = |&point: &Point| {
        Symmetry::all(size)
            .iter()
            .all(|symmetry| symmetry.apply(size, point) >= point)
    };
    size.points().filter(is_first).collect()
}

impl fmt::Display for Openings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = match &self.book {
            Some(book) => format!("book:{}", book.path),
            None if self.first_moves => "first-moves".to_owned(),
            None => String::new(),
        };
        match (begin.as_str(), self.random_plies) {
            ("", 0) => f.write_str("none"),
            ("", plies) => write!(f, "random:{plies}"),
            (begin, 0) => f.write_str(begin),
            (begin, plies) => write!(f, "{begin}+random:{plies}"),
        }
    }
}

/// The text does not describe openings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' does not describe openings: expected none, first-moves, book:PATH, random:PLIES, first-moves+random:PLIES, \
     or book:PATH+random:PLIES, with 1 to 361 plies"
)]
pub struct ParseOpeningsError(String);

impl FromStr for Openings {
    type Err = ParseOpeningsError;

    fn from_str(text: &str) -> Result<Openings, ParseOpeningsError> {
        let error = || ParseOpeningsError(text.chars().take(60).collect());
        let plies = |plies: &str| plies.parse().ok().filter(|plies| (1..=361).contains(plies));
        if text == "none" {
            return Ok(Openings::default());
        }
        if let Some(count) = text.strip_prefix("random:") {
            return plies(count).map(Openings::random).ok_or_else(error);
        }
        let (begin, random_plies) = match text.rsplit_once("+random:") {
            Some((begin, count)) => (begin, plies(count).ok_or_else(error)?),
            None => (text, 0),
        };
        let book = begin.strip_prefix("book:").filter(|path| !path.is_empty());
        match (begin, book) {
            ("first-moves", _) => Ok(Openings {
                first_moves: true,
                book: None,
                random_plies,
            }),
            (_, Some(path)) => Ok(Openings {
                first_moves: false,
                book: Some(Book::unread(path)),
                random_plies,
            }),
            _ => Err(error()),
        }
    }
}

impl TryFrom<String> for Openings {
    type Error = ParseOpeningsError;

    fn try_from(text: String) -> Result<Openings, ParseOpeningsError> {
        text.parse()
    }
}

impl From<Openings> for String {
    fn from(openings: Openings) -> String {
        openings.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "none",
            "first-moves",
            "random:4",
            "first-moves+random:2",
            "book:a folder/x.sgf",
            "book:my random:book",
            "book:my random:book+random:3",
        ] {
            assert_eq!(text.parse::<Openings>().expect("openings").to_string(), text);
        }
        for text in [
            "",
            "nothing",
            "random",
            "random:",
            "random:0",
            "random:400",
            "first-moves+",
            "first-moves:2",
            "book:",
            "book:x+random:",
            "bookx+random:3",
        ] {
            assert!(text.parse::<Openings>().is_err(), "{text}");
        }
    }

    #[test]
    fn distinct_first_moves_are_counted() {
        for (width, height, count) in [
            (1, 1, 1),
            (2, 2, 1),
            (3, 3, 3),
            (5, 5, 6),
            (9, 9, 15),
            (19, 19, 55),
            (2, 3, 2),
        ] {
            let size = Size::new(width, height).expect("a size");
            assert_eq!(distinct_first_moves(size).len(), count, "{size}");
        }
    }

    #[test]
    fn first_moves_all_occur_before_any_repeats() {
        let size = Size::square(5).expect("a size");
        let openings: Openings = "first-moves".parse().expect("openings");
        let mut round: Vec<Vec<Move>> = (6..12)
            .map(|pair| openings.moves(size, Rules::tromp_taylor(), 3, pair))
            .collect();
        round.sort();
        round.dedup();
        assert_eq!(round.len(), 6);
    }

    #[test]
    fn random_openings_depend_on_the_seed() {
        let size = Size::square(9).expect("a size");
        let openings: Openings = "first-moves+random:6".parse().expect("openings");
        assert_eq!(
            openings.moves(size, Rules::tromp_taylor(), 1, 4),
            openings.moves(size, Rules::tromp_taylor(), 1, 4)
        );
        assert_ne!(
            openings.moves(size, Rules::tromp_taylor(), 1, 4),
            openings.moves(size, Rules::tromp_taylor(), 2, 4)
        );
        assert_eq!(openings.moves(size, Rules::tromp_taylor(), 1, 4).len(), 7);
        let tiny = Size::square(1).expect("a size");
        assert_eq!(
            "random:9"
                .parse::<Openings>()
                .expect("openings")
                .moves(tiny, Rules::tromp_taylor(), 1, 0),
            []
        );
    }
}
