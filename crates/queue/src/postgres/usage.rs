//! What each tenant has stored, for its limits.
//!
//! Every statement that changes the state or the size of jobs adds the difference to `vmafx.tenant_usage`. A row there
//! belongs to a server process, modulo 32, so concurrent transactions seldom wait for each
//! other; the usage of a tenant is the sum of its few rows. A transaction does not see what others add at the same time:
//! each further controller can exceed a limit by one batch of submissions or claims.
//!
//! A controller of an earlier version counts nothing, so every start counts the jobs again. The statement reads jobs and
//! usage in one snapshot, in which every transaction is in both or in neither, and adds the difference.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;

use super::Shared;
use super::faults::query;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, StoredJob};
use crate::ids::TenantId;
use crate::store::StoreResult;
use crate::transition::State;
use crate::usage::TenantUsage;

/// A part of a statement that adds sums over the rows of `$from` to the usage of their tenants.
macro_rules! counted {
    ($pending:literal, $running:literal, $bytes:literal, $from:literal) => {
        concat!(
            "
    INSERT INTO vmafx.tenant_usage AS u (tenant_id, shard, pending, running, bytes)
    SELECT tenant_id, pg_backend_pid() % 32, ",
            $pending,
            ", ",
            $running,
            ", ",
            $bytes,
            " FROM ",
            $from,
            " GROUP BY tenant_id
    ON CONFLICT (tenant_id, shard) DO UPDATE SET
        pending = u.pending + excluded.pending, running = u.running + excluded.running, bytes = u.bytes + excluded.bytes
"
        )
    };
}
pub(super) use counted;

/// The new size of a job whose attempt ends and that is over, which drops the request that replaced the attempt's.
/// A controller of an earlier version may have stored less than the texts are long.
macro_rules! bytes_when_over {
    () => {
        "greatest(job.bytes - coalesce(octet_length(job.next_spec::text), 0), 0)"
    };
}
pub(super) use bytes_when_over;

/// The new size of a job whose attempt ends and that waits again, which drops the request that was replaced.
macro_rules! bytes_when_pending {
    () => {
        "CASE WHEN job.next_spec IS NULL THEN job.bytes ELSE greatest(job.bytes - octet_length(job.spec::text), 0) END"
    };
}
pub(super) use bytes_when_pending;

/// A subquery for one column of the usage of the tenant `$1`.
macro_rules! usage {
    ($column:literal) => {
        concat!(
            "(SELECT greatest(coalesce(sum(u.",
            $column,
            "), 0), 0)::bigint FROM vmafx.tenant_usage u WHERE u.tenant_id = $1)"
        )
    };
}
pub(super) use usage;

pub(super) const USAGE: &str = concat!("SELECT ", usage!("pending"), ", ", usage!("bytes"));

/// Reads the row of [`USAGE`].
pub(super) fn read(reader: &mut Reader<'_>) -> StoreResult<TenantUsage> {
    Ok(TenantUsage { pending_jobs: reader.count()?, stored_bytes: reader.count()? })
}

const ADD: &str = counted!(
    "sum(pending)",
    "sum(running)",
    "sum(bytes)",
    "unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS moved (tenant_id, pending, running, bytes)"
);

/// By how much the usage of tenants changes.
#[derive(Debug, Default)]
pub(super) struct UsageChanges(BTreeMap<TenantId, Change>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Change {
    pending: i64,
    running: i64,
    bytes: i64,
}

impl UsageChanges {
    pub(super) fn add(&mut self, before: &StoredJob, after: &StoredJob) {
        let change = self.0.entry(after.job.tenant.clone()).or_default();
        let difference = |state| i64::from(after.job.state == state) - i64::from(before.job.state == state);
        change.pending += difference(State::Pending);
        change.running += difference(State::Running);
        change.bytes += after.bytes - before.bytes;
    }

    /// The parameters of [`ADD`]; `None` if there is nothing to add.
    fn columns(&self) -> Option<(Vec<&str>, [Vec<i64>; 3])> {
        let mut tenants = vec![];
        let mut columns = [vec![], vec![], vec![]];
        for (tenant, change) in self.0.iter().filter(|(_, change)| **change != Change::default()) {
            tenants.push(tenant.as_str());
            for (column, value) in columns.iter_mut().zip([change.pending, change.running, change.bytes]) {
                column.push(value);
            }
        }
        (!tenants.is_empty()).then_some((tenants, columns))
    }
}

/// The last statement of a transaction, so that it waits for nothing while others wait for its rows.
pub(super) async fn store_usage_changes(
    transaction: &Transaction<'_>,
    changes: &UsageChanges,
) -> StoreResult<()> {
    if let Some((tenants, [pending, running, bytes])) = changes.columns() {
        query(transaction, ADD, &[&tenants, &pending, &running, &bytes]).await?;
    }
    Ok(())
}

/// One controller at a time: two would add the same difference.
const LOCK_RECOUNT: &str = "SELECT pg_advisory_xact_lock(hashtextextended('vmafx.tenant_usage', 0))::text";

const RECOUNT: &str = concat!(
    "
WITH tenants AS (
    SELECT name FROM unnest($1::text[]) AS tenant (name)
), counts AS (
    SELECT tenants.name AS tenant_id,
        (SELECT count(*) FROM vmafx.jobs j WHERE j.tenant_id = tenants.name AND j.status = 'pending')
            - (SELECT coalesce(sum(u.pending), 0) FROM vmafx.tenant_usage u WHERE u.tenant_id = tenants.name) AS pending,
        (SELECT count(*) FROM vmafx.jobs j WHERE j.tenant_id = tenants.name AND j.status = 'running')
            - (SELECT coalesce(sum(u.running), 0) FROM vmafx.tenant_usage u WHERE u.tenant_id = tenants.name) AS running
    FROM tenants
), wrong AS (
    SELECT * FROM counts WHERE pending <> 0 OR running <> 0
), added AS (",
    counted!("sum(pending)", "sum(running)", "0", "wrong"),
    ")
SELECT count(*) FROM wrong"
);

impl Shared {
    /// Corrects what controllers of earlier versions did not count.
    pub(super) async fn recount_usage(&self) -> StoreResult<()> {
        let tenants = self.tenants().await?;
        let names: Vec<&str> = tenants.iter().map(TenantId::as_str).collect();
        let values: [Value<'_>; 1] = [&names];
        let calls: [Call<'_>; 2] = [(LOCK_RECOUNT, &[]), (RECOUNT, &values)];
        let answers = self.connections.run_all(Scope::Maintenance, Access::Write, &calls).await?;
        let corrected: i64 =
            answers.get(1).and_then(|rows| rows.first()).map_or(Ok(0), |row| Reader::new(row).next())?;
        if corrected > 0 {
            tracing::info!(tenants = corrected, "counted the jobs of tenants again");
        }
        Ok(())
    }
}
