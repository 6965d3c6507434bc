//! Connections that read, so that a long list does not stall a claim.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::Semaphore;

use super::error::unavailable;
use super::open;
use crate::StoreError;

/// Reads at the same time at most; others wait for their turn.
const READERS: usize = 4;

/// A few connections, opened when they are first needed.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Arc<Self> {
        Arc::new(Self { path, idle: Mutex::default(), turns: Arc::new(Semaphore::new(READERS)) })
    }

    /// Reads one state of the store, however many statements that takes.
    pub(super) async fn read<T, R>(self: &Arc<Self>, read: R) -> Result<T, StoreError>
    where
        T: Send + 'static,
        R: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let readers = Arc::clone(self);
        let reading = move || {
            let connection = readers.take()?;
            let result = {
                let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
                read(&transaction)
            };
            readers.give_back(connection);
            drop(turn);
            result
        };
        tokio::task::spawn_blocking(reading).await.map_err(unavailable)?
    }

    /// Lets nobody in any more, and waits for those who are.
    pub(super) async fn close(&self) {
        let all = u32::try_from(READERS).unwrap_or(u32::MAX);
        // Closed already is as good.
        let _ = self.turns.acquire_many(all).await;
        self.turns.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn take(&self) -> Result<Connection, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Ok(open::reader(&self.path)?), Ok)
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}
