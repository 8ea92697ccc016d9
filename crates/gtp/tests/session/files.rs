//! Loading games from files and saving them.

use tengen_gtp::Next;

use crate::first_point::{check, session};

#[test]
fn games_are_loaded() {
    check(
        "> loadsgf game.sgf
         = black
         > query_boardsize
         = 5
         > play b D3
         ? illegal move (the point is occupied)
         > loadsgf game.sgf 2
         = white
         > loadsgf other.sgf
         ? cannot load file: no such file
         > loadsgf
         ? syntax error: the file is missing",
    );
}

#[test]
fn games_are_written_with_their_result() {
    let mut session = session();
    let mut ask = |line: &str| session.handle(line).text;
    assert_eq!(
        ask("printsgf"),
        "= (;GM[1]\n;B[aa])\n\n",
        "an empty line must not end the answer early"
    );
    ask("play b C3");
    ask("printsgf a file.sgf");
    ask("play w pass");
    ask("play b pass");
    ask("printsgf -");
    ask("clear_board");
    session.engine().resigns = true;
    let mut ask = |line: &str| session.handle(line).text;
    assert_eq!(ask("genmove w"), "= resign\n\n");
    ask("printsgf");
    ask("play b C3");
    assert_eq!(session.handle("printsgf x").next, Next::Read);
    let saved = std::mem::take(&mut session.engine().saved);
    let saved: Vec<_> = saved
        .iter()
        .map(|(turns, result, path)| (*turns, result.as_str(), path.as_deref()))
        .collect();
    let expected = [
        (0, "", None),
        (1, "", Some("a file.sgf")),
        (3, "B+73.5", None),
        (0, "B+R", None),
        (1, "", Some("x")),
    ];
    assert_eq!(saved, expected);
}
