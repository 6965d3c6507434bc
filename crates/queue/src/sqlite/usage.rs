//! What each tenant has stored, for its limits.
//!
//! The operations of a transaction see each other's changes here at once, as they do in the tables. The sums of bytes are
//! stored with the transaction; pending jobs are counted when the store is opened.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::rows::JobRow;
use super::stats::{TenantTable, tenants};
use crate::StoreResult;
use crate::ids::TenantId;
use crate::transition::State;
use crate::usage::TenantUsage;
use vmafx_job::TenantLimits;

/// What one job adds to the usage of its tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JobUsage {
    pub(super) is_pending: bool,
    pub(super) bytes: u64,
}

impl JobUsage {
    pub(super) fn of(row: &JobRow) -> Self {
        let length = |text: Option<&String>| text.map_or(0, |text| text.len() as u64);
        let result = row.result.as_ref();
        let bytes = TenantLimits::JOB_BYTES
            + row.spec.len() as u64
            + length(row.next_spec.as_ref())
            + length(result.map(|result| &result.features))
            + length(result.and_then(|result| result.details.as_ref()));
        Self { is_pending: row.state == State::Pending, bytes }
    }
}

#[derive(Debug, Default)]
pub(super) struct UsageLedger {
    committed: HashMap<TenantId, TenantUsage>,
    /// Of the tenants that the open transaction has changed.
    changed: HashMap<TenantId, TenantUsage>,
}

impl UsageLedger {
    pub(super) fn read(connection: &Connection) -> StoreResult<Self> {
        let mut ledger = Self::default();
        let mut sums = connection.prepare("SELECT tenant, bytes FROM tenant_usage")?;
        for row in sums.query_map([], |row| Ok((super::rows::tenant_in(row, 0)?, row.get::<_, i64>(1)?)))? {
            let (tenant, bytes) = row?;
            ledger.committed.entry(tenant).or_default().stored_bytes = bytes.unsigned_abs();
        }
        let mut pending = connection.prepare(
            "SELECT count(*) FROM jobs INDEXED BY jobs_list WHERE tenant = ?1 AND state = 'pending'",
        )?;
        for tenant in tenants(connection, TenantTable::Jobs)? {
            let count: i64 = pending.query_row([tenant.as_str()], |row| row.get(0))?;
            ledger.committed.entry(tenant).or_default().pending_jobs = count.unsigned_abs();
        }
        Ok(ledger)
    }

    pub(super) fn of(&self, tenant: &TenantId) -> TenantUsage {
        self.changed.get(tenant).or_else(|| self.committed.get(tenant)).copied().unwrap_or_default()
    }

    /// Replaces what a job adds to the usage of its tenant.
    pub(super) fn replace(&mut self, tenant: &TenantId, before: JobUsage, after: JobUsage) {
        if before == after {
            return;
        }
        let TenantUsage { pending_jobs, stored_bytes } = self.of(tenant);
        let usage = TenantUsage {
            pending_jobs: (pending_jobs + u64::from(after.is_pending))
                .saturating_sub(u64::from(before.is_pending)),
            stored_bytes: (stored_bytes + after.bytes).saturating_sub(before.bytes),
        };
        match self.changed.get_mut(tenant) {
            Some(changed) => *changed = usage,
            None => drop(self.changed.insert(tenant.clone(), usage)),
        }
    }

    /// Writes the sums that differ; part of the transaction.
    pub(super) fn store(&self, connection: &Connection) -> rusqlite::Result<()> {
        for (tenant, usage) in &self.changed {
            if self.committed.get(tenant).map_or(0, |usage| usage.stored_bytes) == usage.stored_bytes {
                continue;
            }
            let bytes = i64::try_from(usage.stored_bytes).unwrap_or(i64::MAX);
            connection
                .prepare_cached(
                    "INSERT INTO tenant_usage (tenant, bytes) VALUES (?1, ?2) \
                     ON CONFLICT (tenant) DO UPDATE SET bytes = excluded.bytes",
                )?
                .execute(params![tenant.as_str(), bytes])?;
        }
        Ok(())
    }

    pub(super) fn commit(&mut self) {
        self.committed.extend(self.changed.drain());
    }

    pub(super) fn roll_back(&mut self) {
        self.changed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_transaction_leaves_no_trace() {
        let tenant = TenantId::new("acme").unwrap();
        let job = JobUsage { is_pending: true, bytes: 10 };
        let mut ledger = UsageLedger::default();
        ledger.replace(&tenant, JobUsage::default(), job);
        ledger.commit();
        ledger.replace(&tenant, job, JobUsage { is_pending: false, bytes: 15 });
        assert_eq!(ledger.of(&tenant), TenantUsage { pending_jobs: 0, stored_bytes: 15 });
        ledger.roll_back();
        assert_eq!(ledger.of(&tenant), TenantUsage { pending_jobs: 1, stored_bytes: 10 });
    }
}
