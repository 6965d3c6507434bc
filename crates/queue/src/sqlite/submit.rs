//! Submission.

use rusqlite::OptionalExtension as _;
use uuid::Uuid;

use super::rows::{self, JobRow};
use super::unit_of_work::UnitOfWork;
use crate::StoreResult;
use crate::ids::{IdempotencyKey, JobId, TenantId};
use crate::job::NewJob;
use crate::store::Submitted;
use crate::transition::State;
use vmafx_job::FailureReason;

/// Inserts a job, or finds the existing one with the same key. `spec` is the scoring request as JSON.
pub(super) fn submit(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    job: &NewJob,
    spec: &str,
) -> StoreResult<Submitted> {
    if let Some(key) = &job.key
        && let Some(id) = existing_job(tx, tenant, key)?
    {
        return Ok(Submitted { id, deduplicated: true });
    }
    let row = JobRow {
        number: 0,
        id: JobId(tx.new_id()),
        tenant: tenant.clone(),
        state: State::Pending,
        ready: true,
        backend: job.scoring.backend_name().to_owned(),
        priority: job.priority,
        created_at: tx.now,
        seq: tx.next_change(),
        revision: 1,
        attempt: 0,
        lost_attempts: 0,
        max_lost_attempts: job.max_lost_attempts.unwrap_or(tx.policy.max_lost_attempts),
        updated_at: tx.now,
        started_at: None,
        finished_at: None,
        available_at: None,
        deadline_at: job.deadline.map(|length| tx.now + length),
        lease: None,
        failure_reason: FailureReason::Unspecified,
        label: job.label.map(crate::job::Label::value),
        result: None,
        node: None,
        error: String::new(),
        key: job.key.as_ref().map(|key| key.as_str().to_owned()),
        origin: job.origin.clone(),
        spec: spec.to_owned(),
        next_spec: None,
        cancel_cause: None,
        last_failure: None,
        avoids: None,
    };
    rows::insert(tx.connection, &row)?;
    tx.state.pending.changed(tenant);
    tx.state.pending.work(tenant, &row.backend);
    Ok(Submitted { id: row.id, deduplicated: false })
}

fn existing_job(
    tx: &UnitOfWork<'_>,
    tenant: &TenantId,
    key: &IdempotencyKey,
) -> rusqlite::Result<Option<JobId>> {
    tx.connection
        .prepare_cached("SELECT id FROM jobs WHERE tenant = ?1 AND key = ?2")?
        .query_row([tenant.as_str(), key.as_str()], |row| Ok(JobId(Uuid::from_bytes(row.get(0)?))))
        .optional()
}
