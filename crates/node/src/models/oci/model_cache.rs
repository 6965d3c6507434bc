//! Models on disk, by digest.
//!
//! Several agents may share the directory. A file appears by rename, so it is complete; its users hold a shared lock on it;
//! eviction removes the least recently used file that is not locked. A file is hashed again when it is used, and a damaged
//! one counts as missing.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use vmafx_oci::Digest;

use super::ArtifactError;
use crate::scratch::{Scratch, ScratchError, ScratchFile};

#[derive(Clone, Debug)]
pub(super) struct ModelCache {
    directory: PathBuf,
    limit: u64,
}

/// A cached file that is in use.
#[derive(Debug)]
pub(crate) struct CachedModel {
    path: PathBuf,
    _lock: File,
}

impl CachedModel {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl ModelCache {
    pub(super) fn open(scratch: &Scratch, limit: u64) -> Result<Self, ScratchError> {
        Ok(Self { directory: scratch.shared("models")?, limit })
    }

    pub(super) async fn find(&self, digest: &Digest) -> Result<Option<CachedModel>, ArtifactError> {
        let (cache, digest) = (self.clone(), digest.clone());
        blocking(move || cache.find_blocking(&digest)).await
    }

    /// Adds a file that has this digest, and evicts others.
    pub(super) async fn insert(
        &self,
        file: ScratchFile,
        digest: &Digest,
    ) -> Result<CachedModel, ArtifactError> {
        let (cache, digest) = (self.clone(), digest.clone());
        blocking(move || {
            fs::rename(file.path(), cache.path(&digest))?;
            let cached = cache.find_blocking(&digest)?;
            cache.evict()?;
            cached.ok_or_else(|| io::Error::other("the model was removed"))
        })
        .await
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.directory.join(format!("sha256-{}.json", digest.hex()))
    }

    fn find_blocking(&self, digest: &Digest) -> io::Result<Option<CachedModel>> {
        let path = self.path(digest);
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        file.lock_shared()?;
        if file.metadata()?.nlink() == 0 {
            return Ok(None); // evicted before the lock
        }
        let mut hash = Sha256::new();
        io::copy(&mut file.by_ref(), &mut hash_writer(&mut hash))?;
        if Digest::from_hash(&hash.finalize()) != *digest {
            tracing::warn!(path = %path.display(), "a cached model is damaged; pulling it again");
            fs::remove_file(&path)?;
            return Ok(None);
        }
        // Eviction goes by the time of the last use.
        let _ = file.set_modified(SystemTime::now());
        Ok(Some(CachedModel { path, _lock: file }))
    }

    fn evict(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if let Ok(about) = entry.metadata().and_then(|about| Ok((about.modified()?, about.len()))) {
                files.push((about.0, about.1, entry.path()));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in files {
            if total <= self.limit {
                break;
            }
            let unused = File::open(&path).is_ok_and(|file| {
                // Removed under the lock, so that no job starts to use it meanwhile.
                file.try_lock().is_ok() && fs::remove_file(&path).is_ok()
            });
            total -= if unused { length } else { 0 };
        }
        Ok(())
    }
}

fn hash_writer(hash: &mut Sha256) -> impl io::Write + '_ {
    struct Into<'a>(&'a mut Sha256);
    impl io::Write for Into<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    Into(hash)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ArtifactError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(ArtifactError::Cache)
}
