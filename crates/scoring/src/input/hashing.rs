//! A file that is hashed while it is read.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::activity::ReadActivity;
use super::digest;
use super::digest_table::DigestTable;

/// While hashing, reads end at multiples of this: small enough that the bytes are still in the CPU cache when they are
/// hashed, and a power of two, because BLAKE3 uses its vectors only for whole branches of its tree.
const BLOCK_BYTES: usize = 128 * 1024;

/// Reads a file and, if asked to, hashes it. The digest covers every byte in order, so a seek to another position abandons
/// it.
#[derive(Debug)]
pub(super) struct HashingReader {
    file: File,
    hash: Option<RunningHash>,
    activity: ReadActivity,
}

#[derive(Debug)]
struct RunningHash {
    path: PathBuf,
    digests: DigestTable,
    hasher: Box<blake3::Hasher>,
}

impl RunningHash {
    /// Bytes to the end of the current block.
    fn bytes_left_in_block(&self) -> usize {
        let begun = self.hasher.count() % BLOCK_BYTES as u64;
        BLOCK_BYTES - usize::try_from(begun).unwrap_or(0)
    }
}

impl HashingReader {
    pub(super) fn without_hash(file: File, activity: ReadActivity) -> Self {
        Self { file, hash: None, activity }
    }

    /// The file must be at its start. Its digest is inserted into the table when its end is read.
    pub(super) fn hashing(file: File, path: PathBuf, digests: DigestTable, activity: ReadActivity) -> Self {
        Self { file, hash: Some(RunningHash { path, digests, hasher: Box::default() }), activity }
    }

    /// Whether every byte so far was hashed.
    pub(super) fn is_hashing(&self) -> bool {
        self.hash.is_some()
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room =
            self.hash.as_ref().map_or(buffer.len(), |hash| buffer.len().min(hash.bytes_left_in_block()));
        let read = self.file.read(&mut buffer[..room])?;
        self.activity.add_bytes(read);
        let Some(hash) = &mut self.hash else { return Ok(read) };
        hash.hasher.update(&buffer[..read]);
        if read == 0 && room > 0 {
            hash.digests.insert(&hash.path, digest::text(&hash.hasher));
            self.hash = None;
        }
        Ok(read)
    }
}

impl Seek for HashingReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to != SeekFrom::Current(0) {
            self.hash = None;
        }
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn hashing(path: &Path) -> (HashingReader, DigestTable) {
        let digests = DigestTable::default();
        let file = File::open(path).unwrap();
        let reader = HashingReader::hashing(file, path.to_owned(), digests.clone(), ReadActivity::default());
        (reader, digests)
    }

    #[test]
    fn the_digest_is_there_when_the_end_was_seen_and_not_before() {
        let bytes: Vec<u8> = (0..=250).cycle().take(3 * BLOCK_BYTES + 77).collect();
        let file = file(&bytes);
        let (mut reader, digests) = hashing(file.path());
        let mut read = vec![0; bytes.len()];
        reader.read_exact(&mut read).unwrap();
        assert_eq!((digests.get(file.path()), reader.read(&mut []).unwrap()), (None, 0));
        assert_eq!(digests.get(file.path()), None, "an empty buffer is not the end");
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        assert_eq!(digests.get(file.path()), Some(digest::digest(file.path()).unwrap()));
        assert_eq!(read, bytes);
    }

    #[test]
    fn asking_for_the_position_keeps_the_digest() {
        let file = file(b"abcdef");
        let (mut reader, digests) = hashing(file.path());
        reader.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(reader.stream_position().unwrap(), 3);
        reader.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(digests.get(file.path()), Some(digest::digest(file.path()).unwrap()));
    }

    #[test]
    fn a_seek_abandons_the_digest() {
        let file = file(b"abcdef");
        for to in [SeekFrom::Start(0), SeekFrom::Current(2), SeekFrom::End(0)] {
            let (mut reader, digests) = hashing(file.path());
            reader.seek(to).unwrap();
            assert!(!reader.is_hashing());
            reader.read_to_end(&mut Vec::new()).unwrap();
            assert_eq!(digests.get(file.path()), None);
        }
    }
}
