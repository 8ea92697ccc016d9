//! Which position does a random number draw? Positions are drawn by weight.

use crate::stored_game::StoredGame;

/// The cumulative weights of some games, in which a position is found by binary search.
#[derive(Default)]
pub(crate) struct Draws {
    /// Cumulative weight up to and including each game, in the order of shards and games.
    cumulative: Vec<u64>,
    /// Shard and game of every entry of `cumulative`.
    places: Vec<(u32, u32)>,
    positions: u64,
}

impl Draws {
    /// Memory in bytes for each game.
    pub(crate) const ENTRY_BYTES: usize = size_of::<u64>() + size_of::<(u32, u32)>();

    pub(crate) fn clear(&mut self) {
        self.cumulative.clear();
        self.places.clear();
        self.positions = 0;
    }

    /// Adds the games of a shard, which come after all earlier ones.
    pub(crate) fn add(&mut self, shard: usize, games: &[StoredGame]) {
        let mut sum = self.total().unwrap_or(0);
        for (number, game) in games.iter().enumerate() {
            sum += game.total_weight();
            self.cumulative.push(sum);
            self.places.push((shard as u32, number as u32));
            self.positions += game.plies() as u64;
        }
    }

    /// The sum of all weights; `None` if there are no games.
    pub(crate) fn total(&self) -> Option<u64> {
        self.cumulative.last().copied()
    }

    /// Number of games.
    pub(crate) fn games(&self) -> usize {
        self.places.len()
    }

    /// Number of positions of all games.
    pub(crate) fn positions(&self) -> u64 {
        self.positions
    }

    /// The shard, the game in it, and the offset within that game's weights of an offset below [`Draws::total`].
    pub(crate) fn find(&self, offset: u64) -> (usize, usize, u64) {
        let number = self.cumulative.partition_point(|&sum| sum <= offset);
        let before = if number == 0 { 0 } else { self.cumulative[number - 1] };
        let (shard, game) = self.places[number];
        (shard as usize, game as usize, offset - before)
    }
}
