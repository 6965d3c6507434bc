//! Figures for the metrics.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _};

use super::live::LiveNode;
use super::rows::tenant_in;
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::store::TenantStats;

/// One entry for every tenant that has jobs, samples or nodes.
pub(super) fn stats(connection: &Connection, nodes: &[LiveNode]) -> StoreResult<Vec<TenantStats>> {
    let mut live: BTreeMap<TenantId, (u64, u64)> = BTreeMap::new();
    for tenant in
        tenants(connection, TenantTable::Jobs)?.into_iter().chain(tenants(connection, TenantTable::Samples)?)
    {
        live.entry(tenant).or_default();
    }
    for node in nodes {
        let (nodes, quarantined) = live.entry(node.registration.tenant.clone()).or_default();
        // A shared node counts for its home tenant only.
        *nodes += u64::from(!node.registration.capability.shared);
        *quarantined += u64::from(node.quarantine.is_some());
    }
    let mut counted = connection.prepare_cached(
        "SELECT count(*), min(created_at) FROM jobs INDEXED BY jobs_list WHERE tenant = ?1 AND state = ?2",
    )?;
    let mut count = |tenant: &TenantId, state: &str| {
        counted.query_row([tenant.as_str(), state], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, Option<i64>>(1)?.map(Timestamp)))
        })
    };
    let mut bytes = connection.prepare_cached("SELECT bytes FROM tenant_usage WHERE tenant = ?1")?;
    live.into_iter()
        .map(|(tenant, (nodes, quarantined))| {
            let (pending, oldest_pending) = count(&tenant, "pending")?;
            let (running, _) = count(&tenant, "running")?;
            let stored_bytes = bytes
                .query_row([tenant.as_str()], |row| row.get::<_, i64>(0))
                .optional()?
                .map_or(0, i64::unsigned_abs);
            Ok(TenantStats { tenant, pending, running, oldest_pending, nodes, quarantined, stored_bytes })
        })
        .collect()
}

#[derive(Clone, Copy)]
pub(super) enum TenantTable {
    Jobs,
    Samples,
}

/// All tenants in a table. The query jumps from one tenant to the next in the index, so its cost does not depend on
/// the number of rows.
pub(super) fn tenants(connection: &Connection, table: TenantTable) -> StoreResult<Vec<TenantId>> {
    let source = match table {
        TenantTable::Jobs => "jobs INDEXED BY jobs_list",
        TenantTable::Samples => "samples INDEXED BY samples_tenant",
    };
    let mut statement = connection.prepare_cached(&format!(
        "WITH RECURSIVE known (tenant) AS ( \
            SELECT (SELECT tenant FROM {source} ORDER BY tenant LIMIT 1) \
            UNION ALL \
            SELECT (SELECT tenant FROM {source} WHERE tenant > known.tenant ORDER BY tenant LIMIT 1) \
            FROM known WHERE known.tenant IS NOT NULL \
         ) SELECT tenant FROM known WHERE tenant IS NOT NULL"
    ))?;
    Ok(statement.query_map([], |row| tenant_in(row, 0))?.collect::<rusqlite::Result<_>>()?)
}
