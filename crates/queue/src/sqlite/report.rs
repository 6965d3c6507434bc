//! Reports and releases of attempts.

use super::live::CredentialsDigest;
use super::rows::{self, JobRow, StoredResult};
use super::unit_of_work::UnitOfWork;
use super::{attempts, label};
use crate::StoreError;
use crate::fence::{Held, Verdict, judge};
use crate::ids::{AttemptNumber, JobId, SessionId, TenantId};
use crate::outcome::AttemptOutcome;
use crate::store::Released;
use crate::transition::Event;
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
) -> Result<ReportOutcome, StoreError> {
    if tx.live.session(tenant, credentials).is_none() {
        return Ok(ReportOutcome::NoSession);
    }
    let Some(row) = rows::by_id(tx.connection, tenant, report.job)? else { return Ok(ReportOutcome::Fenced) };
    let Some(attempt) = referenced_attempt(tx, &row, credentials.session, report.attempt)? else {
        return Ok(ReportOutcome::Fenced);
    };
    match verdict(tx, &row, credentials.session, attempt)? {
        Verdict::Fenced => Ok(ReportOutcome::Fenced),
        Verdict::Repeat => Ok(ReportOutcome::Repeated),
        Verdict::Accept => accept(tx, row, report),
    }
}

fn accept(
    tx: &mut UnitOfWork<'_>,
    mut row: JobRow,
    report: &SerializedReport,
) -> Result<ReportOutcome, StoreError> {
    let event = if report.result.is_ok() { Event::Complete } else { Event::Fail };
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
    tx.store(&mut row)?;
    let sampled = label::sample(tx, &row)?;
    Ok(ReportOutcome::Moved { row: Box::new(row), sampled })
}

/// Gives an attempt back: the job can be claimed again at once.
pub(super) fn release(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    credentials: &CredentialsDigest,
    job: JobId,
    attempt: AttemptNumber,
    reason: &str,
) -> Result<Released, StoreError> {
    if tx.live.session(tenant, credentials).is_none() {
        return Ok(Released::NoSession);
    }
    let Some(mut row) = rows::by_id(tx.connection, tenant, job)? else { return Ok(Released::Over) };
    let verdict = verdict(tx, &row, credentials.session, attempt)?;
    if verdict != Verdict::Accept || row.next_state(Event::Release).is_none() {
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
) -> Result<Option<AttemptNumber>, StoreError> {
    if named.is_some() || row.holder() == Some(session) {
        return Ok(named.or(Some(row.attempt)));
    }
    Ok(attempts::last_of(tx.connection, row.number, session)?)
}

fn verdict(
    tx: &UnitOfWork<'_>,
    row: &JobRow,
    session: SessionId,
    attempt: AttemptNumber,
) -> Result<Verdict, StoreError> {
    let mut held = Held { state: row.state, attempt: row.attempt, session: row.holder(), spoken_of: None };
    // Most reports are about the running attempt and need no look at earlier ones.
    if judge(&held, session, attempt) == Verdict::Accept {
        return Ok(Verdict::Accept);
    }
    held.spoken_of = attempts::owner(tx.connection, row.number, attempt)?;
    Ok(judge(&held, session, attempt))
}
