//! New jobs.

use rusqlite::OptionalExtension as _;
use uuid::Uuid;

use super::rows::{self, Row};
use super::unit::Unit;
use crate::StoreError;
use crate::ids::{IdempotencyKey, JobId, TenantId};
use crate::job::NewJob;
use crate::store::Submitted;
use crate::transition::State;
use vmafx_job::FailureReason;

/// Stores a job, or finds the one with the same key. `spec` is what is to be scored, as JSON.
pub(super) fn submit(
    unit: &mut Unit<'_>,
    tenant: &TenantId,
    job: &NewJob,
    spec: &str,
) -> Result<Submitted, StoreError> {
    if let Some(key) = &job.key
        && let Some(id) = known(unit, tenant, key)?
    {
        return Ok(Submitted { id, deduplicated: true });
    }
    let row = Row {
        number: 0,
        id: JobId(unit.new_id()),
        tenant: tenant.clone(),
        state: State::Pending,
        ready: true,
        backend: job.scoring.backend_name().to_owned(),
        priority: job.priority,
        created_at: unit.now,
        seq: unit.next_change(),
        revision: 1,
        attempt: 0,
        lost_attempts: 0,
        max_lost_attempts: job.max_lost_attempts.unwrap_or(unit.policy.max_lost_attempts),
        updated_at: unit.now,
        started_at: None,
        finished_at: None,
        available_at: None,
        deadline_at: job.deadline.map(|length| unit.now + length),
        lease: None,
        failure_reason: FailureReason::Unspecified,
        label: job.label.map(crate::job::Label::value),
        result: None,
        node: None,
        error: String::new(),
        key: job.key.as_ref().map(|key| key.as_str().to_owned()),
        origin: job.origin.clone(),
        spec: spec.to_owned(),
        cancel_cause: None,
    };
    rows::insert(unit.connection, &row)?;
    unit.book.news.changed(tenant);
    unit.book.news.work(tenant, &row.backend);
    Ok(Submitted { id: row.id, deduplicated: false })
}

fn known(unit: &Unit<'_>, tenant: &TenantId, key: &IdempotencyKey) -> rusqlite::Result<Option<JobId>> {
    unit.connection
        .prepare_cached("SELECT id FROM jobs WHERE tenant = ?1 AND key = ?2")?
        .query_row([tenant.as_str(), key.as_str()], |row| Ok(JobId(Uuid::from_bytes(row.get(0)?))))
        .optional()
}
