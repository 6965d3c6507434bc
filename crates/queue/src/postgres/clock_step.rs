//! The times of unfinished jobs move with the database's clock when it is set.
//!
//! Every controller compares the database's clock with its own uptime, and the one that sweeps moves the jobs. The sum of
//! all steps is in `vmafx.meta`, under the lock of the sweep, so that a step that several controllers notice moves the
//! jobs once.

use std::time::Duration;

use deadpool_postgres::Transaction;

use super::Shared;
use super::faults::query;
use super::pool::{Access, Scope};
use super::row::Reader;
use crate::clock::{ClockReading, ClockStep, Timeline};
use crate::store::StoreResult;

/// Readings that take longer are not compared, because their error could be taken for a step.
pub(super) const MAX_ROUND_TRIP: Duration = Duration::from_secs(1);

/// What a controller knows of the database's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchedClock {
    timeline: Timeline,
    /// The sum of the steps that the timeline contains.
    shift_millis: i64,
}

/// What a reading says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockObservation {
    pub(super) watched: WatchedClock,
    /// The step that no controller has found yet.
    pub(super) step: Option<ClockStep>,
    /// By how much the clock was set since the last reading of this controller, whoever found it.
    pub(super) moved_millis: i64,
}

/// Pure. `shift_millis` is the sum in the database.
pub(super) fn observe(
    before: Option<WatchedClock>,
    reading: ClockReading,
    shift_millis: i64,
) -> ClockObservation {
    let Some(WatchedClock { mut timeline, shift_millis: known }) = before else {
        let watched = WatchedClock { timeline: Timeline::start(reading), shift_millis };
        return ClockObservation { watched, step: None, moved_millis: 0 };
    };
    let found_by_others = shift_millis.saturating_sub(known);
    timeline.adopt(found_by_others);
    let step = timeline.follow(reading);
    let own = step.map_or(0, |step| step.millis);
    let watched = WatchedClock { timeline, shift_millis: shift_millis.saturating_add(own) };
    ClockObservation { watched, step, moved_millis: found_by_others.saturating_add(own) }
}

/// The jobs are locked in the order of their ids, as everywhere. [`crate::clock::Timeline`] has the rule by which times
/// move.
const MOVE: &str = "
WITH unfinished AS (
    SELECT j.id, CASE
        WHEN $1::bigint > 0 THEN greatest(least($1, $2::bigint - j.created_at), 0)
        WHEN j.created_at >= $3::bigint THEN $1
        ELSE 0 END AS by
    FROM vmafx.jobs j WHERE j.finished_at IS NULL ORDER BY j.id FOR NO KEY UPDATE
), moved AS (
    UPDATE vmafx.jobs AS job SET
        created_at = job.created_at + u.by, started_at = job.started_at + u.by,
        available_at = job.available_at + u.by, avoid_until = job.avoid_until + u.by,
        deadline_at = CASE WHEN job.deadline_at > 9223372036854775807 - greatest(u.by, 0) THEN 9223372036854775807
            ELSE job.deadline_at + u.by END
    FROM unfinished u WHERE job.id = u.id AND u.by <> 0
    RETURNING 1
)
SELECT count(*) FROM moved";

const RECORD: &str = "UPDATE vmafx.meta SET clock_shift = $1";

/// A long queue takes longer than a statement may take otherwise.
const STATEMENT_TIMEOUT: &str = "SET LOCAL statement_timeout = '25s'";

impl Shared {
    /// Begins to watch the clock when the store is opened.
    pub(super) async fn watch_clock(&self) -> StoreResult<()> {
        let Some(reading) = self.clock.measure(&self.connections).await? else { return Ok(()) };
        let query = "SELECT clock_shift FROM vmafx.meta";
        let rows = self.connections.run(Scope::Maintenance, Access::Read, query, &[]).await?;
        let shift_millis = rows.first().map_or(Ok(0), |row| Reader::new(row).next())?;
        *self.watched_clock() = Some(observe(None, reading, shift_millis).watched);
        Ok(())
    }
}

pub(super) async fn apply(
    transaction: &Transaction<'_>,
    step: ClockStep,
    watched: &WatchedClock,
) -> StoreResult<()> {
    let ClockStep { millis, now, opened_at } = step;
    query(transaction, STATEMENT_TIMEOUT, &[]).await?;
    query(transaction, MOVE, &[&millis, &now.0, &opened_at.0]).await?;
    query(transaction, RECORD, &[&watched.shift_millis]).await?;
    tracing::warn!(
        step_millis = millis,
        "the database's clock was set; the times of unfinished jobs moved with it"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    fn reading(wall: i64, uptime: u64) -> ClockReading {
        ClockReading { wall: Timestamp(wall), uptime: Duration::from_millis(uptime) }
    }

    fn found(observation: ClockObservation) -> (Option<i64>, i64) {
        (observation.step.map(|step| step.millis), observation.moved_millis)
    }

    #[test]
    fn of_several_controllers_one_moves_the_jobs() {
        // The uptimes of the two machines have nothing in common.
        let first = observe(None, reading(100_000, 7_000), 0).watched;
        let second = observe(None, reading(100_000, 900_000), 0).watched;
        let by_first = observe(Some(first), reading(705_000, 12_000), 0);
        assert_eq!(found(by_first), (Some(600_000), 600_000));
        assert_eq!(by_first.watched.shift_millis, 600_000);
        let by_second = observe(Some(second), reading(706_000, 906_000), 600_000);
        assert_eq!(found(by_second), (None, 600_000));
        assert_eq!(found(observe(Some(by_second.watched), reading(711_000, 911_000), 600_000)), (None, 0));
        assert_eq!(found(observe(Some(by_first.watched), reading(712_000, 19_000), 600_000)), (None, 0));
    }

    #[test]
    fn a_controller_that_starts_finds_no_step() {
        assert_eq!(found(observe(None, reading(5, 5), 600_000)), (None, 0));
    }
}
