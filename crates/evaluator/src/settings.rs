//! The settings of a match.

use serde::{Deserialize, Serialize};

use tengen_rules::{Color, Komi, Rules, Size};

use crate::openings::Openings;
use crate::sprt::SprtConfig;

/// Pairs between two looks if the settings leave it open.
const PAIRS_PER_LOOK: usize = 32;

/// Which color player A plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AColor {
    /// Black in the first game of every pair, White in the second.
    #[default]
    Alternate,
    /// Black in every game; there are no pairs of games.
    Black,
    /// White in every game; there are no pairs of games.
    White,
}

/// What happens when an engine refuses a legal move of its opponent (many engines forbid suicide).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The engine loses the game.
    #[default]
    Loss,
    /// The game does not count.
    Void,
}

/// How two players play a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatchConfig {
    /// The board size, such as `9x9`.
    pub size: Size,
    /// The rules in their variant for machine play: a name such as `tromp_taylor`, or settings `key=value`.
    pub rules: Rules,
    /// Points added to White's score, in whole or half points. Whole numbers allow ties.
    pub komi: Komi,
    /// Number of games, or the maximum if `sprt` or `until_clear` may stop the match. Usual: 100 to 1,000, and even so
    /// that pairs are whole. The width of the Elo interval falls with its square root.
    pub games: usize,
    /// Opening moves, shared by the two games of a pair. Usual: `random:4`, or `first-moves` on small boards.
    pub openings: Openings,
    /// Which color player A plays: `alternate`, `black`, or `white`.
    pub a_color: AColor,
    /// Seed of the openings and players: the same seed gives the same match.
    pub seed: u64,
    /// Games played in parallel, at least 1. Usual: 32 to 256 on a GPU. More games fill the network's batches better.
    pub parallel: usize,
    /// Plies after which a game stops as unfinished, without a result. 0 means four times the board area plus 40.
    pub max_plies: usize,
    /// What happens when an engine refuses a legal move: `loss` or `void`.
    pub refused_moves: Refusal,
    /// Sequential test that may end the match early; if absent, all games are played. Needs `a_color` `alternate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtConfig>,
    /// End the match as soon as its any-time bounds show which player is stronger. Needs `a_color` `alternate`.
    pub until_clear: bool,
    /// Pairs between two looks at the sequential test or the bounds. Usual: 8 to 64, half of `parallel` or more. Fewer
    /// pairs stop sooner; more keep the batches full. 0 means 32, however many games are played in parallel, because
    /// that must not change the result.
    pub pairs_per_look: usize,
}

impl Default for MatchConfig {
    fn default() -> MatchConfig {
        MatchConfig {
            size: Size::square(9).expect("9 is a side"),
            rules: Rules::tromp_taylor(),
            komi: Komi::from_half_points(14),
            games: 100,
            openings: Openings::random(4),
            a_color: AColor::Alternate,
            seed: 1,
            parallel: 64,
            max_plies: 0,
            refused_moves: Refusal::Loss,
            sprt: None,
            until_clear: false,
            pairs_per_look: 0,
        }
    }
}

impl MatchConfig {
    /// Checks that every value is in its range and that the values fit together.
    ///
    /// # Errors
    /// A sentence naming the first invalid field.
    pub fn validate(&self) -> Result<(), String> {
        if self.games == 0 {
            return Err("games must be at least 1".to_owned());
        }
        if self.parallel == 0 {
            return Err("parallel must be at least 1".to_owned());
        }
        self.rules
            .check_for_machines()
            .map_err(|error| format!("rules {}: {error}", self.rules))?;
        if self.komi.points().abs() > self.size.area() as f32 {
            return Err(format!(
                "komi {} is larger than the board of {} points",
                self.komi,
                self.size.area()
            ));
        }
        self.openings.validate(self.size, self.rules)?;
        if self.until_clear && self.a_color != AColor::Alternate {
            return Err("until_clear needs pairs of games: a_color must be alternate".to_owned());
        }
        match &self.sprt {
            Some(_) if self.a_color != AColor::Alternate => {
                Err("a sequential test needs pairs of games: a_color must be alternate".to_owned())
            }
            Some(sprt) => sprt.validate().map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// Plies after which a game stops, with the default filled in.
    pub fn ply_limit(&self) -> usize {
        if self.max_plies == 0 {
            4 * self.size.area() + 40
        } else {
            self.max_plies
        }
    }

    /// Pairs between two looks at the results, at least 1, with the default filled in.
    pub fn look_every(&self) -> usize {
        match self.pairs_per_look {
            0 => PAIRS_PER_LOOK,
            pairs => pairs,
        }
    }

    /// Player A's color in the game with this number.
    pub fn a_color_in(&self, game: usize) -> Color {
        match self.a_color {
            AColor::Alternate if game.is_multiple_of(2) => Color::Black,
            AColor::Alternate => Color::White,
            AColor::Black => Color::Black,
            AColor::White => Color::White,
        }
    }

    /// Number of the opening of the game with this number: two games share one if colors alternate.
    pub fn pair_of(&self, game: usize) -> usize {
        match self.a_color {
            AColor::Alternate => game / 2,
            AColor::Black | AColor::White => game,
        }
    }
}

/// What the records of a match contain besides its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchContext {
    /// The match's name; a game's id is this name and its number.
    pub match_id: String,
    /// Name of the configuration, stored with every game.
    pub config_id: String,
    /// Time stored with every game, in milliseconds since 1970-01-01 UTC. It is a parameter so that the same match
    /// gives the same bytes.
    pub start_time_ms: i64,
}

/// Whether games with these settings come in pairs.
pub(crate) fn is_paired(config: &MatchConfig) -> bool {
    config.a_color == AColor::Alternate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_parsed_and_validated() {
        let config: MatchConfig =
            serde_json::from_str(r#"{"size": 5, "komi": 24.5, "openings": "first-moves", "a_color": "black"}"#)
                .expect("settings");
        assert_eq!((config.size.area(), config.komi.half_points()), (25, 49));
        assert_eq!((config.a_color_in(3), config.pair_of(3)), (Color::Black, 3));
        assert!(config.validate().is_ok());
        let again: MatchConfig =
            serde_json::from_str(&serde_json::to_string(&config).expect("JSON")).expect("settings");
        assert_eq!(again, config);
        assert!(serde_json::from_str::<MatchConfig>(r#"{"gamez": 5}"#).is_err());
        assert!(serde_json::from_str::<MatchConfig>(r#"{"komi": "7.25"}"#).is_err());
        let wide = MatchConfig {
            komi: Komi::from_half_points(200),
            ..config.clone()
        };
        assert!(wide.validate().is_err());
        let unpaired = MatchConfig {
            sprt: Some(SprtConfig::default()),
            ..config
        };
        assert!(unpaired.validate().is_err());
    }
}
