//! Writes rows into the numbered parts of a dataset.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use tengen_rules::Size;

use super::arrow_file::ArrowFile;
use super::column::Field;
use super::draft::{Draft, sync_folder};
use super::error::{DatasetError, cannot_write};
use super::filter::Split;
use super::journal::{CompletePart, Journal, Place};
use super::npz_file::write_npz;
use super::parquet_file::ParquetFile;
use super::table::{Table, Values};

/// A row group is written when its rows take this much memory.
const ROW_GROUP_BYTES: usize = 16 << 20;
/// Default number of rows in a Parquet part.
const PARQUET_ROWS: u64 = 1 << 20;
/// Default number of rows in an Arrow part, which takes several times the space of a Parquet part.
const ARROW_ROWS: u64 = 1 << 18;
/// Default number of rows in a part of NumPy arrays, which is in memory as a whole.
const NPZ_ROWS: u64 = 1 << 15;
/// Default number of games in an SGF collection.
const SGF_GAMES: u64 = 1000;

/// Folder of the parts of a dataset that is not split. Nothing else is in it, so that readers can open it as a whole.
const WHOLE: &str = "data";

/// The file format of a dataset.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// Parquet, supported by pandas, polars, DuckDB, Spark and others.
    Parquet,
    /// Arrow IPC files (Feather), uncompressed, which readers map into memory.
    Arrow,
    /// Compressed NumPy archives with arrays of one board size each.
    Npz,
    /// SGF collections for Go programs; games only.
    Sgf,
}

impl FileFormat {
    /// The name of the format, which is also the file extension.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Parquet => "parquet",
            FileFormat::Arrow => "arrow",
            FileFormat::Npz => "npz",
            FileFormat::Sgf => "sgf",
        }
    }

    fn rows_per_part(self) -> u64 {
        match self {
            FileFormat::Parquet => PARQUET_ROWS,
            FileFormat::Arrow => ARROW_ROWS,
            FileFormat::Npz => NPZ_ROWS,
            FileFormat::Sgf => SGF_GAMES,
        }
    }
}

/// One file of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetFile {
    /// Path inside the dataset.
    pub path: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// SHA-256 as 64 hexadecimal digits.
    pub sha256: String,
    /// Number of rows in the file.
    pub rows: u64,
    /// The split it belongs to, if the dataset was split.
    pub split: Option<Split>,
    /// Board size of its rows, in formats that separate sizes.
    pub size: Option<String>,
}

/// Identifies the parts that a row belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartKey {
    pub(crate) split: Option<Split>,
    pub(crate) size: Size,
}

/// Writes rows into parts, in a draft of the dataset.
pub(crate) struct DatasetWriter {
    draft: Draft,
    format: FileFormat,
    content: &'static str,
    fields: Vec<Field>,
    rows_per_part: u64,
    parts: BTreeMap<PartKey, Parts>,
    /// The complete parts, if the dataset can go on after a stop.
    journal: Option<Journal>,
    /// The parts that an earlier start completed, and the last game in those of each split and size.
    earlier: Vec<CompletePart>,
    done: BTreeMap<Slot, Place>,
}

impl DatasetWriter {
    /// Starts a dataset, or goes on with one that was started with the same `plan`; without one, it always starts anew.
    /// `content` says what a row represents; `rows_per_part` = `None` uses the default of the format.
    pub(crate) fn begin(
        folder: &Path,
        format: FileFormat,
        content: &'static str,
        fields: Vec<Field>,
        rows_per_part: Option<u64>,
        plan: Option<&str>,
    ) -> Result<DatasetWriter, DatasetError> {
        let draft = Draft::begin(folder, |draft| plan.is_some_and(|plan| Journal::matches(draft, plan)))?;
        let opened = plan.map(|plan| Journal::open(&draft.path(), plan)).transpose()?;
        let (journal, earlier) = opened.unzip();
        let earlier = earlier.unwrap_or_default();
        let done = earlier.iter().map(|part| (slot_of(part), part.last)).collect();
        Ok(DatasetWriter {
            draft,
            format,
            content,
            fields,
            rows_per_part: rows_per_part.unwrap_or(format.rows_per_part()).max(1),
            parts: BTreeMap::new(),
            journal,
            earlier,
            done,
        })
    }

    /// Parts that an earlier start completed.
    pub(crate) fn resumed_parts(&self) -> usize {
        self.earlier.len()
    }

    /// Whether the rows of a game are in a part that an earlier start completed.
    pub(crate) fn has(&self, key: PartKey, place: Place) -> bool {
        let done = self.done.get(&(key.split, self.size_of(key)));
        done.is_some_and(|last| place <= *last)
    }

    /// The board size of a row's parts, if the format separates sizes: Parquet, Arrow and SGF allow boards of any size
    /// in one file.
    fn size_of(&self, key: PartKey) -> Option<Size> {
        (self.format == FileFormat::Npz).then_some(key.size)
    }

    /// The folder of the draft.
    pub(crate) fn folder(&self) -> PathBuf {
        self.draft.path()
    }

    pub(crate) fn format(&self) -> FileFormat {
        self.format
    }

    /// What a row represents.
    pub(crate) fn content(&self) -> &'static str {
        self.content
    }

    /// Whether the remains of an interrupted dataset were removed.
    pub(crate) fn cleaned(&self) -> bool {
        self.draft.cleaned
    }

    /// Adds the rows selected by `keep` of the game at a place. A part closes at the end of the first game at
    /// which it has enough rows.
    pub(crate) fn append(
        &mut self,
        (key, place): (PartKey, Place),
        table: &Table,
        keep: impl Fn(usize) -> bool,
    ) -> Result<(), DatasetError> {
        let size = self.size_of(key);
        let slot = PartKey {
            size: size.unwrap_or(Size::square(1).expect("1x1 is a valid board")),
            ..key
        };
        let root = self.draft.path();
        let earlier = self.earlier.iter().filter(|part| slot_of(part) == (key.split, size));
        let parts = self.parts.entry(slot).or_insert_with(|| Parts {
            root,
            format: self.format,
            content: self.content,
            fields: self.fields.clone(),
            split: key.split,
            size,
            rows_per_part: self.rows_per_part,
            table: Table::new(&self.fields),
            open: None,
            open_rows: 0,
            files: earlier.map(|part| part.file.clone()).collect(),
            last: place,
        });
        parts.table.append(table, keep);
        parts.last = place;
        let closed = parts.flush(false, self.journal.as_mut());
        self.draft.keep = self.journal.as_ref().is_some_and(|journal| journal.has_parts);
        closed
    }

    /// Closes every part and returns the draft with all files, sorted by split, size and number.
    pub(crate) fn finish(mut self) -> Result<(Draft, Vec<DatasetFile>), DatasetError> {
        for parts in self.parts.values_mut() {
            parts.flush(true, self.journal.as_mut())?;
        }
        let mut files: BTreeMap<Slot, Vec<DatasetFile>> = BTreeMap::new();
        for part in self.earlier {
            files.entry(slot_of(&part)).or_default().push(part.file);
        }
        for parts in self.parts.into_values() {
            // They begin with those of the earlier start.
            files.insert((parts.split, parts.size), parts.files);
        }
        if let Some(journal) = self.journal {
            journal.remove()?;
            self.draft.keep = false;
        }
        Ok((self.draft, files.into_values().flatten().collect()))
    }
}

/// A split and, in formats that separate them, a board size: what has parts of its own.
type Slot = (Option<Split>, Option<Size>);

fn slot_of(part: &CompletePart) -> Slot {
    (part.split, part.size.as_deref().and_then(|size| size.parse().ok()))
}

/// A part that is written group by group.
enum OpenFile {
    Parquet(ParquetFile),
    Arrow(ArrowFile),
}

impl OpenFile {
    fn create(format: FileFormat, path: &Path, fields: &[Field], content: &str) -> Result<OpenFile, DatasetError> {
        match format {
            FileFormat::Arrow => ArrowFile::create(path, fields, content).map(OpenFile::Arrow),
            _ => ParquetFile::create(path, fields, content).map(OpenFile::Parquet),
        }
    }

    fn write(&mut self, table: &Table) -> Result<(), DatasetError> {
        match self {
            OpenFile::Parquet(file) => file.write(table),
            OpenFile::Arrow(file) => file.write(table),
        }
    }

    fn close(self) -> Result<(), DatasetError> {
        match self {
            OpenFile::Parquet(file) => file.close(),
            OpenFile::Arrow(file) => file.close(),
        }
    }
}

/// The parts of one split and size.
struct Parts {
    root: PathBuf,
    format: FileFormat,
    content: &'static str,
    fields: Vec<Field>,
    split: Option<Split>,
    size: Option<Size>,
    rows_per_part: u64,
    /// Rows not written yet.
    table: Table,
    open: Option<OpenFile>,
    /// Number of rows written to the open file.
    open_rows: u64,
    files: Vec<DatasetFile>,
    /// The last game added.
    last: Place,
}

impl Parts {
    /// Writes all complete row groups and parts, or everything at the end.
    fn flush(&mut self, end: bool, journal: Option<&mut Journal>) -> Result<(), DatasetError> {
        let rows = self.open_rows + self.table.rows as u64;
        let full = rows >= self.rows_per_part || (end && rows > 0);
        let in_groups = matches!(self.format, FileFormat::Parquet | FileFormat::Arrow);
        if in_groups && self.table.rows > 0 && (full || self.table.bytes() >= ROW_GROUP_BYTES) {
            self.write_row_group()?;
        }
        if !full {
            return Ok(());
        }
        let file = self.close_part(rows)?;
        if let Some(journal) = journal {
            journal.add(&CompletePart {
                split: self.split,
                size: file.size.clone(),
                last: self.last,
                file,
            })?;
        }
        Ok(())
    }

    fn write_row_group(&mut self) -> Result<(), DatasetError> {
        let path = self.root.join(self.next_path()?);
        if self.open.is_none() {
            self.open = Some(OpenFile::create(self.format, &path, &self.fields, self.content)?);
        }
        if let Some(file) = &mut self.open {
            file.write(&self.table)?;
        }
        self.open_rows += self.table.rows as u64;
        self.table = Table::new(&self.fields);
        Ok(())
    }

    fn close_part(&mut self, rows: u64) -> Result<DatasetFile, DatasetError> {
        let name = self.next_path()?;
        let path = self.root.join(&name);
        match (self.format, self.size) {
            (FileFormat::Parquet | FileFormat::Arrow, _) => self.open.take().map_or(Ok(()), OpenFile::close)?,
            (FileFormat::Npz, Some(size)) => write_npz(&path, &self.table, size)?,
            (FileFormat::Npz, None) => unreachable!("NumPy parts have a board size"),
            (FileFormat::Sgf, _) => write_texts(&path, &self.table)?,
        }
        let (bytes, sha256) = file_hash(&path)?;
        let file = DatasetFile {
            path: name,
            bytes,
            sha256,
            rows,
            split: self.split,
            size: self.size.map(|size| size.to_string()),
        };
        self.files.push(file.clone());
        self.table = Table::new(&self.fields);
        self.open_rows = 0;
        Ok(file)
    }

    /// Path of the next part inside the dataset; creates its folder.
    fn next_path(&self) -> Result<String, DatasetError> {
        let mut folder = format!("{}/", self.split.map_or(WHOLE, Split::name));
        if let Some(size) = self.size {
            folder.push_str(&format!("{size}/"));
        }
        let path = self.root.join(&folder);
        fs::create_dir_all(&path).map_err(|error| cannot_write(&path, error))?;
        Ok(format!("{folder}part-{:05}.{}", self.files.len(), self.format.name()))
    }
}

/// Writes a table with a single text column.
fn write_texts(path: &Path, table: &Table) -> Result<(), DatasetError> {
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        if let Some(Values::Text(texts)) = table.columns.first().map(|cells| &cells.values) {
            for text in texts {
                file.write_all(Arc::as_ref(text).as_bytes())?;
            }
        }
        file.into_inner()?.sync_all()
    };
    write().map_err(|error| cannot_write(path, error))
}

/// Writes a small file and makes it durable.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), DatasetError> {
    let write = || -> std::io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| cannot_write(path, error))
}

/// Size and SHA-256 of a file, read once in small chunks.
pub(crate) fn file_hash(path: &Path) -> Result<(u64, String), DatasetError> {
    let hash = || -> std::io::Result<(u64, String)> {
        let mut file = File::open(path)?;
        let (mut hash, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; 1 << 18]);
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            hash.update(&piece[..read]);
        }
        Ok((
            bytes,
            hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    };
    hash().map_err(|error| cannot_write(path, error))
}

/// Syncs every folder of the parts, so that the names in them are durable.
pub(crate) fn sync_folders(root: &Path, files: &[DatasetFile]) -> Result<(), DatasetError> {
    let mut folders: Vec<PathBuf> = files
        .iter()
        .flat_map(|file| Path::new(&file.path).ancestors().skip(1))
        .map(|folder| root.join(folder))
        .collect();
    folders.sort();
    folders.dedup();
    folders.iter().try_for_each(|folder| sync_folder(folder))
}
