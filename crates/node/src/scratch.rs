//! The one directory that this process writes to, and the limit on its size.
//!
//! ```text
//! VMAFX_SCRATCH_DIR/
//!   .lock               held while a process creates its directory or removes those of dead ones
//!   agent-0/            private directory of one process, 0700
//!     .lock             held as long as the process lives
//!     objects/…         downloads
//!     jobs/…            private directories of jobs
//! ```
//!
//! Files that a drop does not remove because the process was killed are removed at the next start: a directory whose lock
//! is free has no owner any more. The kernel (`flock`) releases a lock when its process exits, however that happens;
//! nothing depends on process ids or times. Several agents may share a directory: the lock of a live one is never free,
//! and creating and removing directories exclude each other.
//!
//! **Space** is reserved before it is used: a download's declared length at once, an undeclared one in steps. A reservation
//! that does not fit waits for other jobs, in order of arrival, but not for long (`VMAFX_SCRATCH_WAIT`): two jobs that each
//! hold one input and wait for the space of the other would wait forever. The one that gives up fails with `ScratchFull`,
//! and is tried again later or on another node. A job whose clips exceed the whole space fails for good. The limit is that of one process; the free space of the file system is checked besides.

mod agent_directory;
mod byte_size;
mod files;
mod quota;
mod room;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use vmafx_kit::config::GoDuration;

use agent_directory::AgentDirectory;
pub use byte_size::{ByteSize, ByteSizeError};
pub use files::JobDirectory;
pub(crate) use files::ScratchFile;
use quota::ScratchQuota;
pub use quota::{Reservation, ScratchFull};

const DEFAULT_DIRECTORY: &str = "/tmp/vmafx";

#[derive(Debug, thiserror::Error)]
#[error("{} cannot be used (VMAFX_SCRATCH_DIR)", path.display())]
pub struct ScratchError {
    /// The scratch directory, or a path below it.
    pub path: PathBuf,
    #[source]
    pub source: std::io::Error,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ScratchSettings {
    /// Directory for downloads and for the private directories of jobs [default: /tmp/vmafx]
    #[arg(long, env = "VMAFX_SCRATCH_DIR", value_name = "DIR")]
    pub scratch_dir: Option<PathBuf>,
    /// Maximum size of all downloads together, such as 50Gi
    #[arg(long, env = "VMAFX_SCRATCH_BYTES", default_value = "50Gi")]
    pub scratch_bytes: ByteSize,
    /// How long a download waits for space that other jobs hold
    #[arg(long, env = "VMAFX_SCRATCH_WAIT", default_value = "1m")]
    pub scratch_wait: GoDuration,
}

impl ScratchSettings {
    pub(crate) fn directory(&self) -> &Path {
        self.scratch_dir.as_deref().unwrap_or(Path::new(DEFAULT_DIRECTORY))
    }
}

/// What a reservation does when other jobs hold the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReserveMode {
    /// Waits for `VMAFX_SCRATCH_WAIT`.
    Wait,
    /// Fails at once.
    Try,
}

/// Clones share one directory; the last that is dropped removes it.
#[derive(Clone, Debug)]
pub struct Scratch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: AgentDirectory,
    quota: ScratchQuota,
    wait: Duration,
    next: AtomicU64,
}

impl Scratch {
    /// Removes the directories of dead processes, and creates that of this one. Blocks; called once, at the start.
    pub fn open(settings: &ScratchSettings) -> Result<Self, ScratchError> {
        let directory = AgentDirectory::open(settings.directory())?;
        let quota = ScratchQuota::new(settings.scratch_bytes.0, directory.path().to_owned());
        Ok(Self(Arc::new(Inner { directory, quota, wait: settings.scratch_wait.0, next: AtomicU64::new(0) })))
    }

    /// A private directory for one job; it is removed when the value is dropped.
    pub fn job_directory(&self) -> Result<JobDirectory, ScratchError> {
        JobDirectory::create(self.clone(), self.0.directory.jobs().join(self.number()))
    }

    /// Reserves space; waits if other jobs hold it.
    pub async fn reserve(&self, bytes: u64) -> Result<Reservation, ScratchFull> {
        self.0.quota.reserve(bytes, 0, self.0.wait).await
    }

    /// Reserves space in addition to `held` bytes.
    pub(crate) async fn reserve_more(
        &self,
        bytes: u64,
        held: u64,
        mode: ReserveMode,
    ) -> Result<Reservation, ScratchFull> {
        let wait = if mode == ReserveMode::Wait { self.0.wait } else { Duration::ZERO };
        self.0.quota.reserve(bytes, held, wait).await
    }

    /// The space that a job has if it is alone.
    pub(crate) fn capacity(&self) -> u64 {
        self.0.quota.capacity()
    }

    /// The space that a file of this length reserves.
    pub(crate) fn occupied(length: u64) -> u64 {
        quota::occupied(length)
    }

    /// A new file without reserved space.
    pub(crate) fn file(&self) -> Result<ScratchFile, ScratchError> {
        ScratchFile::create(self.clone(), self.0.directory.objects().join(self.number()))
    }

    /// A directory that outlives this process and is shared with others.
    pub(crate) fn shared(&self, name: &str) -> Result<PathBuf, ScratchError> {
        self.0.directory.shared(name)
    }

    /// The private directory of this process.
    pub fn path(&self) -> &Path {
        self.0.directory.path()
    }

    /// Bytes that are reserved.
    pub fn reserved(&self) -> u64 {
        self.0.quota.reserved()
    }

    fn number(&self) -> String {
        self.0.next.fetch_add(1, Ordering::Relaxed).to_string()
    }
}
