//! The sweep ends deadlines, leases and sessions. No other code compares them with the clock.

use super::rows::{self, JobRow};
use super::unit_of_work::UnitOfWork;
use super::{attempts, claim, faults, sessions};
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::outcome::AttemptOutcome;
use crate::policy::Policy;
use crate::transition::{JobEvent, State};
use vmafx_job::FailureReason;

/// Maximum number of jobs or sessions of each kind that one sweep ends.
const MAX_EXPIRED_PER_SWEEP: usize = 1000;

/// The rows are converted to jobs on the caller's side.
#[derive(Default)]
pub(super) struct SweepOutcome {
    pub(super) renewed: bool,
    pub(super) requeued: Vec<JobRow>,
    pub(super) failed: Vec<JobRow>,
    pub(super) evicted: Vec<(TenantId, String)>,
}

/// Ends what has expired; after a long gap it renews every lease and session instead.
pub(super) fn sweep(tx: &mut UnitOfWork<'_>) -> StoreResult<SweepOutcome> {
    let last = tx.state.counters.last_sweep.replace(tx.now);
    if needs_renewal(last, tx.now, tx.policy) {
        tx.live.renew(tx.now, tx.policy);
        claim::shorten_backoffs(tx)?;
        return Ok(SweepOutcome { renewed: true, ..SweepOutcome::default() });
    }
    let mut ended = SweepOutcome::default();
    for number in overdue(tx)? {
        let row = rows::by_number(tx.connection, number)?;
        ended.failed.extend(overrun(tx, row)?);
    }
    for (_, number) in tx.live.expired_leases(tx.now, MAX_EXPIRED_PER_SWEEP) {
        let row = rows::by_number(tx.connection, number)?;
        match lose(tx, row)? {
            Some(row) if row.state == State::Failed => ended.failed.push(row),
            Some(row) => ended.requeued.push(row),
            None => {}
        }
    }
    for (id, registration) in tx.live.expired_sessions(tx.now, MAX_EXPIRED_PER_SWEEP) {
        sessions::remove(tx, id)?;
        ended.evicted.push((registration.tenant.clone(), registration.name.clone()));
    }
    claim::end_all_backoffs(tx)?;
    faults::expire(tx)?;
    Ok(ended)
}

/// Whether missing heartbeats prove nothing: the last sweep was too long ago, the clock was set back, or this is
/// the first sweep since the store was opened.
fn needs_renewal(last: Option<Timestamp>, now: Timestamp, policy: &Policy) -> bool {
    last.is_none_or(|last| now < last || now.since(last) > policy.max_sweep_gap())
}

fn overdue(tx: &UnitOfWork<'_>) -> rusqlite::Result<Vec<i64>> {
    tx.connection
        .prepare_cached(
            "SELECT number FROM jobs INDEXED BY jobs_deadline \
             WHERE deadline_at IS NOT NULL AND finished_at IS NULL AND deadline_at <= ?1 \
             ORDER BY deadline_at LIMIT 1000",
        )?
        .query_map([tx.now.0], |row| row.get(0))?
        .collect()
}

/// Fails a job that missed its deadline.
fn overrun(tx: &mut UnitOfWork<'_>, mut row: JobRow) -> StoreResult<Option<JobRow>> {
    let (Some(_), Some(deadline)) = (row.next_state(JobEvent::Overrun), row.deadline_at) else {
        return Ok(None);
    };
    let text = Policy::deadline_text(deadline.since(row.created_at));
    if row.state == State::Running {
        let reason = FailureReason::DeadlineExceeded;
        attempts::end_with(tx.connection, &row, AttemptOutcome::Failed, (reason, &text), tx.now)?;
        tx.live.end_lease(row.id);
    }
    row.fail(FailureReason::DeadlineExceeded, &text, tx.now);
    tx.store(&mut row)?;
    Ok(Some(row))
}

/// Ends an attempt whose lease expired: the job goes into back-off, or fails after its last allowed attempt.
fn lose(tx: &mut UnitOfWork<'_>, mut row: JobRow) -> StoreResult<Option<JobRow>> {
    let (lost, allowed) = (row.lost_attempts + 1, row.max_lost_attempts);
    let token = tx.live.token_of_holder(row.id);
    tx.live.end_lease(row.id);
    let Some(state) = row.next_state(JobEvent::Lose { lost, allowed }) else { return Ok(None) };
    let text = Policy::lost_text(row.attempt, lost, allowed);
    let reason = FailureReason::NodeLost;
    attempts::end_with(tx.connection, &row, AttemptOutcome::Expired, (reason, &text), tx.now)?;
    if let Some(token) = token {
        attempts::keep_token(tx.connection, &row, &token)?;
    }
    row.lost_attempts = lost;
    if state == State::Failed {
        row.fail(reason, &text, tx.now);
    } else {
        row.retry(reason, &text, tx.now + tx.policy.backoff(lost));
    }
    tx.store(&mut row)?;
    Ok(Some(row))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::just_opened(None, 0, true)]
    #[case::in_time(Some(0), 15_000, false)]
    #[case::too_late(Some(0), 15_001, true)]
    #[case::at_once(Some(7), 7, false)]
    #[case::clock_went_back(Some(7), 6, true)]
    fn a_late_sweep_renews_leases(#[case] last: Option<i64>, #[case] now: i64, #[case] away: bool) {
        assert_eq!(needs_renewal(last.map(Timestamp), Timestamp(now), &Policy::default()), away);
    }
}
