//! Every operation of the controller, independent of gRPC and HTTP.
//!
//! | operation                             | where                | roles (checked before the call)        |
//! |---------------------------------------|----------------------|----------------------------------------|
//! | submit                                | `service/submit.rs`  | writer, admin                          |
//! | job, attempts, jobs, explain, nodes   | `service/read.rs`    | reader, writer, admin                  |
//! | cancel, label, update                 | `service/change.rs`  | writer, admin                          |
//! | snapshot, watch                       | `service/watch.rs`   | reader, writer, admin                  |
//! | samples                               | `service/samples.rs` | reader, writer, admin                  |
//! | `score_and_wait`                      | `service/score.rs`   | writer, admin                          |
//! | register, heartbeat                   | `service/session.rs` | node                                   |
//! | pull, report, release                 | `service/work.rs`    | node                                   |
//! | the same for another tenant           | `service/pool.rs`    | node                                   |
//!
//! Each operation takes the caller's identity and a plain request ([`request`]). Requests are validated here ([`check`]),
//! before anything is stored. A job of another tenant is treated as one that does not exist: see ADR 0010.

mod change;
pub mod check;
mod detached;
mod explain;
mod labeller;
mod limits;
pub(crate) mod page_size;
mod pool;
mod pool_share;
mod read;
pub mod request;
pub mod response;
mod roots;
mod samples;
mod score;
mod session;
mod sharing;
mod submit;
mod tenancy;
mod watch;
mod work;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use vmafx_job::TenantLimits;
use vmafx_kit::health::ServingSignal;
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::clock::Clock;
use vmafx_queue::policy::Policy;
use vmafx_queue::{Store, TenantId};

use self::detached::DetachedTasks;
pub use self::limits::Limits;
pub use self::roots::Roots;
pub use self::sharing::{Pool, Sharing, TenantSet, Weight};
pub use self::tenancy::{NodeNamespaces, Tenancy};
pub use self::work::Delivery;
use crate::dispatch::Dispatch;
use crate::freed_room::FreedRoom;
use crate::identity::Identity;
use crate::metrics::ControllerMetrics;
use crate::refusal::Refusal;
use crate::streams::{OpenStreams, StreamPermit};
use crate::subscriptions::Subscriptions;

/// The items of a streaming response. They are read on demand, so a slow reader holds at most one page.
pub type ItemStream<T> = BoxStream<'static, Result<T, Refusal>>;

/// What a [`Service`] is built from.
pub struct ServiceParts {
    pub store: Arc<dyn Store>,
    /// The clock of the store.
    pub clock: Arc<dyn Clock>,
    pub roots: Arc<dyn Roots>,
    pub sharing: Arc<dyn Sharing>,
    pub tenant_limits: Arc<dyn Limits>,
    pub tenancy: Arc<dyn Tenancy>,
    pub metrics: ControllerMetrics,
    pub policy: Policy,
    pub limits: ServiceLimits,
    /// Ends streams when the store is lost.
    pub serving: ServingSignal,
    /// Ends waiting calls.
    pub shutdown: Shutdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLimits {
    /// Longest wait of a pull.
    pub max_pull_wait: Duration,
    /// Longest wait for a score; the job fails afterwards.
    pub max_score_wait: Duration,
    /// Longest time without an item on a stream; a bookmark is sent then.
    pub bookmark_interval: Duration,
    /// Changes within this time are sent together.
    pub debounce: Duration,
    /// Streams that may be open at once.
    pub max_streams: usize,
    /// The highest priority of a writer's jobs, and with a minus sign the lowest.
    pub writer_priority: i32,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            max_pull_wait: Duration::from_secs(30),
            max_score_wait: Duration::from_mins(30),
            bookmark_interval: Duration::from_secs(10),
            debounce: Duration::from_millis(20),
            max_streams: 1024,
            writer_priority: crate::settings::DEFAULT_WRITER_PRIORITY,
        }
    }
}

/// The controller's operations. Clones share one state.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    parts: ServiceParts,
    dispatch: Dispatch,
    subscriptions: Subscriptions,
    streams: OpenStreams,
    freed_room: FreedRoom,
    detached: DetachedTasks,
}

impl Deref for Inner {
    type Target = ServiceParts;

    fn deref(&self) -> &ServiceParts {
        &self.parts
    }
}

impl Service {
    /// Waiting calls are woken by the tasks of [`crate::background`].
    pub fn new(parts: ServiceParts) -> Self {
        Self(Arc::new(Inner {
            dispatch: Dispatch::new(parts.clock.clone(), parts.sharing.clone()),
            subscriptions: Subscriptions::default(),
            streams: OpenStreams::new(parts.limits.max_streams),
            freed_room: FreedRoom::default(),
            detached: DetachedTasks::default(),
            parts,
        }))
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    pub fn metrics(&self) -> &ControllerMetrics {
        &self.0.metrics
    }

    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }

    pub(crate) fn has_pools(&self) -> bool {
        self.0.sharing.has_pools()
    }

    pub(crate) fn dispatch(&self) -> &Dispatch {
        &self.0.dispatch
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.0.subscriptions
    }

    /// The current limits of the caller's tenant.
    fn limits_of(&self, tenant: &TenantId) -> TenantLimits {
        self.0.tenant_limits.of(tenant)
    }

    /// Counts a refusal by a limit.
    fn refused(&self, refusal: impl Into<Refusal>) -> Refusal {
        self.0.metrics.refused(refusal.into())
    }

    /// The right to one more stream of this caller.
    fn acquire_stream(&self, who: &Identity) -> Result<StreamPermit, Refusal> {
        self.0.streams.acquire(who, &self.limits_of(&who.tenant)).map_err(|refusal| self.refused(refusal))
    }

    /// Resolves when streams must end, with the reason.
    fn stream_end(&self) -> impl Future<Output = Refusal> + Send + use<> {
        let (begun, lost) = (self.0.shutdown.begun(), self.0.serving.stopped());
        async {
            tokio::select! {
                () = begun => shutting_down(),
                () = lost => Refusal::StoreUnavailable,
            }
        }
    }

    /// Waits for the releases and cancellations of calls whose callers went away. Must run after the last call and before
    /// the store is closed.
    pub async fn finish(&self) {
        self.0.detached.join_all().await;
    }
}

fn shutting_down() -> Refusal {
    Refusal::Unavailable("the controller is shutting down".to_owned())
}
