//! Room on the volume of the store.
//!
//! A file beside the database holds space in reserve. When the volume is full, whatever makes the store grow is refused:
//! submissions, labels, and claims, which begin new work. The end of an attempt, a cancellation and the sweep release the
//! reserve when they find no room, so that a score that exists is not lost. Once there is room for the reserve again, it is
//! held again and everything is accepted as before.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;
use rustix::fs::{FallocateFlags, fallocate, statvfs};

use super::path::beside;
use crate::StoreError;

/// Time between two looks for room.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Below this a store that holds its reserve stays full until something new was stored.
const MIN_FREE: u64 = 1 << 20;

/// Of the file that holds the space.
const SUFFIX: &str = ".reserve";

const REMEDY: &str = "free space on its volume (VMAFX_DB_PATH) or enlarge it, or lower VMAFX_RETENTION_JOBS; the \
                      controller goes on by itself";

/// What an operation does to the size of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// Changes only the state in memory.
    Memory,
    /// Begins something new, and can be refused.
    New,
    /// Ends or continues something, and may use the reserve.
    Essential,
}

/// What to do about an operation that found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FullDecision {
    /// Release the reserve and run the operation again.
    UseReserve,
    Refuse,
}

const fn decide(growth: Growth, holds_reserve: bool) -> FullDecision {
    match (growth, holds_reserve) {
        (Growth::Essential, true) => FullDecision::UseReserve,
        (Growth::Essential, false) | (Growth::New | Growth::Memory, _) => FullDecision::Refuse,
    }
}

/// Whether the reserve can be held again: hysteresis keeps it from being released at once.
const fn has_room(free: u64, reserve: u64) -> bool {
    free >= reserve.saturating_add(reserve / 2)
}

pub(super) fn full() -> StoreError {
    StoreError::Full { remedy: REMEDY }
}

/// Whether SQLite found no room. The index of the write-ahead log is a file of its own.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || error
            .sqlite_error()
            .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

/// Size of the volume that has this file.
pub fn volume_bytes(path: &Path) -> Option<u64> {
    let volume = statvfs(path).ok()?;
    Some(volume.f_blocks.saturating_mul(volume.f_frsize))
}

/// Bytes that are free on the volume of a file.
pub(super) fn free_bytes(path: &Path) -> Option<u64> {
    let volume = statvfs(path.parent().unwrap_or(path)).ok()?;
    Some(volume.f_bavail.saturating_mul(volume.f_frsize))
}

/// Gives the reserve of a store back that cannot be opened for lack of space. Returns whether there was one.
pub(super) fn release(database: &Path) -> bool {
    fs::remove_file(beside(database, SUFFIX)).is_ok()
}

/// The reserve of the writer thread.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    bytes: u64,
    is_held: bool,
    checked_at: Option<Instant>,
    /// Shared with the callers' side.
    is_full: Arc<AtomicBool>,
}

impl Reserve {
    /// Holds `bytes` beside the database if there is room. Without a reserve, everything is tried.
    pub(super) fn hold(database: &Path, bytes: u64) -> Self {
        let is_full = Arc::new(AtomicBool::new(false));
        let path = beside(database, SUFFIX);
        let mut reserve = Self { path, bytes, is_held: false, checked_at: None, is_full };
        reserve.is_held = bytes == 0 || fs::metadata(&reserve.path).is_ok_and(|file| file.len() == bytes);
        if !reserve.is_held {
            reserve.is_held = reserve.allocate().is_ok();
            reserve.set_full(!reserve.is_held);
        }
        reserve
    }

    pub(super) fn is_full(&self) -> Arc<AtomicBool> {
        self.is_full.clone()
    }

    /// While the reserve is released, only what ends or continues something is accepted.
    pub(super) fn accepts_new(&self) -> bool {
        self.is_held
    }

    /// Looks for room now and then while the store is full. `shorten_log` is called if the write-ahead log may be what takes the
    /// room of the reserve.
    pub(super) fn look_for_room(&mut self, shorten_log: impl FnOnce()) {
        if !self.is_full.load(Ordering::Relaxed)
            || self.checked_at.is_some_and(|at| at.elapsed() < CHECK_INTERVAL)
        {
            return;
        }
        self.checked_at = Some(Instant::now());
        let free = || free_bytes(&self.path).unwrap_or(0);
        if self.is_held {
            return self.set_full(free() < MIN_FREE);
        }
        if !has_room(free(), self.bytes) {
            shorten_log();
        }
        if has_room(free(), self.bytes) && self.allocate().is_ok() {
            tracing::info!("the volume of the store has room again");
            self.is_held = true;
            self.set_full(false);
        }
    }

    /// Records that an operation found no room. Returns whether it should run again, with the space of the reserve.
    pub(super) fn no_room(&mut self, growth: Growth) -> bool {
        self.set_full(true);
        let decision = decide(growth, self.is_held && self.bytes > 0);
        if decision == FullDecision::Refuse {
            return false;
        }
        self.is_held = false;
        let released = fs::remove_file(&self.path);
        tracing::warn!(bytes = self.bytes, ok = released.is_ok(), "released the reserve of the store");
        released.is_ok()
    }

    /// Records that new work was stored.
    pub(super) fn stored_new(&self) {
        if self.is_full.load(Ordering::Relaxed) && self.is_held {
            self.set_full(false);
        }
    }

    fn set_full(&self, full: bool) {
        if full && !self.is_full.swap(full, Ordering::Relaxed) {
            tracing::error!("the volume of the store is full: new jobs are refused");
        } else {
            self.is_full.store(full, Ordering::Relaxed);
        }
    }

    fn allocate(&self) -> io::Result<()> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&self.path)?;
        let allocated = match fallocate(&file, FallocateFlags::empty(), 0, self.bytes) {
            Err(rustix::io::Errno::OPNOTSUPP) => {
                io::copy(&mut io::Read::take(io::repeat(0), self.bytes), &mut io::BufWriter::new(&file))
                    .map(drop)
            }
            other => other.map_err(io::Error::from),
        };
        allocated.inspect_err(|_| drop(fs::remove_file(&self.path)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Growth::Essential, true, FullDecision::UseReserve)]
    #[case(Growth::Essential, false, FullDecision::Refuse)]
    #[case(Growth::New, true, FullDecision::Refuse)]
    #[case(Growth::New, false, FullDecision::Refuse)]
    #[case(Growth::Memory, true, FullDecision::Refuse)]
    fn only_what_ends_something_uses_the_reserve(
        #[case] growth: Growth,
        #[case] holds_reserve: bool,
        #[case] expected: FullDecision,
    ) {
        assert_eq!(decide(growth, holds_reserve), expected);
    }

    #[rstest]
    #[case(99, false)]
    #[case(149, false)]
    #[case(150, true)]
    fn the_reserve_is_held_again_when_more_than_it_is_free(#[case] free: u64, #[case] expected: bool) {
        assert_eq!(has_room(free, 100), expected);
    }

    #[test]
    fn without_a_reserve_everything_is_tried() {
        let directory = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::hold(&directory.path().join("queue.db"), 0);
        assert!(reserve.accepts_new() && !directory.path().join("queue.db.reserve").exists());
        assert!(!reserve.no_room(Growth::Essential));
        assert!(reserve.accepts_new() && reserve.is_full().load(Ordering::Relaxed));
        reserve.look_for_room(|| ());
        assert!(!reserve.is_full().load(Ordering::Relaxed));
    }

    #[test]
    fn a_released_reserve_is_held_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::hold(&directory.path().join("queue.db"), 4096);
        assert!(reserve.accepts_new() && directory.path().join("queue.db.reserve").exists());
        assert!(!reserve.no_room(Growth::New));
        assert!(reserve.no_room(Growth::Essential));
        assert!(!reserve.accepts_new() && reserve.is_full().load(Ordering::Relaxed));
        reserve.look_for_room(|| ());
        assert!(reserve.accepts_new() && !reserve.is_full().load(Ordering::Relaxed));
    }
}
