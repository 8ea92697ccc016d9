//! Merges, prunes, and admits published games exactly once while others read them, through numbered change notes that
//! every reader obeys.
//!
//! A shard never changes, but old shards may be replaced by one that holds all their games, or dropped.
//! `changes/000001.json`, `changes/000002.json`, … record this. Each note is written once, under the next free number,
//! by a process that has read all earlier notes; if two processes change a store at the same time, one of them is
//! rejected. Files are deleted only after the note that hides them is in place, and a merged or imported shard counts
//! only once a note names it. A reader lists the notes, the games, and the notes again: if no note was added, the
//! listing contains every game exactly once.
//!
//! A note decides which games count, so a reader rejects one that it does not understand completely: unknown or missing
//! keys are errors, and a note ends with the SHA-256 of everything before that hash. Notes written before hashes were
//! added have none and are still read.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use tengen_records::now_ms;
use tengen_shard::FORMAT;

use crate::json::{check_version, parse_json};
use crate::seal::seal;
use crate::shard_info::ShardInfo;
use crate::store_error::{StoreError, damaged};

/// The folder of the change notes.
pub(crate) const CHANGES: &str = "changes";

/// Totals of a set of games.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameTotals {
    /// Number of shards.
    pub shards: u64,
    /// Number of games in the shards.
    pub games: u64,
    /// Number of positions in the games.
    pub positions: u64,
    /// Total size of the shards in bytes.
    pub bytes: u64,
}

impl GameTotals {
    /// The totals of some shards according to their names.
    pub fn of<'a>(shards: impl IntoIterator<Item = &'a ShardInfo>) -> GameTotals {
        shards.into_iter().fold(GameTotals::default(), |sum, shard| {
            sum.plus(GameTotals {
                shards: 1,
                games: shard.games(),
                positions: shard.positions(),
                bytes: shard.bytes,
            })
        })
    }

    /// The sum of two totals.
    #[must_use]
    pub fn plus(self, other: GameTotals) -> GameTotals {
        GameTotals {
            shards: self.shards + other.shards,
            games: self.games + other.games,
            positions: self.positions + other.positions,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// One change note, as stored in `changes/`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    format_version: String,
    /// When the change was made, milliseconds since 1970-01-01 UTC.
    changed_ms: u64,
    pub(crate) merged: Vec<Merged>,
    pub(crate) pruned: Vec<PrunedGeneration>,
    /// Paths of imported shards that count from this note on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) admitted: Vec<String>,
    /// Paths of imported shards that never count because they hold a game that another shard brought in first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused: Vec<String>,
}

impl Change {
    /// Parses the note in the file at `path`.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] for a note that differs from what was written; [`StoreError::Version`] for another major
    /// version.
    pub(crate) fn read(path: &str, bytes: &[u8]) -> Result<Change, StoreError> {
        let change: Change = parse_json(path, bytes)?;
        check_version(path, &change.format_version)?;
        Ok(change)
    }

    /// The bytes of the note's file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        seal(&serde_json::to_string(self).expect("strings and numbers serialize to JSON"))
    }

    fn empty() -> Change {
        Change {
            format_version: FORMAT.to_string(),
            changed_ms: now_ms(),
            merged: Vec::new(),
            pruned: Vec::new(),
            admitted: Vec::new(),
            refused: Vec::new(),
        }
    }

    pub(crate) fn new(merged: Vec<Merged>, pruned: Vec<PrunedGeneration>) -> Change {
        Change {
            merged,
            pruned,
            ..Change::empty()
        }
    }

    pub(crate) fn admitting(shard: &str) -> Change {
        Change {
            admitted: vec![shard.to_owned()],
            ..Change::empty()
        }
    }

    pub(crate) fn refusing(shards: Vec<String>) -> Change {
        Change {
            refused: shards,
            ..Change::empty()
        }
    }
}

/// A shard that replaces others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Merged {
    /// Path of the new shard. It holds the games of the replaced shards, in order.
    pub(crate) into: String,
    /// Paths of the replaced shards.
    pub(crate) replaces: Vec<String>,
}

/// A self-play generation that was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrunedGeneration {
    /// The generation number.
    pub generation: u32,
    /// What it held, not counting damaged shards.
    pub totals: GameTotals,
    /// Paths of its shards, including damaged ones.
    pub shards: Vec<String>,
}

/// What happened to the games of a shard that no longer counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They were merged into another shard, where they start at index `first`.
    Merged { into: String, first: usize },
    /// They were dropped to free space, or the shard was refused.
    Pruned,
}

/// The combined effect of all change notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Number of the newest note; 0 if there is none.
    pub(crate) last: u32,
    /// Number of the newest note that merged or pruned; 0 if there is none.
    pub(crate) upkeep: u32,
    /// Totals of everything pruned.
    pub(crate) pruned: GameTotals,
    /// Shards that no longer count.
    fates: BTreeMap<String, Fate>,
    /// Generations that were dropped as a whole.
    pruned_generations: BTreeSet<u32>,
    /// Merged and imported shards that count or used to count.
    named: BTreeSet<String>,
}

impl Changes {
    /// Whether a shard's games count: it was not replaced or dropped, and if it is a merged or imported shard, a note
    /// names it.
    pub(crate) fn shows(&self, shard: &ShardInfo) -> bool {
        !self.fates.contains_key(&shard.path) && (!shard.needs_note() || self.names(&shard.path))
    }

    /// Whether a shard needs a note to count but no note names it, neither as one that counts nor as one that is gone.
    pub(crate) fn leaves_out(&self, shard: &ShardInfo) -> bool {
        !self.shows(shard) && !self.fates.contains_key(&shard.path)
    }

    /// Whether a self-play generation was dropped.
    pub(crate) fn dropped(&self, generation: u32) -> bool {
        self.pruned_generations.contains(&generation)
    }

    /// Whether a note names a merged or imported shard as one that counts.
    pub(crate) fn names(&self, path: &str) -> bool {
        self.named.contains(path)
    }

    pub(crate) fn fate(&self, path: &str) -> Option<&Fate> {
        self.fates.get(path)
    }

    /// The shard that now holds a shard's games; `None` if they were dropped.
    pub(crate) fn current_shard<'a>(&'a self, path: &'a str) -> Option<&'a str> {
        match self.fates.get(path) {
            None => Some(path),
            Some(Fate::Merged { into, .. }) => self.current_shard(into),
            Some(Fate::Pruned) => None,
        }
    }

    /// Merged and imported shards that must exist in the store.
    pub(crate) fn standing(&self) -> impl Iterator<Item = &String> {
        self.named.iter().filter(|path| !self.fates.contains_key(*path))
    }

    pub(crate) fn apply(&mut self, number: u32, change: Change) -> Result<(), StoreError> {
        if !(change.merged.is_empty() && change.pruned.is_empty()) {
            self.upkeep = number;
        }
        for merged in change.merged {
            let mut first = 0;
            for path in merged.replaces {
                let games = ShardInfo::of_file(&path, 0).map(|shard| shard.games() as usize);
                let into = merged.into.clone();
                self.fates.insert(path.clone(), Fate::Merged { into, first });
                first += games.ok_or_else(|| damaged(path_of(number), "shard paths".to_owned(), path))?;
            }
            self.named.insert(merged.into);
        }
        self.named.extend(change.admitted);
        self.fates
            .extend(change.refused.into_iter().map(|path| (path, Fate::Pruned)));
        for pruned in change.pruned {
            self.pruned = self.pruned.plus(pruned.totals);
            self.pruned_generations.insert(pruned.generation);
            self.fates
                .extend(pruned.shards.into_iter().map(|path| (path, Fate::Pruned)));
        }
        self.last = number;
        Ok(())
    }
}

pub(crate) fn path_of(number: u32) -> String {
    format!("{CHANGES}/{number:06}.json")
}
