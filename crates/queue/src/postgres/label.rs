//! Labels.

use uuid::Uuid;

use super::Shared;
use super::error::corrupt;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, text};
use super::tenant_changes::TenantChanges;
use crate::ids::{JobId, TenantId};
use crate::job::{Label, Labeller};
use crate::store::{LabelTarget, Labelled, StoreResult};

/// Selects a job by its id or by its key: that of the submitter, or else the only one.
macro_rules! selected {
    ($name:literal) => {
        concat!(
            $name,
            ".id = (
                SELECT $2::uuid WHERE $2 IS NOT NULL
                UNION ALL
                (SELECT k.id FROM (
                    SELECT known.id, known.submitter = $4 AS own, count(*) OVER () AS total FROM vmafx.jobs known
                    WHERE known.idempotency_key = $3 AND coalesce(known.tenant_id, '') = $1
                ) k WHERE k.own OR k.total = 1 ORDER BY k.own DESC LIMIT 1))
            AND coalesce(",
            $name,
            ".tenant_id, '') = $1"
        )
    };
}

const LABEL: &str = concat!(
    "
UPDATE vmafx.jobs AS job SET
    label = $5, labelled_by = $7, updated_at = $6, revision = job.revision + 1, change_xid = pg_current_xact_id()
WHERE ",
    selected!("job"),
    " AND job.status NOT IN ('failed', 'cancelled')
RETURNING job.id"
);

/// Adds a sample for a completed job, with the labels that its node had during the attempt. A separate statement,
/// because a statement that waited for a concurrent report does not see the end of the attempt.
const SAMPLE: &str = concat!(
    "
INSERT INTO vmafx.samples (tenant_id, job_id, features, label, labelled_by, node_labels, created_at)
SELECT $1, j.id, j.features, $5, $7, a.node_labels, $6
FROM vmafx.jobs j JOIN vmafx.job_attempts a ON a.job_id = j.id AND a.attempt = j.attempt
WHERE ",
    selected!("j"),
    " AND j.status = 'completed' AND j.change_xid = pg_current_xact_id()
RETURNING 1"
);

/// Whether the job exists, and the number of jobs with the key.
const EXISTS: &str = concat!(
    "SELECT EXISTS (SELECT FROM vmafx.jobs j WHERE ",
    selected!("j"),
    "), (SELECT count(*) FROM vmafx.jobs k WHERE k.idempotency_key = $3 AND coalesce(k.tenant_id, '') = $1)"
);

impl Shared {
    pub(super) async fn label(
        &self,
        tenant: &TenantId,
        target: &LabelTarget,
        label: Label,
        by: &Labeller,
    ) -> StoreResult<Labelled> {
        let (id, key, submitter): (Option<Uuid>, Option<&str>, String) = match target {
            LabelTarget::Id(id) => (Some(id.0), None, String::new()),
            LabelTarget::Key { key, submitter } => (None, Some(key.as_str()), text(submitter)),
        };
        let (value, now, by) = (label.value(), self.clock.now().0, text(by.as_str()));
        let values: [Value<'_>; 7] = [&tenant.as_str(), &id, &key, &submitter, &value, &now, &by];
        let calls: [Call<'_>; 2] = [(LABEL, &values), (SAMPLE, &values)];
        let answers = self.connections.run_all(Scope::Tenant(tenant), Access::Write, &calls).await?;
        let Some(row) = answers.first().and_then(|rows| rows.first()) else {
            let there =
                self.connections.run(Scope::Tenant(tenant), Access::Read, EXISTS, &values[..4]).await?;
            let mut reader = Reader::new(there.first().ok_or_else(|| corrupt("the jobs with a key"))?);
            return Ok(match (reader.next()?, reader.count::<u64>()?) {
                (true, _) => Labelled::Over,
                (false, 0 | 1) => Labelled::NotFound,
                (false, _) => Labelled::Ambiguous,
            });
        };
        let (id, sampled) =
            (JobId(Reader::new(row).next()?), answers.get(1).is_some_and(|rows| !rows.is_empty()));
        self.notify(tenant, TenantChanges { changed: true, sampled, ..TenantChanges::default() });
        Ok(Labelled::Stored { id, sampled })
    }
}
