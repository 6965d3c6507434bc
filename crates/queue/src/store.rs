//! The operations that every store implements.
//!
//! Every operation is one transaction and returns after the transaction is durable. Operations on behalf of a
//! tenant name that tenant and see no rows of any other. The controller's own operations (`sweep`, `prune`,
//! `stats`, `nodes_with_resource`) see all tenants.

mod answer;
mod error;
mod query;

use async_trait::async_trait;
use tokio::sync::broadcast;
use vmafx_job::{CancelCause, TenantLimits};

pub use answer::{
    Cancelled, Changes, Claim, Explained, Labelled, Pruned, QuarantinedNode, Released, Reported, Sample,
    Samples, Submitted, Supply, Swept, TenantStats, Updated,
};
pub use error::{StoreError, StoreResult};
pub use query::{Filter, LabelTarget, Page, Retention};

use crate::ids::{AttemptNumber, JobId, PullId, TenantId};
use crate::job::{Attempt, Job, JobUpdate, Label, Labeller, NewJob};
use crate::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node, Report};
use crate::notification::Notification;

/// A position in the feed of changes or samples; opaque outside the store that issued it.
pub type Cursor = String;

/// A durable queue with its registry of nodes.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Stores a job and its label, or finds the existing job with the same idempotency key. [`StoreError::KeyReused`]
    /// when the key stands for another request; a Kubernetes resource may submit another one for its job.
    /// [`StoreError::LimitReached`] when the tenant has no room for another pending job or for its bytes; a job that
    /// exists is found all the same.
    async fn submit(&self, tenant: &TenantId, job: NewJob, limits: &TenantLimits) -> StoreResult<Submitted>;

    /// `None` when the job does not exist or belongs to another tenant.
    async fn job(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Job>>;

    /// The attempts of a job in ascending order; empty when there is no such job.
    async fn attempts(&self, tenant: &TenantId, id: JobId) -> StoreResult<Vec<Attempt>>;

    /// Matching jobs, ordered by creation time and then id.
    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> StoreResult<Vec<Job>>;

    /// Cancels a job that has not finished; `None` when there is no such job. `reason` becomes part of its error
    /// text: [`crate::policy::Policy::cancel_text`].
    async fn cancel(
        &self,
        tenant: &TenantId,
        id: JobId,
        cause: CancelCause,
        reason: &str,
    ) -> StoreResult<Option<Cancelled>>;

    /// Changes a job that has not finished; `None` when there is no such job. The scoring of a running job changes with its
    /// next attempt, everything else at once. [`StoreError::LimitReached`] when its request grows and the tenant has no room
    /// for the bytes.
    async fn update(
        &self,
        tenant: &TenantId,
        id: JobId,
        update: JobUpdate,
        limits: &TenantLimits,
    ) -> StoreResult<Option<Updated>>;

    /// Stores the viewers' score of a job. A completed job becomes a sample at once, a pending or running one when
    /// it completes.
    async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
        by: &Labeller,
    ) -> StoreResult<Labelled>;

    /// Opens a session. The returned token is not stored and cannot be retrieved again. When the tenant has as many sessions
    /// as it may, the new one replaces that session of the same name which was heard from longest ago;
    /// [`StoreError::LimitReached`] if there is none.
    async fn register(
        &self,
        tenant: &TenantId,
        node: NewNode,
        limits: &TenantLimits,
    ) -> StoreResult<Credentials>;

    /// Opens a session with credentials that the caller has derived: [`Credentials::for_tenant`]. Repeating it changes
    /// nothing. The caller must have authenticated the credentials that they were derived from.
    async fn register_as(
        &self,
        tenant: &TenantId,
        node: NewNode,
        credentials: &Credentials,
    ) -> StoreResult<()>;

    /// Extends the session and the leases of the named jobs; `None` when there is no such session.
    async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        beat: Heartbeat,
    ) -> StoreResult<Option<HeartbeatReply>>;

    /// Hands out the first job that asks for no backend or for one of `backends`, by priority, creation time and
    /// id. Jobs that are kept from this node are passed over, and a quarantined node gets nothing. `pull` is recorded with
    /// the job, for [`Store::release_pulls`]. A session holds at most as many jobs as its node registered slots, and a tenant
    /// at most as many as it may run.
    async fn claim(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
        pull: Option<PullId>,
        limits: &TenantLimits,
    ) -> StoreResult<Claim>;

    /// Gives back the jobs that this session holds and that these pulls claimed, as [`Store::release`] does; see
    /// [`crate::lost_pull`]. Returns how many.
    async fn release_pulls(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        pulls: &[PullId],
    ) -> StoreResult<u64>;

    /// Ends the attempt that this session holds; see [`crate::fence`]. A failure that is not the job's requeues the
    /// job while attempts are left; see [`crate::verdict`].
    async fn report(&self, tenant: &TenantId, node: &Credentials, report: Report) -> StoreResult<Reported>;

    /// Gives an attempt back: the job is pending again at once, and the attempt does not count as lost.
    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> StoreResult<Released>;

    /// Why a job waits; `None` when there is no such job.
    async fn explain(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Explained>>;

    /// Live nodes of a tenant, ordered by name and then session.
    async fn nodes(&self, tenant: &TenantId) -> StoreResult<Vec<Node>>;

    /// Live nodes of all tenants that belong to a VmafxNode resource.
    async fn nodes_with_resource(&self) -> StoreResult<Vec<Node>>;

    /// The current end of the feed of changes. Reading from here misses no change that is not visible yet.
    async fn position(&self, tenant: &TenantId) -> StoreResult<Cursor>;

    /// Jobs that changed after the cursor, each once and in its current state, in the order of their last change.
    /// [`StoreError::Cursor`] when the store cannot continue from there.
    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Changes>;

    /// Samples after the cursor, in the order of their creation; an empty cursor starts at the oldest sample.
    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> StoreResult<Samples>;

    /// Ends expired leases, sessions and deadlines, at most a thousand of each. After a gap longer than
    /// [`crate::policy::Policy::max_sweep_gap`] it renews every lease and session instead.
    async fn sweep(&self) -> StoreResult<Swept>;

    /// Removes a small batch of the jobs and samples that exceed the retention.
    async fn prune(&self, keep: &Retention) -> StoreResult<Pruned>;

    /// Figures for the metrics, one entry for each tenant.
    async fn stats(&self) -> StoreResult<Vec<TenantStats>>;

    /// Whether the store is reachable and has the schema version of this program.
    async fn ready(&self) -> StoreResult<()>;

    /// Whether the last attempt to store something new found no room.
    fn is_full(&self) -> bool;

    /// Bytes that are free for the store, if it can tell.
    fn free_bytes(&self) -> Option<u64>;

    /// Subscribes to the changes made by this and by the other controllers of the store.
    fn notifications(&self) -> broadcast::Receiver<Notification>;

    /// Finishes the running operations and closes the store. Later calls return [`StoreError::Closed`].
    async fn close(&self);
}
