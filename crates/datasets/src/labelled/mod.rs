//! Positions with known answers, read from files: what a model can be held against.

mod sgf;
mod tables;

use std::ops::Range;
use std::path::{Path, PathBuf};

use tengen_records::LabelledPosition;

/// The labelled positions of a file or folder.
#[derive(Clone, Debug, Default)]
pub struct LabelledPositions {
    /// In file order.
    pub positions: Vec<LabelledPosition>,
    /// Positions that were left out because superko bans moves there for reasons that the file does not tell.
    pub without_history: usize,
    /// Games that [`read_results`] left out because they were not played out.
    pub without_result: usize,
}

/// Why labelled positions cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct LabelledError {
    path: PathBuf,
    reason: String,
}

/// Reads labelled positions from a Parquet file of `tengen data export --what positions` or `tengen data solve`, from
/// the folder of such a dataset, or from an SGF file.
///
/// In SGF, a node on the main line is labelled by the properties of the standard, FF 4: `V` is the score after komi,
/// positive for Black; `GB`, `GW`, and `DM` say that Black or White wins or that neither does; and moves in the node's
/// children that are marked with `TE` are the right ones.
///
/// A row of a solved dataset is replayed under Tromp-Taylor rules. It gives two positions: one with the komi at which
/// the side to move just wins, where only the best moves are right, and one with the komi at which it just loses, where
/// no move is.
///
/// # Errors
/// [`LabelledError`] says what was expected if a file cannot be read, is of another kind, or has no labels.
pub fn read_labelled(path: &Path) -> Result<LabelledPositions, LabelledError> {
    let mut found = LabelledPositions::default();
    let files = files(path)?;
    for file in &files {
        read_file(file, &mut found).map_err(|reason| LabelledError {
            path: file.clone(),
            reason,
        })?;
    }
    if found.positions.is_empty() {
        return Err(LabelledError {
            path: path.to_owned(),
            reason: match found.without_history {
                0 => "no labelled position; expected rows of `tengen data export` or `tengen data solve`, or an SGF \
                      file with V, GB, GW, DM or TE"
                    .to_owned(),
                left_out => format!("all {left_out} positions depend on history that the file does not tell"),
            },
        });
    }
    Ok(found)
}

/// Labels positions of the games of an SGF file, those before which so many turns were taken, with the score after komi
/// to which the final position of their game counts under Tromp-Taylor rules. Games that two passes do not end, and
/// those whose file states another winner, were not played out and are left out. If the file states another score of
/// the same winner, only the result counts.
///
/// # Errors
/// [`LabelledError`] says what was expected if the file cannot be read, is of another kind, or has no such position.
pub fn read_results(file: &Path, plies: &Range<usize>) -> Result<LabelledPositions, LabelledError> {
    let failed = |reason: String| LabelledError {
        path: file.to_owned(),
        reason,
    };
    if file
        .extension()
        .is_none_or(|extension| !extension.eq_ignore_ascii_case("sgf"))
    {
        return Err(failed("results are read from SGF files".to_owned()));
    }
    let mut found = LabelledPositions::default();
    sgf::read_results(file, plies, &mut found).map_err(failed)?;
    match (found.positions.is_empty(), found.without_result) {
        (false, _) => Ok(found),
        (true, 0) => Err(failed(format!(
            "no game has a position after {} to {} turns",
            plies.start,
            plies.end - 1
        ))),
        (true, games) => Err(failed(format!(
            "no position in games that were played out; {games} were not"
        ))),
    }
}

/// The file itself, or the parts of a dataset in the order of their names, of all splits together.
fn files(path: &Path) -> Result<Vec<PathBuf>, LabelledError> {
    let failed = |error: std::io::Error| LabelledError {
        path: path.to_owned(),
        reason: format!("cannot be read: {error}"),
    };
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    // `data export --out DIR` writes to DIR/v1/data or, with --split, to the other folders.
    let parts_in = |folder: &Path| -> Vec<PathBuf> {
        let parts = ["data", "train", "validation", "test"].map(|part| folder.join(part));
        parts.into_iter().filter(|part| part.is_dir()).collect()
    };
    let mut folders = parts_in(&path.join("v1"));
    if folders.is_empty() {
        folders = parts_in(path);
    }
    if folders.is_empty() {
        folders.push(path.to_owned());
    }
    let mut files = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if kind(&file).is_some() {
                files.push(file);
            }
        }
    }
    files.sort();
    Ok(files)
}

type ReadFile = fn(&Path, &mut LabelledPositions) -> Result<(), String>;

/// How a file is read, by its name.
fn kind(file: &Path) -> Option<ReadFile> {
    match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "parquet" => Some(tables::read),
        "sgf" => Some(sgf::read),
        _ => None,
    }
}

fn read_file(file: &Path, found: &mut LabelledPositions) -> Result<(), String> {
    let read = kind(file).ok_or("expected a Parquet or SGF file, or the folder of a dataset")?;
    read(file, found)
}

/// The policy that gives each of these moves the same share; `None` if there are none.
fn shared_among(moves: &[usize], count: usize) -> Option<Vec<f32>> {
    let share = 1.0 / moves.len() as f32;
    let mut policy = vec![0.0; count];
    moves.iter().for_each(|&index| policy[index] = share);
    (!moves.is_empty()).then_some(policy)
}
