//! Which files hold games, and what is in them? Plain files, folders, and archives, told by their first bytes.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

/// Ends of names that are looked at in folders.
const ENDINGS: [&str; 6] = [".sgf", ".gz", ".tgz", ".tar", ".zip", ".mgt"];

/// The largest file, or content of an archive, that is read: more is taken for a trap.
const MOST_BYTES: u64 = 2 << 30;

/// Bytes of a block of a tar archive. The last ones of a whole archive are empty.
const TAR_BLOCK: usize = 512;

/// A file of games, or one out of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SgfSource {
    /// The file; inside an archive `archive.zip/name.sgf`.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A file or folder that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct SourceError {
    /// The file or folder.
    pub path: PathBuf,
    /// What was expected and found.
    pub problem: String,
}

/// The files that paths name: a file is itself, a folder all files of games and archives below it, ordered by name.
///
/// # Errors
/// [`SourceError`] for a path that does not exist or cannot be listed, and for a folder without any such file.
pub fn find_sources(paths: &[PathBuf]) -> Result<Vec<PathBuf>, SourceError> {
    let mut files = Vec::new();
    for path in paths {
        let found = std::fs::metadata(path).map_err(|error| source_error(path, error))?;
        if !found.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        search_folder(path, &mut files)?;
        if files.len() == before {
            let problem = format!(
                "expected files that end in {}, found none in this folder",
                ENDINGS.join(" ")
            );
            return Err(source_error(path, problem));
        }
    }
    Ok(files)
}

fn source_error(path: &Path, problem: impl ToString) -> SourceError {
    SourceError {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}

/// Adds the files of a folder and those below it. Links to folders are not followed, so no circle is walked.
fn search_folder(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), SourceError> {
    let mut open = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| source_error(&folder, error))? {
            let entry = entry.map_err(|error| source_error(&folder, error))?;
            let kind = entry.file_type().map_err(|error| source_error(&entry.path(), error))?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if has_ending(&entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    files.extend(found);
    Ok(())
}

fn has_ending(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Reads a file, or every file of games in an archive (`.zip`, `.tar`, and both packed by gzip or not, and single files
/// packed by gzip). An archive is read whole before anything is given back, so of a truncated one nothing is used.
///
/// # Errors
/// [`SourceError`] when the file cannot be read or unpacked, is larger than 2 GiB, or is an archive without games.
pub fn read_source(path: &Path) -> Result<Vec<SgfSource>, SourceError> {
    let file = std::fs::File::open(path).map_err(|error| source_error(path, error))?;
    let bytes = read_limited(file).map_err(|problem| source_error(path, problem))?;
    let name = path.display().to_string();
    let archive = |kind: &str, problem: String| {
        source_error(path, format!("{kind} cannot be unpacked, is it cut short? {problem}"))
    };
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        let sources = unzip(&name, bytes).map_err(|problem| archive("this zip archive", problem))?;
        return some_games(path, sources);
    }
    if !bytes.starts_with(b"\x1f\x8b") {
        return unpacked(path, name, bytes);
    }
    let plain = read_limited(flate2::read::MultiGzDecoder::new(bytes.as_slice()))
        .map_err(|problem| archive("this gzip file", problem))?;
    unpacked(path, name, plain)
}

/// A tar archive's files, or the file itself.
fn unpacked(path: &Path, name: String, bytes: Vec<u8>) -> Result<Vec<SgfSource>, SourceError> {
    if bytes.get(257..262) != Some(b"ustar") {
        return Ok(vec![SgfSource { name, bytes }]);
    }
    let sources = untar(&name, &bytes);
    let sources = sources.map_err(|problem| {
        source_error(
            path,
            format!("this tar archive cannot be unpacked, is it cut short? {problem}"),
        )
    })?;
    some_games(path, sources)
}

fn some_games(path: &Path, sources: Vec<SgfSource>) -> Result<Vec<SgfSource>, SourceError> {
    match sources.is_empty() {
        true => Err(source_error(
            path,
            "expected files that end in .sgf in this archive, found none",
        )),
        false => Ok(sources),
    }
}

fn read_limited(reader: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut reader = reader.take(MOST_BYTES + 1);
    reader.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err("expected at most 2 GiB: divide the file".to_owned()),
        false => Ok(bytes),
    }
}

/// Whether a name inside an archive is one of a file of games.
fn is_game_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(".sgf") || name.ends_with(".mgt")
}

fn unzip(archive: &str, bytes: Vec<u8>) -> Result<Vec<SgfSource>, String> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let mut sources = Sources::new(archive);
    for index in 0..zip.len() {
        let file = zip.by_index(index).map_err(|error| error.to_string())?;
        let name = file.name().map_err(|error| error.to_string())?.into_owned();
        if file.is_file() {
            sources.add(&name, file)?;
        }
    }
    Ok(sources.found)
}

fn untar(archive: &str, bytes: &[u8]) -> Result<Vec<SgfSource>, String> {
    let last_block = &bytes[bytes.len().saturating_sub(TAR_BLOCK)..];
    if last_block.iter().any(|&byte| byte != 0) {
        return Err("it does not end with the empty block that ends a whole archive".to_owned());
    }
    let mut tar = tar::Archive::new(bytes);
    let mut sources = Sources::new(archive);
    for entry in tar.entries().map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let size = entry.size();
        if entry.header().entry_type().is_file() {
            let read = sources.add(&name, entry)?;
            if read.is_some_and(|read| read < size) {
                return Err(format!("{name} ends too soon"));
            }
        }
    }
    Ok(sources.found)
}

/// Files of games out of one archive, within the limit together.
struct Sources<'a> {
    archive: &'a str,
    found: Vec<SgfSource>,
    left: u64,
}

impl<'a> Sources<'a> {
    fn new(archive: &'a str) -> Sources<'a> {
        Sources {
            archive,
            found: Vec::new(),
            left: MOST_BYTES,
        }
    }

    /// Takes a file of games; the number of bytes read, none for another file.
    fn add(&mut self, name: &str, reader: impl Read) -> Result<Option<u64>, String> {
        if !is_game_file(name) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let read = reader.take(self.left + 1).read_to_end(&mut bytes);
        let read = read.map_err(|error| format!("{name}: {error}"))? as u64;
        if read > self.left {
            return Err("expected at most 2 GiB of games in one archive: divide it".to_owned());
        }
        self.left -= read;
        let name = format!("{}/{name}", self.archive);
        self.found.push(SgfSource { name, bytes });
        Ok(Some(read))
    }
}
