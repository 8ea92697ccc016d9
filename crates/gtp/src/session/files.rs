//! Loading games from files and saving them.

use tengen_rules::{Color, Judge, Margin};

use super::setup::illegal_start;
use super::{Args, Outcome, Session};
use crate::engine::Engine;
use crate::game::Game;

impl<E: Engine> Session<E> {
    pub(super) fn load_sgf(&mut self, args: &Args<'_>) -> Outcome {
        // File names may contain spaces; a number at the end is not part of the name.
        let (last, before) = args.args.split_last().ok_or("syntax error: the file is missing")?;
        let number = last.parse().ok().filter(|_| !before.is_empty());
        let (name, move_number) = match number {
            Some(number) => (before, Some(number)),
            None => (args.args, None),
        };
        let path = &name.join(" ");
        let loaded = self
            .engine
            .load_game(path, move_number)
            .map_err(|error| format!("cannot load file: {error}"))?;
        let rules = loaded.rules.unwrap_or(self.game.rules());
        let komi = loaded.komi.unwrap_or(self.game.komi());
        let mut game = Game::starting(loaded.size, rules, komi, &loaded.start)
            .map_err(|error| format!("cannot load file: {}", illegal_start(error, loaded.size)))?;
        for (index, &(color, mv)) in loaded.turns.iter().enumerate() {
            game.play(color, mv)
                .map_err(|error| format!("cannot load file: move {}: {error}", index + 1))?;
        }
        self.restart(loaded.size);
        self.game = game;
        Ok(format!("{:?}", self.game.position().to_move()).to_ascii_lowercase())
    }

    /// Writes the game to the given file, or returns it in the reply if there is none or it is `-`, as in GNU Go.
    pub(super) fn print_sgf(&mut self, args: &Args<'_>) -> Outcome {
        let path = args.word(0).filter(|&path| path != "-").map(|_| args.args.join(" "));
        let result = self.result();
        let saved = self.engine.save_game(&self.game, &result, path.as_deref());
        saved.map_err(|error| format!("cannot write file: {error}"))
    }

    /// The result in SGF format; empty while the game is in progress or if it cannot be counted.
    fn result(&self) -> String {
        if let Some(loser) = self.resigned {
            let winner = if loser == Color::Black { 'W' } else { 'B' };
            return format!("{winner}+R");
        }
        let position = self.game.position();
        if position.is_tied_by_cycle() {
            return Margin::default().to_string();
        }
        let over = self.game.is_over();
        let count = over
            .then(|| Judge::default().count(position, self.game.komi()))
            .flatten();
        count.map_or(String::new(), |count| count.margin.to_string())
    }
}
