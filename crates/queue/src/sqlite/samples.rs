//! The feed of samples.

use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::cursor::{self, CursorFeed};
use super::error::corrupt;
use super::exact::ExactFloat;
use crate::ids::{JobId, TenantId};
use crate::job::Labeller;
use crate::store::{Sample, Samples};
use crate::{StoreError, StoreResult};

/// Samples of the tenant after the cursor, in the order of their creation.
pub(super) fn samples(
    connection: &Connection,
    life: &str,
    tenant: &TenantId,
    after: &str,
    limit: u32,
) -> StoreResult<Samples> {
    let newest: i64 =
        connection.prepare_cached("SELECT sample_seq FROM store")?.query_row([], |row| row.get(0))?;
    let after = if after.is_empty() {
        0
    } else {
        let after = cursor::read(connection, after, CursorFeed::Samples, newest)?;
        if after < pruned(connection, tenant)? {
            return Err(StoreError::Cursor);
        }
        after
    };
    let mut statement = connection.prepare_cached(
        "SELECT seq, job, features, label, node_labels, labelled_by FROM samples INDEXED BY samples_tenant \
         WHERE tenant = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = statement.query(params![tenant.as_str(), after, limit])?;
    let mut samples = Vec::new();
    let mut last = after;
    while let Some(row) = rows.next()? {
        last = row.get(0)?;
        samples.push((cursor::write(life, CursorFeed::Samples, last), sample(row)?));
    }
    let next = if samples.len() >= limit as usize { last } else { newest };
    Ok(Samples { samples, next: cursor::write(life, CursorFeed::Samples, next) })
}

fn sample(row: &rusqlite::Row<'_>) -> StoreResult<Sample> {
    let job = JobId(Uuid::from_bytes(row.get(1)?));
    let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let broken = |error: serde_json::Error| corrupt(format!("a sample of job {job}: {error}"));
    Ok(Sample {
        job,
        features: serde_json::from_str(text(2)?).map_err(broken)?,
        label: row.get::<_, ExactFloat>(3)?.0,
        labelled_by: Labeller::new(row.get::<_, String>(5)?),
        node_labels: serde_json::from_str(text(4)?).map_err(broken)?,
    })
}

/// The newest removed sample of the tenant; 0 when none was removed.
fn pruned(connection: &Connection, tenant: &TenantId) -> rusqlite::Result<i64> {
    let mark = connection
        .prepare_cached("SELECT up_to FROM samples_pruned WHERE tenant = ?1")?
        .query_row([tenant.as_str()], |row| row.get(0))
        .optional()?;
    Ok(mark.unwrap_or(0))
}
