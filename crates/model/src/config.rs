//! The size and shape of a network, and its short name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use tengen_encoding::PlaneSet;
use tengen_rules::{SettingError, check_setting};

/// The shape of a network, written as `b4c32` when everything except blocks and channels has its default value.
///
/// The same weights serve every board up to 19x19, so the board size is not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// Residual blocks of the tower (1 to 128; 4 for 5x5, 6 for 9x9). More blocks read deeper and cost proportionally
    /// more.
    pub blocks: usize,
    /// Channels of the tower (1 to 1024; 32 for 5x5, 96 for 9x9). Cost grows with the square; multiples of 16 are fast.
    pub channels: usize,
    /// Channels of each of the two heads, policy and value (1 to 256; usual 24). More channels cost little and help
    /// little.
    #[serde(default = "usual_head_channels")]
    pub head_channels: usize,
    /// Every how many blocks there is a global-pooling bias, which informs each point about the whole board (usual 2:
    /// blocks 2, 4, …; 0: none). Larger values mean fewer such blocks.
    #[serde(default = "usual_pool_every")]
    pub pool_every: usize,
    /// Whether the blocks are nested: a 1x1 convolution to half of the channels, two residual blocks there, and a 1x1
    /// convolution back (usual false). Such a block has half the cost and twice the depth. Needs an even number of
    /// channels. Only true is written, so files without the key mean false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nested_blocks: bool,
    /// Every how many blocks one is self-attention over all points instead of convolutions (0 to 128; usual 0: none).
    /// Larger values mean fewer such blocks. Only numbers above 0 are written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attention_every: usize,
    /// Hidden units before the score distribution (1 to 1024; usual 64). More units cost little.
    #[serde(default = "usual_score_hidden")]
    pub score_hidden: usize,
    /// Whether the network also sees the pass-alive area of each side (usual false). If true, every evaluated position
    /// must be analyzed for it. Only true is written, so files without the key mean false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pass_alive_inputs: bool,
    /// Whether the network also sees which stones can be captured in a ladder, and which plays begin one (usual false).
    /// If true, every evaluated position must be read for ladders. Only true is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ladder_inputs: bool,
    /// Whether the network also learns to predict the opponent's reply, which may help it learn (usual false). It plays
    /// as fast with it as without. Only true is written, so files without the key mean false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reply_head: bool,
    /// Whether the network also learns a softened policy, the search's to the power of 1/4, in which good moves other
    /// than the best count more (usual false). It plays as fast with it as without. Only true is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub soft_policy_head: bool,
    /// Whether the network also learns the search's values over the next plies, which are less noisy than the result of
    /// the game (usual false). It plays as fast with it as without. Only true is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_term_head: bool,
}

/// How the name of a network ends if its blocks are nested.
const NESTED: &str = "nbt";

/// Channels of an attention head, where that divides the channels of the tower.
const ATTENTION_CHANNELS: usize = 16;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn usual_head_channels() -> usize {
    24
}

fn usual_pool_every() -> usize {
    2
}

fn usual_score_hidden() -> usize {
    64
}

impl NetworkConfig {
    /// A network with this many blocks and channels and the default values for everything else.
    pub fn new(blocks: usize, channels: usize) -> NetworkConfig {
        NetworkConfig {
            blocks,
            channels,
            head_channels: usual_head_channels(),
            pool_every: usual_pool_every(),
            nested_blocks: false,
            attention_every: 0,
            score_hidden: usual_score_hidden(),
            pass_alive_inputs: false,
            ladder_inputs: false,
            reply_head: false,
            soft_policy_head: false,
            short_term_head: false,
        }
    }

    /// The short name, such as `b4c32`, `b4c32nbt` with nested blocks, or `b4c32a2` if every second block is attention.
    /// It does not mention the other fields, even if they differ from the defaults.
    pub fn name(&self) -> String {
        let nested = if self.nested_blocks { NESTED } else { "" };
        let attention = match self.attention_every {
            0 => String::new(),
            every => format!("a{every}"),
        };
        format!("b{}c{}{nested}{attention}", self.blocks, self.channels)
    }

    /// The optional bit planes that the network takes as input.
    pub fn plane_set(&self) -> PlaneSet {
        PlaneSet {
            pass_alive: self.pass_alive_inputs,
            ladders: self.ladder_inputs,
            trail: false,
        }
    }

    /// Number of input planes of the first convolution: the bit planes and the mask of on-board points.
    pub fn input_planes(&self) -> usize {
        self.plane_set().bit_planes() + 1
    }

    /// Whether block `block` (counted from 0) has a global-pooling bias. Attention needs none.
    pub fn pools(&self, block: usize) -> bool {
        self.pool_every > 0 && (block + 1).is_multiple_of(self.pool_every) && !self.attends(block)
    }

    /// Whether block `block` (counted from 0) is self-attention.
    pub fn attends(&self, block: usize) -> bool {
        self.attention_every > 0 && (block + 1).is_multiple_of(self.attention_every)
    }

    /// Number of heads of an attention block: as many as have 16 channels each, or one if 16 does not divide the
    /// channels.
    pub fn attention_heads(&self) -> usize {
        match self.channels.is_multiple_of(ATTENTION_CHANNELS) {
            true => self.channels / ATTENTION_CHANNELS,
            false => 1,
        }
    }

    /// Checks that every field is in its range.
    ///
    /// # Errors
    /// [`SettingError`] naming the first field that is not.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_setting("network.blocks", self.blocks, 1..=128)?;
        check_setting("network.channels", self.channels, 1..=1024)?;
        check_setting("network.head_channels", self.head_channels, 1..=256)?;
        check_setting("network.pool_every", self.pool_every, 0..=128)?;
        check_setting("network.attention_every", self.attention_every, 0..=128)?;
        if self.nested_blocks && !self.channels.is_multiple_of(2) {
            let expected = "an even number with network.nested_blocks";
            return Err(SettingError::new("network.channels", self.channels, expected));
        }
        check_setting("network.score_hidden", self.score_hidden, 1..=1024)
    }
}

impl fmt::Display for NetworkConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl FromStr for NetworkConfig {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<NetworkConfig, ConfigError> {
        let wrong = || ConfigError::Name(text.to_owned());
        let (blocks, rest) = text
            .strip_prefix('b')
            .and_then(|rest| rest.split_once('c'))
            .ok_or_else(wrong)?;
        let (rest, attention) = match rest.split_once('a') {
            Some((rest, every)) => (rest, Some(every)),
            None => (rest, None),
        };
        let (channels, nested_blocks) = match rest.strip_suffix(NESTED) {
            Some(channels) => (channels, true),
            None => (rest, false),
        };
        let number = |digits: &str| {
            let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            all_digits.then(|| digits.parse().ok()).flatten().ok_or_else(wrong)
        };
        let config = NetworkConfig {
            nested_blocks,
            attention_every: attention.map_or(Ok(0), number)?,
            ..NetworkConfig::new(number(blocks)?, number(channels)?)
        };
        config.validate()?;
        Ok(config)
    }
}

/// Why a network cannot be built as described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not a network name.
    #[error("`{0}` is not a network name: expected blocks and channels, such as b4c32")]
    Name(String),
    /// A field is too small or too large.
    #[error(transparent)]
    OutOfRange(#[from] SettingError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["b4c32", "b6c96", "b10c128", "b4c32nbt", "b6c96a3", "b5c64nbta2"] {
            assert_eq!(name.parse::<NetworkConfig>().expect("a good name").to_string(), name);
        }
        for name in [
            "",
            "b4",
            "c32",
            "b4c",
            "bc32",
            "b+4c32",
            "b4c32x",
            "b0c32",
            "b4c99999",
            "4c32",
            "b4c32nb",
            "b4c33nbt",
            "b4c32a",
            "b4c32a999",
            "b4c32a2nbt",
        ] {
            assert!(name.parse::<NetworkConfig>().is_err(), "{name}");
        }
    }

    #[test]
    fn every_second_block_pools() {
        let config = NetworkConfig::new(5, 8);
        let pooling: Vec<usize> = (0..5).filter(|&block| config.pools(block)).collect();
        assert_eq!(pooling, [1, 3]);
        assert!((0..5).all(|block| {
            !NetworkConfig {
                pool_every: 0,
                ..config.clone()
            }
            .pools(block)
        }));
    }

    #[test]
    fn unknown_fields_are_rejected() {
        let good: NetworkConfig =
            serde_json::from_str(r#"{"blocks":4,"channels":32}"#).expect("defaults fill the rest");
        assert_eq!(good, NetworkConfig::new(4, 32));
        assert!(serde_json::from_str::<NetworkConfig>(r#"{"blocks":4,"channels":32,"chanels":3}"#).is_err());
    }
}
