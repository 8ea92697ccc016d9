//! What is the same for every row of a game: names, result, source.

use std::sync::Arc;

use tengen_records::{GameRecord, Origin};
use tengen_rules::Outcome;
use tengen_store::{Collection, ShardInfo};

use super::table::Cells;

/// A shard that games are taken from.
#[derive(Clone, Debug)]
pub(crate) struct ShardSource {
    /// Path in the store.
    pub(crate) path: Arc<str>,
    /// The self-play generation; `None` for other games.
    pub(crate) generation: Option<u32>,
}

impl ShardSource {
    pub(crate) fn of(shard: &ShardInfo) -> ShardSource {
        ShardSource {
            path: Arc::from(shard.path.as_str()),
            generation: match shard.collection {
                Collection::SelfPlay { generation } => Some(generation),
                _ => None,
            },
        }
    }
}

/// A game with its texts prepared for sharing by many rows.
pub(crate) struct GameSource<'a> {
    pub(crate) record: &'a GameRecord,
    pub(crate) id: Arc<str>,
    pub(crate) rules: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) end_reason: Arc<str>,
    pub(crate) black_model: Arc<str>,
    pub(crate) white_model: Arc<str>,
    pub(crate) config_id: Arc<str>,
    pub(crate) shard: Arc<str>,
    generation: Option<u32>,
}

impl<'a> GameSource<'a> {
    pub(crate) fn new(record: &'a GameRecord, shard: &ShardSource) -> GameSource<'a> {
        GameSource {
            record,
            id: Arc::from(record.game_id.as_str()),
            rules: Arc::from(record.rules.as_str()),
            kind: Arc::from(record.kind.name()),
            end_reason: Arc::from(record.end_reason.name()),
            black_model: Arc::from(record.black_model.as_str()),
            white_model: Arc::from(record.white_model.as_str()),
            config_id: Arc::from(record.config_id.as_str()),
            shard: shard.path.clone(),
            generation: shard.generation,
        }
    }

    /// The source of an imported game and the claims of its file.
    pub(crate) fn origin(&self) -> Option<&'a Origin> {
        self.record.origin.as_deref()
    }

    pub(crate) fn put_generation(&self, out: &mut Cells) {
        out.optional(self.generation, Cells::int);
    }

    pub(crate) fn put_outcome(&self, out: &mut Cells) {
        let outcome = self.record.outcome().map(|outcome| match outcome {
            Outcome::BlackWins => 1,
            Outcome::Tie => 0,
            Outcome::WhiteWins => -1,
        });
        out.optional(outcome, Cells::int);
    }

    pub(crate) fn put_area_margin(&self, out: &mut Cells) {
        match self.record.ownership.is_empty() {
            true => out.missing(),
            false => out.int(self.record.ownership.iter().map(|&owner| i64::from(owner)).sum::<i64>()),
        }
    }

    pub(crate) fn put_score(&self, out: &mut Cells) {
        out.optional(self.record.margin_points(), Cells::float);
    }

    pub(crate) fn put_ownership(&self, out: &mut Cells) {
        match self.record.ownership.is_empty() {
            true => out.missing(),
            false => out.ints(self.record.ownership.iter().copied()),
        }
    }
}
