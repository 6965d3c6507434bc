//! The queue in one SQLite file, for one controller.
//!
//! | module                                       | holds                                                          |
//! |----------------------------------------------|----------------------------------------------------------------|
//! | [`open`], `lock`, `migrate`, `path`          | opening the file, alone, with the right schema                 |
//! | `writer`                                     | the thread that writes: many operations, one sync of the disk  |
//! | `readers`                                    | connections that only read                                     |
//! | `live`                                       | until when leases and sessions hold: in memory                 |
//! | `rows`, `attempts`                           | jobs and attempts as rows                                      |
//! | `unit`, `news`                               | what an operation works with, and what it has to tell          |
//! | `submit` … `prune`                           | one operation each                                             |
//!
//! Everything that changes a job goes through one thread, so operations never meet, and a claim needs no lock.

mod attempts;
mod cancel;
mod changes;
mod claim;
mod cursor;
mod error;
mod exact;
mod explain;
mod label;
mod list;
mod live;
mod lock;
mod migrate;
mod news;
mod open;
mod path;
mod prune;
mod readers;
mod recall;
mod report;
mod rows;
mod samples;
mod sessions;
mod stats;
mod store;
mod submit;
mod sweep;
mod unit;
mod writer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

pub use open::OpenError;
pub use path::{NoStateDirectory, default_path};

use self::live::{Live, LiveNode, Seal};
use self::readers::Readers;
use self::rows::Row;
use self::unit::Book;
use self::writer::{Handle, Pace, Writer};
use crate::clock::Clock;
use crate::ids::TenantId;
use crate::node::Beat;
use crate::notice::Notices;
use crate::policy::Policy;
use crate::{Job, StoreError};

/// What a store needs to know.
#[derive(Clone)]
pub struct Options {
    /// The file. It and its directory are made when they are not there.
    pub path: PathBuf,
    /// How patient the queue is.
    pub policy: Policy,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// The queue in one file.
pub struct SqliteStore {
    /// Names the store in cursors.
    id: Arc<str>,
    clock: Arc<dyn Clock>,
    notices: Notices,
    policy: Policy,
    live: Arc<Mutex<Live>>,
    readers: Arc<Readers>,
    writer: Handle,
}

impl SqliteStore {
    /// Opens the file, which nobody else may have open, and starts the thread that writes. Every lease and session in
    /// it gets its full time.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let Options { path, policy, clock } = options;
        let opened = open::open(&path)?;
        let contents = |source| OpenError::Contents { path: opened.path.clone(), source };
        let (id, counters) = recall::identity(&opened.connection).map_err(contents)?;
        let live = recall::live(&opened.connection, clock.now(), &policy).map_err(contents)?;
        let live = Arc::new(Mutex::new(live));
        let notices = Notices::default();
        let readers = Readers::new(opened.path.clone());
        let writer = Handle::start(Writer {
            connection: opened.connection,
            live: live.clone(),
            book: Book::new(counters),
            pace: Pace::default(),
            policy,
            clock: clock.clone(),
            notices: notices.clone(),
            path: opened.path,
            lock: opened.lock,
        })
        .map_err(OpenError::Thread)?;
        Ok(Self { id: id.into(), clock, notices, policy, live, readers, writer })
    }

    /// Answers a heartbeat that has nothing to hear, without a way to the thread and back: there are many of them, and
    /// most are like this. `false`: the thread must be asked.
    fn beat_at_once(&self, tenant: &TenantId, seal: &Seal, beat: &Beat) -> bool {
        // The thread may be in the middle of something: it is not waited for here.
        let Ok(mut live) = self.live.try_lock() else { return false };
        live.beat(tenant, seal, beat, self.clock.now(), &self.policy)
    }

    /// Live sessions that fit.
    fn live_nodes(&self, fits: impl Fn(&live::Facts) -> bool) -> Vec<LiveNode> {
        writer::lock(&self.live).nodes(fits)
    }

    /// Rows as everybody sees them, with what is known in memory.
    fn jobs_of(&self, rows: Vec<Row>) -> Result<Vec<Job>, StoreError> {
        let leases: Vec<_> = {
            let live = writer::lock(&self.live);
            rows.iter().map(|row| live.lease(row.id).cloned()).collect()
        };
        rows.into_iter().zip(leases).map(|(row, lease)| row.job(lease.as_ref())).collect()
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("id", &self.id).finish_non_exhaustive()
    }
}
