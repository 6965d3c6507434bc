//! The stores that are judged, and where each of them keeps its things.

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

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The model itself.
    Reference,
    /// One file.
    Sqlite,
    /// One database of a real server.
    Postgres,
    /// The model with one rule broken: what a test that can fail must fail on.
    Sabotaged(Broken),
}

/// What a store leaves behind when it is closed. Disappears with the last user.
#[derive(Debug)]
enum Place {
    Memory(Mutex<Option<Arc<ReferenceStore>>>),
    File(TempDir),
    Database(Borrowed),
}

/// A store that can be opened again.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) kind: Kind,
    pub(crate) policy: Policy,
    pub(crate) clock: TestClock,
    place: Arc<Place>,
}

impl Home {
    /// An empty place.
    pub(crate) async fn new(kind: Kind, policy: Policy, clock: TestClock) -> Self {
        let place = match kind {
            Kind::Reference | Kind::Sabotaged(_) => Place::Memory(Mutex::default()),
            Kind::Sqlite => Place::File(TempDir::new().unwrap()),
            Kind::Postgres => Place::Database(Borrowed::take().await),
        };
        Self { kind, policy, clock, place: Arc::new(place) }
    }

    /// Opens what is there.
    pub(crate) async fn open(&self) -> Arc<dyn Store> {
        match &*self.place {
            Place::Database(database) => {
                let options = postgres::Options {
                    policy: self.policy,
                    clock: Some(Arc::new(self.clock.clone())),
                    connections: 4,
                    ..postgres::Options::new(database.dsn())
                };
                Arc::new(PostgresStore::connect(options).await.unwrap())
            }
            Place::File(directory) => {
                let options = sqlite::Options {
                    path: directory.path().join("queue.db"),
                    policy: self.policy,
                    clock: Arc::new(self.clock.clone()),
                };
                Arc::new(SqliteStore::open(options).unwrap())
            }
            Place::Memory(last) => {
                let policy = match self.kind {
                    Kind::Sabotaged(broken) => broken.policy(self.policy),
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
                    Kind::Sabotaged(broken) => Arc::new(Sabotage::new(store, broken)),
                    _ => store,
                }
            }
        }
    }
}
