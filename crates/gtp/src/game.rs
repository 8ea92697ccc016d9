//! The game on the board of a GTP session.

use tengen_rules::{Color, Handicap, IllegalMove, Komi, Move, Point, Position, Rules, Setup, SetupError, Size};

/// A game as seen by GTP: either color may play at any time, and play may continue after two passes.
///
/// Our rules require alternating turns, so every GTP history is mapped to an alternating one with the same coloring
/// after every turn: the color of the first turn begins, and a color that later plays out of turn gets the turn by an
/// inserted pass (or by undoing a pass if that was the last turn). Positional superko compares only colorings, so
/// legality is exactly that of the real history; under other ko rules it is that of a game in which the other color
/// passed.
///
/// Two passes end the game. A play after them resumes it. The two passes are undone if the rules say so or have no
/// resumption; otherwise they remain on record. A game that a long cycle has tied stays over.
#[derive(Clone)]
pub struct Game {
    start: Setup,
    position: Position,
    komi: Komi,
    /// How many of the first turns are handicap stones.
    handicap: usize,
    turns: Vec<(Color, Move)>,
}

/// The reason why a change of the game was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GameError {
    /// The rules forbid the move.
    #[error("illegal move ({0})")]
    Illegal(IllegalMove),
    /// There is no turn to undo.
    #[error("cannot undo")]
    NothingToUndo,
    /// There are stones or turns already.
    #[error("board not empty")]
    NotEmpty,
}

impl Game {
    /// A new game on an empty board under Tromp-Taylor rules.
    pub fn new(size: Size, komi: Komi) -> Game {
        Game::with_rules(size, Rules::tromp_taylor(), komi)
    }

    /// A new game on an empty board.
    pub fn with_rules(size: Size, rules: Rules, komi: Komi) -> Game {
        Game::starting(size, rules, komi, &Setup::EVEN).expect("a game can start from the empty board")
    }

    /// A new game from stones on the board.
    ///
    /// # Errors
    /// [`SetupError`] if no game can start this way.
    pub fn starting(size: Size, rules: Rules, komi: Komi, start: &Setup) -> Result<Game, SetupError> {
        Ok(Game {
            start: *start,
            position: Position::starting(size, rules, start)?,
            komi,
            handicap: 0,
            turns: Vec::new(),
        })
    }

    /// The start of the game. Handicap stones from [`place_handicap`](Game::place_handicap) are turns, not part of it.
    pub fn start(&self) -> Setup {
        self.start
    }

    /// How many of the first turns are handicap stones.
    pub fn handicap_turns(&self) -> usize {
        self.handicap
    }

    /// The rules of the game.
    pub fn rules(&self) -> Rules {
        self.position.rules()
    }

    /// Continues the game under other rules, under which all turns so far must be legal.
    ///
    /// # Errors
    /// [`GameError::Illegal`] if a turn would have been illegal; the game is then unchanged.
    pub fn set_rules(&mut self, rules: Rules) -> Result<(), GameError> {
        self.position = self.replayed(rules)?;
        Ok(())
    }

    /// The size of the board.
    pub fn size(&self) -> Size {
        self.position.size()
    }

    /// The points added to White's score.
    pub fn komi(&self) -> Komi {
        self.komi
    }

    /// Changes the komi of the current game.
    pub fn set_komi(&mut self, komi: Komi) {
        self.komi = komi;
    }

    /// All turns in order, as received.
    pub fn turns(&self) -> &[(Color, Move)] {
        &self.turns
    }

    /// The position after all turns. Its move list may contain inserted passes.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Whether both players have passed or a long cycle has tied the game.
    pub fn is_over(&self) -> bool {
        is_over(&self.position)
    }

    /// The position with `color` to move in a game between machines, for choosing a move. It is over only if a long
    /// cycle has tied the game.
    pub fn position_for(&self, color: Color) -> Position {
        let mut position = self.position.clone();
        give_turn(&mut position, color);
        position.between_machines()
    }

    /// Plays a move for `color`, in turn or not.
    ///
    /// # Errors
    /// [`GameError::Illegal`] if the rules forbid the move; the game is then unchanged.
    pub fn play(&mut self, color: Color, mv: Move) -> Result<(), GameError> {
        if let Err(reason) = apply(&mut self.position, color, mv) {
            self.rebuild();
            return Err(GameError::Illegal(reason));
        }
        self.turns.push((color, mv));
        Ok(())
    }

    /// Undoes the last turn and returns it.
    ///
    /// # Errors
    /// [`GameError::NothingToUndo`] at the start of the game.
    pub fn undo(&mut self) -> Result<(Color, Move), GameError> {
        let last = self.turns.pop().ok_or(GameError::NothingToUndo)?;
        if self.turns.len() < self.handicap {
            self.handicap = 0;
        }
        self.rebuild();
        Ok(last)
    }

    /// Checks that handicap stones may be placed.
    ///
    /// # Errors
    /// [`GameError::NotEmpty`] if the game starts from stones or has begun.
    pub fn check_empty(&self) -> Result<(), GameError> {
        let has_stones = self.start.stones.iter().any(|stones| !stones.is_empty());
        match has_stones || !self.turns.is_empty() {
            true => Err(GameError::NotEmpty),
            false => Ok(()),
        }
    }

    /// Places black handicap stones on the empty board as consecutive moves (Taylor's rules, comment 3).
    ///
    /// # Errors
    /// [`GameError::NotEmpty`] as [`check_empty`](Game::check_empty); [`GameError::Illegal`] if a point is given twice:
    /// the board is then empty again.
    pub fn place_handicap(&mut self, points: &[Point]) -> Result<(), GameError> {
        self.check_empty()?;
        self.handicap = points.len();
        self.turns = points.iter().map(|&point| (Color::Black, Move::Play(point))).collect();
        match self.replayed(self.rules()) {
            Ok(position) => {
                self.position = position;
                Ok(())
            }
            Err(error) => {
                self.handicap = 0;
                self.turns.clear();
                Err(error)
            }
        }
    }

    fn rebuild(&mut self) {
        let replayed = self.replayed(self.rules());
        self.position = replayed.expect("the turns were legal when they were played");
    }

    /// The position after all turns under these rules.
    fn replayed(&self, rules: Rules) -> Result<Position, GameError> {
        let mut start = self.start;
        if self.handicap >= 2 {
            start.handicap = Handicap::Consecutive(u16::try_from(self.handicap).unwrap_or(u16::MAX));
            // A file may say that White begins on the empty board, but Black plays the handicap stones first.
            start.to_move = Color::Black;
        }
        let mut position = Position::starting(self.size(), rules, &start).expect("the game started this way");
        for &(color, mv) in &self.turns {
            apply(&mut position, color, mv).map_err(GameError::Illegal)?;
        }
        Ok(position)
    }
}

fn is_over(position: &Position) -> bool {
    position.is_over() || position.consecutive_passes() >= 2
}

fn apply(position: &mut Position, color: Color, mv: Move) -> Result<(), IllegalMove> {
    match mv {
        // A pass out of turn or after the end changes nothing under our rules.
        Move::Pass if is_over(position) || position.to_move() != color => Ok(()),
        Move::Pass => position.try_play(Move::Pass),
        Move::Play(_) => {
            give_turn(position, color);
            position.try_play(mv)
        }
    }
}

fn give_turn(position: &mut Position, color: Color) {
    if position.is_tied_by_cycle() {
        return;
    }
    // Two passes end the position's game only under rules that say so or have no agreement.
    while position.is_over() {
        position.undo();
        position.undo();
    }
    if position.to_move() == color {
        return;
    }
    if position.last_move() == Some(Move::Pass) {
        position.undo();
    } else if position.ply() == 0 && matches!(position.handicap(), Handicap::Even | Handicap::Fixed(_)) {
        let start = Setup {
            to_move: color,
            ..position.start()
        };
        *position = Position::starting(position.size(), position.rules(), &start)
            .expect("the same stones can be a start for either color");
    } else {
        position.play(Move::Pass);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game() -> Game {
        Game::new(Size::square(5).expect("a size"), Komi::from_half_points(0))
    }

    fn mv(text: &str) -> Move {
        Move::parse(Size::square(5).expect("a size"), text).expect("a move")
    }

    fn stones(game: &Game, color: Color) -> usize {
        game.position().stones(color).len()
    }

    #[test]
    fn either_color_may_play_at_any_time() {
        let mut game = game();
        for point in ["A1", "B2", "C3"] {
            game.play(Color::White, mv(point)).expect("legal");
        }
        game.play(Color::Black, mv("D4")).expect("legal");
        assert_eq!((stones(&game, Color::Black), stones(&game, Color::White)), (1, 3));
        assert_eq!(game.position().to_move(), Color::White);
        assert_eq!(game.turns().len(), 4);
    }

    #[test]
    fn play_continues_after_two_passes() {
        let mut game = game();
        game.play(Color::Black, mv("C3")).expect("legal");
        game.play(Color::White, mv("pass")).expect("legal");
        game.play(Color::Black, mv("pass")).expect("legal");
        assert!(game.position().is_over());
        assert_eq!(game.position_for(Color::Black).to_move(), Color::Black);
        assert!(!game.position_for(Color::White).is_over());
        game.play(Color::White, mv("B2")).expect("legal");
        assert!(!game.position().is_over());
        assert_eq!(stones(&game, Color::White), 1);
    }

    #[test]
    fn an_illegal_move_changes_nothing() {
        let mut game = game();
        game.play(Color::Black, mv("C3")).expect("legal");
        let before = game.position().hash();
        assert_eq!(
            game.play(Color::Black, mv("C3")),
            Err(GameError::Illegal(IllegalMove::Occupied))
        );
        assert_eq!(game.position().hash(), before);
        assert_eq!(game.position().to_move(), Color::White);
        assert_eq!(game.turns().len(), 1);
    }

    #[test]
    fn undo_returns_to_the_start() {
        let mut game = game();
        for (color, text) in [
            (Color::White, "A1"),
            (Color::White, "pass"),
            (Color::Black, "B1"),
            (Color::Black, "A2"),
        ] {
            game.play(color, mv(text)).expect("legal");
        }
        assert_eq!(stones(&game, Color::White), 0);
        game.undo().expect("a turn");
        assert_eq!(stones(&game, Color::White), 1);
        for _ in 0..3 {
            game.undo().expect("a turn");
        }
        assert_eq!(game.undo(), Err(GameError::NothingToUndo));
        assert_eq!(game.position().ply(), 0);
    }

    #[test]
    fn handicap_leaves_white_to_move() {
        let mut game = game();
        let size = game.size();
        let points = [size.point(1, 1).expect("a point"), size.point(3, 3).expect("a point")];
        game.place_handicap(&points).expect("legal");
        assert_eq!(game.position().to_move(), Color::White);
        assert_eq!(stones(&game, Color::Black), 2);
        let mut twice = Game::new(size, game.komi());
        assert!(twice.place_handicap(&[points[0], points[0]]).is_err());
        assert_eq!(twice.turns().len(), 0);
    }

    #[test]
    fn handicap_stones_come_before_a_start_with_white() {
        let size = game().size();
        let points = [size.point(1, 1).expect("a point"), size.point(3, 3).expect("a point")];
        let mut start = Setup {
            to_move: Color::White,
            ..Setup::EVEN
        };
        let starting = |start: &Setup| Game::starting(size, Rules::tromp_taylor(), game().komi(), start);
        let mut empty = starting(&start).expect("a start");
        empty.place_handicap(&points).expect("legal");
        assert_eq!(empty.position().to_move(), Color::White);
        empty.undo().expect("a turn");
        assert_eq!(stones(&empty, Color::Black), 1);

        start.stones[0].insert(points[0]);
        let mut filled = starting(&start).expect("a start");
        assert_eq!(filled.place_handicap(&points), Err(GameError::NotEmpty));
    }
}
