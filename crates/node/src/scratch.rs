//! The one directory that this process writes to, and how much of it.
//!
//! ```text
//! VMAFX_SCRATCH_DIR/
//!   .lock               held while a process moves in or sweeps
//!   agent-0/            of one process, 0700
//!     .lock             held as long as the process lives
//!     objects/…         downloads
//!     jobs/…            private directories of jobs
//! ```
//!
//! Whatever a drop does not remove because the process was killed is removed at the next start: a directory whose lock
//! can be taken has no owner any more. Locks are the kernel's (`flock`), so they end with their process, however it
//! ends; nothing is derived from process ids or times. Two agents may share a directory: neither sees a free lock at
//! the other, and moving in and sweeping exclude each other.
//!
//! **Room** is reserved before it is used: a download's declared length at once, an undeclared one in steps. What does
//! not fit waits for other jobs, in order of arrival, but not for long (`VMAFX_SCRATCH_WAIT`): two jobs that each hold
//! one input and wait for room for the other would wait forever. The one that gives up fails with `ScratchFull`, which
//! may pass elsewhere. The bound is that of one process; what the file system has left is looked at besides.

mod directory;
mod home;
mod room;
mod size;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use vmafx_kit::config::GoDuration;

pub use directory::JobDirectory;
pub(crate) use directory::ScratchFile;
use home::Home;
use room::Room;
pub use room::{Full, Reservation};
pub use size::{Size, SizeError};

/// The directory of a node that was told no other.
const DEFAULT: &str = "/tmp/vmafx";

/// Why the directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be used (VMAFX_SCRATCH_DIR)", path.display())]
pub struct ScratchError {
    /// The directory, or what is in it.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: std::io::Error,
}

/// Where inputs are kept while they are in use, and how much of them.
#[derive(Clone, Debug, clap::Args)]
pub struct ScratchSettings {
    /// Directory for downloads and for the private directories of jobs [default: /tmp/vmafx]
    #[arg(long, env = "VMAFX_SCRATCH_DIR", value_name = "DIR")]
    pub scratch_dir: Option<PathBuf>,
    /// Most bytes of downloads at a time, such as 50Gi
    #[arg(long, env = "VMAFX_SCRATCH_BYTES", default_value = "50Gi")]
    pub scratch_bytes: Size,
    /// How long a download waits for room that other jobs hold
    #[arg(long, env = "VMAFX_SCRATCH_WAIT", default_value = "1m")]
    pub scratch_wait: GoDuration,
}

/// Whether somebody waits for room that others hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// For a while.
    Waits,
    /// Takes what is free or nothing.
    None,
}

/// The directory. Clones are the same one; the last that is dropped removes it.
#[derive(Clone, Debug)]
pub struct Scratch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    home: Home,
    room: Room,
    wait: Duration,
    next: AtomicU64,
}

impl Scratch {
    /// Removes what dead processes left, and moves in. Blocks; called once, at the start.
    pub fn open(settings: &ScratchSettings) -> Result<Self, ScratchError> {
        let home = Home::open(settings.scratch_dir.as_deref().unwrap_or(Path::new(DEFAULT)))?;
        let room = Room::new(settings.scratch_bytes.0, home.path().to_owned());
        Ok(Self(Arc::new(Inner { home, room, wait: settings.scratch_wait.0, next: AtomicU64::new(0) })))
    }

    /// A private directory for one job; it is removed when the value is dropped.
    pub fn job_directory(&self) -> Result<JobDirectory, ScratchError> {
        JobDirectory::create(self.clone(), self.0.home.jobs().join(self.number()))
    }

    /// Sets room aside; waits a while if others hold it.
    pub async fn reserve(&self, bytes: u64) -> Result<Reservation, Full> {
        self.0.room.reserve(bytes, 0, self.0.wait).await
    }

    /// The same for somebody who holds some already, or only what is free at once.
    pub(crate) async fn reserve_more(
        &self,
        bytes: u64,
        held: u64,
        patience: Patience,
    ) -> Result<Reservation, Full> {
        let wait = if patience == Patience::Waits { self.0.wait } else { Duration::ZERO };
        self.0.room.reserve(bytes, held, wait).await
    }

    /// A new file with no room yet.
    pub(crate) fn file(&self) -> Result<ScratchFile, ScratchError> {
        ScratchFile::create(self.clone(), self.0.home.objects().join(self.number()))
    }

    /// A directory that outlives this process and may be used by others beside it.
    pub(crate) fn shared(&self, name: &str) -> Result<PathBuf, ScratchError> {
        self.0.home.shared(name)
    }

    /// Where this process's part is.
    pub fn path(&self) -> &Path {
        self.0.home.path()
    }

    /// Bytes that are set aside.
    pub fn reserved(&self) -> u64 {
        self.0.room.reserved()
    }

    fn number(&self) -> String {
        self.0.next.fetch_add(1, Ordering::Relaxed).to_string()
    }
}
