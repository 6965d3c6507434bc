//! Digests of files, collected from every source that reads a file from its first byte to its last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Digests by path. Clones share their entries.
///
/// A source that reads all of a file hashes the bytes while they are in the CPU cache and inserts the digest here at the
/// end, so that only files that no source reads completely are read a second time.
#[derive(Clone, Debug, Default)]
pub struct DigestTable {
    /// `None` while a source computes the digest.
    entries: Arc<Mutex<BTreeMap<PathBuf, Option<String>>>>,
}

impl DigestTable {
    /// Whether the caller is to hash this file: true for the first call per path.
    pub(super) fn claim(&self, path: &Path) -> bool {
        let mut entries = self.lock();
        let vacant = !entries.contains_key(path);
        if vacant {
            entries.insert(path.to_owned(), None);
        }
        vacant
    }

    pub fn insert(&self, path: &Path, digest: String) {
        self.lock().insert(path.to_owned(), Some(digest));
    }

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
    fn a_file_is_hashed_by_the_first_caller_only() {
        let (table, path) = (DigestTable::default(), Path::new("a.yuv"));
        assert!(table.claim(path) && !table.claim(path));
        assert_eq!(table.get(path), None);
        table.clone().insert(path, "blake3:00".to_owned());
        assert_eq!(table.get(path).as_deref(), Some("blake3:00"));
        assert!(!table.claim(path));
    }
}
