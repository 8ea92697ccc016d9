//! Parsers for the values that several commands take from the command line.

use std::ops::Range;

use tengen_evaluator::{MOST_LEAVES, PlayerOptions, PlayerSpec, SpecError};
use tengen_rules::{Rules, Size};

/// A duration in seconds: any positive number, such as `0.5` or `30`.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err(format!("{text:?} is not a positive number of seconds")),
    }
}

/// A duration in minutes: any positive number up to 10,000,000, such as `0.5` or `30`.
pub(crate) fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text
        .parse()
        .ok()
        .filter(|minutes| (0.0..=1e7).contains(minutes) && *minutes > 0.0);
    minutes.ok_or_else(|| format!("{text:?} is not a positive number of minutes"))
}

/// A limit in seconds: any number from 0 to 10,000,000.
pub(crate) fn seconds_or_none(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=1e7).contains(seconds));
    seconds.ok_or_else(|| "expected seconds from 0 to 10,000,000, such as 2.5".to_owned())
}

/// A count of at least one.
pub(crate) fn count(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(_) => Err(format!("{text:?} is not a whole number from 1 to {}", u32::MAX)),
    }
}

/// Counts of at least one, separated by commas, such as `1,8,64`.
pub(crate) fn counts(text: &str) -> Result<Vec<u32>, String> {
    text.split(',').map(|part| count(part.trim())).collect()
}

/// The default number of leaves of one search that the network evaluates in one call.
pub(crate) const USUAL_LEAVES: usize = 8;

/// A number of leaves that a search evaluates at once.
pub(crate) fn leaves(text: &str) -> Result<usize, String> {
    let leaves = text
        .trim()
        .parse()
        .ok()
        .filter(|leaves| (1..=MOST_LEAVES).contains(leaves));
    leaves.ok_or_else(|| format!("expected a whole number from 1 to {MOST_LEAVES}, found {text}"))
}

/// A board: `9` is 9x9, `7x5` is 7 wide and 5 high.
pub(crate) fn size(text: &str) -> Result<Size, String> {
    text.parse::<Size>()
        .map_err(|error| format!("{error}; write a board as 9 or 7x5, with each side from 1 to 19"))
}

/// A range of numbers of turns: `50..75` is 50 to 74.
pub(crate) fn plies(text: &str) -> Result<Range<usize>, String> {
    let parts = text.split_once("..").map(|(from, to)| (from.parse(), to.parse()));
    match parts {
        Some((Ok(from), Ok(to))) if from < to => Ok(from..to),
        _ => Err(format!(
            "expected two numbers of turns, the second larger, such as 50..75, found {text}"
        )),
    }
}

/// A player, such as `store:data/runs/demo,visits=64`.
pub(crate) fn player(text: &str) -> Result<Box<PlayerSpec>, SpecError> {
    text.parse().map(Box::new)
}

/// A model to begin with, `model:PATH` or `store:DIR`, whose path alone will do. Other players have no weights.
pub(crate) fn origin(text: &str) -> Result<PlayerSpec, String> {
    let expected = "expected model:PATH or store:DIR";
    match text.parse::<PlayerSpec>() {
        Ok(spec) if tengen_matches::source_of(&spec.kind).is_none() => {
            Err(format!("{expected}, because {text} has no weights to begin with"))
        }
        Ok(spec) if spec.options != PlayerOptions::default() => Err(format!("{expected}, without options")),
        Ok(spec) => Ok(spec),
        Err(SpecError::UnknownKind { .. }) => Err(format!("{expected}; there is no folder of this name")),
        Err(error) => Err(error.to_string()),
    }
}

/// Rules that Tengen's players support.
pub(crate) fn rules(text: &str) -> Result<Rules, String> {
    let rules: Rules = text
        .parse()
        .map_err(|error: tengen_rules::RulesError| error.to_string())?;
    rules.check_for_machines().map_err(|error| error.to_string())?;
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_durations() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "nan", "inf", "", "1s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parses_lists_of_counts() {
        assert_eq!(counts("1, 8,64"), Ok(vec![1, 8, 64]));
        for wrong in ["", "1,,2", "0", "1,x", "99999999999"] {
            assert!(counts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parses_numbers_of_turns() {
        assert_eq!(plies("50..75"), Ok(50..75));
        for wrong in ["", "50", "75..50", "5..5", "-1..5", "a..b", "1..2..3"] {
            assert!(plies(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parses_boards() {
        assert_eq!(size("9").unwrap(), size("9x9").unwrap());
        assert_eq!(size("7x5").unwrap().height(), 5);
        for wrong in ["", "0", "20", "9x", "9x20", "axb"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
