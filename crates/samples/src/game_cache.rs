//! Where do the unpacked games of the window lie? In scratch files mapped into memory, or in memory where there is no disk.
//!
//! A scratch file holds the games of one shard. It is unlinked before its first byte is written: nobody else can reach
//! or change it, it needs no check of what an earlier process left, and however the process ends, its space is free
//! again. At the next start the cache is made anew from the shards.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Bytes written at once. The system maps at a fault what it keeps together, and it keeps together what came together:
/// in large pieces one look at a position would fill megabytes.
const WRITTEN_AT_ONCE: usize = 16 << 10;

/// The place for unpacked games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GameCache {
    /// In memory.
    Memory,
    /// In unlinked files on the disk of this folder, which is made where it is missing.
    Folder(PathBuf),
    /// The same for a folder inside that of a store. A store's folder that is away is not made anew: the files then lie
    /// in the system's folder for temporary files.
    Inside(PathBuf),
}

/// The unpacked games of one shard.
pub(crate) enum Block {
    /// In memory.
    Memory(Box<[u8]>),
    /// In a scratch file.
    Mapped(Mmap),
}

/// Why a scratch file cannot be made.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot keep {bytes} bytes of unpacked games in a scratch file in {folder}: {reason}; free space there, or let \
     `samples.cache` name a folder on another disk, or set it to \"memory\" (the window is then cut to what \
     `samples.cache_bytes` holds)"
)]
pub struct CacheError {
    /// The folder.
    pub folder: String,
    /// Bytes of the shard's unpacked games.
    pub bytes: usize,
    /// What the system says.
    pub reason: std::io::Error,
}

impl GameCache {
    /// Keeps the unpacked games of a shard.
    ///
    /// # Errors
    /// [`CacheError`] when the disk is full or the folder cannot be used.
    pub(crate) fn keep(&self, bytes: Vec<u8>) -> Result<Block, CacheError> {
        match self {
            // A file without bytes cannot be mapped.
            GameCache::Folder(folder) | GameCache::Inside(folder) if !bytes.is_empty() => {
                match self.scratch_file(folder).and_then(|file| map(file, &bytes)) {
                    Ok(map) => Ok(Block::Mapped(map)),
                    Err(reason) => Err(CacheError {
                        folder: folder.display().to_string(),
                        bytes: bytes.len(),
                        reason,
                    }),
                }
            }
            _ => Ok(Block::Memory(bytes.into())),
        }
    }

    /// A new file without a name.
    fn scratch_file(&self, folder: &Path) -> std::io::Result<File> {
        if !matches!(self, GameCache::Inside(_)) {
            std::fs::create_dir_all(folder)?;
            return tempfile::tempfile_in(folder);
        }
        let made = match std::fs::create_dir(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        match made.and_then(|()| tempfile::tempfile_in(folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => tempfile::tempfile(),
            file => file,
        }
    }
}

impl Block {
    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Block::Memory(bytes) => bytes,
            Block::Mapped(map) => map,
        }
    }

    /// Gives the memory of mapped pages back. The bytes stay in the file and come back when they are next looked at.
    #[allow(unsafe_code)]
    pub(crate) fn release(&self) {
        if let Block::Mapped(map) = self {
            // SAFETY: DONTNEED throws away private changes; this mapping is read-only and backed by a file, so the
            // same bytes are read again. Where the system refuses, pages merely stay.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

/// Writes the bytes into a new file without a name and maps it.
#[allow(unsafe_code)]
fn map(mut file: File, bytes: &[u8]) -> std::io::Result<Mmap> {
    reserve(&file, bytes.len() as u64)?;
    for piece in bytes.chunks(WRITTEN_AT_ONCE) {
        file.write_all(piece)?;
    }
    // SAFETY: the file has no name and this handle is the only one; it is never written or cut again.
    let map = unsafe { MmapOptions::new().map(&file)? };
    // Positions are drawn from everywhere: reading ahead would only fill memory. A system without this advice reads on.
    let _ = map.advise(Advice::Random);
    Ok(map)
}

/// Takes the space before it is needed, so that a full disk is an error here and not a fault when a page is read.
fn reserve(file: &File, bytes: u64) -> std::io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // Some file systems cannot; there writing tells.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_bytes_stay_the_same_when_released_and_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("made/when/needed");
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let block = GameCache::Folder(scratch.clone()).keep(bytes.clone()).unwrap();
        assert!(matches!(block, Block::Mapped(_)));
        assert_eq!(block.bytes(), bytes);
        block.release();
        assert_eq!(block.bytes(), bytes);
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
        std::fs::remove_dir_all(folder.path().join("made")).unwrap();
        block.release();
        assert_eq!(block.bytes(), bytes, "a folder removed meanwhile takes nothing away");
        let empty = GameCache::Folder(scratch).keep(Vec::new()).unwrap();
        assert!(empty.bytes().is_empty());
    }

    #[test]
    fn the_folder_of_a_store_that_is_away_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let cache = GameCache::Inside(store.join("cache"));
        assert_eq!(cache.keep(vec![7; 9]).unwrap().bytes(), [7; 9]);
        assert!(!store.exists());
        std::fs::create_dir(&store).unwrap();
        assert_eq!(cache.keep(vec![7; 9]).unwrap().bytes(), [7; 9]);
        assert!(store.join("cache").is_dir());
    }

    #[test]
    fn a_place_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"in the way").unwrap();
        let error = GameCache::Folder(file.clone()).keep(vec![1]).err().unwrap().to_string();
        assert!(
            error.contains(file.to_str().unwrap()) && error.contains("samples.cache"),
            "{error}"
        );
    }
}
