//! The operations every store has.
//!
//! Every operation is one transaction, and its answer is given after it is durable. Operations on behalf of somebody
//! name the tenant, and see nothing of any other. Operations of the controller itself (`sweep`, `prune`, `stats`,
//! `nodes_to_show`) see all tenants.

mod answer;
mod error;
mod query;

use async_trait::async_trait;
use tokio::sync::broadcast;
use vmafx_job::CancelCause;

pub use answer::{
    Cancelled, Changes, Claim, Explained, Labelled, Pruned, Released, Reported, Sample, Samples, Submitted,
    Supply, Swept, TenantStats,
};
pub use error::StoreError;
pub use query::{Filter, LabelTarget, Page, Retention};

use crate::ids::{AttemptNumber, JobId, TenantId};
use crate::job::{Attempt, Job, Label, NewJob};
use crate::node::{Beat, Credentials, NewNode, Node, Pulse, Report};
use crate::notice::Notice;

/// Where a reader of changes or samples is. Opaque outside the store that made it.
pub type Cursor = String;

/// A durable queue with its registry of nodes.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Stores a job, or finds the one with the same key. A label is stored with it.
    async fn submit(&self, tenant: &TenantId, job: NewJob) -> Result<Submitted, StoreError>;

    /// One job; `None` when it does not exist or is another tenant's.
    async fn job(&self, tenant: &TenantId, id: JobId) -> Result<Option<Job>, StoreError>;

    /// The attempts of a job, first to last; empty when there is no such job.
    async fn attempts(&self, tenant: &TenantId, id: JobId) -> Result<Vec<Attempt>, StoreError>;

    /// Jobs that match, by creation and then id.
    async fn jobs(&self, tenant: &TenantId, filter: &Filter, page: &Page) -> Result<Vec<Job>, StoreError>;

    /// Ends a job that is not over; `None` when there is none. `reason` becomes part of its error text:
    /// [`crate::policy::Policy::cancel_text`].
    async fn cancel(
        &self,
        tenant: &TenantId,
        id: JobId,
        cause: CancelCause,
        reason: &str,
    ) -> Result<Option<Cancelled>, StoreError>;

    /// Says what viewers said. A completed job becomes a sample at once, a waiting or running one when it completes.
    async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
    ) -> Result<Labelled, StoreError>;

    /// Opens a session. The secret is made here, and only here is it known.
    async fn register(&self, tenant: &TenantId, node: NewNode) -> Result<Credentials, StoreError>;

    /// Keeps a session and the leases of the named jobs alive; `None` when there is no such session.
    async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        beat: Beat,
    ) -> Result<Option<Pulse>, StoreError>;

    /// Hands out the first job that asks for no backend or for one of `backends`: by priority, creation, id.
    async fn claim(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        backends: &[String],
    ) -> Result<Claim, StoreError>;

    /// Ends the attempt that this session holds: see [`crate::fence`].
    async fn report(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        report: Report,
    ) -> Result<Reported, StoreError>;

    /// Gives an attempt back: the job waits again at once, and nothing is counted as lost.
    async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        job: JobId,
        attempt: AttemptNumber,
        reason: &str,
    ) -> Result<Released, StoreError>;

    /// Why a job waits; `None` when there is no such job.
    async fn explain(&self, tenant: &TenantId, id: JobId) -> Result<Option<Explained>, StoreError>;

    /// Live nodes of a tenant, by name and then session.
    async fn nodes(&self, tenant: &TenantId) -> Result<Vec<Node>, StoreError>;

    /// Live nodes of all tenants that belong to a resource.
    async fn nodes_to_show(&self) -> Result<Vec<Node>, StoreError>;

    /// Where the changes are now: reading from here misses nothing that is not visible yet.
    async fn position(&self, tenant: &TenantId) -> Result<Cursor, StoreError>;

    /// Jobs that changed after the cursor, each once and as it is now, in the order of their last change.
    /// [`StoreError::Cursor`] when the store cannot continue from there.
    async fn changes(&self, tenant: &TenantId, after: &str, limit: u32) -> Result<Changes, StoreError>;

    /// Samples after the cursor (empty: from the oldest), in the order in which they came to be.
    async fn samples(&self, tenant: &TenantId, after: &str, limit: u32) -> Result<Samples, StoreError>;

    /// Ends leases, sessions and deadlines that ran out, at most a thousand of each; or, if it comes too late after
    /// the last one ([`crate::policy::Policy::away_after`]), gives every lease and session its full time again.
    async fn sweep(&self) -> Result<Swept, StoreError>;

    /// Removes a small batch of what is older or more than is kept.
    async fn prune(&self, keep: &Retention) -> Result<Pruned, StoreError>;

    /// Numbers for the metrics, by tenant.
    async fn stats(&self) -> Result<Vec<TenantStats>, StoreError>;

    /// Whether it can be used: reachable, and with the schema of this program.
    async fn ready(&self) -> Result<(), StoreError>;

    /// Hears what happens from now on, here and at other controllers of the same store.
    fn notices(&self) -> broadcast::Receiver<Notice>;

    /// Finishes what was begun and closes. Later calls answer [`StoreError::Closed`].
    async fn close(&self);
}
