//! Maps random numbers to positions, which are drawn by weight.

use std::collections::VecDeque;

use crate::stored_game::StoredGame;

/// The cumulative weights of some games, searched by bisection to find a position.
#[derive(Default)]
pub(crate) struct Draws {
    /// The cumulative weight up to and including each game, in the order of shards and games. Includes dropped games.
    cumulative: VecDeque<u64>,
    /// Shard and game of every entry of `cumulative`. Shards are numbered from the first one ever added.
    places: VecDeque<(u32, u32)>,
    /// Weight of the games dropped.
    dropped: u64,
    /// Number of shards dropped.
    dropped_shards: u32,
    positions: u64,
}

impl Draws {
    /// Memory per game in bytes.
    pub(crate) const ENTRY_BYTES: usize = size_of::<u64>() + size_of::<(u32, u32)>();

    pub(crate) fn clear(&mut self) {
        *self = Draws::default();
    }

    /// Adds the games of a shard, which come after all earlier ones.
    pub(crate) fn add(&mut self, shard: usize, games: &[StoredGame]) {
        let mut sum = self.sum();
        for (number, game) in games.iter().enumerate() {
            sum += game.total_weight();
            self.cumulative.push_back(sum);
            self.places
                .push_back((self.dropped_shards + shard as u32, number as u32));
            self.positions += game.plies() as u64;
        }
    }

    /// Drops the first shard, which has these games; the others move up.
    pub(crate) fn drop_first(&mut self, games: &[StoredGame]) {
        self.cumulative.drain(..games.len());
        self.places.drain(..games.len());
        self.dropped_shards += 1;
        for game in games {
            self.dropped += game.total_weight();
            self.positions -= game.plies() as u64;
        }
    }

    /// The weight of all games ever added.
    fn sum(&self) -> u64 {
        self.cumulative.back().copied().unwrap_or(self.dropped)
    }

    /// The sum of all weights; `None` if there are no games.
    pub(crate) fn total(&self) -> Option<u64> {
        self.cumulative.back().map(|sum| sum - self.dropped)
    }

    /// Number of games.
    pub(crate) fn games(&self) -> usize {
        self.places.len()
    }

    /// Number of positions of all games.
    pub(crate) fn positions(&self) -> u64 {
        self.positions
    }

    /// The shard, the game in it, and the offset within that game's weights, for an offset below [`Draws::total`].
    pub(crate) fn find(&self, offset: u64) -> (usize, usize, u64) {
        let offset = self.dropped + offset;
        let number = self.cumulative.partition_point(|&sum| sum <= offset);
        let before = if number == 0 {
            self.dropped
        } else {
            self.cumulative[number - 1]
        };
        let (shard, game) = self.places[number];
        ((shard - self.dropped_shards) as usize, game as usize, offset - before)
    }
}
