//! What the store remembers when it is opened.

use rusqlite::{Connection, params};

use super::live::{Lease, Live};
use super::rows::{COLUMNS, from_row};
use super::sessions;
use super::stats::{Of, tenants};
use super::unit::Counters;
use crate::StoreError;
use crate::clock::Timestamp;
use crate::policy::Policy;

/// Every session and every lease, each with its full time: nobody could be heard while the store was closed.
pub(super) fn live(connection: &Connection, now: Timestamp, policy: &Policy) -> Result<Live, StoreError> {
    let mut live = Live::default();
    sessions::recall(connection, &mut live, now, policy)?;
    let mut running = connection.prepare(&format!(
        "SELECT {COLUMNS} FROM jobs INDEXED BY jobs_list WHERE tenant = ?1 AND state = 'running'"
    ))?;
    for tenant in tenants(connection, Of::Jobs)? {
        for row in running.query_map(params![tenant.as_str()], from_row)? {
            let row = row?;
            if let Some(stored) = row.lease {
                let lease = Lease {
                    number: row.number,
                    session: stored.session,
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

/// The store's name, and how far it is.
pub(super) fn identity(connection: &Connection) -> Result<(String, Counters), StoreError> {
    Ok(connection.query_row("SELECT id, job_seq, sample_seq FROM store", [], |row| {
        Ok((row.get(0)?, Counters::new(row.get(1)?, row.get(2)?)))
    })?)
}
