//! Opening books and their lines.

use std::collections::BTreeSet;
use std::sync::Arc;

use tengen_rules::{Move, Position, Rules, Size};

/// Lines of play from the empty board, Black first, from which pairs of games start.
///
/// Settings name a book by its path. This crate does not read files: the caller supplies the lines with [`Book::read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    /// The book's path, as given.
    pub path: String,
    lines: Arc<[Vec<Move>]>,
}

impl Book {
    /// A book that has not been read yet; a match with it is refused.
    pub fn unread(path: &str) -> Book {
        Book {
            path: path.to_owned(),
            lines: Arc::default(),
        }
    }

    /// The book with these lines, cut to `plies` plies if given. Lines that are then equal count once.
    pub fn read(path: &str, lines: impl IntoIterator<Item = Vec<Move>>, plies: Option<usize>) -> Book {
        let mut seen = BTreeSet::new();
        let cut = |mut line: Vec<Move>| {
            line.truncate(plies.unwrap_or(usize::MAX));
            line
        };
        let lines = lines.into_iter().map(cut).filter(|line| seen.insert(line.clone()));
        Book {
            path: path.to_owned(),
            lines: lines.collect(),
        }
    }

    /// The distinct lines, in the order of the book; empty if it has not been read.
    pub fn lines(&self) -> &[Vec<Move>] {
        &self.lines
    }

    /// Checks every line by playing it on a board of this size under these rules.
    ///
    /// # Errors
    /// A sentence when the book is empty, or one naming the first line that has an illegal move or ends the game.
    pub fn validate(&self, size: Size, rules: Rules) -> Result<(), String> {
        if self.lines.is_empty() {
            return Err(format!("the book {} has no opening for {size}", self.path));
        }
        for (number, line) in self.lines.iter().enumerate() {
            let wrong = |problem: String| format!("opening {} of the book {}: {problem}", number + 1, self.path);
            let mut position = Position::with_rules(size, rules).between_machines();
            for &mv in line {
                if let Err(reason) = position.try_play(mv) {
                    return Err(wrong(format!("{} is illegal: {reason}", mv.format(size))));
                }
            }
            if position.is_over() {
                return Err(wrong("it ends the game".to_owned()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openings::Openings;

    fn size() -> Size {
        Size::square(5).expect("a size")
    }

    fn line(text: &str) -> Vec<Move> {
        let moves = text.split_whitespace();
        moves.map(|mv| Move::parse(size(), mv).expect("a move")).collect()
    }

    fn openings(lines: &[&str], plies: Option<usize>) -> Openings {
        Openings {
            book: Some(Book::read("b", lines.iter().map(|text| line(text)), plies)),
            ..Openings::default()
        }
    }

    #[test]
    fn lines_all_occur_before_any_repeats() {
        let openings = openings(&["C3 D4", "C4", "B2 pass C3"], None);
        assert_eq!(openings.validate(size(), Rules::tromp_taylor()), Ok(()));
        let mut round: Vec<Vec<Move>> = (3..6)
            .map(|pair| openings.moves(size(), Rules::tromp_taylor(), 9, pair))
            .collect();
        round.sort();
        let mut lines = openings.book.expect("a book").lines().to_vec();
        lines.sort();
        assert_eq!(round, lines);
    }

    #[test]
    fn lines_that_are_equal_after_cutting_count_once() {
        let openings = openings(&["C3 D4 B2", "C3 D4 E1", "C3 D2"], Some(2));
        assert_eq!(openings.book.expect("a book").lines(), [line("C3 D4"), line("C3 D2")]);
    }

    #[test]
    fn unplayable_books_are_rejected_by_name() {
        for (lines, message) in [
            (vec![], "the book b has no opening for 5x5"),
            (vec!["C3", "C3 C3"], "opening 2 of the book b: C3 is illegal"),
            (vec!["C3 pass pass"], "it ends the game"),
        ] {
            let error = openings(&lines, None)
                .validate(size(), Rules::tromp_taylor())
                .expect_err("a refusal");
            assert!(error.contains(message), "{error}");
        }
    }
}
