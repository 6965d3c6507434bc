//! The writer thread.
//!
//! The thread takes all waiting operations, runs them in one transaction, commits with one sync of the disk, and
//! then answers. The more callers there are, the smaller is each caller's share of the sync. If an operation fails,
//! the transaction is rolled back and every operation is run in its own, so that only the bad one fails.
//!
//! If the thread panics, its queue is dropped: every waiting caller gets an error, and so does every later one.

mod batch;
mod handle;
mod operation;
mod pacing;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::mpsc;

pub(super) use handle::Handle;
use operation::Operation;
pub(super) use pacing::BatchPacing;

use super::live::LiveState;
use super::lock::FileLock;
use super::space::Reserve;
use super::unit_of_work::WriterState;
use crate::clock::Clock;
use crate::notification::Notifier;
use crate::policy::Policy;

/// Maximum number of operations in one transaction.
const MAX_BATCH_SIZE: usize = 256;

/// Maximum number of waiting operations; further callers wait to enqueue theirs.
const MAX_QUEUED: usize = 1024;

enum Command {
    Run(Box<dyn Operation>),
    ReclaimSpace,
    /// Finishes the operations that were enqueued before, and ends the thread.
    Close,
}

pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) live: Arc<Mutex<LiveState>>,
    pub(super) state: WriterState,
    pub(super) pacing: BatchPacing,
    pub(super) policy: Policy,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) notifier: Notifier,
    pub(super) path: PathBuf,
    pub(super) reserve: Reserve,
    /// Dropped last: the next holder of the lock must find the file closed.
    pub(super) lock: FileLock,
}

impl Writer {
    fn run(mut self, mut inbox: mpsc::Receiver<Command>) {
        let mut taken = Vec::with_capacity(MAX_BATCH_SIZE);
        while inbox.blocking_recv_many(&mut taken, MAX_BATCH_SIZE) > 0 {
            self.pacing.gather(&mut inbox, &mut taken);
            let mut batch = Vec::with_capacity(taken.len());
            for command in taken.drain(..) {
                match command {
                    Command::Run(operation) => batch.push(operation),
                    Command::ReclaimSpace => {
                        self.run_batch(std::mem::take(&mut batch));
                        self.reclaim_space();
                    }
                    Command::Close => inbox.close(),
                }
            }
            self.run_batch(batch);
        }
        self.shut_down();
    }

    /// Moves the write-ahead log into the file and closes it.
    fn shut_down(self) {
        let Self { connection, lock, path, .. } = self;
        if let Err(error) = checkpoint(&connection, "TRUNCATE") {
            tracing::warn!(path = %path.display(), %error, "cannot move the write-ahead log into the database");
        }
        if let Err((_, error)) = connection.close() {
            tracing::warn!(path = %path.display(), %error, "the database was not closed cleanly");
        }
        drop(lock);
    }

    /// Returns free pages to the file system in small steps, if there are many of them.
    fn reclaim_space(&self) {
        let reclaimed = self.shrink().and_then(|()| checkpoint(&self.connection, "PASSIVE"));
        if let Err(error) = reclaimed {
            tracing::warn!(path = %self.path.display(), %error, "cannot return free pages to the file system");
        }
    }

    fn shrink(&self) -> rusqlite::Result<()> {
        /// Free pages that are kept for the next inserts.
        const RESERVE: i64 = 256;
        let number = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if number("freelist_count")? > RESERVE.max(number("page_count")? / 8) {
            // Every step frees one page.
            let mut vacuum = self.connection.prepare_cached("PRAGMA incremental_vacuum(256)")?;
            let mut steps = vacuum.query([])?;
            while steps.next()?.is_some() {}
        }
        Ok(())
    }
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
}

/// Ignores poisoning, so that readers keep working after the writer thread has panicked.
pub(super) fn lock(live: &Mutex<LiveState>) -> std::sync::MutexGuard<'_, LiveState> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}
