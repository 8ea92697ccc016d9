//! How many of a worker's positions the trainer has not seen yet, and how many more it may play.

use std::collections::VecDeque;

/// The positions of a worker's finished games that the trainer has not seen.
#[derive(Debug, Default)]
pub(crate) struct Unseen {
    /// Sequence number and positions of each shard, in order.
    shards: VecDeque<(u64, u64)>,
    /// Positions of finished games that are in no shard yet.
    loose: u64,
}

impl Unseen {
    /// Adds a finished game with this many positions.
    pub(crate) fn finished(&mut self, positions: u64) {
        self.loose += positions;
    }

    /// Moves positions of finished games into a shard.
    pub(crate) fn sealed(&mut self, sequence: u64, positions: u64) {
        self.loose = self.loose.saturating_sub(positions);
        self.shards.push_back((sequence, positions));
    }

    /// Drops the shards up to this one, which the trainer has seen.
    pub(crate) fn seen(&mut self, sequence: Option<u64>) {
        while self.shards.front().is_some_and(|(first, _)| Some(*first) <= sequence) {
            self.shards.pop_front();
        }
    }

    /// All positions that the trainer has not seen.
    pub(crate) fn positions(&self) -> u64 {
        self.loose + self.shards.iter().map(|(_, positions)| positions).sum::<u64>()
    }
}

/// How many positions a worker may play that the trainer has not seen: an equal share of the room.
pub(crate) fn share(room: u64, workers: usize) -> u64 {
    room / workers.max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_games_until_the_trainer_has_seen_their_shard() {
        let mut unseen = Unseen::default();
        unseen.finished(40);
        unseen.finished(60);
        unseen.sealed(0, 40);
        unseen.sealed(1, 60);
        unseen.finished(7);
        assert_eq!(unseen.positions(), 107);
        unseen.seen(None);
        assert_eq!(unseen.positions(), 107);
        unseen.seen(Some(0));
        assert_eq!(unseen.positions(), 67);
        unseen.seen(Some(5));
        assert_eq!(unseen.positions(), 7);
    }

    #[test]
    fn workers_share_the_room() {
        assert_eq!((share(1000, 4), share(1000, 0), share(3, 16)), (250, 1000, 0));
    }
}
