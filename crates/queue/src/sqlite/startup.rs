//! Restores the state in memory when a store is opened.

use rusqlite::{Connection, params};

use super::live::{Lease, LiveState};
use super::rows::{COLUMNS, from_row};
use super::stats::{TenantTable, tenants};
use super::unit_of_work::Counters;
use super::{faults, sessions};
use crate::StoreResult;
use crate::clock::{ClockReading, Timestamp};
use crate::policy::Policy;

/// Every stored session and lease gets its full duration, because no node could send a heartbeat while the store
/// was closed.
pub(super) fn live(connection: &Connection, now: Timestamp, policy: &Policy) -> StoreResult<LiveState> {
    let mut live = LiveState::default();
    sessions::restore(connection, &mut live, now, policy)?;
    faults::restore(connection, &mut live)?;
    let mut running = connection.prepare(&format!(
        "SELECT {COLUMNS} FROM jobs INDEXED BY jobs_list WHERE tenant = ?1 AND state = 'running'"
    ))?;
    for tenant in tenants(connection, TenantTable::Jobs)? {
        for row in running.query_map(params![tenant.as_str()], from_row)? {
            let row = row?;
            if let Some(stored) = row.lease {
                let lease = Lease {
                    number: row.number,
                    tenant: row.tenant.clone(),
                    session: stored.session,
                    pull: stored.pull,
                    attempt: row.attempt,
                    expires_at: now + policy.lease_ttl,
                    progress: None,
                };
                live.put_lease(row.id, lease);
            }
        }
    }
    live.commit();
    Ok(live)
}

/// The current values of the sequences.
pub(super) fn counters(connection: &Connection, opened: ClockReading) -> StoreResult<Counters> {
    Ok(connection.query_row("SELECT job_seq, sample_seq FROM store", [], |row| {
        Ok(Counters::new(row.get(0)?, row.get(1)?, opened))
    })?)
}
