//! Failures of nodes: kept in the table, and in memory for claims.

use rusqlite::{Connection, params};

use super::live::LiveState;
use super::rows::tenant_in;
use super::unit_of_work::UnitOfWork;
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::quarantine::{FAULTS_RETENTION, NodeFaults};
use crate::verdict::{Blame, ReportedFailure};
use vmafx_job::FailureReason;

/// Records what a reported failure says about nodes.
pub(super) fn blame(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    reported: ReportedFailure<'_>,
    blame: &Blame,
) -> StoreResult<()> {
    match blame {
        Blame::Nobody => Ok(()),
        Blame::Reporter => {
            let ReportedFailure { node, reason, message } = reported;
            let faults = NodeFaults::after_failure(tx.live.faults(tenant, node), reason, message, tx.now);
            set(tx, tenant, node, Some(faults))
        }
        Blame::Withdrawn { node, failures } => match tx.live.faults(tenant, node) {
            Some(faults) => {
                let left = faults.after_withdrawal(*failures);
                set(tx, tenant, node, left)
            }
            None => Ok(()),
        },
    }
}

/// A score ends the quarantine of its node.
pub(super) fn clear(tx: &mut UnitOfWork<'_>, tenant: &TenantId, node: &str) -> StoreResult<()> {
    if tx.live.faults(tenant, node).is_none() { Ok(()) } else { set(tx, tenant, node, None) }
}

/// Records that a node got a job on trial.
pub(super) fn tried(tx: &mut UnitOfWork<'_>, tenant: &TenantId, node: &str) -> StoreResult<()> {
    let Some(faults) = tx.live.faults(tenant, node) else { return Ok(()) };
    let tried = NodeFaults { tried_at: tx.now, ..faults.clone() };
    set(tx, tenant, node, Some(tried))
}

/// Forgets nodes that were not tried for a long time.
pub(super) fn expire(tx: &mut UnitOfWork<'_>) -> StoreResult<()> {
    for (tenant, node) in tx.live.faults_before(tx.now - FAULTS_RETENTION) {
        set(tx, &tenant, &node, None)?;
    }
    Ok(())
}

fn set(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    node: &str,
    faults: Option<NodeFaults>,
) -> StoreResult<()> {
    match &faults {
        Some(NodeFaults { failures, tried_at, reason, error }) => tx
            .connection
            .prepare_cached(
                "INSERT OR REPLACE INTO node_faults (tenant, node, failures, tried_at, reason, error) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![tenant.as_str(), node, failures, tried_at.0, reason.number(), error])?,
        None => tx
            .connection
            .prepare_cached("DELETE FROM node_faults WHERE tenant = ?1 AND node = ?2")?
            .execute([tenant.as_str(), node])?,
    };
    tx.live.put_faults(tenant, node, faults);
    Ok(())
}

pub(super) fn restore(connection: &Connection, live: &mut LiveState) -> StoreResult<()> {
    let mut statement =
        connection.prepare("SELECT tenant, node, failures, tried_at, reason, error FROM node_faults")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let faults = NodeFaults {
            failures: row.get(2)?,
            tried_at: Timestamp(row.get(3)?),
            reason: FailureReason::from_number(row.get(4)?),
            error: row.get(5)?,
        };
        live.put_faults(&tenant_in(row, 0)?, &row.get::<_, String>(1)?, Some(faults));
    }
    Ok(())
}
