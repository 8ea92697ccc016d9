//! Settings for training on games of any origin, outside of a run.

use serde::{Deserialize, Serialize};

use tengen_rules::{SettingError, above, check_setting};
use tengen_store::{Collection, GamesOf, ShardInfo};

use crate::lesson::{OwnershipFrom, PolicyFrom, ValueFrom};

/// Training on games of any origin: which games, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Number of training steps; 0 lets `epochs` decide.
    pub steps: u64,
    /// The number of passes over the games: training ends after this many samples per position. Usually 5. Larger
    /// values learn more from the same games, until the network memorizes them.
    pub epochs: f64,
    /// The games.
    pub from: Vec<GamesFrom>,
}

/// Games of one origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GamesFrom {
    /// Their store: a folder or an address.
    pub store: String,
    /// Which of its games.
    #[serde(default)]
    pub of: OfGames,
    /// Only the newest games, with about this many positions; 0 means all. A run's later games are better.
    #[serde(default)]
    pub newest: u64,
    /// Their share of the samples, relative to the other shares.
    #[serde(default = "one")]
    pub share: f64,
    /// What the policy learns.
    #[serde(default)]
    pub policy: PolicyFrom,
    /// What the value learns.
    #[serde(default)]
    pub value: ValueFrom,
    /// What the ownership learns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ownership: OwnershipFrom,
}

/// Whether a key has its default value. It is then left out, so that configurations from earlier versions, which lack
/// the key, still describe the same games.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The kinds of games in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfGames {
    /// Games imported from SGF.
    #[default]
    Imported,
    /// Games of self-play.
    Selfplay,
    /// Games of matches.
    Matches,
    /// All games.
    All,
}

impl OfGames {
    /// The games to list in a store; [`OfGames::includes`] then selects among the shards found.
    pub fn listed(self) -> GamesOf {
        match self {
            OfGames::Imported => GamesOf::Imported,
            OfGames::Selfplay => GamesOf::SelfPlay,
            OfGames::Matches | OfGames::All => GamesOf::All,
        }
    }

    /// Whether a shard holds games of this kind.
    pub fn includes(self, shard: &ShardInfo) -> bool {
        match self {
            OfGames::Imported => matches!(shard.collection, Collection::Import { .. }),
            OfGames::Selfplay => matches!(shard.collection, Collection::SelfPlay { .. }),
            OfGames::Matches => matches!(shard.collection, Collection::Match { .. }),
            OfGames::All => true,
        }
    }

    /// The name of these games in messages.
    pub fn in_words(self) -> &'static str {
        match self {
            OfGames::Imported => "imported games",
            OfGames::Selfplay => "self-play games",
            OfGames::Matches => "games of matches",
            OfGames::All => "games",
        }
    }
}

fn one() -> f64 {
    1.0
}

impl Default for TrainConfig {
    fn default() -> TrainConfig {
        TrainConfig {
            steps: 0,
            epochs: 5.0,
            from: Vec::new(),
        }
    }
}

impl TrainConfig {
    /// Number of steps for this many positions in batches of this size, at least one.
    pub fn steps_for(&self, positions: u64, batch: usize) -> u64 {
        match self.steps {
            0 => (positions as f64 * self.epochs / batch as f64).ceil().max(1.0) as u64,
            steps => steps,
        }
    }

    /// Checks the range of every setting.
    ///
    /// # Errors
    /// [`SettingError`] naming the first setting out of its range.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_setting("train.epochs", self.epochs, above(0.0, 1e6))?;
        for (number, from) in self.from.iter().enumerate() {
            let key = |name| format!("train.from[{number}].{name}");
            check_setting(&key("share"), from.share, above(0.0, 1e9))?;
            if from.store.trim().is_empty() {
                let found = format!("{:?}", from.store);
                return Err(SettingError::new(
                    key("store"),
                    found,
                    "the folder or address of a store",
                ));
            }
        }
        Ok(())
    }
}
