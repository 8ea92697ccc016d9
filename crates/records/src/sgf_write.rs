//! How does a game become SGF, the text every Go program reads?

use std::fmt::Write;

use jiff::Timestamp;
use tengen_rules::{Color, Move, Setup, Size};

use crate::record::{GameRecord, OPENING, PlyRecord};

/// One game as SGF (fourth format, UTF-8): who played, komi, rules, result, every turn; turns that were searched carry the
/// value, the expected margin (both from the mover's view) and the visits as a comment.
pub fn write_sgf(game: &GameRecord) -> String {
    let mut text = String::from("(;GM[1]FF[4]CA[UTF-8]");
    let _ = write!(text, "AP[Tengen:{}]", env!("CARGO_PKG_VERSION"));
    property(&mut text, "SZ", &size_text(game.size));
    property(&mut text, "KM", &game.komi.points().to_string());
    property(&mut text, "RU", &game.rules);
    property(&mut text, "PB", &game.black_model);
    property(&mut text, "PW", &game.white_model);
    property(&mut text, "RE", &game.result_text());
    if let Some(date) = date_text(game.start_time_ms) {
        property(&mut text, "DT", &date);
    }
    property(&mut text, "GN", &game.game_id);
    write_start(&mut text, game.size, &game.setup);
    text.push('\n');
    for (ply, record) in game.plies.iter().enumerate() {
        write_ply(&mut text, game, ply, record);
    }
    text.push_str(")\n");
    text
}

/// Many games in one file.
pub fn write_sgf_collection(games: &[GameRecord]) -> String {
    games.iter().map(write_sgf).collect()
}

/// Handicap, stones on the board before the first turn, and who takes it where that is White.
fn write_start(text: &mut String, size: Size, setup: &Setup) {
    if setup.handicap.stones() > 0 {
        property(text, "HA", &setup.handicap.stones().to_string());
    }
    for (name, stones) in ["AB", "AW"].into_iter().zip(setup.stones) {
        if !stones.is_empty() {
            text.push_str(name);
        }
        for point in stones {
            let _ = write!(text, "[{}]", move_text(size, Move::Play(point)));
        }
    }
    if setup.to_move == Color::White {
        property(text, "PL", "W");
    }
}

fn write_ply(text: &mut String, game: &GameRecord, ply: usize, record: &PlyRecord) {
    let color = match game.mover(ply) {
        Color::Black => 'B',
        Color::White => 'W',
    };
    let _ = write!(text, ";{color}[{}]", move_text(game.size, record.mv));
    if record.has(OPENING) || ply < usize::from(game.opening_plies) {
        property(text, "C", "opening");
    } else if record.root_visits > 0 {
        let (value, margin, visits) = (record.root_value, record.root_margin, record.root_visits);
        property(
            text,
            "C",
            &format!("value {value:+.3} margin {margin:+.1} visits {visits}"),
        );
    }
    text.push('\n');
}

/// Writes `name[value]`, with the characters escaped that SGF reserves.
fn property(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    text.push('[');
    for character in value.chars() {
        if matches!(character, ']' | '\\') {
            text.push('\\');
        }
        text.push(if character.is_control() && character != '\n' {
            ' '
        } else {
            character
        });
    }
    text.push(']');
}

fn size_text(size: Size) -> String {
    if size.width() == size.height() {
        size.width().to_string()
    } else {
        format!("{}:{}", size.width(), size.height())
    }
}

/// Two small letters, column then row from the top; nothing for a pass.
fn move_text(size: Size, mv: Move) -> String {
    let letter = |index: usize| char::from(b'a' + index as u8);
    match mv {
        Move::Pass => String::new(),
        Move::Play(point) => [letter(point.column(size)), letter(point.row(size))].iter().collect(),
    }
}

fn date_text(ms: i64) -> Option<String> {
    let time = Timestamp::from_millisecond(ms).ok()?;
    Some(time.strftime("%Y-%m-%d").to_string())
}
