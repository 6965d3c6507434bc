//! Reports and releases of attempts.

use rusqlite::params;
use subtle::ConstantTimeEq as _;

use super::live::CredentialsDigest;
use super::rows::{self, JobRow, StoredResult};
use super::unit_of_work::UnitOfWork;
use super::{attempts, faults, label};
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::fence::{FenceDecision, FenceState, decide};
use crate::ids::{AttemptNumber, JobId, PullId, SessionId, TenantId};
use crate::job::AvoidedNode;
use crate::lost_pull;
use crate::outcome::AttemptOutcome;
use crate::policy::MAX_AVOIDING_JOBS;
use crate::store::Released;
use crate::transition::{JobEvent, State};
use crate::verdict::{ReportedFailure, judge};
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
    if let Some(node) = &row.node {
        faults::clear(tx, &row.tenant, node)?;
    }
    let attempt = row.attempt;
    row.last_failure.take_if(|failure| failure.attempt == attempt);
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
    match &report.result {
        Ok(result) => {
            if row.next_state(JobEvent::Complete).is_none() {
                return Ok(ReportOutcome::Fenced);
            }
            attempts::end(tx.connection, &row, AttemptOutcome::Completed, "", tx.now)?;
            if let Some(node) = &row.node {
                faults::clear(tx, &row.tenant, node)?;
            }
            row.complete(result.clone(), tx.now);
        }
        Err((reason, error)) => {
            if !fail(tx, &mut row, *reason, error)? {
                return Ok(ReportOutcome::Fenced);
            }
        }
    }
    tx.live.end_lease(row.id);
    stored(tx, row)
}

/// Ends the running attempt as failed: the job fails or is requeued. `false`: the state machine does not allow it.
fn fail(
    tx: &mut UnitOfWork<'_>,
    row: &mut JobRow,
    reason: FailureReason,
    message: &str,
) -> StoreResult<bool> {
    let node = row.node.clone().unwrap_or_default();
    let reported = ReportedFailure { node: &node, reason, message };
    // The first attempt has no earlier ones.
    let earlier = if row.attempt > 1 { attempts::failures(tx.connection, row.number)? } else { vec![] };
    let (lost, allowed) = (row.lost_attempts.saturating_add(1), row.max_lost_attempts);
    let verdict = judge(reported, &earlier, lost, allowed);
    let Some(state) = row.next_state(verdict.event) else { return Ok(false) };
    attempts::end_with(tx.connection, row, AttemptOutcome::Failed, (reason, message), tx.now)?;
    faults::blame(tx, &row.tenant, reported, &verdict.blame)?;
    if verdict.event != JobEvent::Fail {
        row.lost_attempts = lost;
    }
    if state == State::Pending {
        let available_at = tx.now + tx.policy.backoff(lost);
        row.retry(reason, message, available_at);
        row.avoids = avoidance(tx, row, &node, available_at)?;
    } else {
        row.fail(verdict.reason, &verdict.error, tx.now);
    }
    Ok(true)
}

const AVOIDING: &str = "SELECT count(*) FROM jobs INDEXED BY jobs_avoid \
                        WHERE tenant = ?1 AND avoid_node = ?2 AND avoid_until > ?3";

/// Keeps the job from the node that failed it if another one can run it. The limit keeps the claims of that node short.
fn avoidance(
    tx: &UnitOfWork<'_>,
    row: &JobRow,
    node: &str,
    available_at: Timestamp,
) -> StoreResult<Option<AvoidedNode>> {
    if !tx.live.has_stand_in(&row.tenant, node, &[&row.backend], tx.policy) {
        return Ok(None);
    }
    let avoiding: u32 = tx
        .connection
        .prepare_cached(AVOIDING)?
        .query_row(params![row.tenant.as_str(), node, tx.now.0], |row| row.get(0))?;
    let until = available_at + tx.policy.avoid_window;
    Ok((avoiding < MAX_AVOIDING_JOBS).then(|| AvoidedNode { node: node.to_owned(), until }))
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

/// Gives back the jobs that these pulls claimed.
pub(super) fn release_pulls(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    credentials: &CredentialsDigest,
    pulls: &[PullId],
) -> StoreResult<u64> {
    let mut released = 0;
    for job in tx.live.claimed_by(credentials.session, pulls) {
        let attempt = tx.live.lease(job).map_or(0, |lease| lease.attempt);
        let moved = release(tx, tenant, credentials, job, attempt, lost_pull::REASON)? == Released::Moved;
        released += u64::from(moved);
    }
    Ok(released)
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
