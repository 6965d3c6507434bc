//! Removal of jobs and samples that exceed the retention, and figures for the metrics.

use std::collections::BTreeSet;

use super::Shared;
use super::error::corrupt;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, signed};
use super::usage::counted;
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::store::{Pruned, Retention, StoreResult, TenantStats};

/// Jumps from tenant to tenant in the index instead of reading every row.
macro_rules! tenants {
    ($table:literal) => {
        concat!(
            "
WITH RECURSIVE found AS (
    (SELECT tenant_id FROM ",
            $table,
            " ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT o.tenant_id FROM ",
            $table,
            " o WHERE o.tenant_id > found.tenant_id ORDER BY o.tenant_id LIMIT 1)
    FROM found WHERE found.tenant_id IS NOT NULL
)
SELECT tenant_id FROM found WHERE tenant_id IS NOT NULL"
        )
    };
}
const TENANTS_OF_JOBS: &str = tenants!("vmafx.jobs");
const TENANTS_OF_SESSIONS: &str = tenants!("vmafx.node_sessions");
const TENANTS_OF_SAMPLES: &str = tenants!("vmafx.samples");

/// Deletes the oldest finished jobs of a tenant that exceed the maximum age or number.
const PRUNE_JOBS: &str = concat!(
    "
WITH edge AS (
    SELECT j.finished_at, j.id FROM vmafx.jobs j WHERE j.tenant_id = $1 AND j.finished_at IS NOT NULL
    ORDER BY j.finished_at DESC, j.id DESC OFFSET $2 LIMIT 1
), gone AS (
    DELETE FROM vmafx.jobs WHERE id = ANY (ARRAY (
        SELECT j.id FROM vmafx.jobs j
        WHERE j.tenant_id = $1 AND j.finished_at IS NOT NULL
            AND (j.finished_at < $3 OR (j.finished_at, j.id) <= (SELECT edge.finished_at, edge.id FROM edge))
        ORDER BY j.finished_at, j.id LIMIT $4 FOR UPDATE SKIP LOCKED))
    RETURNING id, tenant_id, bytes
), attempts AS (
    DELETE FROM vmafx.job_attempts AS a USING gone WHERE a.job_id = gone.id
), counted AS (",
    counted!("0", "0", "-sum(bytes)", "gone"),
    ")
SELECT count(*), NULL::text FROM gone"
);

/// Deletes the first samples of a tenant, up to the last one that exceeds the maximum age or number. No sample may
/// remain or appear before the newest removed one, or a reader would get the error that it missed samples. So a younger
/// sample in between is deleted too, and samples above the horizon are kept; the last column is the newest transaction
/// of those.
const PRUNE_SAMPLES: &str = "
WITH now AS (
    SELECT $5::text::xid8 AS oldest
), edge AS (
    SELECT s.change_xid, s.id FROM vmafx.samples s WHERE s.tenant_id = $1
    ORDER BY s.change_xid DESC, s.id DESC OFFSET $2 LIMIT 1
), first AS MATERIALIZED (
    SELECT s.change_xid, s.id,
        s.created_at < $3 OR (s.change_xid, s.id) <= (SELECT edge.change_xid, edge.id FROM edge) AS over
    FROM vmafx.samples s WHERE s.tenant_id = $1 ORDER BY s.change_xid, s.id LIMIT $4
), last AS MATERIALIZED (
    SELECT first.change_xid, first.id FROM first WHERE first.over ORDER BY first.change_xid DESC, first.id DESC LIMIT 1
), gone AS (
    DELETE FROM vmafx.samples AS old USING first, last, now
    WHERE old.tenant_id = $1 AND old.change_xid = first.change_xid AND old.id = first.id
        AND (first.change_xid, first.id) <= (last.change_xid, last.id) AND first.change_xid < now.oldest
    RETURNING old.change_xid, old.id
), noted AS (
    INSERT INTO vmafx.samples_removed AS known (tenant_id, change_xid, id)
    SELECT $1, gone.change_xid, gone.id FROM gone ORDER BY gone.change_xid DESC, gone.id DESC LIMIT 1
    ON CONFLICT (tenant_id) DO UPDATE SET change_xid = excluded.change_xid, id = excluded.id
    WHERE (excluded.change_xid, excluded.id) > (known.change_xid, known.id)
)
SELECT (SELECT count(*) FROM gone),
    (SELECT last.change_xid::text FROM last, now WHERE last.change_xid >= now.oldest)";

const STATS: &str = "
SELECT tenant.id,
    (SELECT count(*) FROM vmafx.jobs j WHERE j.tenant_id = tenant.id AND j.status = 'pending'),
    (SELECT count(*) FROM vmafx.jobs j WHERE j.tenant_id = tenant.id AND j.status = 'running'),
    -- A shared node counts for its home tenant only.
    (SELECT count(*) FROM vmafx.node_sessions s
     WHERE s.tenant_id = tenant.id AND s.capability ->> 'shared' IS NULL),
    (SELECT j.created_at FROM vmafx.jobs j WHERE j.tenant_id = tenant.id AND j.status = 'pending'
     ORDER BY j.created_at, j.id LIMIT 1),
    (SELECT count(*) FROM vmafx.node_sessions s
     JOIN vmafx.node_faults f ON f.tenant_id = s.tenant_id AND f.node_id = s.node_id
     WHERE s.tenant_id = tenant.id AND f.failures >= $2),
    (SELECT greatest(coalesce(sum(u.bytes), 0), 0)::bigint FROM vmafx.tenant_usage u WHERE u.tenant_id = tenant.id)
FROM unnest($1::text[]) AS tenant (id)";

struct Removed {
    count: u64,
    /// The newest transaction whose samples could not be deleted yet, because an older transaction is running.
    held_back: Option<u64>,
}

impl Shared {
    /// All tenants that have jobs, sessions or samples.
    pub(super) async fn tenants(&self) -> StoreResult<BTreeSet<TenantId>> {
        let calls: [Call<'_>; 3] =
            [(TENANTS_OF_JOBS, &[]), (TENANTS_OF_SESSIONS, &[]), (TENANTS_OF_SAMPLES, &[])];
        let answers = self.connections.run_all(Scope::Maintenance, Access::Read, &calls).await?;
        answers.iter().flatten().map(|row| Reader::new(row).tenant()).collect()
    }

    pub(super) async fn stats(&self) -> StoreResult<Vec<TenantStats>> {
        let tenants = self.tenants().await?;
        let names: Vec<&str> = tenants.iter().map(TenantId::as_str).collect();
        let quarantined_from = i64::from(self.policy.quarantine_after);
        let values: [Value<'_>; 2] = [&names, &quarantined_from];
        let rows = self.connections.run(Scope::Maintenance, Access::Read, STATS, &values).await?;
        let mut stats: Vec<TenantStats> = rows
            .iter()
            .map(|row| {
                let mut reader = Reader::new(row);
                Ok(TenantStats {
                    tenant: reader.tenant()?,
                    pending: reader.count()?,
                    running: reader.count()?,
                    nodes: reader.count()?,
                    oldest_pending: reader.next::<Option<i64>>()?.map(Timestamp),
                    quarantined: reader.count()?,
                    stored_bytes: reader.count()?,
                })
            })
            .collect::<StoreResult<_>>()?;
        stats.sort_by(|a, b| a.tenant.cmp(&b.tenant));
        Ok(stats)
    }

    pub(super) async fn prune(&self, keep: &Retention) -> StoreResult<Pruned> {
        let now = self.now_for_ages();
        let mut pruned = Pruned::default();
        let mut horizon = self.horizon().await?.transaction;
        for tenant in self.tenants().await? {
            let batch = u64::from(keep.batch);
            let old = (now - keep.jobs_for).0;
            let left = batch.saturating_sub(pruned.jobs);
            pruned.jobs += self.remove(PRUNE_JOBS, &tenant, keep.jobs, old, left, None).await?.count;
            let old = (now - keep.samples_for).0;
            for _ in 0..2 {
                let left = batch.saturating_sub(pruned.samples);
                let removed =
                    self.remove(PRUNE_SAMPLES, &tenant, keep.samples, old, left, Some(horizon)).await?;
                pruned.samples += removed.count;
                // Samples that are still held back are removed by a later call.
                let Some(newest) = removed.held_back else { break };
                let Some(settled) = self.wait_until_settled(newest).await? else { break };
                horizon = settled;
            }
        }
        Ok(pruned)
    }

    async fn remove(
        &self,
        statement: &'static str,
        tenant: &TenantId,
        kept: u64,
        old: i64,
        max: u64,
        horizon: Option<u64>,
    ) -> StoreResult<Removed> {
        let (kept, max, below) = (signed(kept), signed(max), horizon.map(|horizon| horizon.to_string()));
        let values: [Value<'_>; 5] = [&tenant.as_str(), &kept, &old, &max, &below];
        let values = if horizon.is_some() { &values[..] } else { &values[..4] };
        let rows = self.connections.run(Scope::Tenant(tenant), Access::Write, statement, values).await?;
        let mut reader = Reader::new(rows.first().ok_or_else(|| corrupt("the number of removed rows"))?);
        let (count, held_back) = (reader.count()?, reader.next::<Option<&str>>()?);
        Ok(Removed { count, held_back: held_back.and_then(|text| text.parse().ok()) })
    }
}
