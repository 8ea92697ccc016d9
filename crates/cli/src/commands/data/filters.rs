//! The options that select games and positions of a store, shared by several commands.

use tengen_datasets::{DatasetFilter, PositionFilter};
use tengen_rules::{Komi, Rules, Size};
use tengen_store::GamesOf;

use crate::arguments;

/// Conditions on games. Values of one option are alternatives; different options must all match.
#[derive(clap::Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct GameFilters {
    /// The kind of games
    #[arg(long, value_enum, default_value_t = Of::Selfplay)]
    of: Of,
    /// Only the games of this match
    #[arg(long = "match", value_name = "ID", conflicts_with_all = ["of", "generations"])]
    match_id: Option<String>,
    /// Only boards of this size, such as 9 or 7x5
    #[arg(long = "size", value_name = "SIZE", value_delimiter = ',', value_parser = arguments::size)]
    sizes: Vec<Size>,
    /// Only games under this rule set
    #[arg(long, value_name = "NAME")]
    rules: Vec<Rules>,
    /// Only games with this komi, such as 7, or an inclusive range such as 5.5..7.5
    #[arg(long, value_name = "KOMI", allow_hyphen_values = true, value_parser = komi)]
    komi: Vec<(Komi, Komi)>,
    /// Only games with this model or player on either side; a trailing * matches any ending
    #[arg(long = "model", value_name = "NAME")]
    models: Vec<String>,
    /// Only self-play of this generation, such as 12, or of an inclusive range such as 10..20
    #[arg(long, value_name = "RANGE", value_parser = generations)]
    generations: Option<(u32, u32)>,
    /// Only games that started at this time (UTC) or later, such as 2026-11-20 or 2026-11-20T18:30:00
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<i64>,
    /// Only games that started before this time (UTC)
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<i64>,
    /// Only games with a score, which ended with two passes or with every point settled
    #[arg(long)]
    scored: bool,
    /// Only games with a balanced opening: the first search found a value of at most this much, 0 to 1, for either side
    #[arg(long, value_name = "VALUE", value_parser = share)]
    balanced: Option<f64>,
    /// Only positions searched with the full number of visits
    #[arg(long)]
    full_search: bool,
    /// Only this share of the games or positions, above 0 and at most 1, chosen by hash
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    fraction: f64,
    /// Seed for all sampling and splitting
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Conditions on games and on their positions.
#[derive(clap::Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct Filters {
    #[command(flatten)]
    games: GameFilters,
    /// Only positions at this ply, such as 0 for the start of the game, or at one of a range such as 10..40
    #[arg(long, value_name = "RANGE", value_parser = plies)]
    plies: Option<(u32, u32)>,
    /// Only positions in this part of their game, in shares of its length: 0..0.25 is the first quarter
    #[arg(long, value_name = "RANGE", value_parser = phase)]
    phase: Option<(f64, f64)>,
    /// Only positions whose search changed the network's value by at least this much, above 0 and at most 1
    #[arg(long, value_name = "VALUE", value_parser = share)]
    surprise: Option<f64>,
    /// At most this many positions of each game, chosen by hash among those that pass all other filters
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    per_game: Option<u32>,
}

/// The kind of games to look at.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Of {
    /// Self-play games
    Selfplay,
    /// Imported games
    Imported,
    /// All games, including those of matches and gates
    All,
}

impl GameFilters {
    /// The conditions as a filter.
    pub(super) fn filter(self) -> DatasetFilter {
        let games = match (self.match_id, self.of) {
            (Some(id), _) => GamesOf::Match(id),
            (None, Of::Selfplay) => GamesOf::SelfPlay,
            (None, Of::Imported) => GamesOf::Imported,
            (None, Of::All) => GamesOf::All,
        };
        DatasetFilter {
            games,
            sizes: self.sizes,
            rules: self.rules,
            komi: self.komi,
            models: self.models,
            generations: self.generations,
            since_ms: self.since,
            until_ms: self.until,
            scored_only: self.scored,
            balanced: self.balanced,
            full_search_only: self.full_search,
            positions: PositionFilter::default(),
            fraction: self.fraction,
            seed: self.seed,
        }
    }
}

impl Filters {
    /// The conditions as a filter.
    pub(super) fn filter(self) -> DatasetFilter {
        DatasetFilter {
            positions: PositionFilter {
                plies: self.plies,
                phase: self.phase,
                surprise: self.surprise,
                per_game: self.per_game,
            },
            ..self.games.filter()
        }
    }
}

/// Parses `a..b`, or one value that is both ends.
fn range<T: Copy + PartialOrd>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<(T, T), String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last) = (read(first)?, read(last)?);
    if first <= last {
        Ok((first, last))
    } else {
        Err("the end of the range is below its start".to_owned())
    }
}

fn komi(text: &str) -> Result<(Komi, Komi), String> {
    let read = |text: &str| text.parse::<Komi>().map_err(|error| error.to_string());
    let half_points = range(text, |text| Ok(read(text)?.half_points()))?;
    Ok((
        Komi::from_half_points(half_points.0),
        Komi::from_half_points(half_points.1),
    ))
}

fn generations(text: &str) -> Result<(u32, u32), String> {
    range(text, |number| {
        number
            .parse::<u32>()
            .map_err(|_| format!("{text:?} is neither a generation, such as 7, nor a range of them, such as 5..9"))
    })
}

fn plies(text: &str) -> Result<(u32, u32), String> {
    range(text, |number| {
        number
            .parse::<u32>()
            .map_err(|_| format!("{text:?} is neither a ply, such as 0, nor a range of them, such as 10..40"))
    })
}

/// Parses a range of shares that is not empty, such as `0.25..0.75`.
fn phase(text: &str) -> Result<(f64, f64), String> {
    let shares = range(text, |share| {
        let share = share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| format!("{text:?} is not a range of shares between 0 and 1, such as 0.25..0.75"))
    })?;
    match shares.0 < shares.1 {
        true => Ok(shares),
        false => Err(format!(
            "{text:?} is empty: it needs two different shares, such as 0.25..0.75"
        )),
    }
}

/// Parses a share above 0 and at most 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!("{text:?} is not a share above 0 and at most 1")),
    }
}

/// Parses a date, or a date and time, in UTC into milliseconds since 1970.
fn time(text: &str) -> Result<i64, String> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    let civil = text
        .parse::<jiff::civil::DateTime>()
        .map_err(|_| format!("{text:?} is not a UTC date or time such as 2026-11-20 or 2026-11-20T18:30:00"))?;
    let zoned = civil
        .to_zoned(jiff::tz::TimeZone::UTC)
        .map_err(|error| error.to_string())?;
    Ok(zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(generations("12"), Ok((12, 12)));
        assert_eq!(generations("10..20"), Ok((10, 20)));
        let half = |komi: &str| self::komi(komi).map(|(a, b)| (a.half_points(), b.half_points()));
        assert_eq!(half("-3.5..7"), Ok((-7, 14)));
        for wrong in ["", "20..10", "1..", "x", "-1"] {
            assert!(generations(wrong).is_err(), "{wrong}");
        }
        assert!(generations("5-9").unwrap_err().contains("such as 5..9"));
        assert!(komi("7.25").is_err() && komi("8..7").is_err());
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(time("1970-01-02"), Ok(86_400_000));
        assert_eq!(time("1970-01-01T01:00:00"), Ok(3_600_000));
        assert_eq!(time("1970-01-01T01:00:00+01:00"), Ok(0));
        for wrong in ["", "yesterday", "2026-13-01", "12"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
