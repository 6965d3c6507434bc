//! Models on disk, by digest.
//!
//! The directory may be shared by several agents. A file appears by rename, complete; whoever uses it holds a shared
//! lock on it; whoever makes room removes the least recently used file that nobody has locked. What is read back is
//! hashed again: a damaged file is a missing one.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use vmafx_oci::Digest;

use super::ArtifactError;
use crate::scratch::{Scratch, ScratchError, ScratchFile};

/// The directory.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    directory: PathBuf,
    limit: u64,
}

/// A file that is in use.
#[derive(Debug)]
pub(crate) struct Pin {
    path: PathBuf,
    _lock: File,
}

impl Pin {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Cache {
    pub(super) fn open(scratch: &Scratch, limit: u64) -> Result<Self, ScratchError> {
        Ok(Self { directory: scratch.shared("models")?, limit })
    }

    /// The model with this digest, if it is here.
    pub(super) async fn find(&self, digest: &Digest) -> Result<Option<Pin>, ArtifactError> {
        let (cache, digest) = (self.clone(), digest.clone());
        blocking(move || cache.look(&digest)).await
    }

    /// Keeps a file that has this digest, and makes room.
    pub(super) async fn keep(&self, file: ScratchFile, digest: &Digest) -> Result<Pin, ArtifactError> {
        let (cache, digest) = (self.clone(), digest.clone());
        blocking(move || {
            fs::rename(file.path(), cache.path(&digest))?;
            let pin = cache.look(&digest)?.ok_or_else(|| io::Error::other("the model is gone"))?;
            cache.make_room()?;
            Ok(pin)
        })
        .await
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.directory.join(format!("sha256-{}.json", digest.hex()))
    }

    fn look(&self, digest: &Digest) -> io::Result<Option<Pin>> {
        let path = self.path(digest);
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        file.lock_shared()?;
        if file.metadata()?.nlink() == 0 {
            return Ok(None); // cleared away between the two
        }
        let mut hash = Sha256::new();
        io::copy(&mut file.by_ref(), &mut hash_writer(&mut hash))?;
        if Digest::from_hash(&hash.finalize()) != *digest {
            tracing::warn!(path = %path.display(), "a model on disk is damaged: fetching it again");
            fs::remove_file(&path)?;
            return Ok(None);
        }
        // The time of the last use, for whoever makes room.
        let _ = file.set_modified(SystemTime::now());
        Ok(Some(Pin { path, _lock: file }))
    }

    fn make_room(&self) -> io::Result<()> {
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
                // Removed under the lock, so that nobody can begin to use it in between.
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
