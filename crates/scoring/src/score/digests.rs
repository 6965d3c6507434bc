//! Digests of the inputs, computed while frames are scored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use super::ScoreError;
use crate::input::{InputError, digest};

/// Digests under way.
///
/// A thread of its own and not one of the run's: a run that is cancelled does not wait for the rest of a large file.
pub(super) struct Digests {
    thread: JoinHandle<BTreeMap<PathBuf, Result<String, InputError>>>,
    first: PathBuf,
}

impl Digests {
    /// Starts with the digests of these files, each once.
    pub(super) fn start<'a>(
        first: &Path,
        others: impl Iterator<Item = &'a Path>,
    ) -> Result<Self, ScoreError> {
        let first = first.to_owned();
        let mut paths: Vec<PathBuf> = others.map(Path::to_owned).collect();
        paths.insert(0, first.clone());
        paths.sort();
        paths.dedup();
        let work = move || {
            paths
                .into_iter()
                .map(|path| {
                    let digest = digest(&path);
                    (path, digest)
                })
                .collect()
        };
        let thread = thread::Builder::new()
            .name("digest".to_owned())
            .spawn(work)
            .map_err(|source| ScoreError::Thread { path: first.clone(), source })?;
        Ok(Self { thread, first })
    }

    /// Waits for all of them.
    pub(super) fn finish(self) -> Result<BTreeMap<PathBuf, String>, ScoreError> {
        let digests = self.thread.join().map_err(|_| ScoreError::ReaderGone { path: self.first })?;
        digests.into_iter().map(|(path, digest)| Ok((path, digest?))).collect()
    }
}
