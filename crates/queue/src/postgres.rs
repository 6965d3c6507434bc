//! The queue on Postgres, shared by several controllers, none of which keeps state of its own.
//!
//! | module     | holds                                                                          |
//! |------------|--------------------------------------------------------------------------------|
//! | `schema`   | the tables and their migrations                                                |
//! | `pool`     | connections, and transactions of one round trip                                |
//! | `batcher`  | group commit: submissions, claims and reports of many callers in one statement |
//! | `claim`    | claims                                                                         |
//! | `lost_pull`| jobs that are given back because the answer to a pull was lost                 |
//! | `report`   | the end of an attempt                                                          |
//! | `retry`    | the end of an attempt that failed through no fault of the job                  |
//! | `faults`   | failures of nodes, claims of quarantined ones                                  |
//! | `feed`     | changes and samples, of which a reader skips none                              |
//! | `horizon`  | the transactions that a reader waits for                                       |
//! | `usage`    | what each tenant has stored, for its limits                                    |
//! | `lives`    | the lives of the store, by which a cursor notices a restore                    |
//! | `room`     | what is refused while the database is full                                     |
//! | `reserve`  | space that is held for the ends of jobs                                        |
//! | `sweep`    | the end of leases, sessions and deadlines                                      |
//! | `announce` | announcements to other controllers                                             |
//! | `listen`   | announcements of other controllers                                             |
//! | `clock`    | the clock of the database, which all controllers share                         |
//! | `clock_step`| what happens to the times of jobs when that clock is set                      |
//!
//! Two mechanisms separate tenants: every statement names its tenant, and row-level security shows a transaction
//! only the rows of the tenant that it was started for. A role that bypasses row-level security is refused when the
//! store is opened.
//!
//! A write whose connection breaks before the answer arrives returns [`StoreError::Unavailable`] and may have been
//! committed. A submission with a key, a report, a cancellation and a release can safely be retried; what a claim took is
//! given back by naming its pull.

mod announce;
mod batcher;
mod claim;
mod clock;
mod clock_step;
mod cursor;
mod dsn;
mod error;
mod explain;
mod faults;
mod feed;
mod horizon;
mod jobs;
mod label;
mod listen;
mod lives;
mod lost_pull;
mod nodes;
mod pool;
mod prune;
mod report;
mod reserve;
mod retry;
mod room;
mod row;
mod schema;
mod submit;
mod sweep;
mod tenant_changes;
mod tls;
mod update;
mod usage;
mod verifier;

use std::collections::BTreeSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::{ContextV7, Uuid};
use vmafx_job::{CancelCause, TenantLimits};

use self::announce::Announcer;
use self::batcher::Batcher;
use self::claim::{ClaimCaller, Claims};
use self::clock::StoreClock;
use self::clock_step::WatchedClock;
use self::dsn::Address;
use self::error::timed_out;
use self::listen::Listener;
use self::pool::{Access, Connections, Scope};
use self::report::{PendingReport, Reports};
use self::reserve::Reserve;
use self::room::Room;
use self::row::Reader;
use self::submit::{PendingSubmission, Submits};
use crate::clock::{Clock, ClockReading, CreationOrder, Timestamp};
use crate::ids::{AttemptNumber, JobId, PullId, TenantId};
use crate::job::{Attempt, Job, JobUpdate, Label, Labeller, NewJob};
use crate::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node, Report};
use crate::notification::{Notification, Notifier};
use crate::policy::Policy;
use crate::store::{
    Cancelled, Changes, Claim, Cursor, Explained, Filter, LabelTarget, Labelled, Page, Pruned, Released,
    Reported, Retention, Samples, Store, StoreError, StoreResult, Submitted, Swept, TenantStats, Updated,
};

pub use self::error::ConnectError;
pub use self::schema::migrate;

/// The listener, the announcer and the keeper of the reserve never end by themselves.
const ENDLESS_TASKS: usize = 3;

/// How long `connect` waits until the store receives notifications.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Options {
    /// A URL or `name=value` pairs in the syntax of libpq. It may contain a password, so it is left out of `Debug`.
    pub dsn: String,
    pub policy: Policy,
    /// `None` means the clock of the database.
    pub clock: Option<Arc<dyn Clock>>,
    /// Maximum number of connections, not counting the one that listens for notifications.
    pub connections: usize,
    /// Bytes that are held in reserve for the ends of jobs.
    pub reserve: u64,
}

impl Options {
    pub fn new(dsn: impl Into<String>) -> Self {
        Self { dsn: dsn.into(), policy: Policy::default(), clock: None, connections: 10, reserve: 0 }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("policy", &self.policy)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

struct Shared {
    connections: Connections,
    policy: Policy,
    clock: StoreClock,
    /// `None` until the first exact reading.
    watched_clock: Mutex<Option<WatchedClock>>,
    opened: OnceLock<ClockReading>,
    notifier: Notifier,
    announcer: Announcer,
    /// Identifies this controller among those of the store.
    instance: String,
    ids: Mutex<AssertUnwindSafe<ContextV7>>,
    creation_order: Mutex<CreationOrder>,
    room: Room,
    reserve: Reserve,
    /// Tenants whose readers must be notified again, because changes were held back from them.
    held_back: Mutex<BTreeSet<TenantId>>,
}

impl Shared {
    /// The time that ages are counted up to.
    fn now_for_ages(&self) -> Timestamp {
        let reading = self.clock.reading();
        reading.for_ages(*self.opened.get_or_init(|| reading))
    }

    fn watched_clock(&self) -> MutexGuard<'_, Option<WatchedClock>> {
        self.watched_clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what makes the store grow while there is no room.
    fn check_room(&self) -> StoreResult<()> {
        self.room.check().and_then(|()| self.reserve.check())
    }

    fn creation_order(&self) -> MutexGuard<'_, CreationOrder> {
        self.creation_order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ids of one store instance sort in the order of their creation.
    fn new_job_id(&self, now: Timestamp) -> JobId {
        let millis = u64::try_from(now.0).unwrap_or(0);
        let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
        JobId(Uuid::new_v7(uuid::Timestamp::from_unix(&self.ids, millis / 1000, nanos)))
    }
}

pub struct PostgresStore {
    shared: Arc<Shared>,
    submits: Batcher<Submits>,
    claims: Batcher<Claims>,
    reports: Batcher<Reports>,
    closed: AtomicBool,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("instance", &self.shared.instance).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Migrates the schema if necessary, and starts to listen for notifications of other controllers.
    pub async fn connect(options: Options) -> Result<Self, ConnectError> {
        schema::migrate(&options.dsn).await?;
        let address = Address::parse(&options.dsn)?;
        let instance = Uuid::new_v4().simple().to_string()[..12].to_owned();
        let connections = Connections::new(address.clone(), options.connections)?;
        let shared = Arc::new(Shared {
            clock: StoreClock::new(options.clock),
            watched_clock: Mutex::default(),
            opened: OnceLock::new(),
            policy: options.policy,
            notifier: Notifier::default(),
            announcer: Announcer::default(),
            connections,
            instance,
            ids: Mutex::new(AssertUnwindSafe(ContextV7::new())),
            creation_order: Mutex::default(),
            room: Room::default(),
            reserve: Reserve::new(options.reserve),
            held_back: Mutex::default(),
        });
        shared.watch_clock().await?;
        shared.opened.get_or_init(|| shared.clock.reading());
        shared.hold_reserve().await;
        shared.recount_usage().await?;
        let mut tasks = JoinSet::new();
        let (listening, started) = oneshot::channel();
        tasks.spawn(Listener::new(shared.clone(), address)?.run(listening));
        if !matches!(timeout(LISTEN_TIMEOUT, started).await, Ok(Ok(()))) {
            return Err(timed_out().into());
        }
        let announcing = shared.clone();
        tasks.spawn(async move { announcing.announce().await });
        let keeping = shared.clone();
        tasks.spawn(async move { keeping.keep_reserve().await });
        Ok(Self {
            submits: Batcher::start(Submits(shared.clone()), &mut tasks),
            claims: Batcher::start(Claims(shared.clone()), &mut tasks),
            reports: Batcher::start(Reports(shared.clone()), &mut tasks),
            shared,
            closed: AtomicBool::new(false),
            tasks: tokio::sync::Mutex::new(tasks),
        })
    }

    fn open(&self) -> StoreResult<&Shared> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(&self.shared) }
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn submit(&self, tenant: &TenantId, job: NewJob, limits: &TenantLimits) -> StoreResult<Submitted> {
        let room = &self.shared.room;
        self.shared.check_room()?;
        let submission = PendingSubmission { job, limits: *limits };
        room.record(self.submits.run(tenant.clone(), submission).await)?
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Job>> {
        self.open()?.job(tenant, id).await
    }

    async fn attempts(&self, tenant: &TenantId, id: JobId) -> StoreResult<Vec<Attempt>> {
        self.open()?.attempts(tenant, id).await
    }

    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> StoreResult<Vec<Job>> {
        self.open()?.jobs(tenant, filter, page).await
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        id: JobId,
        cause: CancelCause,
        reason: &str,
    ) -> StoreResult<Option<Cancelled>> {
        let shared = self.open()?;
        shared.essential(|| shared.cancel(tenant, id, (cause, reason))).await
    }

    async fn update(
        &self,
        tenant: &TenantId,
        id: JobId,
        update: JobUpdate,
        limits: &TenantLimits,
    ) -> StoreResult<Option<Updated>> {
        let shared = self.open()?;
        shared.essential(|| shared.update(tenant, id, &update, limits)).await
    }

    async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
        by: &Labeller,
    ) -> StoreResult<Labelled> {
        let shared = self.open()?;
        shared.check_room()?;
        shared.room.record(shared.label(tenant, target, label, by).await)
    }

    async fn register(
        &self,
        tenant: &TenantId,
        node: NewNode,
        limits: &TenantLimits,
    ) -> StoreResult<Credentials> {
        let shared = self.open()?;
        shared.essential(|| shared.register(tenant, &node, limits)).await
    }

    async fn register_as(
        &self,
        tenant: &TenantId,
        node: NewNode,
        credentials: &Credentials,
    ) -> StoreResult<()> {
        let shared = self.open()?;
        shared.essential(|| shared.register_as(tenant, &node, credentials)).await
    }

    async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        heartbeat: Heartbeat,
    ) -> StoreResult<Option<HeartbeatReply>> {
        let shared = self.open()?;
        shared.essential(|| shared.heartbeat(tenant, node, &heartbeat)).await
    }

    async fn claim(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
        pull: Option<PullId>,
        limits: &TenantLimits,
    ) -> StoreResult<Claim> {
        // No new work is begun while its end could not be stored.
        if self.shared.check_room().is_err() {
            return Ok(Claim::Nothing { next: None });
        }
        let caller = ClaimCaller { node: node.clone(), pull, limits: *limits };
        let key = (tenant.clone(), claim::claimable_backends(backends));
        match self.claims.run(key, caller).await {
            claimed @ (Ok(Claim::Job(_)) | Err(_)) => match self.shared.room.record(claimed) {
                Err(StoreError::Full { .. }) => Ok(Claim::Nothing { next: None }),
                recorded => recorded,
            },
            // A claim that finds no job needs no room.
            found_none => found_none,
        }
    }

    async fn release_pulls(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        pulls: &[PullId],
    ) -> StoreResult<u64> {
        let shared = self.open()?;
        shared.essential(|| shared.release_pulls(tenant, node, pulls)).await
    }

    async fn report(&self, tenant: &TenantId, node: &Credentials, report: Report) -> StoreResult<Reported> {
        let pending = || PendingReport { node: node.clone(), report: report.clone() };
        self.shared.essential(|| self.reports.run(tenant.clone(), pending())).await
    }

    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> StoreResult<Released> {
        let shared = self.open()?;
        shared.essential(|| shared.release(tenant, node, (job, attempt), reason)).await
    }

    async fn explain(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Explained>> {
        self.open()?.explain(tenant, id).await
    }

    async fn nodes(&self, tenant: &TenantId) -> StoreResult<Vec<Node>> {
        self.open()?.nodes(tenant).await
    }

    async fn nodes_with_resource(&self) -> StoreResult<Vec<Node>> {
        self.open()?.nodes_with_resource().await
    }

    async fn position(&self, tenant: &TenantId) -> StoreResult<Cursor> {
        self.open()?.position(tenant).await
    }

    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes> {
        self.open()?.changes(tenant, after, limit).await
    }

    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples> {
        self.open()?.samples(tenant, after, limit).await
    }

    async fn sweep(&self) -> StoreResult<Swept> {
        let shared = self.open()?;
        shared.essential(|| shared.sweep()).await
    }

    async fn prune(&self, keep: &Retention) -> StoreResult<Pruned> {
        let shared = self.open()?;
        shared.essential(|| shared.prune(keep)).await
    }

    async fn stats(&self) -> StoreResult<Vec<TenantStats>> {
        self.open()?.stats().await
    }

    async fn ready(&self) -> StoreResult<()> {
        let query = "SELECT schema_version FROM vmafx.meta";
        let rows = self.open()?.connections.run(Scope::Maintenance, Access::Read, query, &[]).await?;
        let found = rows.first().map_or(Ok(0), |row| Reader::new(row).next())?;
        let remedy = "run vmafx-controller migrate, or the version of vmafx-controller that made it";
        if found == schema::VERSION {
            Ok(())
        } else {
            Err(StoreError::Schema { found, needed: schema::VERSION, remedy })
        }
    }

    fn is_full(&self) -> bool {
        self.shared.room.is_full() || self.shared.reserve.is_released()
    }

    /// The server does not tell how large its volume is.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    fn notifications(&self) -> broadcast::Receiver<Notification> {
        self.shared.notifier.subscribe()
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.submits.close();
        self.claims.close();
        self.reports.close();
        let mut tasks = self.tasks.lock().await;
        while tasks.len() > ENDLESS_TASKS && tasks.join_next().await.is_some() {}
        tasks.shutdown().await;
        if let Err(error) = self.shared.flush_announcements().await {
            tracing::warn!(
                error = error.to_string(),
                "the last changes were not announced to other controllers"
            );
        }
        self.shared.connections.close();
    }
}
