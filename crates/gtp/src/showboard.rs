//! Drawing a position as text.

use tengen_rules::{Color, Point, Position};

/// Draws the board with coordinates: `X` for Black, `O` for White, `.` for empty, and the last stone played in
/// parentheses. There is one line per row, no empty line, and no newline at the end.
pub fn show_board(position: &Position) -> String {
    let size = position.size();
    let last = match position.last_move() {
        Some(tengen_rules::Move::Play(point)) => Some(point),
        _ => None,
    };
    let columns: String = (0..size.width())
        .map(|column| format!(" {}", column_letter(column)))
        .collect();
    let mut lines = vec![format!("  {columns}")];
    for row in 0..size.height() {
        let label = size.height() - row;
        let mut line = format!("{label:>2}");
        for column in 0..size.width() {
            let point = size.point(column, row).expect("a point of the board");
            line.push_str(&cell(position, point, last, column));
        }
        let closes = size.point(size.width() - 1, row) == last;
        line.push_str(if closes { ")" } else { " " });
        line.push_str(&label.to_string());
        lines.push(line);
    }
    lines.push(format!("  {columns}"));
    lines.join("\n")
}

fn cell(position: &Position, point: Point, last: Option<Point>, column: usize) -> String {
    let stone = match position.at(point) {
        Some(Color::Black) => 'X',
        Some(Color::White) => 'O',
        None => '.',
    };
    let before = match last {
        Some(last) if last == point => '(',
        Some(last) if column > 0 && last.index() + 1 == point.index() => ')',
        _ => ' ',
    };
    format!("{before}{stone}")
}

fn column_letter(column: usize) -> char {
    // Skip the letter I.
    let letter = b'A' + column as u8 + u8::from(column >= 8);
    char::from(letter)
}

#[cfg(test)]
mod tests {
    use tengen_rules::{Move, Size};

    use super::*;

    #[test]
    fn draws_stones_and_the_last_move() {
        let size = Size::new(4, 3).expect("a size");
        let mut position = Position::new(size);
        for text in ["A1", "B2", "D3"] {
            position.play(Move::parse(size, text).expect("a move"));
        }
        let expected = [
            "   A B C D",
            " 3 . . .(X)3",
            " 2 . O . . 2",
            " 1 X . . . 1",
            "   A B C D",
        ];
        assert_eq!(show_board(&position), expected.join("\n"));
        position.play(Move::parse(size, "A3").expect("a move"));
        assert!(show_board(&position).contains(" 3(O). . X 3"));
    }
}
