//! Snapshots of games in flight, so that a clean stop loses nothing.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use tengen_records::PlyRecord;
use tengen_rules::{Komi, Move, Position, Rules, Size};

use crate::forks::EarlierGames;
use crate::game::{Game, GameAddress};
use crate::komi_search::KomiSearch;
use crate::setup::KomiPlan;

/// The format of [`Snapshot`] that this version writes and reads.
const FORMAT: u32 = 1;

/// All games in flight at the time self-play was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    format: u32,
    /// The groups and their games.
    pub groups: Vec<GroupSnapshot>,
}

/// The games in flight of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSnapshot {
    /// The session number of the games that the group begins.
    pub session: u64,
    /// The number of the group.
    pub number: u64,
    /// The index of the next game that the group begins.
    pub next_index: u64,
    /// The games, in the order of their slots.
    pub games: Vec<GameSnapshot>,
    /// The finished games that new ones may begin from.
    #[serde(default, skip_serializing_if = "EarlierGames::is_empty")]
    pub(crate) earlier: EarlierGames,
}

/// One game in flight: its moves with their search results, and its settings. Its random numbers follow from its
/// address and the ply. Floats are stored as bits, so that they are exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameSnapshot {
    session: u64,
    group: u64,
    index: u64,
    size: String,
    komi: KomiSnapshot,
    opening_plies: u16,
    start_time_ms: i64,
    model: String,
    plies: Vec<PlySnapshot>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum KomiSnapshot {
    HalfPoints(i16),
    AroundNetwork { offset_bits: u64 },
    ByChance { chance_bits: u64, low: i16, high: i16 },
}

/// A [`PlyRecord`] with all values as integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlySnapshot {
    mv: u16,
    flags: u8,
    visits: u16,
    /// The bits of root value, root margin, network value and weight.
    values: [u32; 4],
    policy: Vec<(u16, u32)>,
}

/// Why the games of a snapshot cannot be resumed.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The data is not a snapshot.
    #[error("the games in flight cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// The snapshot has an unsupported format.
    #[error("the games in flight have format {found}, but this version reads {FORMAT}")]
    Format {
        /// The format of the snapshot.
        found: u32,
    },
    /// A game has an illegal move or an invalid value.
    #[error("game {index} of group {group} in flight is damaged: {problem}")]
    Game {
        /// The group that began the game.
        group: u64,
        /// The index of the game in its group.
        index: u64,
        /// What is wrong with the game.
        problem: String,
    },
}

impl Snapshot {
    /// A snapshot of these groups.
    pub fn new(groups: Vec<GroupSnapshot>) -> Self {
        Self { format: FORMAT, groups }
    }

    /// The number of games in the snapshot.
    pub fn games(&self) -> usize {
        self.groups.iter().map(|group| group.games.len()).sum()
    }

    /// The snapshot as bytes for a file (JSON).
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a snapshot can always be represented in JSON")
    }

    /// Parses the bytes from [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`SnapshotError::Unreadable`] or [`SnapshotError::Format`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let snapshot: Snapshot = serde_json::from_slice(bytes)?;
        match snapshot.format {
            FORMAT => Ok(snapshot),
            found => Err(SnapshotError::Format { found }),
        }
    }
}

impl GameSnapshot {
    pub(crate) fn of(game: &Game) -> Self {
        let size = game.position.size();
        Self {
            session: game.address.session,
            group: game.address.group,
            index: game.address.index,
            size: size.to_string(),
            komi: match game.komi {
                KomiPlan::Known(komi) => KomiSnapshot::HalfPoints(komi.half_points()),
                KomiPlan::AroundNetwork { offset } => KomiSnapshot::AroundNetwork {
                    offset_bits: offset.to_bits(),
                },
                KomiPlan::ByChance(search) => KomiSnapshot::ByChance {
                    chance_bits: search.chance().to_bits(),
                    low: search.bounds().0,
                    high: search.bounds().1,
                },
            },
            opening_plies: game.opening_plies,
            start_time_ms: game.start_time_ms,
            model: game.model.clone(),
            plies: game.plies.iter().map(|ply| PlySnapshot::of(ply, size)).collect(),
        }
    }

    pub(crate) fn restore(&self, rules: Rules) -> Result<Game, SnapshotError> {
        let damaged = |problem: String| SnapshotError::Game {
            group: self.group,
            index: self.index,
            problem,
        };
        let size: Size = self.size.parse().map_err(|error| damaged(format!("{error}")))?;
        let mut position = Position::with_rules(size, rules).between_machines();
        let mut plies = Vec::with_capacity(self.plies.len());
        for ply in &self.plies {
            let record = ply
                .restore(size)
                .ok_or_else(|| damaged(format!("no move {} on {size}", ply.mv)))?;
            position
                .try_play(record.mv)
                .map_err(|error| damaged(error.to_string()))?;
            plies.push(record);
        }
        if position.is_over() {
            return Err(damaged("the game is over".to_owned()));
        }
        let komi = match self.komi {
            KomiSnapshot::HalfPoints(half_points) => KomiPlan::Known(Komi::from_half_points(half_points)),
            KomiSnapshot::AroundNetwork { offset_bits } => match f64::from_bits(offset_bits) {
                offset if offset.is_finite() => KomiPlan::AroundNetwork { offset },
                offset => return Err(damaged(format!("invalid komi offset {offset}"))),
            },
            KomiSnapshot::ByChance { chance_bits, low, high } => {
                let chance = f64::from_bits(chance_bits);
                let search = KomiSearch::between(chance, low, high);
                KomiPlan::ByChance(search.ok_or_else(|| damaged(format!("no komi from {low} to {high} for {chance}")))?)
            }
        };
        Ok(Game {
            address: GameAddress {
                session: self.session,
                group: self.group,
                index: self.index,
            },
            position,
            komi,
            plies,
            opening_plies: self.opening_plies,
            start_time_ms: self.start_time_ms,
            model: self.model.clone(),
        })
    }
}

impl PlySnapshot {
    fn of(ply: &PlyRecord, size: Size) -> Self {
        let values = [ply.root_value, ply.root_margin, ply.network_value, ply.weight];
        Self {
            mv: ply.mv.index(size) as u16,
            flags: ply.flags,
            visits: ply.root_visits,
            values: values.map(f32::to_bits),
            policy: ply
                .policy
                .iter()
                .map(|&(mv, probability)| (mv, probability.to_bits()))
                .collect(),
        }
    }

    fn restore(&self, size: Size) -> Option<PlyRecord> {
        let [root_value, root_margin, network_value, weight] = self.values.map(f32::from_bits);
        Some(PlyRecord {
            mv: Move::from_index(size, usize::from(self.mv))?,
            flags: self.flags,
            root_value,
            root_margin,
            root_visits: self.visits,
            network_value,
            weight,
            policy: self
                .policy
                .iter()
                .map(|&(mv, bits)| (mv, f32::from_bits(bits)))
                .collect(),
            expected_ownership: Vec::new(),
        })
    }
}
