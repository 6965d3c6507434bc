//! Digests of files, gathered from whoever comes to read a file from its first byte to its last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Digests by path. Clones are the same book.
///
/// A file is read twice only where it must be: a source that goes through all of it hashes on the way, as long as the
/// bytes are in the cache, and enters the digest here at the end.
#[derive(Clone, Debug, Default)]
pub struct DigestBook {
    /// Without a digest while somebody is at it.
    entries: Arc<Mutex<BTreeMap<PathBuf, Option<String>>>>,
}

impl DigestBook {
    /// Whether the caller is the one to hash this file: the first who asks.
    pub(super) fn claim(&self, path: &Path) -> bool {
        let mut entries = self.lock();
        let vacant = !entries.contains_key(path);
        if vacant {
            entries.insert(path.to_owned(), None);
        }
        vacant
    }

    /// Enters a digest.
    pub fn enter(&self, path: &Path, digest: String) {
        self.lock().insert(path.to_owned(), Some(digest));
    }

    /// The digest of a file, if it is known.
    pub fn get(&self, path: &Path) -> Option<String> {
        self.lock().get(path).cloned().flatten()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Option<String>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_hashed_by_the_first_who_asks() {
        let (book, path) = (DigestBook::default(), Path::new("a.yuv"));
        assert!(book.claim(path) && !book.claim(path));
        assert_eq!(book.get(path), None);
        book.clone().enter(path, "blake3:00".to_owned());
        assert_eq!(book.get(path).as_deref(), Some("blake3:00"));
        assert!(!book.claim(path));
    }
}
