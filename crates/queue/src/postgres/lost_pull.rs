//! Jobs that are given back because the answer to a pull was lost.

use uuid::Uuid;

use super::Shared;
use super::pool::{Access, Scope, Value};
use super::row::{job_columns, jobs};
use super::tenant_changes::TenantChanges;
use super::usage::{bytes_when_pending, counted};
use crate::ids::{PullId, TenantId};
use crate::lost_pull;
use crate::node::Credentials;
use crate::store::StoreResult;

/// The condition on `locked` is [`lost_pull::is_released`].
const RELEASE_PULLS: &str = concat!(
    "
WITH live AS (
    SELECT s.id FROM vmafx.node_sessions s
    WHERE s.id = $2 AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = $3
), locked AS (
    -- All transactions lock rows in the order of their ids, which prevents deadlocks.
    SELECT j.id, j.bytes FROM vmafx.jobs j
    WHERE j.tenant_id = $1 AND j.status = 'running' AND j.lease_session = (SELECT id FROM live)
        AND j.lease_pull = ANY ($4::uuid[])
    ORDER BY j.id FOR NO KEY UPDATE
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = 'pending', ready = true, lease_session = NULL, lease_expires_at = NULL, progress_done = NULL,
        progress_total = NULL, updated_at = $5, revision = job.revision + 1, change_xid = pg_current_xact_id(),
        spec = coalesce(job.next_spec, job.spec), next_spec = NULL, bytes = ",
    bytes_when_pending!(),
    "
    FROM locked
    WHERE job.id = locked.id AND coalesce(job.status, '') = 'running'
        AND job.lease_session = $2
    RETURNING job.*, job.bytes - locked.bytes AS growth
), ended AS (
    UPDATE vmafx.job_attempts AS a SET ended_at = $5, outcome = 'released', error = $6
    FROM j WHERE a.job_id = j.id AND a.attempt = j.attempt
), counted AS (",
    counted!("count(*)", "-count(*)", "sum(growth)", "j"),
    ")
SELECT ",
    job_columns!(),
    " FROM j"
);

impl Shared {
    pub(super) async fn release_pulls(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        pulls: &[PullId],
    ) -> StoreResult<u64> {
        let (token, now) = (node.token.digest(), self.clock.now().0);
        let pulls: Vec<Uuid> = pulls.iter().map(|pull| pull.0).collect();
        let values: [Value<'_>; 6] =
            [&tenant.as_str(), &node.session.0, &token.as_slice(), &pulls, &now, &lost_pull::REASON];
        let rows = self.connections.run(Scope::Tenant(tenant), Access::Write, RELEASE_PULLS, &values).await?;
        let released = jobs(&rows)?;
        self.notify(tenant, TenantChanges::of(&released));
        Ok(released.len() as u64)
    }
}
