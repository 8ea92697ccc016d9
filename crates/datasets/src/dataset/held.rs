//! Describes the games that were read, for a user whose filters matched nothing: sizes, rules, komi and dates.

use std::collections::BTreeSet;

use tengen_records::GameRecord;
use tengen_rules::{Komi, Size};
use tengen_sgf::date_text;

/// Maximum number of values listed individually; the rest is counted.
const MAX_LISTED: usize = 6;

/// The properties of the games read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    sizes: Vec<Size>,
    rules: BTreeSet<String>,
    /// Lowest and highest komi, in half points.
    komi: Option<(i16, i16)>,
    /// Earliest and latest start, in milliseconds since 1970-01-01 UTC.
    began: Option<(i64, i64)>,
}

impl Held {
    pub(crate) fn note(&mut self, game: &GameRecord) {
        if !self.sizes.contains(&game.size) {
            self.sizes.push(game.size);
        }
        if !self.rules.contains(&game.rules) {
            self.rules.insert(game.rules.clone());
        }
        self.komi = Some(extended(self.komi, game.komi.half_points()));
        self.began = Some(extended(self.began, game.start_time_ms));
    }

    /// One clause for a message; empty if nothing was read.
    pub(crate) fn in_words(&self) -> String {
        let (Some(komi), Some(began)) = (self.komi, self.began) else {
            return String::new();
        };
        let day = |ms| date_text(ms).unwrap_or_else(|| format!("{ms} ms"));
        format!(
            "; the games read are on {}, under {}, with komi {}, started {}",
            listed(self.sizes.iter().map(ToString::to_string).collect()),
            listed(self.rules.iter().cloned().collect()),
            between(komi, |half_points| Komi::from_half_points(half_points).to_string()),
            between(began, day),
        )
    }
}

fn extended<T: Ord + Copy>(range: Option<(T, T)>, value: T) -> (T, T) {
    range.map_or((value, value), |(least, most)| (least.min(value), most.max(value)))
}

fn between<T: Copy>((least, most): (T, T), text: impl Fn(T) -> String) -> String {
    let (least, most) = (text(least), text(most));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

fn listed(mut items: Vec<String>) -> String {
    let more = items.len().saturating_sub(MAX_LISTED);
    items.truncate(MAX_LISTED);
    let text = items.join(", ");
    if more == 0 {
        text
    } else {
        format!("{text} and {more} more")
    }
}
