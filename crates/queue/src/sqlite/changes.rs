//! The feed of changed jobs.

use rusqlite::{Connection, params};

use super::cursor::{self, CursorFeed};
use super::rows::{COLUMNS, JobRow, from_row};
use crate::StoreResult;
use crate::ids::TenantId;
use crate::store::Cursor;

pub(super) struct ChangedRows {
    pub(super) rows: Vec<(Cursor, JobRow)>,
    pub(super) next: Cursor,
}

/// The current end of the feed.
pub(super) fn position(connection: &Connection, life: &str) -> StoreResult<Cursor> {
    Ok(cursor::write(life, CursorFeed::Changes, newest(connection)?))
}

/// Rows of the tenant that changed after the cursor, in the order of their last change.
pub(super) fn changes(
    connection: &Connection,
    life: &str,
    tenant: &TenantId,
    after: &str,
    limit: u32,
) -> StoreResult<ChangedRows> {
    let newest = newest(connection)?;
    let after = cursor::read(connection, after, CursorFeed::Changes, newest)?;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM jobs INDEXED BY jobs_change WHERE tenant = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"
    ))?;
    let rows = statement
        .query_map(params![tenant.as_str(), after, limit], from_row)?
        .map(|row| row.map(|row| (cursor::write(life, CursorFeed::Changes, row.seq), row)))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let full = rows.len() >= limit as usize;
    let next = match rows.last() {
        Some((last, _)) if full => last.clone(),
        _ if full => cursor::write(life, CursorFeed::Changes, after),
        _ => cursor::write(life, CursorFeed::Changes, newest),
    };
    Ok(ChangedRows { rows, next })
}

fn newest(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT job_seq FROM store")?.query_row([], |row| row.get(0))
}
