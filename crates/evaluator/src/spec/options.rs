//! The options of players and their valid values.

use std::fmt;
use std::str::FromStr;

use tengen_search::SearchMethod;

use super::error::{SpecError, nearest};
use super::{PlayerKind, PlayerSpec};
use crate::mcts_player::MOST_PLAYOUTS;

/// The maximum number of leaves that a search can evaluate in one network call.
pub const MOST_LEAVES: usize = 256;

/// How a player plays; `None` means the default for its kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayerOptions {
    /// Visits per move, at least 1.
    pub visits: Option<u32>,
    /// Random games per move, at least 1.
    pub playouts: Option<u32>,
    /// The search method, which decides how visits are distributed.
    pub method: Option<SearchMethod>,
    /// Moves tried at the root, at least 1.
    pub candidates: Option<u32>,
    /// Whether noise explores at the root.
    pub noise: Option<bool>,
    /// Temperature for sampling moves, 0 or more; 0 always plays the best move.
    pub temperature: Option<f32>,
    /// Number of plies at the start of the game during which the temperature applies.
    pub temperature_plies: Option<usize>,
    /// Computing time per move in seconds, used instead of visits.
    pub time: Option<f64>,
    /// Resigns when the value is at most minus this (0 to 1) for three turns in a row; `None` means never.
    pub resign: Option<f32>,
    /// The search's `c_scale`: how strongly values, relative to priors, decide between moves.
    pub c_scale: Option<f32>,
    /// Standard errors between a move's utility and the lower bound that PUCT chooses by; 0 chooses by visits.
    pub lcb: Option<f32>,
    /// Leaves that a search evaluates in one network call, 1 to 256.
    pub leaves: Option<usize>,
    /// Mirror images over which each prediction is averaged, 1 to 8.
    pub images: Option<u32>,
    /// The same for the root alone, 1 to 8.
    pub root_images: Option<u32>,
    /// The weight of the margin in the quantity that the search maximizes, 0 to 1.
    pub margin_share: Option<f32>,
    /// Seconds an engine may take for a move.
    pub move_s: Option<f64>,
    /// Seconds an engine may use for a whole game.
    pub game_s: Option<f64>,
    /// Seconds an engine may take to start.
    pub start_s: Option<f64>,
    /// Number of engine processes that run in parallel, at least 1.
    pub engines: Option<usize>,
    /// The player's name in results and game records.
    pub name: Option<String>,
}

pub(super) const SEARCH_KEYS: &[&str] = &[
    "visits",
    "method",
    "candidates",
    "noise",
    "temperature",
    "temperature_plies",
    "time",
    "resign",
    "c_scale",
    "lcb",
    "leaves",
    "images",
    "root_images",
    "margin_share",
    "name",
];
pub(super) const GTP_KEYS: &[&str] = &["move_s", "game_s", "start_s", "engines", "name"];
pub(super) const MCTS_KEYS: &[&str] = &["playouts", "name"];
pub(super) const RANDOM_KEYS: &[&str] = &["name"];

/// Parses options of the form `,key=value,key=value` for a player of this kind.
pub(super) fn with_options(kind: PlayerKind, text: &str) -> Result<PlayerSpec, SpecError> {
    let mut options = PlayerOptions::default();
    for option in text.split(',').skip(1) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let (key, value) = (key.trim(), value.trim());
        if !kind.keys().contains(&key) {
            let nearest = nearest(key, kind.keys());
            return Err(SpecError::UnknownOption {
                key: key.to_owned(),
                kind: kind.word(),
                nearest,
            });
        }
        options.set(key, value)?;
    }
    Ok(PlayerSpec { kind, options })
}

/// Splits off all `,key=value` at the end; a comma followed by anything else belongs to the path.
pub(super) fn split_options(text: &str) -> (&str, &str) {
    let mut end = text.len();
    while let Some(comma) = text[..end].rfind(',') {
        let (key, has_value) = match text[comma + 1..end].split_once('=') {
            Some((key, _)) => (key, true),
            None => ("", false),
        };
        if !has_value
            || !key
                .trim()
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        {
            break;
        }
        end = comma;
    }
    (&text[..end], &text[end..])
}

impl PlayerOptions {
    fn set(&mut self, key: &str, value: &str) -> Result<(), SpecError> {
        match key {
            "visits" => self.visits = Some(number(key, value, "a whole number from 1", |&n: &u32| n > 0)?),
            "playouts" => {
                self.playouts = Some(number(key, value, "a whole number from 1 to 100000", |n| {
                    (1..=MOST_PLAYOUTS).contains(n)
                })?);
            }
            "method" => self.method = Some(method(key, value)?),
            "candidates" => self.candidates = Some(number(key, value, "a whole number from 1", |&n: &u32| n > 0)?),
            "noise" => self.noise = Some(switch(key, value)?),
            "temperature" => {
                self.temperature = Some(number(key, value, "a number from 0 to 10", |t| {
                    (0.0..=10.0).contains(t)
                })?);
            }
            "temperature_plies" => self.temperature_plies = Some(number(key, value, "a whole number", |_| true)?),
            "time" => self.time = Some(seconds(key, value.strip_suffix('s').unwrap_or(value))?),
            "resign" => {
                self.resign = Some(number(key, value, "a number above 0, at most 1", |v: &f32| {
                    *v > 0.0 && *v <= 1.0
                })?);
            }
            "c_scale" => {
                self.c_scale = Some(number(key, value, "a positive number", |c: &f32| {
                    *c > 0.0 && c.is_finite()
                })?)
            }
            "lcb" => {
                self.lcb = Some(number(key, value, "a number from 0 to 1000000", |z| {
                    (0.0..=1e6).contains(z)
                })?);
            }
            "leaves" => {
                self.leaves = Some(number(key, value, "a whole number from 1 to 256", |n| {
                    (1..=MOST_LEAVES).contains(n)
                })?);
            }
            "images" => self.images = Some(images(key, value)?),
            "root_images" => self.root_images = Some(images(key, value)?),
            "margin_share" => {
                self.margin_share = Some(number(key, value, "a number from 0 to 1", |s| (0.0..=1.0).contains(s))?);
            }
            "move_s" => self.move_s = Some(seconds(key, value)?),
            "game_s" => self.game_s = Some(seconds(key, value)?),
            "start_s" => self.start_s = Some(seconds(key, value)?),
            "engines" => {
                self.engines = Some(number(key, value, "a whole number from 1 to 1024", |n| {
                    (1..=1024).contains(n)
                })?);
            }
            _ => self.name = Some(number(key, value, "some text", |name: &String| !name.is_empty())?),
        }
        Ok(())
    }

    pub(super) fn written(&self) -> Vec<(&'static str, Option<String>)> {
        fn text<T: fmt::Display>(value: &Option<T>) -> Option<String> {
            value.as_ref().map(T::to_string)
        }
        vec![
            ("visits", text(&self.visits)),
            ("playouts", text(&self.playouts)),
            ("method", self.method.map(|method| method.name().to_owned())),
            ("candidates", text(&self.candidates)),
            (
                "noise",
                self.noise.map(|noise| if noise { "on" } else { "off" }.to_owned()),
            ),
            ("temperature", text(&self.temperature)),
            ("temperature_plies", text(&self.temperature_plies)),
            ("time", text(&self.time)),
            ("resign", text(&self.resign)),
            ("c_scale", text(&self.c_scale)),
            ("lcb", text(&self.lcb)),
            ("leaves", text(&self.leaves)),
            ("images", text(&self.images)),
            ("root_images", text(&self.root_images)),
            ("margin_share", text(&self.margin_share)),
            ("move_s", text(&self.move_s)),
            ("game_s", text(&self.game_s)),
            ("start_s", text(&self.start_s)),
            ("engines", text(&self.engines)),
            ("name", text(&self.name)),
        ]
    }
}

fn number<T: FromStr>(
    key: &str,
    value: &str,
    expected: &'static str,
    fits: impl Fn(&T) -> bool,
) -> Result<T, SpecError> {
    let bad = || SpecError::BadValue {
        key: key.to_owned(),
        value: value.to_owned(),
        expected,
    };
    value.parse().ok().filter(fits).ok_or_else(bad)
}

fn images(key: &str, value: &str) -> Result<u32, SpecError> {
    number(key, value, "a whole number from 1 to 8", |n| (1..=8).contains(n))
}

fn seconds(key: &str, value: &str) -> Result<f64, SpecError> {
    number(key, value, "seconds from 0.01 to 1000000", |s| (0.01..=1e6).contains(s))
}

fn switch(key: &str, value: &str) -> Result<bool, SpecError> {
    match value {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(SpecError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            expected: "on or off",
        }),
    }
}

fn method(key: &str, value: &str) -> Result<SearchMethod, SpecError> {
    SearchMethod::named(value).ok_or_else(|| SpecError::BadValue {
        key: key.to_owned(),
        value: value.to_owned(),
        expected: SearchMethod::NAMES,
    })
}
