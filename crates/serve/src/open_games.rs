//! The games that are being played in browsers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::play::Game;
use crate::problem::Problem;

/// The most games that may be open at the same time.
const MOST_GAMES: usize = 64;

/// A game that has been idle for this long makes room for another if there are too many.
const IDLE: Duration = Duration::from_secs(3600);

/// All open games by their names.
#[derive(Default)]
pub(crate) struct OpenGames(Mutex<HashMap<String, Open>>);

struct Open {
    game: Game,
    used: Instant,
}

impl OpenGames {
    /// Adds a game and returns its name, which is random so that only the person who started the game knows it.
    ///
    /// # Errors
    /// [`Problem`] if too many are open, or if the system has no random numbers.
    pub(crate) fn add(&self, game: Game) -> Result<String, Problem> {
        let bits = getrandom::u64().map_err(|error| Problem::unavailable(format!("no random numbers: {error}")))?;
        let name = format!("{bits:016x}");
        let mut games = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if games.len() >= MOST_GAMES {
            games.retain(|_, open| open.used.elapsed() < IDLE);
        }
        if games.len() >= MOST_GAMES {
            return Err(Problem::unavailable(format!(
                "{MOST_GAMES} games are open, which is the limit; a game makes room for another an hour after its last \
                 turn"
            )));
        }
        let used = Instant::now();
        games.insert(name.clone(), Open { game, used });
        Ok(name)
    }

    /// Calls `action` with a game.
    ///
    /// # Errors
    /// [`Problem`] if there is no such game, or if `action` returns one.
    pub(crate) fn with<T>(
        &self,
        name: &str,
        action: impl FnOnce(&mut Game) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut games = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = games.get_mut(name).ok_or_else(|| {
            Problem::missing(format!(
                "there is no open game {name:?}; games end with the server, so start a new one"
            ))
        })?;
        open.used = Instant::now();
        action(&mut open.game)
    }
}
