//! A file that is hashed while it is read.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::book::DigestBook;
use super::digest;

/// Reads end at multiples of this while hashing: small enough that the bytes are still in the cache when they are hashed,
/// and a power of two, because BLAKE3 fills its vectors only with whole branches of its tree.
const PIECE: usize = 128 * 1024;

/// Reads a file and, if asked to, hashes it. The digest is of every byte in order, so it comes to be only if the file is
/// read from the first byte to the last: whoever moves to another place gives it up.
#[derive(Debug)]
pub(super) struct HashingReader {
    file: File,
    hash: Option<Hash>,
}

/// A digest that is coming to be.
#[derive(Debug)]
struct Hash {
    path: PathBuf,
    book: DigestBook,
    hasher: Box<blake3::Hasher>,
}

impl Hash {
    /// Bytes to the end of the piece that is begun.
    fn rest(&self) -> usize {
        let begun = self.hasher.count() % PIECE as u64;
        PIECE - usize::try_from(begun).unwrap_or(0)
    }
}

impl HashingReader {
    /// Reads the file and nothing else.
    pub(super) fn plain(file: File) -> Self {
        Self { file, hash: None }
    }

    /// Reads a file that was just opened, and enters its digest into the book at its end.
    pub(super) fn hashing(file: File, path: PathBuf, book: DigestBook) -> Self {
        Self { file, hash: Some(Hash { path, book, hasher: Box::default() }) }
    }

    /// Whether the digest can still come to be.
    pub(super) fn is_hashing(&self) -> bool {
        self.hash.is_some()
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(hash) = &mut self.hash else { return self.file.read(buffer) };
        let room = buffer.len().min(hash.rest());
        let read = self.file.read(&mut buffer[..room])?;
        hash.hasher.update(&buffer[..read]);
        if read == 0 && room > 0 {
            hash.book.enter(&hash.path, digest::text(&hash.hasher));
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

    fn hashing(path: &Path) -> (HashingReader, DigestBook) {
        let book = DigestBook::default();
        (HashingReader::hashing(File::open(path).unwrap(), path.to_owned(), book.clone()), book)
    }

    #[test]
    fn the_digest_is_there_when_the_end_was_seen_and_not_before() {
        let bytes: Vec<u8> = (0..=250).cycle().take(3 * PIECE + 77).collect();
        let file = file(&bytes);
        let (mut reader, book) = hashing(file.path());
        let mut read = vec![0; bytes.len()];
        reader.read_exact(&mut read).unwrap();
        assert_eq!((book.get(file.path()), reader.read(&mut []).unwrap()), (None, 0));
        assert_eq!(book.get(file.path()), None, "an empty buffer is no end");
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        assert_eq!(book.get(file.path()), Some(digest::digest(file.path()).unwrap()));
        assert_eq!(read, bytes);
    }

    #[test]
    fn asking_for_the_place_is_no_move() {
        let file = file(b"abcdef");
        let (mut reader, book) = hashing(file.path());
        reader.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(reader.stream_position().unwrap(), 3);
        reader.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(book.get(file.path()), Some(digest::digest(file.path()).unwrap()));
    }

    #[test]
    fn whoever_moves_gives_the_digest_up() {
        let file = file(b"abcdef");
        for to in [SeekFrom::Start(0), SeekFrom::Current(2), SeekFrom::End(0)] {
            let (mut reader, book) = hashing(file.path());
            reader.seek(to).unwrap();
            assert!(!reader.is_hashing());
            reader.read_to_end(&mut Vec::new()).unwrap();
            assert_eq!(book.get(file.path()), None);
        }
    }
}
