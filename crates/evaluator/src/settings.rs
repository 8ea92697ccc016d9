//! The settings of a match.

use serde::{Deserialize, Serialize};
use tengen_rules::{Color, Komi, Rules, Size};

use crate::openings::Openings;
use crate::sprt::SprtConfig;
use crate::text;

/// Which color player A has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AColor {
    /// Black in the first game of every pair, White in the second.
    #[default]
    Alternate,
    /// Black in every game; games do not come in pairs then.
    Black,
    /// White in every game; games do not come in pairs then.
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

/// How two players meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatchConfig {
    /// The board, such as `9x9`.
    #[serde(with = "text")]
    pub size: Size,
    /// The rules, played as between machines: a name such as `tromp_taylor`, or settings `key=value`.
    #[serde(with = "text")]
    pub rules: Rules,
    /// Points added to White's score, in whole or half points. Integers allow ties.
    #[serde(with = "text")]
    pub komi: Komi,
    /// Number of games, or the most that are played when `sprt` may stop the match. Usual: 100 to 1,000; even, so that pairs are whole.
    /// The width of the Elo interval falls with its root.
    pub games: usize,
    /// Opening moves, shared by the two games of a pair. Usual: `random:4`, or `first-moves` on small boards.
    pub openings: Openings,
    /// Which color player A has: `alternate`, `black` or `white`.
    pub a_color: AColor,
    /// Seed of openings and players: the same seed gives the same match.
    pub seed: u64,
    /// Games played side by side, at least 1. Usual: 32 to 256 on a GPU. More fills the network's batches better.
    pub parallel: usize,
    /// Plies after which a game stops as unfinished, without a result. 0 = four times the area of the board plus 40.
    pub max_plies: usize,
    /// What a refused legal move costs an engine: `loss` or `void`.
    pub refused_moves: Refusal,
    /// Sequential test that may end the match early; absent = all games are played. Needs `a_color` `alternate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtConfig>,
    /// End the match as soon as its bounds that hold at any time leave no doubt who is the stronger. Needs `a_color` `alternate`.
    pub until_clear: bool,
    /// Pairs between two looks of the sequential test or at the bounds. Usual: 8 to 64, half of `parallel` or more. More looks stop sooner, fewer keep
    /// the batches full. 0 = half of `parallel`.
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
    /// Checks every value against its range and the others.
    ///
    /// # Errors
    /// A sentence naming the first field that is wrong.
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
            return Err("to end when it is clear needs pairs of games: a_color must be alternate".to_owned());
        }
        match &self.sprt {
            Some(_) if self.a_color != AColor::Alternate => {
                Err("a sequential test needs pairs of games: a_color must be alternate".to_owned())
            }
            Some(sprt) => sprt.validate().map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// Plies after which a game stops.
    pub fn ply_limit(&self) -> usize {
        if self.max_plies == 0 {
            4 * self.size.area() + 40
        } else {
            self.max_plies
        }
    }

    /// Pairs between two looks of a sequential test, at least 1.
    pub fn look_every(&self) -> usize {
        if self.pairs_per_look == 0 {
            (self.parallel / 2).max(1)
        } else {
            self.pairs_per_look
        }
    }

    /// Player A's color in a game.
    pub fn a_color_in(&self, game: usize) -> Color {
        match self.a_color {
            AColor::Alternate if game.is_multiple_of(2) => Color::Black,
            AColor::Alternate => Color::White,
            AColor::Black => Color::Black,
            AColor::White => Color::White,
        }
    }

    /// Number of the opening of a game: shared by two games where colors alternate.
    pub fn pair_of(&self, game: usize) -> usize {
        match self.a_color {
            AColor::Alternate => game / 2,
            AColor::Black | AColor::White => game,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_checked() {
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
