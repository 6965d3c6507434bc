//! The thread that writes.
//!
//! It takes all operations that wait, runs them in one transaction, makes that durable with one sync of the disk, and
//! only then answers: the more callers there are, the less each of them pays. If one of them fails, everything is
//! undone and each is run on its own, so that only the bad one fails.
//!
//! If the thread dies, what it held is dropped: every waiting caller hears of it, and so does every later one.

mod batch;
mod handle;
mod operation;
mod pace;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::mpsc;

pub(super) use handle::Handle;
use operation::Operation;
pub(super) use pace::Pace;

use super::live::Live;
use super::lock::FileLock;
use super::unit::Book;
use crate::clock::Clock;
use crate::notice::Notices;
use crate::policy::Policy;

/// Operations in one transaction at most.
const BATCH: usize = 256;

/// Operations that wait at most; beyond them callers wait for a place.
const WAITING: usize = 1024;

/// What the thread is asked for.
enum Command {
    /// An operation.
    Run(Box<dyn Operation>),
    /// Housekeeping, between transactions.
    Tidy,
    /// Finish what was asked for until now, and end.
    Close,
}

/// Everything the thread owns.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) live: Arc<Mutex<Live>>,
    pub(super) book: Book,
    pub(super) pace: Pace,
    pub(super) policy: Policy,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) notices: Notices,
    pub(super) path: PathBuf,
    /// Goes last: whoever gets it next must find the file closed.
    pub(super) lock: FileLock,
}

impl Writer {
    fn work(mut self, mut inbox: mpsc::Receiver<Command>) {
        let mut taken = Vec::with_capacity(BATCH);
        while inbox.blocking_recv_many(&mut taken, BATCH) > 0 {
            self.pace.gather(&mut inbox, &mut taken);
            let mut batch = Vec::with_capacity(taken.len());
            for command in taken.drain(..) {
                match command {
                    Command::Run(operation) => batch.push(operation),
                    Command::Tidy => {
                        self.run(std::mem::take(&mut batch));
                        self.tidy();
                    }
                    Command::Close => inbox.close(),
                }
            }
            self.run(batch);
        }
        self.end();
    }

    /// Moves the log into the file and closes it.
    fn end(self) {
        let Self { connection, lock, path, .. } = self;
        if let Err(error) = checkpoint(&connection, "TRUNCATE") {
            tracing::warn!(path = %path.display(), %error, "the log stays beside the database");
        }
        if let Err((_, error)) = connection.close() {
            tracing::warn!(path = %path.display(), %error, "the database was not closed cleanly");
        }
        drop(lock);
    }

    /// Gives space back, a little at a time, when there is much of it.
    fn tidy(&self) {
        let tidied = self.shrink().and_then(|()| checkpoint(&self.connection, "PASSIVE"));
        if let Err(error) = tidied {
            tracing::warn!(path = %self.path.display(), %error, "no space was given back");
        }
    }

    fn shrink(&self) -> rusqlite::Result<()> {
        /// Pages that are always worth keeping for what comes next.
        const RESERVE: i64 = 256;
        let number = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if number("freelist_count")? > RESERVE.max(number("page_count")? / 8) {
            // Every step gives back one page.
            let mut vacuum = self.connection.prepare_cached("PRAGMA incremental_vacuum(256)")?;
            let mut steps = vacuum.query([])?;
            while steps.next()?.is_some() {}
        }
        Ok(())
    }
}

fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
}

/// What is in memory, whatever became of others who held it.
pub(super) fn lock(live: &Mutex<Live>) -> std::sync::MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}
