//! Changes of jobs that have not finished.

use super::Shared;
use super::pool::{Access, Scope, Value};
use super::row::{Reader, job_columns, millis, signed};
use super::tenant_changes::TenantChanges;
use super::usage::{counted, usage};
use crate::ids::{JobId, TenantId};
use crate::job::{DeadlineUpdate, JobUpdate};
use crate::store::{StoreError, StoreResult, Updated};
use crate::usage::reached;
use vmafx_job::{TenantLimit, TenantLimits};

/// The new deadline, which saturates as that of a submission does.
macro_rules! deadline {
    () => {
        "CASE WHEN $7::bigint IS NOT NULL
            THEN job.created_at + least($7, 9223372036854775807 - job.created_at) END"
    };
}

/// A running attempt keeps its request, so that its score is never recorded with another one. Requests are compared as
/// text, because the type `json` keeps the text that was written.
const UPDATE: &str = concat!(
    "
WITH before AS (
    SELECT b.id, b.bytes, CASE WHEN $3::text IS NULL THEN b.bytes
        WHEN b.status = 'running' AND b.spec::text <> $3 THEN $9::bigint + octet_length(b.spec::text) + octet_length($3)
        ELSE $9::bigint + octet_length($3) END AS new_bytes
    FROM vmafx.jobs b
    WHERE b.id = $2 AND coalesce(b.tenant_id, '') = $1 AND coalesce(b.status, '') IN ('pending', 'running')
    FOR NO KEY UPDATE
), j AS (
    UPDATE vmafx.jobs AS job SET
        bytes = before.new_bytes,
        spec = CASE WHEN $3::text IS NULL OR job.status = 'running' THEN job.spec ELSE $3::json END,
        next_spec = CASE
            WHEN $3 IS NULL THEN job.next_spec
            WHEN job.status = 'running' AND job.spec::text <> $3 THEN $3::json
        END,
        priority = coalesce($4::int, job.priority),
        max_lost_attempts = coalesce($5::bigint, job.max_lost_attempts),
        deadline_at = CASE WHEN $6::boolean THEN ",
    deadline!(),
    " ELSE job.deadline_at END,
        updated_at = $8, revision = job.revision + 1, change_xid = pg_current_xact_id()
    FROM before
    WHERE job.id = before.id AND coalesce(job.status, '') IN ('pending', 'running')
        AND (before.new_bytes <= before.bytes OR before.new_bytes - before.bytes <= $10::bigint - ",
    usage!("bytes"),
    ")
        AND (coalesce(job.next_spec, job.spec)::text <> $3
            OR job.priority <> $4
            OR job.max_lost_attempts <> $5
            OR $6 AND job.deadline_at IS DISTINCT FROM ",
    deadline!(),
    ")
    RETURNING job.*, before.new_bytes - before.bytes AS growth
), counted AS (",
    counted!("0", "0", "sum(growth)", "j"),
    ")
SELECT ",
    job_columns!(),
    " FROM j"
);

impl Shared {
    pub(super) async fn update(
        &self,
        tenant: &TenantId,
        id: JobId,
        update: &JobUpdate,
        limits: &TenantLimits,
    ) -> StoreResult<Option<Updated>> {
        let spec = update.scoring.as_ref().map(serde_json::to_string).transpose();
        let spec = spec.map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        let max_lost_attempts = update.max_lost_attempts.map(i64::from);
        let deadline: Option<i64> = match update.deadline {
            Some(DeadlineUpdate::After(length)) => Some(millis(length)),
            Some(DeadlineUpdate::Never) | None => None,
        };
        let (changes_deadline, now) = (update.deadline.is_some(), self.clock.now().0);
        let (job_bytes, max_bytes) = (signed(TenantLimits::JOB_BYTES), signed(limits.stored_bytes));
        let values: [Value<'_>; 10] = [
            &tenant.as_str(),
            &id.0,
            &spec,
            &update.priority,
            &max_lost_attempts,
            &changes_deadline,
            &deadline,
            &now,
            &job_bytes,
            &max_bytes,
        ];
        let rows = self.connections.run(Scope::Tenant(tenant), Access::Write, UPDATE, &values).await?;
        let Some(row) = rows.first() else {
            let Some(job) = self.job(tenant, id).await? else { return Ok(None) };
            let current = job.next_scoring.as_ref().unwrap_or(&job.scoring);
            // Only a request without room is left as it is.
            if !job.state.is_final() && update.scoring.as_ref().is_some_and(|scoring| scoring != current) {
                return Err(reached(TenantLimit::StoredBytes, limits));
            }
            return Ok(Some(Updated { job, changed: false }));
        };
        let job = Reader::new(row).job()?;
        self.notify(tenant, TenantChanges::of([&job]));
        Ok(Some(Updated { job, changed: true }))
    }
}
