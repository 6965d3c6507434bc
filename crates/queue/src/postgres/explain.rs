//! Why a job waits.

use super::Shared;
use super::faults::nodes_of;
use super::nodes::NODES_OF_TENANT;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, claim_rank, job_columns};
use super::usage::usage;
use crate::ids::{JobId, TenantId};
use crate::store::{Explained, QuarantinedNode, StoreResult, Supply};

/// The job, and the number of jobs that are claimed before it. A job competes with jobs of its own backend and of
/// no backend; a job without a backend competes with all.
const AHEAD: &str = concat!(
    "
SELECT ahead.by_priority, ahead.by_age, ",
    job_columns!(),
    "
FROM vmafx.jobs j
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE o.priority > j.priority) AS by_priority,
        count(*) FILTER (WHERE o.priority <= j.priority) AS by_age
    FROM vmafx.jobs o
    WHERE j.status = 'pending' AND o.tenant_id = $1 AND o.status = 'pending'
        AND (o.ready OR o.available_at <= $3)
        AND (j.backend = '' OR o.backend IN ('', j.backend))
        AND (",
    claim_rank!("o"),
    ", o.id) < (",
    claim_rank!("j"),
    ", j.id)
) ahead
WHERE j.id = $2 AND coalesce(j.tenant_id, '') = $1"
);

const RUNNING: &str = concat!("SELECT ", usage!("running"));

impl Shared {
    pub(super) async fn explain(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Explained>> {
        let (tenant_id, now) = (tenant.as_str(), self.clock.now().0);
        let ahead: [Value<'_>; 3] = [&tenant_id, &id.0, &now];
        let nodes: [Value<'_>; 1] = [&tenant_id];
        let calls: [Call<'_>; 3] = [(AHEAD, &ahead), (NODES_OF_TENANT, &nodes), (RUNNING, &nodes)];
        let answers = self.connections.run_all(Scope::Tenant(tenant), Access::Read, &calls).await?;
        let Some(row) = answers.first().and_then(|rows| rows.first()) else { return Ok(None) };
        let mut reader = Reader::new(row);
        let (ahead_by_priority, ahead_by_age) = (reader.count()?, reader.count()?);
        let job = reader.job()?;
        let nodes = nodes_of(answers.get(1).map(Vec::as_slice).unwrap_or_default(), self)?;
        let supply = Supply::by_backend(nodes.iter().map(|node| (&node.capability, node.jobs)));
        let quarantined = QuarantinedNode::among(&nodes);
        let running = answers.get(2).and_then(|rows| rows.first());
        let running = running.map_or(Ok(0), |row| Reader::new(row).count())?;
        Ok(Some(Explained { job, ahead_by_priority, ahead_by_age, supply, quarantined, running }))
    }
}
