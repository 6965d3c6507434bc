//! The times of unfinished jobs move with the clock when it is set.

use rusqlite::{Connection, params};

use super::unit_of_work::Counters;
use crate::clock::{ClockReading, ClockStep, Timestamp};

/// [`crate::clock::Timeline`] has the rule by which times move.
const MOVE: &str = "
UPDATE jobs SET
    created_at = created_at + moved.by, started_at = started_at + moved.by,
    available_at = available_at + moved.by, avoid_until = avoid_until + moved.by,
    deadline_at = min(deadline_at, 9223372036854775807 - max(moved.by, 0)) + moved.by
FROM (
    SELECT number AS moved_number, CASE
        WHEN ?1 > 0 THEN max(min(?1, ?2 - created_at), 0)
        WHEN created_at >= ?3 THEN ?1
        ELSE 0 END AS by
    FROM jobs WHERE finished_at IS NULL
) AS moved
WHERE number = moved.moved_number AND moved.by <> 0";

/// Notices a step before anything of the transaction is stored: everything before was stored with the time before the step.
pub(super) fn follow(
    connection: &Connection,
    counters: &mut Counters,
    reading: ClockReading,
) -> rusqlite::Result<()> {
    let Some(step) = counters.timeline.follow(reading) else { return Ok(()) };
    let ClockStep { millis, now, opened_at } = step;
    let jobs = connection.prepare_cached(MOVE)?.execute(params![millis, now.0, opened_at.0])?;
    tracing::warn!(
        step_millis = millis,
        jobs,
        "the clock was set; the times of unfinished jobs moved with it"
    );
    counters.creation_order.follow(millis);
    // The next claim looks for the ends of back-offs again.
    counters.next_backoff_end = Some(Timestamp(i64::MIN));
    Ok(())
}
