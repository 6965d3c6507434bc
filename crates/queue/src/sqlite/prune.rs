//! Removal of jobs and samples that exceed the retention.
//!
//! A reader connection selects the rows, however long that takes. The writer thread only deletes a small batch by
//! row number.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::rows::tenant_in;
use super::stats::{TenantTable, tenants};
use super::unit_of_work::UnitOfWork;
use super::usage::JobUsage;
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::store::{Pruned, Retention};

/// The rows to delete.
#[derive(Debug, Default)]
pub(super) struct Prunable {
    jobs: Vec<i64>,
    /// In ascending order within each tenant.
    samples: Vec<(TenantId, i64)>,
}

impl Prunable {
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.samples.is_empty()
    }
}

/// Selects the rows to delete, the oldest of each tenant first, at most a batch of jobs and a batch of samples.
pub(super) fn find(connection: &Connection, keep: &Retention, now: Timestamp) -> StoreResult<Prunable> {
    let mut prunable = Prunable::default();
    for tenant in tenants(connection, TenantTable::Jobs)? {
        let left = keep.batch - count(&prunable.jobs);
        prunable.jobs.extend(jobs(connection, &tenant, keep, now, left)?);
    }
    for tenant in tenants(connection, TenantTable::Samples)? {
        let left = keep.batch - count(&prunable.samples);
        let found = samples(connection, &tenant, keep, now, left)?;
        prunable.samples.extend(found.into_iter().map(|seq| (tenant.clone(), seq)));
    }
    Ok(prunable)
}

fn count<T>(found: &[T]) -> u32 {
    u32::try_from(found.len()).unwrap_or(u32::MAX)
}

/// The number of newer rows to skip to reach the last one that is kept.
fn skipped(kept: u64) -> i64 {
    i64::try_from(kept - 1).unwrap_or(i64::MAX)
}

/// Finished jobs that exceed the maximum number or age.
fn jobs(
    connection: &Connection,
    tenant: &TenantId,
    keep: &Retention,
    now: Timestamp,
    max: u32,
) -> rusqlite::Result<Vec<i64>> {
    let last_kept: Option<(i64, [u8; 16])> = match keep.jobs {
        0 => Some((i64::MAX, [u8::MAX; 16])),
        number => connection
            .prepare_cached(
                "SELECT finished_at, id FROM jobs INDEXED BY jobs_finished \
                 WHERE tenant = ?1 AND finished_at IS NOT NULL \
                 ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET ?2",
            )?
            .query_row(params![tenant.as_str(), skipped(number)], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?,
    };
    let old = ((now - keep.jobs_for).0, [0; 16]);
    let (time, id) = last_kept.map_or(old, |last| last.max(old));
    connection
        .prepare_cached(
            "SELECT number FROM jobs INDEXED BY jobs_finished \
             WHERE tenant = ?1 AND finished_at IS NOT NULL AND (finished_at, id) < (?2, ?3) \
             ORDER BY finished_at, id LIMIT ?4",
        )?
        .query_map(params![tenant.as_str(), time, id, max], |row| row.get(0))?
        .collect()
}

/// Samples that exceed the maximum number or age.
fn samples(
    connection: &Connection,
    tenant: &TenantId,
    keep: &Retention,
    now: Timestamp,
    max: u32,
) -> rusqlite::Result<Vec<i64>> {
    let last_kept: Option<i64> = match keep.samples {
        0 => Some(i64::MAX),
        number => connection
            .prepare_cached(
                "SELECT seq FROM samples INDEXED BY samples_tenant WHERE tenant = ?1 \
                 ORDER BY seq DESC LIMIT 1 OFFSET ?2",
            )?
            .query_row(params![tenant.as_str(), skipped(number)], |row| row.get(0))
            .optional()?,
    };
    connection
        .prepare_cached(
            "SELECT seq FROM samples INDEXED BY samples_tenant \
             WHERE tenant = ?1 AND (seq < ?2 OR created_at < ?3) ORDER BY seq LIMIT ?4",
        )?
        .query_map(params![tenant.as_str(), last_kept, (now - keep.samples_for).0, max], |row| row.get(0))?
        .collect()
}

pub(super) fn remove(tx: &mut UnitOfWork<'_>, prunable: &Prunable) -> StoreResult<Pruned> {
    let mut pruned = Pruned::default();
    let mut job = tx.connection.prepare_cached(
        "DELETE FROM jobs WHERE number = ?1 AND finished_at IS NOT NULL RETURNING tenant, bytes",
    )?;
    for number in &prunable.jobs {
        let removed =
            job.query_row([number], |row| Ok((tenant_in(row, 0)?, row.get::<_, i64>(1)?))).optional()?;
        let Some((tenant, bytes)) = removed else { continue };
        let usage = JobUsage { is_pending: false, bytes: bytes.unsigned_abs() };
        tx.state.usage.replace(&tenant, usage, JobUsage::default());
        pruned.jobs += 1;
    }
    let mut sample = tx.connection.prepare_cached("DELETE FROM samples WHERE seq = ?1")?;
    let mut mark = tx.connection.prepare_cached(
        "INSERT INTO samples_pruned (tenant, up_to) VALUES (?1, ?2) \
         ON CONFLICT (tenant) DO UPDATE SET up_to = max(up_to, excluded.up_to)",
    )?;
    for (tenant, seq) in &prunable.samples {
        pruned.samples += sample.execute([seq])? as u64;
        mark.execute(params![tenant.as_str(), seq])?;
    }
    Ok(pruned)
}
