//! Updates of a job.

use rusqlite::{Connection, params};
use vmafx_job::CancelCause;

use super::super::exact::ExactFloat;
use super::JobRow;

pub(super) const UPDATE: &str = "UPDATE jobs SET state = ?2, ready = ?3, seq = ?4, \
     revision = ?5, attempt = ?6, lost_attempts = ?7, updated_at = ?8, started_at = ?9, finished_at = ?10, available_at = ?11, lease_session = ?12, \
     lease_expires_at = ?13, failure_reason = ?14, label = ?15, score = ?16, features = ?17, \
     details = ?18, node = ?19, error = ?20, cancel_cause = ?21, failed_attempt = ?22, \
     failed_node = ?23, failed_reason = ?24, failed_error = ?25, avoid_node = ?26, avoid_until = ?27, \
     lease_pull = ?28, priority = ?29, max_lost_attempts = ?30, deadline_at = ?31, spec = ?32, next_spec = ?33, labelled_by = ?34, \
     bytes = ?35 \
     WHERE number = ?1";

/// Stores every column that can change after the insertion.
pub(in super::super) fn save(connection: &Connection, row: &JobRow) -> rusqlite::Result<()> {
    let (result, failure) = (row.result.as_ref(), row.last_failure.as_ref());
    connection.prepare_cached(UPDATE)?.execute(params![
        row.number,
        row.state.name(),
        row.ready,
        row.seq,
        row.revision.cast_signed(),
        row.attempt,
        row.lost_attempts,
        row.updated_at.0,
        row.started_at.map(|time| time.0),
        row.finished_at.map(|time| time.0),
        row.available_at.map(|time| time.0),
        row.lease.as_ref().map(|lease| lease.session.0.as_bytes()),
        row.lease.map(|lease| lease.expires_at.0),
        row.failure_reason.number(),
        row.label.map(ExactFloat),
        result.map(|result| ExactFloat(result.score)),
        result.map(|result| &result.features),
        result.and_then(|result| result.details.as_ref()),
        row.node,
        row.error,
        row.cancel_cause.map(CancelCause::name),
        failure.map(|failure| failure.attempt),
        failure.map(|failure| &failure.node),
        failure.map(|failure| failure.reason.number()),
        failure.map(|failure| &failure.message),
        row.avoids.as_ref().map(|avoided| &avoided.node),
        row.avoids.as_ref().map(|avoided| avoided.until.0),
        row.lease.as_ref().and_then(|lease| lease.pull.as_ref()).map(|pull| pull.0.as_bytes()),
        row.priority,
        row.max_lost_attempts,
        row.deadline_at.map(|time| time.0),
        row.spec,
        row.next_spec,
        row.labelled_by,
        i64::try_from(row.usage.bytes).unwrap_or(i64::MAX),
    ])?;
    Ok(())
}
