//! Why a job waits.

use rusqlite::{Connection, params};

use super::rows::{self, JobRow};
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::ids::{JobId, TenantId};
use crate::transition::State;

/// A job and the number of jobs that are claimed before it.
pub(super) struct QueuePosition {
    pub(super) row: JobRow,
    pub(super) by_priority: u64,
    pub(super) by_age: u64,
}

pub(super) fn queue_position(
    connection: &Connection,
    tenant: &TenantId,
    id: JobId,
    now: Timestamp,
) -> StoreResult<Option<QueuePosition>> {
    let Some(row) = rows::by_id(connection, tenant, id)? else { return Ok(None) };
    let mut position = QueuePosition { row, by_priority: 0, by_age: 0 };
    if position.row.state == State::Pending {
        for waiting in [READY, DUE] {
            let (by_priority, by_age) = ahead(connection, waiting, &position.row, now)?;
            position.by_priority += by_priority;
            position.by_age += by_age;
        }
    }
    Ok(Some(position))
}

/// Jobs that can be claimed.
const READY: &str =
    "FROM jobs INDEXED BY jobs_claim WHERE ready = 1 AND (available_at IS NULL OR available_at <= ?6)";
/// Jobs whose back-off has ended; the next claim makes them ready.
const DUE: &str =
    "FROM jobs INDEXED BY jobs_pause WHERE state = 'pending' AND ready = 0 AND available_at <= ?6";

/// Two jobs compete when one node could run both: at least one of them asks for no backend, or both ask for the
/// same.
fn ahead(
    connection: &Connection,
    waiting: &str,
    row: &JobRow,
    now: Timestamp,
) -> rusqlite::Result<(u64, u64)> {
    let rivals = if row.backend.is_empty() { "?2 = ''" } else { "backend IN ('', ?2)" };
    connection
        .prepare_cached(&format!(
            "SELECT count(*) FILTER (WHERE priority > ?3), count(*) FILTER (WHERE priority <= ?3) \
             {waiting} AND tenant = ?1 AND {rivals} \
             AND (claim_rank, id) < ((SELECT claim_rank FROM jobs WHERE number = ?4), ?5)"
        ))?
        .query_row(
            params![row.tenant.as_str(), row.backend, row.priority, row.number, row.id.0.as_bytes(), now.0],
            |counts| Ok((counts.get::<_, i64>(0)?.unsigned_abs(), counts.get::<_, i64>(1)?.unsigned_abs())),
        )
}
