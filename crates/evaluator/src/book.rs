//! Which lines does an opening book hold?

use std::collections::BTreeSet;
use std::sync::Arc;

use tengen_rules::{Move, Position, Rules, Size};

/// Lines of play from the empty board, Black first, from which pairs of games begin.
///
/// A book is named by its path; whoever reads it gives the lines with [`Book::read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    /// Where the book was read, as it was given.
    pub path: String,
    lines: Arc<[Vec<Move>]>,
}

impl Book {
    /// A book that is named but not read yet: no match begins with it.
    pub fn unread(path: &str) -> Book {
        Book {
            path: path.to_owned(),
            lines: Arc::default(),
        }
    }

    /// The book with these lines, cut to `plies` turns if a number is given; lines that are then equal count once.
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

    /// The lines, in the order of the book.
    pub fn lines(&self) -> &[Vec<Move>] {
        &self.lines
    }

    /// Plays every line on a board of this size under these rules.
    ///
    /// # Errors
    /// A sentence when the book is empty, or naming the first line that has an illegal turn or ends the game.
    pub(crate) fn validate(&self, size: Size, rules: Rules) -> Result<(), String> {
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
    fn every_line_comes_once_before_any_again() {
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
    fn lines_that_are_equal_when_cut_count_once() {
        let openings = openings(&["C3 D4 B2", "C3 D4 E1", "C3 D2"], Some(2));
        assert_eq!(openings.book.expect("a book").lines(), [line("C3 D4"), line("C3 D2")]);
    }

    #[test]
    fn what_cannot_be_played_is_named() {
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
