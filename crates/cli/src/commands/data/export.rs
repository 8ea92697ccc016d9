//! `tengen data export`: writes a store's games as a frozen dataset for other tools.

use std::path::PathBuf;

use serde_json::json;

use tengen_datasets::{
    Dataset, DatasetError, DatasetManifest, ExportOptions, ExportProgress, FileFormat, SplitShares, What, export,
    export_kept,
};
use tengen_store::{Create, Store};

use super::filters::Filters;
use crate::interrupt::Interrupt;
use crate::output;

/// Write games or positions as a frozen dataset: Parquet, Arrow, NumPy arrays or SGF
///
/// The dataset appears at DIR/v1 complete or not at all: part files with the rows, README.md with the shape, unit and
/// viewpoint of every column and how the labels were made (a data card for Hugging Face), and MANIFEST.json with size,
/// SHA-256 and rows of every file. Every game is replayed under its rules in the process. The same store and options
/// give the same bytes.
///
/// A complete dataset never changes. An export that was stopped or killed goes on after its complete parts when you run
/// the same command again, except with --distinct; any other export removes what it left behind.
///
/// Positions include the board, side to move, legal moves, points banned by superko, the turn taken, policy, values,
/// and how the game ended: owners, strict area score, outcome. Damaged shards are skipped and listed.
///
/// With --of imported or all, rows also include what the files of imported games claim (result, komi, rules, handicap,
/// date, event, ranks) and how the claimed result compares with the one under the rules. SGF files say the same in GC;
/// their RE never contains a count that only the file claims.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data export data/runs/demo --out data/demo-positions
  tengen data export data/runs/demo --what games --format sgf \\
      --out data/demo-sgf
  tengen data export data/runs/demo --format npz --full-search --distinct \\
      --split 0.8,0.1,0.1 --out data/demo-npz
  tengen data export data/runs/demo --per-game 1 --phase 0.2..0.7 \\
      --balanced 0.5 --out data/middle-games
  tengen data export data/imported --of imported --what games \\
      --out data/imported-games
  tengen data export data/runs/demo --generations 10..20 --komi 24.5 \\
      --fraction 0.1 --name late --json")]
pub(crate) struct Args {
    /// The store: its folder or address
    store: String,
    /// What each row is
    #[arg(long, value_enum, default_value_t = Row::Positions)]
    what: Row,
    /// The file format
    #[arg(long, value_enum, default_value_t = Format::Parquet)]
    format: Format,
    /// The dataset's folder, new or empty; the files go to DIR/v1
    #[arg(long, value_name = "DIR", required_unless_present = "name")]
    out: Option<PathBuf>,
    /// Keep the dataset in the store, as datasets/NAME
    #[arg(long, conflicts_with = "out")]
    name: Option<String>,
    /// Split by game into train, validation and test, by hash: three shares that sum to 1
    #[arg(long, value_name = "SHARES", value_parser = split)]
    split: Option<SplitShares>,
    /// Keep only the first of several symmetric positions (takes up to 39 bytes of memory per position kept)
    #[arg(long)]
    distinct: bool,
    /// Take only this many games or positions, chosen uniformly at random
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Close a part at the first game that brings it to this many rows [default: 1,048,576 for parquet, 262,144 for
    /// arrow, 32,768 for npz, 1,000 for sgf]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows_per_part: Option<u64>,
    #[command(flatten)]
    filters: Filters,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The meaning of a dataset row.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Row {
    /// One game
    Games,
    /// One position of a game, before its turn
    Positions,
}

impl Row {
    pub(super) fn what(self) -> What {
        match self {
            Row::Games => What::Games,
            Row::Positions => What::Positions,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Tables for pandas, polars, DuckDB and Spark
    Parquet,
    /// Tables that readers map into memory, several times as large
    Arrow,
    /// NumPy arrays, one folder per board size
    Npz,
    /// Game files for Go programs
    Sgf,
}

impl Format {
    pub(super) fn file_format(self) -> FileFormat {
        match self {
            Format::Parquet => FileFormat::Parquet,
            Format::Arrow => FileFormat::Arrow,
            Format::Npz => FileFormat::Npz,
            Format::Sgf => FileFormat::Sgf,
        }
    }
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let options = ExportOptions {
        what: args.what.what(),
        format: args.format.file_format(),
        filter: args.filters.filter(),
        count: args.count,
        split: args.split,
        distinct: args.distinct,
        rows_per_part: args.rows_per_part,
    };
    let dataset = with_progress(|watch| match (&args.out, &args.name) {
        (Some(folder), _) => export(&store, folder, &options, watch),
        (None, Some(name)) => export_kept(&store, name, &options, watch),
        (None, None) => Err(DatasetError::Options("use --out DIR or --name NAME".to_owned())),
    })?;
    report(&dataset, args.json)
}

/// Runs an export with a progress bar and Ctrl-C.
pub(super) fn with_progress(
    export: impl FnOnce(&mut dyn FnMut(ExportProgress) -> bool) -> Result<Dataset, DatasetError>,
) -> anyhow::Result<Dataset> {
    let interrupt = Interrupt::listen("Stopping; the dataset is not complete…")?;
    let bar = output::bar(
        0,
        "[{bar:16}] {human_pos}/{human_len} positions, {eta} left, {wide_msg}",
    );
    let mut watch = |progress: ExportProgress| {
        bar.set_length(progress.all_positions);
        bar.set_position(progress.positions);
        bar.set_message(format!("{} written", output::counted(progress.rows, "row")));
        !interrupt.requested()
    };
    let dataset = export(&mut watch);
    bar.finish_and_clear();
    dataset.or_else(|error| usage_or_failure(error, &interrupt))
}

/// Turns contradictory options into a usage error and a stop by a signal into [`Interrupt::outcome`]. Everything else
/// is a failure.
pub(super) fn usage_or_failure<T>(error: DatasetError, interrupt: &Interrupt) -> anyhow::Result<T> {
    Err(match error {
        DatasetError::Options(reason) => output::usage(reason),
        DatasetError::Stopped => {
            output::say(error.to_string());
            interrupt.outcome().err().unwrap_or_else(|| error.into())
        }
        other => other.into(),
    })
}

/// Prints what was written.
pub(super) fn report(dataset: &Dataset, as_json: bool) -> anyhow::Result<()> {
    if dataset.resumed_parts > 0 {
        let parts = output::counted(dataset.resumed_parts as u64, "part");
        output::say(format!("went on after {parts} of an interrupted export"));
    }
    if dataset.cleaned {
        output::say("removed the remains of an interrupted export");
    }
    for (shard, reason) in &dataset.damaged {
        output::say(format!("skipped {shard}: {reason}"));
    }
    let DatasetManifest {
        content,
        rows,
        games,
        bytes,
        files,
        counts,
        ..
    } = &dataset.manifest;
    let doubled = counts["doubled_games_left_out"].as_u64().unwrap_or_default();
    if doubled > 0 {
        output::say(format!(
            "skipped {} whose ids the store has twice; `tengen data verify` names the shards",
            output::counted(doubled, "game")
        ));
    }
    if as_json {
        return output::json(&json!({
            "folder": dataset.folder.display().to_string(),
            "content": content,
            "format": dataset.manifest.format,
            "rows": rows,
            "games": games,
            "bytes": bytes,
            "bytes_per_row": *bytes as f64 / *rows as f64,
            "files": files,
            "counts": counts,
            "key_bytes": dataset.key_bytes,
        }));
    }
    let per_row = *bytes as f64 / *rows as f64;
    output::result(format!(
        "{} in {}, {} bytes ({per_row:.1} per row)",
        output::counted(*rows, content.replace('_', " ").trim_end_matches('s')),
        output::counted(files.len() as u64, "file"),
        output::thousands(*bytes)
    ));
    if dataset.key_bytes > 0 {
        output::result(format!(
            "skipped {} as symmetric to another; the keys took {} bytes of memory",
            output::counted(
                counts["mirror_images_left_out"].as_u64().unwrap_or_default(),
                "position"
            ),
            output::thousands(dataset.key_bytes)
        ));
    }
    output::result(format!(
        "dataset: {}; its README.md explains every column",
        dataset.folder.display()
    ));
    Ok(())
}

/// Parses three shares such as `0.8,0.1,0.1`.
fn split(text: &str) -> Result<SplitShares, String> {
    let shares: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
    match shares.as_deref() {
        Ok(&[train, validation, test]) if (train + validation + test - 1.0).abs() < 1e-9 => Ok(SplitShares {
            train,
            validation,
            test,
        }),
        _ => Err(format!(
            "{text:?} is not three shares that sum to 1, such as 0.8,0.1,0.1"
        )),
    }
}
