//! The stores under test and their storage.

use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use vmafx_queue::Store;
use vmafx_queue::policy::Policy;
use vmafx_queue::postgres::{self, PostgresStore};
use vmafx_queue::sqlite::{self, SqliteStore};

use super::clock::TestClock;
use super::databases::Borrowed;
use super::reference::ReferenceStore;
use super::sabotage::{Broken, Sabotage};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    Reference,
    Sqlite,
    /// A database on a real server.
    Postgres,
    /// The reference implementation with one rule broken, on which the tests must fail.
    Sabotaged(Broken),
}

/// What outlives a store when it is closed; removed with its last user.
#[derive(Debug)]
enum Storage {
    Memory(Mutex<Option<Arc<ReferenceStore>>>),
    File(TempDir),
    Database(Borrowed),
}

/// Opens a store repeatedly on the same storage.
#[derive(Clone, Debug)]
pub(crate) struct StoreSetup {
    pub(crate) kind: StoreKind,
    pub(crate) policy: Policy,
    pub(crate) clock: TestClock,
    storage: Arc<Storage>,
}

impl StoreSetup {
    pub(crate) async fn new(kind: StoreKind, policy: Policy, clock: TestClock) -> Self {
        let storage = match kind {
            StoreKind::Reference | StoreKind::Sabotaged(_) => Storage::Memory(Mutex::default()),
            StoreKind::Sqlite => Storage::File(TempDir::new().unwrap()),
            StoreKind::Postgres => Storage::Database(Borrowed::take().await),
        };
        Self { kind, policy, clock, storage: Arc::new(storage) }
    }

    pub(crate) async fn open(&self) -> Arc<dyn Store> {
        match &*self.storage {
            Storage::Database(database) => {
                let options = postgres::Options {
                    policy: self.policy,
                    clock: Some(Arc::new(self.clock.clone())),
                    connections: 4,
                    ..postgres::Options::new(database.dsn())
                };
                Arc::new(PostgresStore::connect(options).await.unwrap())
            }
            Storage::File(directory) => {
                let options = sqlite::Options {
                    path: directory.path().join("queue.db"),
                    policy: self.policy,
                    clock: Arc::new(self.clock.clone()),
                    reserve: 64 << 10,
                };
                Arc::new(SqliteStore::open(options).unwrap())
            }
            Storage::Memory(last) => {
                let policy = match self.kind {
                    StoreKind::Sabotaged(broken) => broken.policy(self.policy),
                    _ => self.policy,
                };
                let mut last = last.lock().unwrap();
                let store = match last.as_ref() {
                    Some(earlier) => earlier.reopened(),
                    None => ReferenceStore::new(policy, self.clock.clone()),
                };
                let store = Arc::new(store);
                *last = Some(store.clone());
                match self.kind {
                    StoreKind::Sabotaged(broken) => Arc::new(Sabotage::new(store, broken)),
                    _ => store,
                }
            }
        }
    }
}
