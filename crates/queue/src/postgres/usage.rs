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
use super::row::Reader;
use crate::ids::TenantId;
use crate::job::Job;
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
    "0",
    "unnest($1::text[], $2::bigint[], $3::bigint[]) AS moved (tenant_id, pending, running)"
);

/// By how much the numbers of pending and running jobs of tenants change.
#[derive(Debug, Default)]
pub(super) struct StateChanges(BTreeMap<TenantId, (i64, i64)>);

impl StateChanges {
    pub(super) fn add(&mut self, before: State, job: &Job) {
        let (pending, running) = self.0.entry(job.tenant.clone()).or_default();
        *pending += i64::from(job.state == State::Pending) - i64::from(before == State::Pending);
        *running += i64::from(job.state == State::Running) - i64::from(before == State::Running);
    }

    /// The parameters of [`ADD`]; `None` if there is nothing to add.
    fn columns(&self) -> Option<(Vec<&str>, Vec<i64>, Vec<i64>)> {
        let changed = self.0.iter().filter(|(_, (pending, running))| (*pending, *running) != (0, 0));
        let mut columns = (vec![], vec![], vec![]);
        for (tenant, (pending, running)) in changed {
            columns.0.push(tenant.as_str());
            columns.1.push(*pending);
            columns.2.push(*running);
        }
        (!columns.0.is_empty()).then_some(columns)
    }
}

/// The last statement of a transaction, so that it waits for nothing while others wait for its rows.
pub(super) async fn store_state_changes(
    transaction: &Transaction<'_>,
    moved: &StateChanges,
) -> StoreResult<()> {
    if let Some((tenants, pending, running)) = moved.columns() {
        query(transaction, ADD, &[&tenants, &pending, &running]).await?;
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
