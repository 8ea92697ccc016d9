//! Reads an opening book: a folder of SGF files, one SGF file, or a text file with one line of moves per opening.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use tengen_evaluator::{Book, Openings};
use tengen_rules::{Color, Move, Size};
use tengen_sgf::{SgfGame, read_sgf_bytes};

/// Reads the book that the openings name, if any. Cuts every line to `plies` turns if given.
///
/// Skips SGF games on other boards and those that do not start with Black on the empty board.
pub fn read_book(openings: Openings, size: Size, plies: Option<usize>) -> anyhow::Result<Openings> {
    let Some(path) = openings.book.as_ref().map(|book| book.path.clone()) else {
        return Ok(openings);
    };
    let lines =
        lines_of_book(Path::new(&path), size).with_context(|| format!("cannot read the opening book {path}"))?;
    if lines.is_empty() {
        bail!("the opening book {path} has no opening that starts on the empty {size} board with Black to move");
    }
    Ok(Openings {
        book: Some(Book::read(&path, lines, plies)),
        ..openings
    })
}

/// The lines of a book for boards of this size, from the empty board with Black to move.
///
/// # Errors
/// If a file cannot be read, or is not in its format; SGF games on other boards are skipped.
pub fn lines_of_book(path: &Path, size: Size) -> anyhow::Result<Vec<Vec<Move>>> {
    if path.is_dir() {
        let mut lines = Vec::new();
        for file in sgf_files(path)? {
            lines.extend(sgf_lines(&file, size)?);
        }
        return Ok(lines);
    }
    match is_sgf(path) {
        true => sgf_lines(path, size),
        false => text_lines(&fs::read_to_string(path)?, size),
    }
}

/// Whether the games of a book state their board size: SGF does, text does not.
pub fn names_boards(path: &Path) -> bool {
    path.is_dir() || is_sgf(path)
}

/// The SGF files directly in a folder, sorted by name.
fn sgf_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|path| is_sgf(path));
    files.sort();
    Ok(files)
}

fn is_sgf(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("sgf"))
}

fn sgf_lines(path: &Path, size: Size) -> anyhow::Result<Vec<Vec<Move>>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let games = read_sgf_bytes(&bytes).with_context(|| path.display().to_string())?;
    Ok(games.iter().filter_map(|game| line_of(game, size)).collect())
}

/// The turns of a game from the empty board until a side moves twice in a row or the game ends.
fn line_of(game: &SgfGame, size: Size) -> Option<Vec<Move>> {
    if game.size != size || !game.setup.is_empty() {
        return None;
    }
    let mut line = Vec::new();
    for (&(color, mv), turn) in game.moves.iter().zip([Color::Black, Color::White].into_iter().cycle()) {
        let ends = mv == Move::Pass && line.last() == Some(&Move::Pass);
        if color != turn || ends {
            break;
        }
        line.push(mv);
    }
    (!line.is_empty()).then_some(line)
}

/// Parses one opening per line, with moves such as `C3 D4 pass`; `#` starts a comment.
fn text_lines(text: &str, size: Size) -> anyhow::Result<Vec<Vec<Move>>> {
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let words = line.split('#').next().unwrap_or_default();
        let words = words
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty());
        let moves = words.map(|word| Move::parse(size, word).map_err(|error| anyhow::anyhow!("{error}")));
        let moves: Vec<Move> = moves
            .collect::<Result<_, _>>()
            .with_context(|| format!("line {}", number + 1))?;
        if !moves.is_empty() {
            lines.push(moves);
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path, plies: Option<usize>) -> anyhow::Result<Vec<String>> {
        let size = Size::square(5).unwrap();
        let openings = read_book(format!("book:{}", path.display()).parse().unwrap(), size, plies)?;
        let line = |line: &Vec<Move>| line.iter().map(|mv| mv.format(size)).collect::<Vec<_>>().join(" ");
        Ok(openings.book.unwrap().lines().iter().map(line).collect())
    }

    #[test]
    fn reads_text_files_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("lines.txt");
        fs::write(&text, "# openings\nC3 D4, b2\n\nc3 pass # a pass\n").unwrap();
        assert_eq!(read(&text, None).unwrap(), ["C3 D4 B2", "C3 pass"]);
        assert_eq!(read(&text, Some(1)).unwrap(), ["C3"]);
        let put = |name: &str, sgf: &str| fs::write(folder.path().join(name), sgf).unwrap();
        put("b.sgf", "(;SZ[5];B[cc];W[dd];W[aa])(;SZ[9];B[cc])(;SZ[5]AB[aa];W[bb])");
        put("a.SGF", "(;SZ[5];B[bb](;W[];B[];W[])(;W[aa]))");
        assert_eq!(read(folder.path(), None).unwrap(), ["B4 pass", "C3 D2"]);
    }

    #[test]
    fn errors_name_the_place_in_the_book() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| format!("{:#}", read(path, None).unwrap_err());
        let text = folder.path().join("lines.txt");
        fs::write(&text, "C3\nC3 Z9\n").unwrap();
        assert!(refusal(&text).contains("line 2"), "{}", refusal(&text));
        assert!(
            refusal(folder.path()).contains("no opening"),
            "{}",
            refusal(folder.path())
        );
        assert!(refusal(&folder.path().join("none")).contains("none"));
        fs::write(folder.path().join("x.sgf"), "(;SZ[5];B[cc]").unwrap();
        assert!(refusal(folder.path()).contains("x.sgf"), "{}", refusal(folder.path()));
    }
}
