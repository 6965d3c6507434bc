//! Claims, batched.
//!
//! The index `jobs_claim` holds only claimable jobs, in claim order within each tenant and backend. A claim reads
//! the first entries of the backends that its node serves and of the empty backend, so its cost does not depend on
//! the jobs of other backends. Rows that a concurrent claim has locked are skipped, which is why more entries are
//! read than needed. A claim is answered with `Nothing` only if a round found no entry at all: a job that was
//! submitted before the claim is never missed because its row was locked.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use uuid::Uuid;

use super::Shared;
use super::batcher::BatchOperation;
use super::pool::{Access, Scope, Value};
use super::row::{Reader, job_columns, millis};
use super::tenant_changes::TenantChanges;
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::node::Credentials;
use crate::store::{Claim, StoreResult};

/// Makes jobs claimable whose back-off has ended. Nothing else about the jobs changes; nodes that wait for work are
/// notified.
const PROMOTE: &str = "
WITH due AS (
    SELECT of_class.id FROM unnest($2::text[]) AS class (backend)
    CROSS JOIN LATERAL (
        SELECT j.id FROM vmafx.jobs j
        WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.status = 'pending' AND NOT j.ready
            AND j.available_at <= $3
        ORDER BY j.available_at LIMIT 10000
        FOR UPDATE SKIP LOCKED
    ) of_class
), promoted AS (
    UPDATE vmafx.jobs AS job SET ready = true WHERE job.id = ANY (ARRAY (SELECT id FROM due)) RETURNING job.backend
), classes AS (
    SELECT backend, count(*) AS jobs FROM promoted GROUP BY backend
)
SELECT backend, jobs FROM classes";

const CLAIM: &str = concat!(
    "
WITH live AS (
    SELECT w.n, s.id AS session, s.node_id, s.capability -> 'labels' AS labels,
        row_number() OVER (ORDER BY w.n) AS place
    FROM unnest($2::uuid[], $3::bytea[]) WITH ORDINALITY AS w (session, token, n)
    JOIN vmafx.node_sessions s
        ON s.id = w.session AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = w.token
), due AS MATERIALIZED (
    -- Jobs whose back-off has ended must be made ready first, because one of them may come first in claim order.
    SELECT EXISTS (
        SELECT FROM unnest($4::text[]) AS class (backend)
        CROSS JOIN LATERAL (
            SELECT FROM vmafx.jobs j
            WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.status = 'pending' AND NOT j.ready
                AND j.available_at <= $6
            LIMIT 1
        ) of_class
    ) AS any_job
), heads AS MATERIALIZED (
    SELECT head.id FROM unnest($4::text[]) AS class (backend)
    CROSS JOIN LATERAL (
        SELECT j.id, j.priority, j.created_at FROM vmafx.jobs j
        WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.ready
        ORDER BY j.priority DESC, j.created_at, j.id LIMIT $5
    ) head
    WHERE NOT (SELECT any_job FROM due)
    ORDER BY head.priority DESC, head.created_at, head.id LIMIT $5
), locked AS (
    SELECT j.id, j.priority, j.created_at FROM vmafx.jobs j
    WHERE j.id = ANY (ARRAY (SELECT id FROM heads)) AND coalesce(j.ready, false)
    ORDER BY j.priority DESC, j.created_at, j.id
    LIMIT (SELECT count(*) FROM live)
    FOR UPDATE OF j SKIP LOCKED
), taken AS (
    SELECT id, row_number() OVER (ORDER BY priority DESC, created_at, id) AS place FROM locked
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = 'running', ready = false, available_at = NULL, attempt = job.attempt + 1, node = live.node_id,
        started_at = $6, updated_at = $6, lease_session = live.session, lease_expires_at = $7,
        spec = coalesce(job.next_spec, job.spec), next_spec = NULL,
        revision = job.revision + 1, change_xid = pg_current_xact_id()
    FROM taken JOIN live USING (place) WHERE job.id = taken.id
    RETURNING job.*, live.n, live.labels
), begun AS (
    INSERT INTO vmafx.job_attempts (job_id, attempt, tenant_id, session_id, node_id, node_labels, started_at)
    SELECT j.id, j.attempt, $1, j.lease_session, j.node, j.labels, $6 FROM j
)
SELECT live.n, (SELECT any_job FROM due), (SELECT count(*) FROM heads), ",
    job_columns!(),
    " FROM live LEFT JOIN j USING (n)"
);

/// The earliest end of a back-off among these backends.
const NEXT: &str = "
SELECT min(backoff.available_at) FROM unnest($2::text[]) AS class (backend)
CROSS JOIN LATERAL (
    SELECT j.available_at FROM vmafx.jobs j
    WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.status = 'pending' AND NOT j.ready
    ORDER BY j.available_at LIMIT 1
) backoff";

/// Entries that the first round reads beyond twice the number of nodes, because another controller may claim as
/// many at the same time.
const SPARE_ENTRIES: usize = 8;
/// Maximum number of entries that a round reads.
const MAX_ENTRIES: usize = 4096;
/// Rounds lost to concurrent claims before the caller gets a retryable error.
const MAX_LOST_RACES: u32 = 40;

/// The key is the tenant and the backends that the node may claim for, sorted and including the empty one.
pub(super) struct Claims(pub(super) Arc<Shared>);

/// Backends that a node may claim for.
pub(super) type ClaimableBackends = Arc<[String]>;

pub(super) fn claimable_backends(backends: &[String]) -> ClaimableBackends {
    let mut backends: Vec<String> = backends.iter().map(|backend| super::row::text(backend)).collect();
    backends.push(String::new());
    backends.sort();
    backends.dedup();
    backends.into()
}

impl BatchOperation for Claims {
    type Key = (TenantId, ClaimableBackends);
    type Item = Credentials;
    type Answer = Claim;
    const MAX_BATCH_SIZE: usize = 64;

    async fn run(&self, key: &Self::Key, nodes: &[Credentials]) -> StoreResult<Vec<Claim>> {
        let (tenant, backends) = key;
        let mut answers: Vec<Option<Claim>> = vec![None; nodes.len()];
        let mut max_entries = 2 * nodes.len() + SPARE_ENTRIES;
        let mut lost_races = 0_u32;
        loop {
            let open: Vec<usize> = (0..nodes.len()).filter(|at| answers[*at].is_none()).collect();
            let asking: Vec<&Credentials> = open.iter().map(|at| &nodes[*at]).collect();
            let round = self.round(tenant, backends, &asking, max_entries).await?;
            for (at, answer) in open.into_iter().zip(round.answers) {
                answers[at] = answer;
            }
            if answers.iter().all(Option::is_some) {
                return Ok(answers.into_iter().flatten().collect());
            }
            if round.due {
                self.promote(tenant, backends).await?;
            } else if round.found <= round.claimed {
                // No job was claimable.
                break;
            }
            // Concurrent claims took the entries that this round found, and further jobs may have become claimable.
            lost_races += 1;
            if lost_races > MAX_LOST_RACES {
                let now = Claim::Nothing { next: Some(self.0.clock.now()) };
                return Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| now.clone())).collect());
            }
            if round.found >= max_entries {
                max_entries = (max_entries * 4).min(MAX_ENTRIES);
            }
            sleep(Duration::from_millis(u64::from(lost_races / 4))).await;
        }
        let nothing = Claim::Nothing { next: self.next(tenant, backends).await? };
        Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| nothing.clone())).collect())
    }
}

struct Round {
    /// `None` when the round found no job for the node.
    answers: Vec<Option<Claim>>,
    /// Back-offs have ended; the round claimed nothing, because those jobs must be made ready first.
    due: bool,
    /// Entries found, and jobs claimed.
    found: usize,
    claimed: usize,
}

impl Claims {
    async fn round(
        &self,
        tenant: &TenantId,
        backends: &ClaimableBackends,
        nodes: &[&Credentials],
        max_entries: usize,
    ) -> StoreResult<Round> {
        let shared = &self.0;
        let now = shared.clock.now();
        let tenant_id = tenant.as_str();
        let sessions: Vec<Uuid> = nodes.iter().map(|node| node.session.0).collect();
        let tokens: Vec<Vec<u8>> = nodes.iter().map(|node| node.token.digest().to_vec()).collect();
        let limit = i64::try_from(max_entries).unwrap_or(i64::MAX);
        let until = now.0.saturating_add(millis(shared.policy.lease_ttl));
        let backends = &backends[..];
        let claim: [Value<'_>; 7] = [&tenant_id, &sessions, &tokens, &backends, &limit, &now.0, &until];
        let rows = shared.connections.run(Scope::Tenant(tenant), Access::Write, CLAIM, &claim).await?;

        let mut changes = TenantChanges::default();
        let mut round =
            Round { answers: vec![Some(Claim::NoSession); nodes.len()], due: false, found: 0, claimed: 0 };
        for row in &rows {
            let mut reader = Reader::new(row);
            let number: usize = reader.count()?;
            round.due = reader.next()?;
            round.found = reader.count()?;
            let job = if reader.is_null() { None } else { Some(reader.job()?) };
            changes.changed |= job.is_some();
            round.claimed += usize::from(job.is_some());
            if let Some(answer) = round.answers.get_mut(number.saturating_sub(1)) {
                *answer = job.map(|job| Claim::Job(Box::new(job)));
            }
        }
        shared.notify(tenant, changes);
        Ok(round)
    }

    async fn promote(&self, tenant: &TenantId, backends: &ClaimableBackends) -> StoreResult<()> {
        let (tenant_id, backends, now) = (tenant.as_str(), &backends[..], self.0.clock.now().0);
        let values: [Value<'_>; 3] = [&tenant_id, &backends, &now];
        let rows = self.0.connections.run(Scope::Tenant(tenant), Access::Write, PROMOTE, &values).await?;
        let mut changes = TenantChanges::default();
        for row in &rows {
            let mut reader = Reader::new(row);
            changes.work(reader.next()?, reader.count()?);
        }
        self.0.notify(tenant, changes);
        Ok(())
    }

    async fn next(&self, tenant: &TenantId, backends: &ClaimableBackends) -> StoreResult<Option<Timestamp>> {
        let (tenant_id, backends) = (tenant.as_str(), &backends[..]);
        let values: [Value<'_>; 2] = [&tenant_id, &backends];
        let rows = self.0.connections.run(Scope::Tenant(tenant), Access::Read, NEXT, &values).await?;
        let next = rows.first().map(|row| Reader::new(row).next::<Option<i64>>()).transpose()?;
        Ok(next.flatten().map(Timestamp))
    }
}
