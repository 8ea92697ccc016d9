//! Finds and reads files of games: plain files, folders, and archives, which are recognized by their first bytes.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

/// File name endings considered when searching folders.
const EXTENSIONS: [&str; 6] = [".sgf", ".gz", ".tgz", ".tar", ".zip", ".mgt"];

/// Maximum size of a file or of an archive's contents.
const MAX_BYTES: u64 = 2 << 30;

/// Size in bytes up to which anything may be unpacked.
const FREE_BYTES: u64 = 64 << 20;

/// Beyond [`FREE_BYTES`], maximum number of bytes unpacked for each packed byte; anything larger is taken for a
/// decompression bomb. Games compress to about a fifth, the same game over and over to a hundredth.
const MAX_RATIO: u64 = 128;

/// Maximum number of files in an archive.
const MAX_FILES: usize = 1 << 20;

/// Block size of a tar archive in bytes. A complete archive ends with empty blocks.
const TAR_BLOCK: usize = 512;

/// A file of games, possibly from an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SgfSource {
    /// The file name; inside an archive, `archive.zip/name.sgf`.
    pub name: String,
    /// The file contents.
    pub bytes: Vec<u8>,
}

/// A file or folder could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct SourceError {
    /// The file or folder.
    pub path: PathBuf,
    /// What was expected and found.
    pub problem: String,
}

/// The files that paths refer to: a file is itself, a folder all game files and archives below it, sorted by name.
///
/// # Errors
/// [`SourceError`] for a path that does not exist or cannot be listed, and for a folder without such files.
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
                "expected files ending in {}, found none in this folder",
                EXTENSIONS.join(" ")
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

/// Adds the files in a folder and its subfolders. Links to folders are not followed, which avoids cycles.
fn search_folder(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), SourceError> {
    let mut open = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| source_error(&folder, error))? {
            let entry = entry.map_err(|error| source_error(&folder, error))?;
            let kind = entry.file_type().map_err(|error| source_error(&entry.path(), error))?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if has_extension(&entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    files.extend(found);
    Ok(())
}

fn has_extension(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    EXTENSIONS.iter().any(|ending| name.ends_with(ending))
}

/// Reads a file, or every game file in an archive (`.zip`, `.tar`, `.tar` compressed with gzip, and single files
/// compressed with gzip). An archive is read completely before anything is returned, so nothing of a truncated archive
/// is used.
///
/// # Errors
/// [`SourceError`] if the file cannot be read or unpacked, is not a regular file, is an archive without games, or is
/// too large: a file or the contents of an archive may have 2 GiB, and what is unpacked 64 MiB and 128 bytes for every
/// byte of the archive.
pub fn read_source(path: &Path) -> Result<Vec<SgfSource>, SourceError> {
    let found = std::fs::metadata(path).map_err(|error| source_error(path, error))?;
    if !found.is_file() {
        // Opening a pipe would wait for somebody to write into it.
        let problem = "expected a regular file, found a pipe, a device or a socket: write its contents into a file";
        return Err(source_error(path, problem));
    }
    let file = std::fs::File::open(path).map_err(|error| source_error(path, error))?;
    let bytes = read_limited(file, MAX_BYTES).map_err(|problem| source_error(path, problem))?;
    let name = path.display().to_string();
    let archive = |kind: &str, problem: String| {
        source_error(path, format!("{kind} cannot be unpacked, is it truncated? {problem}"))
    };
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        let sources = unzip(&name, bytes).map_err(|problem| archive("this zip archive", problem))?;
        return require_games(path, sources);
    }
    if !bytes.starts_with(b"\x1f\x8b") {
        return unpacked(path, name, bytes);
    }
    let plain = read_limited(
        flate2::read::MultiGzDecoder::new(bytes.as_slice()),
        limit_unpacked(&bytes),
    )
    .map_err(|problem| archive("this gzip file", problem))?;
    unpacked(path, name, plain)
}

/// The files of a tar archive, or the file itself.
fn unpacked(path: &Path, name: String, bytes: Vec<u8>) -> Result<Vec<SgfSource>, SourceError> {
    if bytes.get(257..262) != Some(b"ustar") {
        return Ok(vec![SgfSource { name, bytes }]);
    }
    let sources = untar(&name, &bytes);
    let sources = sources.map_err(|problem| {
        source_error(
            path,
            format!("this tar archive cannot be unpacked, is it truncated? {problem}"),
        )
    })?;
    require_games(path, sources)
}

fn require_games(path: &Path, sources: Vec<SgfSource>) -> Result<Vec<SgfSource>, SourceError> {
    match sources.is_empty() {
        true => Err(source_error(
            path,
            "expected files ending in .sgf in this archive, found none",
        )),
        false => Ok(sources),
    }
}

/// Maximum number of bytes that an archive may be unpacked to.
fn limit_unpacked(packed: &[u8]) -> u64 {
    (FREE_BYTES + MAX_RATIO * packed.len() as u64).min(MAX_BYTES)
}

fn read_limited(reader: impl Read, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut reader = reader.take(limit + 1);
    reader.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 > limit {
        true => Err(too_large(limit)),
        false => Ok(bytes),
    }
}

fn too_large(limit: u64) -> String {
    format!(
        "expected at most {} MiB of games, found more: split the file",
        limit >> 20
    )
}

/// Whether a name inside an archive is that of a game file.
fn is_game_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(".sgf") || name.ends_with(".mgt")
}

fn unzip(archive: &str, bytes: Vec<u8>) -> Result<Vec<SgfSource>, String> {
    let packed = bytes.len() as u64;
    let mut sources = Sources::new(archive, limit_unpacked(&bytes));
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let mut data = 0;
    for index in 0..zip.len() {
        let file = zip.by_index(index).map_err(|error| error.to_string())?;
        data += file.compressed_size();
        if data > packed {
            return Err("expected files with data of their own, found some that share it".to_owned());
        }
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
        return Err("it does not end with the empty block of a complete archive".to_owned());
    }
    let mut tar = tar::Archive::new(bytes);
    let mut sources = Sources::new(archive, MAX_BYTES);
    for entry in tar.entries().map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let size = entry.size();
        if entry.header().entry_type().is_file() {
            let read = sources.add(&name, entry)?;
            if read.is_some_and(|read| read < size) {
                return Err(format!("{name} is truncated"));
            }
        }
    }
    Ok(sources.found)
}

/// Game files from one archive, within the combined size limit.
struct Sources<'a> {
    archive: &'a str,
    found: Vec<SgfSource>,
    limit: u64,
    left: u64,
}

impl<'a> Sources<'a> {
    fn new(archive: &'a str, limit: u64) -> Sources<'a> {
        Sources {
            archive,
            found: Vec::new(),
            limit,
            left: limit,
        }
    }

    /// Adds a file if it is a game file; returns the number of bytes read, or `None` for other files.
    fn add(&mut self, name: &str, reader: impl Read) -> Result<Option<u64>, String> {
        if !is_game_file(name) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let read = reader.take(self.left + 1).read_to_end(&mut bytes);
        let read = read.map_err(|error| format!("{name}: {error}"))? as u64;
        if read > self.left {
            return Err(too_large(self.limit));
        }
        if self.found.len() >= MAX_FILES {
            return Err(format!(
                "expected at most {MAX_FILES} files in one archive, found more: split it"
            ));
        }
        self.left -= read;
        let name = format!("{}/{name}", self.archive);
        self.found.push(SgfSource { name, bytes });
        Ok(Some(read))
    }
}
