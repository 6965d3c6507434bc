//! What time ends: deadlines, leases, sessions. Nothing else compares them with the clock.

use super::rows::{self, Row};
use super::unit::Unit;
use super::{attempts, claim, sessions};
use crate::StoreError;
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::outcome::AttemptOutcome;
use crate::policy::Policy;
use crate::transition::{Event, State};
use vmafx_job::FailureReason;

/// Ends of each kind in one sweep at most.
const MOST: usize = 1000;

/// What was done; jobs are made readable by whoever hears it.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) forgiven: bool,
    pub(super) requeued: Vec<Row>,
    pub(super) failed: Vec<Row>,
    pub(super) evicted: Vec<(TenantId, String)>,
}

/// Ends what ran out; or, after being away, gives everybody the full time.
pub(super) fn sweep(unit: &mut Unit<'_>) -> Result<Ended, StoreError> {
    let last = unit.book.counters.last_sweep.replace(unit.now);
    if was_away(last, unit.now, unit.policy) {
        unit.live.renew(unit.now, unit.policy);
        return Ok(Ended { forgiven: true, ..Ended::default() });
    }
    let mut ended = Ended::default();
    for number in overdue(unit)? {
        let row = rows::by_number(unit.connection, number)?;
        ended.failed.extend(overrun(unit, row)?);
    }
    for (_, number) in unit.live.expired_leases(unit.now, MOST) {
        let row = rows::by_number(unit.connection, number)?;
        match lose(unit, row)? {
            Some(row) if row.state == State::Failed => ended.failed.push(row),
            Some(row) => ended.requeued.push(row),
            None => {}
        }
    }
    for (id, facts) in unit.live.expired_sessions(unit.now, MOST) {
        sessions::remove(unit, id)?;
        ended.evicted.push((facts.tenant.clone(), facts.name.clone()));
    }
    claim::end_all_pauses(unit)?;
    Ok(ended)
}

/// Whether nobody could be heard for so long that silence means nothing; also when the clock went backwards, and when
/// this is the first sweep since the store was opened.
fn was_away(last: Option<Timestamp>, now: Timestamp, policy: &Policy) -> bool {
    last.is_none_or(|last| now < last || now.since(last) > policy.away_after())
}

fn overdue(unit: &Unit<'_>) -> rusqlite::Result<Vec<i64>> {
    unit.connection
        .prepare_cached(
            "SELECT number FROM jobs INDEXED BY jobs_deadline \
             WHERE deadline_at IS NOT NULL AND finished_at IS NULL AND deadline_at <= ?1 \
             ORDER BY deadline_at LIMIT 1000",
        )?
        .query_map([unit.now.0], |row| row.get(0))?
        .collect()
}

/// Ends a job whose time is up.
fn overrun(unit: &mut Unit<'_>, mut row: Row) -> Result<Option<Row>, StoreError> {
    let (Some(_), Some(deadline)) = (row.leads(Event::Overrun), row.deadline_at) else { return Ok(None) };
    let text = Policy::deadline_text(deadline.since(row.created_at));
    if row.state == State::Running {
        attempts::end(unit.connection, &row, AttemptOutcome::Failed, &text, unit.now)?;
        unit.live.end_lease(row.id);
    }
    row.fail(FailureReason::DeadlineExceeded, &text, unit.now);
    unit.store(&mut row)?;
    Ok(Some(row))
}

/// Takes a job from a node that is gone: it waits again after a pause, or was lost too often.
fn lose(unit: &mut Unit<'_>, mut row: Row) -> Result<Option<Row>, StoreError> {
    let (lost, allowed) = (row.lost_attempts + 1, row.max_lost_attempts);
    unit.live.end_lease(row.id);
    let Some(state) = row.leads(Event::Lose { lost, allowed }) else { return Ok(None) };
    let text = Policy::lost_text(row.attempt, lost, allowed);
    attempts::end(unit.connection, &row, AttemptOutcome::Expired, &text, unit.now)?;
    row.lost_attempts = lost;
    if state == State::Failed {
        row.fail(FailureReason::NodeLost, &text, unit.now);
    } else {
        row.wait(Some(unit.now + unit.policy.backoff(lost)));
    }
    unit.store(&mut row)?;
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
    fn a_late_sweep_blames_nobody(#[case] last: Option<i64>, #[case] now: i64, #[case] away: bool) {
        assert_eq!(was_away(last.map(Timestamp), Timestamp(now), &Policy::default()), away);
    }
}
