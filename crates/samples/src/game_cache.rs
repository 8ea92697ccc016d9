//! The cache of the window's unpacked games: in memory-mapped scratch files, or in memory if there is no disk.
//!
//! A scratch file holds the games of one shard. It is unlinked before its first byte is written: no other process can
//! reach or change it, an earlier process leaves no files behind, and its space is freed however the process ends. The
//! cache is rebuilt from the shards at the next start.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// The number of bytes per write. A page fault maps all pages that the system keeps together, and it keeps together
/// what was written together: with large writes, reading one position would fill megabytes of memory.
const WRITTEN_AT_ONCE: usize = 16 << 10;

/// Where unpacked games are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GameCache {
    /// In memory.
    Memory,
    /// In unlinked files in this folder, which is created if missing.
    Folder(PathBuf),
    /// Like `Folder`, for a folder inside a store's. If the store's folder is unavailable, it is not created; the files
    /// then go to the system's temporary folder.
    Inside(PathBuf),
}

/// Runs the write of a scratch file: once, or with retries while the disk is full.
pub(crate) type Attempts<'a> = &'a dyn Fn(&mut dyn FnMut() -> std::io::Result<Mmap>) -> std::io::Result<Mmap>;

/// The unpacked games of one shard.
pub(crate) enum Block {
    /// In memory.
    Memory(Box<[u8]>),
    /// In a scratch file.
    Mapped(Mmap),
}

/// A scratch file could not be created.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot keep {bytes} bytes of unpacked games in a scratch file in {folder}: {reason}; free some space there, set \
     `samples.cache` to a folder on another disk, or set it to \"memory\" (the window is then limited to \
     `samples.cache_bytes`)"
)]
pub struct CacheError {
    /// The folder of the scratch file.
    pub folder: String,
    /// Size of the shard's unpacked games in bytes.
    pub bytes: usize,
    /// The error of the underlying system.
    pub reason: std::io::Error,
}

impl GameCache {
    /// Stores the unpacked games of a shard.
    ///
    /// # Errors
    /// [`CacheError`] if the disk is still full at the last attempt, or the folder cannot be used.
    pub(crate) fn keep(&self, bytes: Vec<u8>, attempts: Attempts<'_>) -> Result<Block, CacheError> {
        match self {
            // An empty file cannot be mapped.
            GameCache::Folder(folder) | GameCache::Inside(folder) if !bytes.is_empty() => {
                match attempts(&mut || self.scratch_file(folder).and_then(|file| map(file, &bytes))) {
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

    /// Creates an unlinked file.
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
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Block::Memory(bytes) => bytes,
            Block::Mapped(map) => map,
        }
    }

    /// Releases the memory of mapped pages. The bytes stay in the file and are paged back in on access.
    #[allow(unsafe_code)]
    pub(crate) fn release(&self) {
        if let Block::Mapped(map) = self {
            // SAFETY: DONTNEED discards private changes; this mapping is read-only and backed by a file, so the same
            // bytes are read again. If the system refuses, the pages simply stay.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

/// Writes the bytes to an unlinked file and maps it.
#[allow(unsafe_code)]
fn map(mut file: File, bytes: &[u8]) -> std::io::Result<Mmap> {
    reserve(&file, bytes.len() as u64)?;
    for piece in bytes.chunks(WRITTEN_AT_ONCE) {
        file.write_all(piece)?;
    }
    // SAFETY: the file is unlinked and this handle is the only one; it is never written or truncated again.
    let map = unsafe { MmapOptions::new().map(&file)? };
    // Positions are drawn at random, so read-ahead would only fill memory. If the system refuses the advice, everything
    // still works.
    let _ = map.advise(Advice::Random);
    Ok(map)
}

/// Allocates the disk space up front, so that a full disk is an error here rather than a fault when a page is accessed.
fn reserve(file: &File, bytes: u64) -> std::io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // Some file systems do not support this; there, a full disk shows up as a write error.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: Attempts<'static> = &|write| write();

    #[test]
    fn a_scratch_file_can_be_written_in_several_attempts() {
        let folder = tempfile::tempdir().unwrap();
        let cache = GameCache::Folder(folder.path().to_owned());
        let block = cache.keep(vec![7; 9], &|write| write().and_then(|_| write())).unwrap();
        assert_eq!(block.bytes(), [7; 9]);
        let full = cache.keep(vec![7; 9], &|_| Err(ErrorKind::StorageFull.into()));
        assert_eq!(full.err().unwrap().reason.kind(), ErrorKind::StorageFull);
    }

    #[test]
    fn released_bytes_are_unchanged_and_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("made/when/needed");
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let block = GameCache::Folder(scratch.clone()).keep(bytes.clone(), ONCE).unwrap();
        assert!(matches!(block, Block::Mapped(_)));
        assert_eq!(block.bytes(), bytes);
        block.release();
        assert_eq!(block.bytes(), bytes);
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
        std::fs::remove_dir_all(folder.path().join("made")).unwrap();
        block.release();
        assert_eq!(block.bytes(), bytes, "the bytes survive the removal of the folder");
        let empty = GameCache::Folder(scratch).keep(Vec::new(), ONCE).unwrap();
        assert!(empty.bytes().is_empty());
    }

    #[test]
    fn the_folder_of_an_unavailable_store_is_not_created() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let cache = GameCache::Inside(store.join("cache"));
        assert_eq!(cache.keep(vec![7; 9], ONCE).unwrap().bytes(), [7; 9]);
        assert!(!store.exists());
        std::fs::create_dir(&store).unwrap();
        assert_eq!(cache.keep(vec![7; 9], ONCE).unwrap().bytes(), [7; 9]);
        assert!(store.join("cache").is_dir());
    }

    #[test]
    fn errors_name_the_unusable_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"in the way").unwrap();
        let error = GameCache::Folder(file.clone())
            .keep(vec![1], ONCE)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains(file.to_str().unwrap()) && error.contains("samples.cache"),
            "{error}"
        );
    }
}
