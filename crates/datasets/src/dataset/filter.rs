//! Which games and positions a dataset takes: filters, sampling and the split, all determined by the game alone.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use tengen_records::GameRecord;
use tengen_rules::{Komi, Rules, Size};
use tengen_store::{Collection, GamesOf, ShardInfo};

use super::plies::{PositionFilter, is_balanced, taken_plies};

/// Conditions on games and positions. An empty list sets no condition; all conditions must hold.
#[derive(Clone, Debug)]
pub struct DatasetFilter {
    /// The kind of games to take.
    pub games: GamesOf,
    /// Board sizes to include; empty for all sizes.
    pub sizes: Vec<Size>,
    /// Rule sets to include; empty for all rules.
    pub rules: Vec<Rules>,
    /// Inclusive komi ranges to take.
    pub komi: Vec<(Komi, Komi)>,
    /// Players to take: Black or White must have one of these names. A `*` at the end matches any suffix.
    pub models: Vec<String>,
    /// First and last self-play generation to take.
    pub generations: Option<(u32, u32)>,
    /// Only games that started at or after this time, in milliseconds since 1970-01-01 UTC.
    pub since_ms: Option<i64>,
    /// Only games that started before this time, in milliseconds since 1970-01-01 UTC.
    pub until_ms: Option<i64>,
    /// Only games that have a score.
    pub scored_only: bool,
    /// Only games whose first search found a value of at most this much, 0 to 1, from either side.
    pub balanced: Option<f64>,
    /// Only positions searched with the full number of visits.
    pub full_search_only: bool,
    /// Which positions of a game to take.
    pub positions: PositionFilter,
    /// Share of the games (in a dataset of games) or positions to take, greater than 0 and at most 1.
    pub fraction: f64,
    /// Seed of the sampling and of the split.
    pub seed: u64,
}

impl Default for DatasetFilter {
    fn default() -> DatasetFilter {
        DatasetFilter {
            games: GamesOf::SelfPlay,
            sizes: Vec::new(),
            rules: Vec::new(),
            komi: Vec::new(),
            models: Vec::new(),
            generations: None,
            since_ms: None,
            until_ms: None,
            scored_only: false,
            balanced: None,
            full_search_only: false,
            positions: PositionFilter::default(),
            fraction: 1.0,
            seed: 0,
        }
    }
}

impl DatasetFilter {
    /// Whether a shard may contain games that pass, judging by its path alone.
    pub(crate) fn takes_shard(&self, shard: &ShardInfo) -> bool {
        match (self.generations, &shard.collection) {
            (None, _) => true,
            (Some((first, last)), Collection::SelfPlay { generation }) => (first..=last).contains(generation),
            (Some(_), _) => false,
        }
    }

    /// Whether a game passes all conditions except the fraction.
    pub(crate) fn takes_game(&self, game: &GameRecord) -> bool {
        let one_of = |empty: bool, found: bool| empty || found;
        one_of(self.sizes.is_empty(), self.sizes.contains(&game.size))
            && one_of(
                self.komi.is_empty(),
                self.komi.iter().any(|range| in_range(game.komi, *range)),
            )
            && one_of(
                self.models.is_empty(),
                self.models.iter().any(|model| plays(game, model)),
            )
            && self.since_ms.is_none_or(|since| game.start_time_ms >= since)
            && self.until_ms.is_none_or(|until| game.start_time_ms < until)
            && (!self.scored_only || game.score_half_points.is_some())
            && self.balanced.is_none_or(|most| is_balanced(game, most))
            && one_of(
                self.rules.is_empty(),
                game.rules.parse().is_ok_and(|rules| self.rules.contains(&rules)),
            )
    }

    /// Whether a game passes all conditions, including the fraction for whole games.
    pub fn takes(&self, game: &GameRecord) -> bool {
        self.takes_game(game) && self.draws(&game.game_id, None)
    }

    /// The plies of a game whose positions pass all conditions, in order; none if the game does not pass.
    pub fn plies_of(&self, game: &GameRecord) -> Vec<usize> {
        match self.takes_game(game) {
            true => taken_plies(self, game),
            false => Vec::new(),
        }
    }

    /// Whether the fraction selects a game or a position of it.
    pub(crate) fn draws(&self, game_id: &str, ply: Option<usize>) -> bool {
        self.fraction >= 1.0 || unit(draw("sample", self.seed, game_id, ply)) < self.fraction
    }

    /// The conditions as recorded in the manifest.
    pub(crate) fn describe(&self) -> Value {
        let text = |items: &[String]| if items.is_empty() { Value::Null } else { json!(items) };
        let names = |items: Vec<String>| text(&items);
        let mut conditions = json!({
            "games": match &self.games {
                GamesOf::SelfPlay => "selfplay".to_owned(),
                GamesOf::Match(id) => format!("match {id}"),
                GamesOf::Imported => "imported".to_owned(),
                GamesOf::All => "all".to_owned(),
            },
            "sizes": names(self.sizes.iter().map(ToString::to_string).collect()),
            "rules": names(self.rules.iter().map(ToString::to_string).collect()),
            "komi": names(self.komi.iter().map(|(least, most)| format!("{least}..{most}")).collect()),
            "models": text(&self.models),
            "generations": self.generations.map(|(first, last)| format!("{first}..{last}")),
            "since_ms": self.since_ms,
            "until_ms": self.until_ms,
            "scored_only": self.scored_only,
            "full_search_only": self.full_search_only,
            "fraction": self.fraction,
            "seed": self.seed,
        });
        if let Some(most) = self.balanced {
            conditions["balanced"] = json!(most);
        }
        if self.positions.is_set() {
            conditions["positions"] = json!(self.positions);
        }
        conditions
    }
}

fn in_range(komi: Komi, (least, most): (Komi, Komi)) -> bool {
    (least.half_points()..=most.half_points()).contains(&komi.half_points())
}

fn plays(game: &GameRecord, model: &str) -> bool {
    let is = |name: &str| match model.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == model,
    };
    is(&game.black_model) || is(&game.white_model)
}

/// The part of a dataset that a game belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// The games to train on.
    Train,
    /// The games for choosing between models.
    Validation,
    /// For evaluating the final model.
    Test,
}

impl Split {
    /// The name, also used for the folder.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
        }
    }
}

/// Shares of the games that go to training, validation and test.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct SplitShares {
    /// Share of the training games, 0 to 1.
    pub train: f64,
    /// Share of the validation games, 0 to 1.
    pub validation: f64,
    /// Share of the test games, 0 to 1; the three shares sum to 1.
    pub test: f64,
}

impl SplitShares {
    /// The split of a game; all its positions go with it.
    pub(crate) fn of(&self, seed: u64, game_id: &str) -> Split {
        let place = unit(draw("split", seed, game_id, None));
        if place < self.train {
            Split::Train
        } else if place < self.train + self.validation {
            Split::Validation
        } else {
            Split::Test
        }
    }
}

/// A number determined by a purpose, a seed and a game (and a ply): the first 8 bytes, big-endian, of the SHA-256 of
/// `purpose LF seed LF game id` (and `LF ply`).
pub(crate) fn draw(purpose: &str, seed: u64, game_id: &str, ply: Option<usize>) -> u64 {
    let mut hash = Sha256::new();
    hash.update(format!("{purpose}\n{seed}\n{game_id}"));
    if let Some(ply) = ply {
        hash.update(format!("\n{ply}"));
    }
    let bytes: [u8; 8] = hash.finalize()[..8].try_into().expect("a SHA-256 has 32 bytes");
    u64::from_be_bytes(bytes)
}

/// Converts a draw to a number from 0 (inclusive) to 1 (exclusive).
fn unit(draw: u64) -> f64 {
    draw as f64 / 2f64.powi(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_match_sha256sum() {
        // printf 'split\n7\ngame-1' | sha256sum; printf 'sample\n7\ngame-1\n12' | sha256sum
        assert_eq!(draw("split", 7, "game-1", None), 0x9dfc_4a4c_bf4f_4084);
        assert_eq!(draw("sample", 7, "game-1", Some(12)), 0xc190_1241_dd51_1a81);
    }

    #[test]
    fn split_shares_are_approximately_met() {
        let shares = SplitShares {
            train: 0.8,
            validation: 0.15,
            test: 0.05,
        };
        let mut counts = [0; 3];
        for game in 0..4000 {
            counts[shares.of(1, &format!("game {game}")) as usize] += 1;
        }
        assert!((3100..3300).contains(&counts[0]), "{counts:?}");
        assert!((540..660).contains(&counts[1]), "{counts:?}");
    }
}
