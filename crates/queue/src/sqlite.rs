//! The queue in one SQLite file, for one controller.
//!
//! | module                                 | holds                                                        |
//! |----------------------------------------|--------------------------------------------------------------|
//! | [`open`], `lock`, `migrate`, `path`    | opening the file exclusively, with the current schema        |
//! | `startup`                              | the state in memory when a store is opened                   |
//! | `backup`                               | backup of a live store, and its restore                      |
//! | `space`                                | the reserve for a volume that is full                        |
//! | `writer`                               | the writer thread: many operations, one sync of the disk     |
//! | `readers`                              | connections for reading                                      |
//! | `live`                                 | the expiry of leases and sessions, in memory                 |
//! | `lives`, `cursor`                      | cursors, and how they notice an older copy of the file       |
//! | `rows`, `attempts`                     | rows of jobs and attempts                                    |
//! | `clock_step`                           | what happens to the times of jobs when the clock is set      |
//! | `faults`                               | failures of nodes                                            |
//! | `usage`                                | what each tenant has stored, for its limits                  |
//! | `unit_of_work`, `pending_notifications`| the context of an operation, and the notifications it causes |
//! | `submit` … `prune`                     | one operation each                                           |
//!
//! One thread makes every change to a job, so operations never run concurrently and a claim needs no lock.

mod attempts;
mod backup;
mod cancel;
mod changes;
mod claim;
mod clock_step;
mod cursor;
mod error;
mod exact;
mod explain;
mod faults;
mod label;
mod list;
mod live;
mod lives;
mod lock;
mod migrate;
mod open;
mod path;
mod pending_notifications;
mod prune;
mod readers;
mod report;
mod rows;
mod samples;
mod sessions;
mod space;
mod startup;
mod stats;
mod store;
mod submit;
mod sweep;
mod unit_of_work;
mod update;
mod usage;
mod writer;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

pub use backup::{BackupError, BackupSummary, back_up, restore};
pub use open::OpenError;
pub use path::{NoStateDirectory, default_path};
pub use space::volume_bytes;

use self::live::{CredentialsDigest, LiveNode, LiveState};
use self::readers::Readers;
use self::rows::JobRow;
use self::space::Reserve;
use self::unit_of_work::WriterState;
use self::writer::{BatchPacing, Handle, Writer};
use crate::clock::{Clock, ClockReading, Timestamp};
use crate::ids::TenantId;
use crate::node::Heartbeat;
use crate::notification::Notifier;
use crate::policy::Policy;
use crate::{Job, StoreResult};

#[derive(Clone)]
pub struct Options {
    /// The database file. The store creates it and its directory if they are missing.
    pub path: PathBuf,
    pub policy: Policy,
    pub clock: Arc<dyn Clock>,
    /// Bytes that are held in reserve for the ends of jobs.
    pub reserve: u64,
}

impl Options {
    /// Enough for the ends of thousands of jobs.
    pub const DEFAULT_RESERVE: u64 = 16 << 20;
}

pub struct SqliteStore {
    /// The current life, which new cursors name.
    life: Arc<str>,
    clock: Arc<dyn Clock>,
    opened: ClockReading,
    notifier: Notifier,
    policy: Policy,
    path: PathBuf,
    is_full: Arc<AtomicBool>,
    live: Arc<Mutex<LiveState>>,
    readers: Arc<Readers>,
    writer: Handle,
}

impl SqliteStore {
    /// Opens the file exclusively and starts the writer thread. Every stored lease and session gets its full
    /// duration again.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        match Self::open_once(options.clone()) {
            // Jobs that nodes finish meanwhile need a store that is open, also on a full volume.
            Err(OpenError::Database { source, .. })
                if space::is_full(&source) && space::release(&options.path) =>
            {
                Self::open_once(options)
            }
            Err(OpenError::Database { source, path }) if space::is_full(&source) => {
                Err(OpenError::Full { path, source })
            }
            opened => opened,
        }
    }

    fn open_once(options: Options) -> Result<Self, OpenError> {
        let Options { path, policy, clock, reserve } = options;
        let mut opened = open::open(&path)?;
        let life_id =
            lives::begin(&mut opened.connection).map_err(|error| open::unusable(&opened.path, error))?;
        let contents = |source| OpenError::Contents { path: opened.path.clone(), source };
        let reading = clock.reading();
        let counters = startup::counters(&opened.connection, reading).map_err(contents)?;
        let live = startup::live(&opened.connection, reading.wall, &policy).map_err(contents)?;
        let usage = usage::UsageLedger::read(&opened.connection).map_err(contents)?;
        let live = Arc::new(Mutex::new(live));
        let notifier = Notifier::default();
        let readers = Readers::new(opened.path.clone());
        let reserve = Reserve::hold(&opened.path, reserve);
        let (is_full, path) = (reserve.is_full(), opened.path.clone());
        let writer = Handle::start(Writer {
            connection: opened.connection,
            live: live.clone(),
            state: WriterState::new(counters, usage),
            pacing: BatchPacing::default(),
            policy,
            clock: clock.clone(),
            notifier: notifier.clone(),
            path: opened.path,
            reserve,
            lock: opened.lock,
        })
        .map_err(OpenError::Thread)?;
        Ok(Self {
            life: life_id.into(),
            clock,
            opened: reading,
            notifier,
            policy,
            path,
            is_full,
            live,
            readers,
            writer,
        })
    }

    /// Handles a heartbeat that needs no row, without a round trip to the writer thread; most heartbeats are of
    /// this kind. `false` means that the writer thread must handle it.
    fn heartbeat_in_memory(
        &self,
        tenant: &TenantId,
        credentials: &CredentialsDigest,
        heartbeat: &Heartbeat,
    ) -> bool {
        // The writer thread may hold the lock for a whole operation, so a heartbeat does not wait for it.
        let Ok(mut live) = self.live.try_lock() else { return false };
        live.heartbeat(tenant, credentials, heartbeat, self.clock.now(), &self.policy)
    }

    fn now_for_ages(&self) -> Timestamp {
        self.clock.reading().for_ages(self.opened)
    }

    fn live_nodes(&self, fits: impl Fn(&live::NodeRegistration) -> bool) -> Vec<LiveNode> {
        writer::lock(&self.live).nodes(fits, &self.policy)
    }

    /// Converts rows to jobs and adds the lease and progress that are kept in memory.
    fn jobs_of(&self, rows: Vec<JobRow>) -> StoreResult<Vec<Job>> {
        let leases: Vec<_> = {
            let live = writer::lock(&self.live);
            rows.iter().map(|row| live.lease(row.id).cloned()).collect()
        };
        rows.into_iter().zip(leases).map(|(row, lease)| row.job(lease.as_ref())).collect()
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("life", &self.life).finish_non_exhaustive()
    }
}
