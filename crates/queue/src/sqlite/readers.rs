//! Connections for reading, so that a long list does not delay a claim.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::Semaphore;

use super::error::unavailable;
use super::open;
use crate::{StoreError, StoreResult};

/// Maximum number of concurrent reads; further ones wait.
const MAX_READERS: usize = 4;

/// Connections are opened when they are first needed.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Arc<Self> {
        Arc::new(Self { path, idle: Mutex::default(), permits: Arc::new(Semaphore::new(MAX_READERS)) })
    }

    /// Runs all statements of `read` in one snapshot.
    pub(super) async fn read<T, R>(self: &Arc<Self>, read: R) -> StoreResult<T>
    where
        T: Send + 'static,
        R: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let readers = Arc::clone(self);
        let reading = move || {
            let connection = readers.take()?;
            let result = {
                let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
                read(&transaction)
            };
            readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(reading).await.map_err(unavailable)?
    }

    /// Refuses new reads and waits for the running ones.
    pub(super) async fn close(&self) {
        let all = u32::try_from(MAX_READERS).unwrap_or(u32::MAX);
        // Acquiring fails only when the store is already closed.
        let _ = self.permits.acquire_many(all).await;
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn take(&self) -> StoreResult<Connection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Ok(open::open_reader(&self.path)?), Ok)
    }
}
