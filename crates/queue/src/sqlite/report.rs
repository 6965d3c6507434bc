//! Reports and releases of attempts.

use subtle::ConstantTimeEq as _;

use super::live::CredentialsDigest;
use super::rows::{self, JobRow, StoredResult};
use super::unit_of_work::UnitOfWork;
use super::{attempts, label};
use crate::StoreResult;
use crate::fence::{FenceDecision, FenceState, decide};
use crate::ids::{AttemptNumber, JobId, SessionId, TenantId};
use crate::outcome::AttemptOutcome;
use crate::store::Released;
use crate::transition::JobEvent;
use vmafx_job::FailureReason;

/// A report whose result is already serialized.
#[derive(Debug)]
pub(super) struct SerializedReport {
    pub(super) job: JobId,
    pub(super) attempt: Option<AttemptNumber>,
    pub(super) result: Result<StoredResult, (FailureReason, String)>,
}

/// The row is converted to a job on the caller's side.
pub(super) enum ReportOutcome {
    NoSession,
    Fenced,
    Repeated,
    Moved { row: Box<JobRow>, sampled: bool },
}

/// Ends the attempt that the session holds.
pub(super) fn report(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    credentials: &CredentialsDigest,
    report: &SerializedReport,
) -> StoreResult<ReportOutcome> {
    let live = tx.live.session(tenant, credentials).is_some();
    let refused = || if live { ReportOutcome::Fenced } else { ReportOutcome::NoSession };
    let Some(row) = rows::by_id(tx.connection, tenant, report.job)? else { return Ok(refused()) };
    let Some(attempt) = referenced_attempt(tx, &row, credentials.session, report.attempt)? else {
        return Ok(refused());
    };
    if !live && !held_expired_attempt(tx, &row, credentials, attempt)? {
        return Ok(ReportOutcome::NoSession);
    }
    match (decision(tx, &row, credentials.session, attempt)?, &report.result) {
        (FenceDecision::Repeat, _) => Ok(ReportOutcome::Repeated),
        (FenceDecision::Accept, _) => accept(tx, row, report),
        (FenceDecision::AcceptLateScore, Ok(result)) => accept_late(tx, row, result),
        (FenceDecision::AcceptLateScore, Err(_)) | (FenceDecision::Fenced, _) => Ok(refused()),
    }
}

/// Whether the credentials are those of the evicted session that held the attempt when its lease expired.
fn held_expired_attempt(
    tx: &UnitOfWork<'_>,
    row: &JobRow,
    credentials: &CredentialsDigest,
    attempt: AttemptNumber,
) -> StoreResult<bool> {
    let token = attempts::token(tx.connection, row.number, attempt)?;
    Ok(token.is_some_and(|token| token.ct_eq(&credentials.digest).into()))
}

/// Ends a job by the score of an attempt whose lease expired. The attempt no longer counts as lost.
fn accept_late(
    tx: &mut UnitOfWork<'_>,
    mut row: JobRow,
    result: &StoredResult,
) -> StoreResult<ReportOutcome> {
    if row.next_state(JobEvent::CompleteLate).is_none() {
        return Ok(ReportOutcome::Fenced);
    }
    attempts::complete_expired(tx.connection, &row, tx.now)?;
    row.lost_attempts = row.lost_attempts.saturating_sub(1);
    row.complete(result.clone(), tx.now);
    stored(tx, row)
}

fn stored(tx: &mut UnitOfWork<'_>, mut row: JobRow) -> StoreResult<ReportOutcome> {
    tx.store(&mut row)?;
    let sampled = label::sample(tx, &row)?;
    Ok(ReportOutcome::Moved { row: Box::new(row), sampled })
}

fn accept(tx: &mut UnitOfWork<'_>, mut row: JobRow, report: &SerializedReport) -> StoreResult<ReportOutcome> {
    let event = if report.result.is_ok() { JobEvent::Complete } else { JobEvent::Fail };
    if row.next_state(event).is_none() {
        return Ok(ReportOutcome::Fenced);
    }
    match &report.result {
        Ok(result) => {
            attempts::end(tx.connection, &row, AttemptOutcome::Completed, "", tx.now)?;
            row.complete(result.clone(), tx.now);
        }
        Err((reason, error)) => {
            attempts::end(tx.connection, &row, AttemptOutcome::Failed, error, tx.now)?;
            row.fail(*reason, error, tx.now);
        }
    }
    tx.live.end_lease(row.id);
    stored(tx, row)
}

/// Gives an attempt back: the job can be claimed again at once.
pub(super) fn release(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    credentials: &CredentialsDigest,
    job: JobId,
    attempt: AttemptNumber,
    reason: &str,
) -> StoreResult<Released> {
    if tx.live.session(tenant, credentials).is_none() {
        return Ok(Released::NoSession);
    }
    let Some(mut row) = rows::by_id(tx.connection, tenant, job)? else { return Ok(Released::Over) };
    let decision = decision(tx, &row, credentials.session, attempt)?;
    if decision != FenceDecision::Accept || row.next_state(JobEvent::Release).is_none() {
        return Ok(Released::Over);
    }
    attempts::end(tx.connection, &row, AttemptOutcome::Released, reason, tx.now)?;
    tx.live.end_lease(job);
    row.wait(None);
    tx.store(&mut row)?;
    Ok(Released::Moved)
}

/// The attempt that a report refers to: the one it names, or else the latest one of its session.
fn referenced_attempt(
    tx: &UnitOfWork<'_>,
    row: &JobRow,
    session: SessionId,
    named: Option<AttemptNumber>,
) -> StoreResult<Option<AttemptNumber>> {
    if named.is_some() || row.holder() == Some(session) {
        return Ok(named.or(Some(row.attempt)));
    }
    Ok(attempts::last_of(tx.connection, row.number, session)?)
}

fn decision(
    tx: &UnitOfWork<'_>,
    row: &JobRow,
    session: SessionId,
    attempt: AttemptNumber,
) -> StoreResult<FenceDecision> {
    let mut observed =
        FenceState { state: row.state, attempt: row.attempt, session: row.holder(), reported: None };
    // Most reports are about the running attempt and need no read of earlier ones.
    if decide(&observed, session, attempt) == FenceDecision::Accept {
        return Ok(FenceDecision::Accept);
    }
    observed.reported = attempts::owner(tx.connection, row.number, attempt)?;
    Ok(decide(&observed, session, attempt))
}
