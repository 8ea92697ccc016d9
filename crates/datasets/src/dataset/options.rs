//! What to export, in which format, and what the options must not contradict.

use serde::Serialize;

use super::error::DatasetError;
use super::filter::{DatasetFilter, SplitShares};
use super::writer::FileFormat;

/// What a row of a dataset represents.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// One game.
    Games,
    /// One position of a game, before its turn.
    Positions,
}

/// What to export and how.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// What a row represents.
    pub what: What,
    /// The file format.
    pub format: FileFormat,
    /// Which games and positions to take.
    pub filter: DatasetFilter,
    /// Take only this many games or positions, drawn uniformly.
    pub count: Option<u64>,
    /// Shares of a split by game; `None` for no split.
    pub split: Option<SplitShares>,
    /// Whether to leave out positions that are mirror images of an earlier one.
    pub distinct: bool,
    /// Maximum rows per part; `None` uses the default of the format.
    pub rows_per_part: Option<u64>,
}

/// Rejects options that contradict each other.
pub(crate) fn check_options(options: &ExportOptions) -> Result<(), DatasetError> {
    let refuse = |reason: &str| Err(DatasetError::Options(reason.to_owned()));
    match (options.what, options.format) {
        (What::Positions, FileFormat::Sgf) => {
            return refuse("SGF holds whole games: use parquet, arrow, or npz for positions, or export games");
        }
        (What::Games, _) if options.distinct => {
            return refuse("only positions can be deduplicated by mirror image; games are kept as they are");
        }
        (What::Games, _) if options.filter.full_search_only => {
            return refuse(
                "only positions can be selected by their search; a game has turns with full and with reduced search",
            );
        }
        (What::Games, _) if options.filter.positions.is_set() => {
            return refuse(
                "plies, phase, surprise, and the number per game select positions; games are kept as they are",
            );
        }
        _ => {}
    }
    let fraction = options.filter.fraction;
    if !(fraction > 0.0 && fraction <= 1.0) {
        return refuse("the fraction must be greater than 0 and at most 1");
    }
    if let Some(SplitShares {
        train,
        validation,
        test,
    }) = options.split
    {
        let shares = [train, validation, test];
        let sum: f64 = shares.iter().sum();
        if shares.iter().any(|share| !(0.0..=1.0).contains(share)) || (sum - 1.0).abs() > 1e-9 {
            return refuse("the shares of train, validation and test must each be between 0 and 1 and must sum to 1");
        }
    }
    Ok(())
}
