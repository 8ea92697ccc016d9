//! The README of a dataset: everything needed to use it without this program.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::column::{Field, Shape};
use super::manifest::DatasetManifest;
use super::options::{ExportOptions, What};
use super::shared::claims;
use super::writer::FileFormat;

/// A heading and the text below it.
pub(crate) type Section = (&'static str, String);

pub(crate) fn readme(manifest: &DatasetManifest, fields: &[Field], sections: &[Section]) -> String {
    let mut text = data_card(manifest);
    let _ = write!(text, "# {}\n\n{}\n", title(manifest), summary(manifest));
    if manifest.format != FileFormat::Sgf {
        let _ = write!(text, "\n## Reading\n\n{}\n", reading(manifest));
        let _ = write!(text, "\n## Columns\n\n{}", columns(manifest.format, fields));
    }
    for (heading, body) in sections {
        let _ = write!(text, "\n## {heading}\n\n{}\n", body.trim());
    }
    let _ = write!(text, "\n## What was taken\n\n{}", taken(manifest));
    let _ = write!(text, "\n## Checking\n\n{CHECKING}");
    text
}

/// The metadata by which Hugging Face's hub and libraries know a dataset: its title, tags, size, and the files of each
/// split. Their names for splits are the names of the folders, and `train` without a split. It names no license,
/// because only whoever publishes the games can.
fn data_card(manifest: &DatasetManifest) -> String {
    let mut text = format!(
        "---\npretty_name: \"{}\"\ntags:\n- go\n- baduk\n- weiqi\n- board-games\nsize_categories:\n- {}\n",
        title(manifest),
        size_category(manifest.rows)
    );
    // The hub reads neither NumPy archives nor SGF.
    if matches!(manifest.format, FileFormat::Parquet | FileFormat::Arrow) {
        text.push_str("configs:\n- config_name: default\n  data_files:\n");
        let folders: BTreeSet<&str> = manifest
            .files
            .iter()
            .filter_map(|file| file.path.split('/').next())
            .collect();
        // In the order in which they are used.
        for (folder, split) in [
            ("data", "train"),
            ("train", "train"),
            ("validation", "validation"),
            ("test", "test"),
        ] {
            if folders.contains(folder) {
                let format = manifest.format.name();
                let _ = writeln!(text, "  - split: {split}\n    path: {folder}/*.{format}");
            }
        }
    }
    text.push_str("---\n\n");
    text
}

/// The hub's word for a number of rows.
fn size_category(rows: u64) -> &'static str {
    match rows {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        10_000_000..100_000_000 => "10M<n<100M",
        100_000_000..1_000_000_000 => "100M<n<1B",
        _ => "n>1B",
    }
}

const CHECKING: &str =
    "`MANIFEST.json` lists every file with its size, SHA-256 and number of rows, and the shards that the games
come from. It appeared together with the files once all of them were complete; nothing here ever changes:

```sh
python3 -c \"
import hashlib, json
for f in json.load(open('MANIFEST.json'))['files']:
    assert hashlib.sha256(open(f['path'], 'rb').read()).hexdigest() == f['sha256'], f['path']\"
```
";

fn title(manifest: &DatasetManifest) -> &'static str {
    match manifest.content.as_str() {
        "games" => "Go games with strict labels",
        "solved_positions" => "Solved Go positions: exact values and best moves",
        _ => "Go positions with strict labels",
    }
}

fn summary(manifest: &DatasetManifest) -> String {
    let DatasetManifest {
        rows,
        games,
        bytes,
        files,
        ..
    } = manifest;
    let per_row = *bytes as f64 / *rows as f64;
    let of_games = if *games > 0 && manifest.content != "games" {
        format!(" of {games} games")
    } else {
        String::new()
    };
    format!(
        "{rows} {}{of_games} in {} {} files, {bytes} bytes ({per_row:.1} per row). Written by {}.",
        manifest.content.replace('_', " "),
        files.len(),
        manifest.format.name(),
        manifest.made_by
    )
}

/// Explains how to open the files to readers who do not know the format.
fn reading(manifest: &DatasetManifest) -> String {
    let first = manifest.files.first().map_or("", |file| file.path.as_str());
    let glob = match first.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/part-*"),
        None => "part-*".to_owned(),
    };
    match manifest.format {
        FileFormat::Npz => format!(
            "```python\nimport numpy as np\ndata = np.load(\"{first}\")          # contains no pickles\nboard = \
             data[\"board\" if \"board\" in data else \"final_board\"]   # [N, height, width]\n```\n\nThere is one \
             folder per board size, because all rows of an array have the same shape. `N` is the number of rows in \
             the file. Columns of points are `[N, height, width]`, and columns of moves are `[N, height * width + \
             1]`. Columns of variable length hold the items of all rows in sequence; row `i` is \
             `x[x_offsets[i]:x_offsets[i + 1]]`. A nullable column holds 0 (empty text, False) for null, and \
             `<name>_known` `[N]` says which rows have a value."
        ),
        FileFormat::Arrow => format!(
            "```python\nimport glob, numpy as np, pyarrow as pa\nfiles = [pa.ipc.open_file(pa.memory_map(name)) for \
             name in sorted(glob.glob(\"{glob}.arrow\"))]\ndata = pa.concat_tables([file.read_all() for file in \
             files])            # mapped, not read\nrow = data.slice(0, 1).to_pylist()[0]\nboard = \
             np.reshape(row[\"board\" if \"board\" in row else \"final_board\"], (row[\"height\"], \
             row[\"width\"]))\n```\n\nLists are flat, one per row, with the length given in the table."
        ),
        _ => format!(
            "```python\nimport glob, pandas as pd, numpy as np\ndata = \
             pd.read_parquet(sorted(glob.glob(\"{glob}.parquet\")))\nrow = data.iloc[0]\nboard = \
             np.reshape(row[\"board\" if \"board\" in data else \"final_board\"], (row.height, \
             row.width))\n```\n\n```sql\n-- DuckDB; polars: pl.read_parquet(\"{glob}.parquet\")\nSELECT width, \
             height, count(*) FROM '{glob}.parquet' GROUP BY ALL;\n```\n\nLists are flat, one per row, with the \
             length given in the table."
        ),
    }
}

fn columns(format: FileFormat, fields: &[Field]) -> String {
    let mut text = String::from(
        "A point's index is `row * width + column`, counted from 0 at the top left (row-major order); `height * \
         width` is a pass. Wherever a color is a number, Black is 1 and White is -1; the \"mover\" is the side to \
         move.\n\n| column | type | items per row | unit, range, viewpoint | meaning |\n|---|---|---|---|---|\n",
    );
    for field in fields {
        let shape = match (format, field.shape) {
            (FileFormat::Npz, Shape::Points) => "[height, width]",
            _ => field.shape_text(),
        };
        let mut kind = field.type_text();
        if format == FileFormat::Npz {
            kind = kind
                .trim_start_matches("list of ")
                .replace("string", "text (U)")
                .replace(" (ms, UTC)", " [ms]");
        }
        let null = field
            .absent
            .map_or_else(String::new, |when| format!(" Null when {when}."));
        let _ = writeln!(
            text,
            "| `{}` | {kind} | {shape} | {} | {}{null} |",
            field.name, field.unit, field.meaning
        );
    }
    text
}

fn taken(manifest: &DatasetManifest) -> String {
    let mut text = String::new();
    let pairs = [&manifest.selection, &manifest.counts];
    for (key, value) in pairs.into_iter().filter_map(|pairs| pairs.as_object()).flatten() {
        if !value.is_null() {
            let _ = writeln!(text, "- {}: `{value}`", key.replace('_', " "));
        }
    }
    text
}

/// The sections specific to an export: how labels were made, sampled, split and deduplicated.
pub(crate) fn export_sections(options: &ExportOptions) -> Vec<Section> {
    let mut sections = vec![("How the labels were made", LABELS.to_owned())];
    if options.format == FileFormat::Sgf {
        sections.push(("SGF", SGF.to_owned()));
    }
    if !claims(&options.filter.games).is_empty() {
        let body = if options.format == FileFormat::Sgf {
            CLAIMED_SGF
        } else {
            CLAIMED
        };
        sections.push(("Claims of imported games", body.to_owned()));
    }
    if options.what == What::Positions && !claims(&options.filter.games).is_empty() {
        sections.push(("Expected owners", EXPECTED.to_owned()));
    }
    if options.filter.fraction < 1.0 || options.count.is_some() {
        sections.push(("Sampling", sampling(options)));
    }
    if let Some(shares) = options.split {
        let body = format!(
            "By game: all rows of a game are in one split. {} With u = the first 8 bytes, \
             big-endian, of SHA-256(\"split\" LF seed LF game_id), divided by 2^64 (seed {}; LF is the \
             byte 10; numbers in decimal): `train` if u < {}, else `validation` if u < {}, else `test`.",
            same_positions(options),
            options.filter.seed,
            shares.train,
            shares.train + shares.validation
        );
        sections.push(("Split", body));
    }
    if options.distinct {
        sections.push(("Mirror images", MIRRORS.to_owned()));
    }
    sections
}

/// Whether the splits share positions.
fn same_positions(options: &ExportOptions) -> &'static str {
    match (options.what, options.distinct) {
        (What::Games, _) => "Different games may still share positions, most of all at their start.",
        (What::Positions, false) => {
            "Different games share positions, most of all at their start, so many positions of one split are also in \
             another, as they are or as mirror images: export with `--distinct` to have each in one split only."
        }
        (What::Positions, true) => "No position of one split is in another, not even as a mirror image.",
    }
}

fn sampling(options: &ExportOptions) -> String {
    let (row, id) = match options.what {
        What::Games => ("game", "game_id"),
        What::Positions => ("position", "game_id LF ply"),
    };
    let mut text = String::new();
    let hash = |purpose: &str| {
        format!(
            "the first 8 bytes, big-endian, of SHA-256(\"{purpose}\" LF seed LF {id}), divided by 2^64 (seed {}; LF \
             is the byte 10; numbers in decimal)",
            options.filter.seed
        )
    };
    if options.filter.fraction < 1.0 {
        let fraction = options.filter.fraction;
        let _ = writeln!(text, "A {row} was taken when {} is below {fraction}.", hash("sample"));
    }
    if let Some(count) = options.count {
        let _ = writeln!(
            text,
            "The {count} {row}s (or all, if fewer) for which {} is smallest were taken.",
            hash("choose")
        );
    }
    text
}

const LABELS: &str = "\
Before a game was included, it was replayed turn by turn under its rules with its whole history: games with an illegal
turn, and games whose stated score or owners differ from the count on the final board, are not here.

- Boards, legal moves, points banned by superko and scores come from that replay, not from a network.
- Scores are strict. Under area scoring, after two consecutive passes, all stones on the board and the empty points that
  reach only one color are counted; no stones are removed as dead. Under territory scoring, prisoners and surrounded
  points are counted, and positions do not say how many prisoners there are.
- A game that reached its length limit, or stops before two passes, is unfinished: it has no outcome, score or owners.
  A resigned or forfeited game has an outcome but no score and no owners.
- Values, expected scores and policies come from the search that chose the move, with the model of that time. They are
  estimates, from the mover's view; outcome, score and owners are facts, from Black's view.
- Policies are stored without their smallest probabilities: as many as together have at most `selfplay.policy_cut` of
  the run's configuration (usually 0.005) are dropped, and the others are scaled to sum to 1. So the move that was
  played, which may be chosen at random, can have probability 0.
";

const EXPECTED: &str = "\
`expected_ownership` is an estimate by the teacher of a labelled game: the mean of what it expects in the position and
those that it searched after it, in percent, 100 for Black's and -100 for White's. It is null for other positions, and
if the teacher did not say. `ownership` is always the count of the final position, the same at every ply of a game.
";

const SGF: &str = "\
Collections in SGF FF[4], UTF-8, with the games in store order. For tools that read one game per file, export with one
row per part. The comments of searched turns give value, expected margin and visits from the mover's view.
";

const CLAIMED: &str = "\
Imported games carry the claims of their files next to what was counted. `claimed_result`, `claimed_komi`,
`claimed_rules`, `claimed_handicap`, `played_on`, `event` and the ranks are copied from the files unchecked; `komi`,
`rules`, `score` and `outcome` are those of the replay, and `claim_check` compares the two results. A score is used
only if two passes end the game. Otherwise the players agreed on dead stones, which strict rules do not know, and the
game is `unfinished`. `source_file` and `source_game` say where a game was read; all these columns are null for other
games.
";

const CLAIMED_SGF: &str = "\
RE of an imported game is the result under the rules, or the resignation or forfeit stated by its file, never a score
that only the file claims. The file's claims about result, komi, rules and handicap are in GC, with the name of the
file, the number of the game in it, and how the claimed result compares (`agrees`, `other_margin`, `other_winner`,
`no_claim`, `resignation`, `forfeit`, `unfinished`, `no_count`). DT, BR, WR and EV are copied from the file.
";

const MIRRORS: &str = "\
Two positions count as equal if they share board size, rules, komi, side to move, the number of consecutive passes,
whether a pass is legal and, up to one of the board's symmetries (8 for a square, 4 for a rectangle), the stones of
both colors and the points banned by the ko rule. Of equal positions, the first one that passes the filters is kept,
in store order: by generation, shard name, game, ply; across all splits. It is written as it was played, not mirrored.
Keys are the first 16 bytes of a SHA-256, so the chance of a false match among a billion positions is below 1 in
10^20. Positions that differ only in bans that a longer history would cause later count as equal.
";
