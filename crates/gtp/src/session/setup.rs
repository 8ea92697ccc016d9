//! Setup commands: board, komi, handicap, rules, playing and undoing moves.

use tengen_rules::{Komi, Move, Point, Rules, Setup, SetupError, Size, fixed_handicap, format_point};

use super::{Args, Outcome, Session};
use crate::engine::Engine;
use crate::game::{Game, GameError};
use crate::handicap::spread_handicap;
use crate::rules::{read_rules, with_setting};

/// The largest komi accepted, in half points: more than the points of any board.
const MAX_KOMI_HALF_POINTS: f64 = 2000.0;

impl<E: Engine> Session<E> {
    pub(super) fn boardsize(&mut self, args: &Args<'_>) -> Outcome {
        let width = args.number(0, "boardsize")?;
        let height = if args.word(1).is_some() {
            args.number(1, "boardsize")?
        } else {
            width
        };
        self.set_size(width, height)
    }

    pub(super) fn rectangular_boardsize(&mut self, args: &Args<'_>) -> Outcome {
        self.set_size(args.number(0, "width")?, args.number(1, "height")?)
    }

    fn set_size(&mut self, width: usize, height: usize) -> Outcome {
        let size = Size::new(width, height).map_err(|_| "unacceptable size".to_owned())?;
        if !self.engine.supports(size) {
            return Err("unacceptable size".to_owned());
        }
        self.restart(size);
        Ok(String::new())
    }

    /// Starts a new game on an empty board with the same rules and komi.
    pub(super) fn restart(&mut self, size: Size) {
        self.game = Game::with_rules(size, self.game.rules(), self.game.komi());
        self.clock.restart();
        self.pondering_after = None;
        self.resigned = None;
        self.engine.new_game(size);
    }

    pub(super) fn query_boardsize(&self) -> String {
        let size = self.game.size();
        match size.width() == size.height() {
            true => size.width().to_string(),
            false => format!("{} {}", size.width(), size.height()),
        }
    }

    pub(super) fn clear_board(&mut self) -> Outcome {
        self.restart(self.game.size());
        Ok(String::new())
    }

    pub(super) fn komi(&mut self, args: &Args<'_>) -> Outcome {
        let points: f64 = args.number(0, "komi")?;
        let half_points = points * 2.0;
        if !half_points.is_finite() || half_points.fract() != 0.0 || half_points.abs() > MAX_KOMI_HALF_POINTS {
            let most = MAX_KOMI_HALF_POINTS / 2.0;
            return Err(format!("komi must be a multiple of 0.5 from -{most} to {most}"));
        }
        self.game.set_komi(Komi::from_half_points(half_points as i16));
        Ok(String::new())
    }

    pub(super) fn fixed_handicap(&mut self, args: &Args<'_>) -> Outcome {
        let stones = args.number(0, "number of stones")?;
        self.board_is_empty()?;
        let points = fixed_handicap(self.game.size(), stones).ok_or("invalid number of stones")?;
        self.place(&points)
    }

    pub(super) fn place_free_handicap(&mut self, args: &Args<'_>) -> Outcome {
        let stones: usize = args.number(0, "number of stones")?;
        self.board_is_empty()?;
        if stones < 2 || stones >= self.game.size().area() {
            return Err("invalid number of stones".to_owned());
        }
        let points = spread_handicap(self.game.size(), stones);
        self.place(&points)
    }

    pub(super) fn set_free_handicap(&mut self, args: &Args<'_>) -> Outcome {
        self.board_is_empty()?;
        let parse = |index: usize| match args.mv(index) {
            Ok(Move::Play(point)) => Ok(point),
            _ => Err("bad vertex list".to_owned()),
        };
        let points = (0..args.args.len())
            .map(parse)
            .collect::<Result<Vec<Point>, String>>()?;
        if points.len() < 2 || points.len() >= self.game.size().area() {
            return Err("bad vertex list".to_owned());
        }
        self.place(&points)
            .map(|_| String::new())
            .map_err(|_| "bad vertex list".to_owned())
    }

    fn board_is_empty(&self) -> Result<(), String> {
        self.game.check_empty().map_err(|error| error.to_string())
    }

    fn place(&mut self, points: &[Point]) -> Outcome {
        self.game.place_handicap(points).map_err(|error| error.to_string())?;
        let size = self.game.size();
        Ok(points
            .iter()
            .map(|&point| format_point(size, point))
            .collect::<Vec<_>>()
            .join(" "))
    }

    pub(super) fn set_rules(&mut self, text: &str) -> Outcome {
        self.take_rules(read_rules(text)?)
    }

    /// Changes one of KataGo's settings of rules.
    pub(super) fn set_rule(&mut self, args: &Args<'_>) -> Outcome {
        let (key, value) = args
            .word(0)
            .zip(args.word(1))
            .ok_or("syntax error: expected a setting and its value")?;
        let rules = with_setting(self.game.rules(), key, value)?;
        self.take_rules(rules)
    }

    fn take_rules(&mut self, rules: Rules) -> Outcome {
        let changed = self.game.set_rules(rules);
        changed.map_err(|error| format!("the game so far is not legal under the rules {rules}: {error}"))?;
        Ok(String::new())
    }

    /// KataGo's `set_position`: replaces the board by stones given as color and point, without history, Black to move.
    pub(super) fn set_position(&mut self, args: &Args<'_>) -> Outcome {
        let mut start = Setup::EVEN;
        for index in (0..args.args.len()).step_by(2) {
            let (color, Move::Play(point)) = (args.color(index)?, args.mv(index + 1)?) else {
                return Err("invalid color or coordinate".to_owned());
            };
            if start.stones.iter().any(|stones| stones.contains(point)) {
                return Err(format!("{} is given twice", format_point(args.size, point)));
            }
            start.stones[color.index()].insert(point);
        }
        let game = Game::starting(args.size, self.game.rules(), self.game.komi(), &start);
        let game = game.map_err(|error| illegal_start(error, args.size))?;
        self.restart(args.size);
        self.game = game;
        Ok(String::new())
    }

    pub(super) fn play(&mut self, args: &Args<'_>) -> Outcome {
        let (color, mv) = (args.color(0)?, args.mv(1)?);
        self.game.play(color, mv).map_err(|error| error.to_string())?;
        self.resigned = None;
        Ok(String::new())
    }

    pub(super) fn undo(&mut self) -> Outcome {
        self.resigned = None;
        match self.game.undo() {
            Ok(_) => Ok(String::new()),
            Err(error @ GameError::NothingToUndo) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Undoes the requested number of turns, or none if there are fewer.
    pub(super) fn undo_many(&mut self, args: &Args<'_>) -> Outcome {
        let turns = match args.word(0) {
            Some(_) => args.number(0, "number of moves")?,
            None => 1,
        };
        if turns > self.game.turns().len() {
            return Err(GameError::NothingToUndo.to_string());
        }
        for _ in 0..turns {
            self.undo()?;
        }
        Ok(String::new())
    }
}

/// The message for an invalid starting position, with points in GTP notation.
pub(super) fn illegal_start(error: SetupError, size: Size) -> String {
    let reason = match error {
        SetupError::BothColors(point) => format!("{} has stones of both colors", format_point(size, point)),
        SetupError::NoLiberty(point) => format!("the chain at {} has no liberty", format_point(size, point)),
        error => error.to_string(),
    };
    format!("illegal position ({reason})")
}
