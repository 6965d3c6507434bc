//! What viewers said.

use uuid::Uuid;

use super::Shared;
use super::news::News;
use super::pool::{Access, Scope, Value};
use super::row::Reader;
use crate::ids::{JobId, TenantId};
use crate::job::Label;
use crate::store::{LabelTarget, Labelled, StoreError};

/// A completed job becomes a sample with the labels that its last node had when it took the job.
const LABEL: &str = "
WITH j AS (
    UPDATE vmafx.jobs AS job SET
        label = $4, updated_at = $5, revision = job.revision + 1, change_xid = pg_current_xact_id()
    WHERE job.tenant_id = $1 AND job.status NOT IN ('failed', 'cancelled')
        AND job.id = coalesce($2, (
            SELECT known.id FROM vmafx.jobs known WHERE known.tenant_id = $1 AND known.idempotency_key = $3))
    RETURNING job.*
), sampled AS (
    INSERT INTO vmafx.samples (tenant_id, job_id, features, label, node_labels, created_at)
    SELECT $1, j.id, j.features, j.label, a.node_labels, $5
    FROM j JOIN vmafx.job_attempts a ON a.job_id = j.id AND a.attempt = j.attempt
    WHERE j.status = 'completed'
    RETURNING job_id
)
SELECT j.id, EXISTS (SELECT FROM sampled) FROM j";

const EXISTS: &str = "
SELECT 1 FROM vmafx.jobs
WHERE tenant_id = $1 AND (id = $2 OR (idempotency_key = $3 AND idempotency_key IS NOT NULL))";

impl Shared {
    pub(super) async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
    ) -> Result<Labelled, StoreError> {
        let (id, key): (Option<Uuid>, Option<&str>) = match target {
            LabelTarget::Id(id) => (Some(id.0), None),
            LabelTarget::Key(key) => (None, Some(key.as_str())),
        };
        let (value, now) = (label.value(), self.clock.now().0);
        let values: [Value<'_>; 5] = [&tenant.as_str(), &id, &key, &value, &now];
        let rows = self.connections.run(Scope::Of(tenant), Access::Write, LABEL, &values).await?;
        let Some(row) = rows.first() else {
            let there = self.connections.run(Scope::Of(tenant), Access::Read, EXISTS, &values[..3]).await?;
            return Ok(if there.is_empty() { Labelled::NotFound } else { Labelled::Over });
        };
        let mut reader = Reader::new(row);
        let (id, sampled) = (JobId(reader.next()?), reader.next()?);
        News { changed: true, sampled, ..News::default() }.tell(&self.notices, tenant);
        Ok(Labelled::Stored { id, sampled })
    }
}
