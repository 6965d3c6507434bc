//! Submission.

use rusqlite::OptionalExtension as _;
use uuid::Uuid;

use super::rows::{self, JobRow};
use super::unit_of_work::UnitOfWork;
use super::usage::JobUsage;
use crate::idempotency::{KeyUse, StoredRequest, decide, digest_of};
use crate::ids::{IdempotencyKey, JobId, TenantId};
use crate::job::NewJob;
use crate::store::Submitted;
use crate::transition::State;
use crate::{StoreError, StoreResult};
use vmafx_job::{FailureReason, TenantLimits};

/// A refusal is no error of the operation, which would roll back the whole batch.
pub(super) enum SubmitOutcome {
    Submitted(Submitted),
    Refused(StoreError),
}

/// Inserts a job, or finds the existing one with the same key. `spec` is the scoring request as JSON.
pub(super) fn submit(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    job: &NewJob,
    spec: &str,
    limits: &TenantLimits,
) -> StoreResult<SubmitOutcome> {
    if let Some(key) = &job.key
        && let Some((id, key_use)) = existing_job(tx, tenant, key, job)?
    {
        return Ok(match key_use {
            KeyUse::Repeated => SubmitOutcome::Submitted(Submitted { id, deduplicated: true }),
            KeyUse::Reused => SubmitOutcome::Refused(StoreError::KeyReused { job: id }),
        });
    }
    let bytes = TenantLimits::JOB_BYTES + spec.len() as u64;
    if let Err(refused) = tx.state.usage.of(tenant).check_submission(bytes, limits) {
        return Ok(SubmitOutcome::Refused(refused));
    }
    let created_at = tx.state.counters.creation_order.next(tx.now);
    let row = JobRow {
        number: 0,
        id: JobId(tx.new_id(created_at)),
        tenant: tenant.clone(),
        state: State::Pending,
        ready: true,
        backend: job.scoring.backend_name().to_owned(),
        priority: job.priority,
        created_at,
        seq: tx.next_change(),
        revision: 1,
        attempt: 0,
        lost_attempts: 0,
        max_lost_attempts: job.max_lost_attempts.unwrap_or(tx.policy.max_lost_attempts),
        updated_at: created_at,
        started_at: None,
        finished_at: None,
        available_at: None,
        deadline_at: job.deadline.map(|length| tx.now + length),
        lease: None,
        failure_reason: FailureReason::Unspecified,
        label: job.label.map(crate::job::Label::value),
        labelled_by: job.labelled_by.as_str().to_owned(),
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
        usage: JobUsage { is_pending: true, bytes },
    };
    let digest = job.key.as_ref().map(|_| digest_of(job));
    rows::insert(tx.connection, &row, &job.submitter, digest.as_ref())?;
    tx.state.usage.replace(tenant, JobUsage::default(), row.usage);
    tx.state.counters.creation_order.record(created_at);
    tx.state.pending.changed(tenant);
    tx.state.pending.work(tenant, &row.backend);
    Ok(SubmitOutcome::Submitted(Submitted { id: row.id, deduplicated: false }))
}

/// The job of the submitter, or one from before keys had submitters.
const EXISTING: &str = "SELECT id, request_digest, origin_cluster, origin_uid FROM jobs \
     WHERE tenant = ?1 AND key = ?2 AND (submitter = ?3 OR submitter = '') ORDER BY submitter DESC LIMIT 1";

fn existing_job(
    tx: &UnitOfWork<'_>,
    tenant: &TenantId,
    key: &IdempotencyKey,
    new: &NewJob,
) -> rusqlite::Result<Option<(JobId, KeyUse)>> {
    tx.connection
        .prepare_cached(EXISTING)?
        .query_row([tenant.as_str(), key.as_str(), &new.submitter], |row| {
            let digest: Option<Vec<u8>> = row.get(1)?;
            let (cluster, uid): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
            let stored =
                StoredRequest { digest: digest.as_deref(), resource: cluster.as_deref().zip(uid.as_deref()) };
            Ok((JobId(Uuid::from_bytes(row.get(0)?)), decide(stored, new)))
        })
        .optional()
}
