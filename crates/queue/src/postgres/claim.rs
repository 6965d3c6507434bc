//! Claims, batched.
//!
//! The index `jobs_claim` holds only claimable jobs, in claim order within each tenant and backend. A claim reads
//! the first entries of the backends that its node serves and of the empty backend, so its cost does not depend on
//! the jobs of other backends. Rows that a concurrent claim has locked are skipped, which is why more entries are
//! read than needed. A claim is answered with `Nothing` only if a round found no entry at all: a job that was
//! submitted before the claim is never missed because its row was locked.
//!
//! While a job is kept from a node that failed it, each node claims alone and passes over its own; there are at most
//! [`crate::policy::MAX_AVOIDING_JOBS`] of them for a node. Nodes that failed several attempts in a row are left out of a
//! batch and claim alone too ([`super::faults`]).
//!
//! A session gets no more jobs than its node has slots, and a tenant no more than it may run: [`super::usage`].

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use uuid::Uuid;

use super::Shared;
use super::batcher::BatchOperation;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, claim_rank, job_columns, millis, session, signed};
use super::tenant_changes::TenantChanges;
use super::usage::{counted, usage};
use crate::clock::Timestamp;
use crate::ids::{PullId, TenantId};
use crate::node::Credentials;
use crate::store::{Claim, StoreResult};
use vmafx_job::TenantLimits;

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

/// Claims of one session wait for each other, also at other controllers, so that each counts the jobs of those before it. The
/// locks come before the statement that counts, whose snapshot is then new enough, and in one order.
const LOCK_SESSIONS: &str =
    "SELECT count(pg_advisory_xact_lock(session)) FROM unnest($1::bigint[]) AS lock (session)";

fn session_locks(sessions: &[Uuid]) -> Vec<i64> {
    let half = |id: &Uuid| {
        let (high, low) = id.as_u64_pair();
        (high ^ low).cast_signed()
    };
    let mut locks: Vec<i64> = sessions.iter().map(half).collect();
    locks.sort_unstable();
    locks.dedup();
    locks
}

const CLAIM: &str = concat!(
    "
WITH known AS (
    SELECT w.n, w.pull, s.id AS session, s.node_id, s.capability -> 'labels' AS labels,
        -- What the session would hold if it got a job for each of its pulls up to this one.
        row_number() OVER (PARTITION BY s.id ORDER BY w.n) + (
            SELECT count(*) FROM vmafx.jobs j
            WHERE j.tenant_id = $1 AND j.status = 'running' AND j.lease_session = s.id)
            > greatest((s.capability ->> 'slots')::bigint, 1) AS slots_taken,
        NOT $9 AND EXISTS (
        SELECT FROM vmafx.node_faults f
        WHERE f.tenant_id = $1 AND f.node_id = s.node_id AND f.failures >= $8) AS suspect
    FROM unnest($2::uuid[], $3::bytea[], $10::uuid[]) WITH ORDINALITY AS w (session, token, pull, n)
    CROSS JOIN LATERAL (",
    session!("w"),
    ") s
), live AS (
    SELECT known.*, row_number() OVER (ORDER BY known.n) AS place FROM known WHERE NOT known.suspect AND NOT known.slots_taken
), room AS MATERIALIZED (
    SELECT $11::bigint - ",
    usage!("running"),
    " AS jobs
), kept AS MATERIALIZED (
    -- A job that is kept from one node can go to another, so each node has to claim alone. The condition does not fit the
    -- index of claimable jobs, because a plan that used it would read all of them.
    SELECT NOT $9 AND EXISTS (
        SELECT FROM vmafx.jobs j
        WHERE coalesce(j.tenant_id, '') = $1 AND coalesce(j.ready, false) AND j.avoid_node IS NOT NULL
            AND j.avoid_until > $6) AS any_job
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
        SELECT j.id, ",
    claim_rank!("j"),
    " AS rank FROM vmafx.jobs j
        WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.ready
            AND NOT ($9 AND j.avoid_node IS NOT NULL AND j.avoid_until > $6
                AND j.avoid_node = (SELECT known.node_id FROM known LIMIT 1))
        ORDER BY ",
    claim_rank!("j"),
    ", j.id LIMIT $5
    ) head
    WHERE NOT (SELECT any_job FROM due) AND NOT (SELECT any_job FROM kept)
    ORDER BY head.rank, head.id LIMIT $5
), locked AS (
    SELECT j.id, ",
    claim_rank!("j"),
    " AS rank FROM vmafx.jobs j
    WHERE j.id = ANY (ARRAY (SELECT id FROM heads)) AND coalesce(j.ready, false)
    ORDER BY ",
    claim_rank!("j"),
    ", j.id
    LIMIT (SELECT greatest(least((SELECT count(*) FROM live), room.jobs), 0) FROM room)
    FOR UPDATE OF j SKIP LOCKED
), taken AS (
    SELECT id, row_number() OVER (ORDER BY rank, id) AS place FROM locked
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = 'running', ready = false, available_at = NULL, attempt = job.attempt + 1, node = live.node_id,
        avoid_node = NULL, avoid_until = NULL, lease_pull = live.pull,
        started_at = $6, updated_at = $6, lease_session = live.session, lease_expires_at = $7,
        spec = coalesce(job.next_spec, job.spec), next_spec = NULL,
        revision = job.revision + 1, change_xid = pg_current_xact_id()
    FROM taken JOIN live USING (place) WHERE job.id = taken.id
    RETURNING job.*, live.n, live.labels
), begun AS (
    INSERT INTO vmafx.job_attempts (job_id, attempt, tenant_id, session_id, node_id, node_labels, started_at)
    SELECT j.id, j.attempt, $1, j.lease_session, j.node, j.labels, $6 FROM j
), counted AS (",
    counted!("-count(*)", "count(*)", "0", "j"),
    ")
SELECT known.n, (SELECT any_job FROM due), (SELECT count(*) FROM heads), known.suspect, (SELECT any_job FROM kept),
    known.slots_taken, (SELECT room.jobs <= 0 FROM room), ",
    job_columns!(),
    " FROM known LEFT JOIN j USING (n)"
);

/// The earliest end of a back-off among these backends.
const NEXT: &str = "
SELECT min(backoff.available_at) FROM unnest($2::text[]) AS class (backend)
CROSS JOIN LATERAL (
    SELECT j.available_at FROM vmafx.jobs j
    WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.status = 'pending' AND NOT j.ready
    ORDER BY j.available_at LIMIT 1
) backoff";

/// When the first of the claimable jobs that are kept from this node may go to it.
const NEXT_KEPT: &str = "
SELECT min(j.avoid_until) FROM vmafx.jobs j
JOIN vmafx.node_sessions s ON s.id = $2 AND j.avoid_node = s.node_id
WHERE j.tenant_id = $1 AND j.avoid_until > $4 AND coalesce(j.ready, false) AND coalesce(j.backend, '') = ANY ($3)";

/// Entries that the first round reads beyond twice the number of nodes, because another controller may claim as
/// many at the same time.
const SPARE_ENTRIES: usize = 8;
/// Maximum number of entries that a round reads.
const MAX_ENTRIES: usize = 4096;
/// Rounds lost to concurrent claims before the caller gets a retryable error.
const MAX_LOST_RACES: u32 = 40;

/// The key is the tenant and the backends that the node may claim for, sorted and including the empty one.
pub(super) struct Claims(pub(super) Arc<Shared>);

/// A node that claims, the pull that it claims for, and the limits of its tenant.
pub(super) struct ClaimCaller {
    pub(super) node: Credentials,
    pub(super) pull: Option<PullId>,
    pub(super) limits: TenantLimits,
}

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
    type Item = ClaimCaller;
    type Answer = Claim;
    const MAX_BATCH_SIZE: usize = 64;

    async fn run(&self, key: &Self::Key, nodes: &[ClaimCaller]) -> StoreResult<Vec<Claim>> {
        let (tenant, backends) = key;
        let nodes: Vec<&ClaimCaller> = nodes.iter().collect();
        let mut claims = Vec::with_capacity(nodes.len());
        for (answer, node) in self.rounds(tenant, backends, &nodes, false).await?.into_iter().zip(&nodes) {
            claims.push(match answer {
                RoundAnswer::Claim(claim) => claim,
                RoundAnswer::Suspect => self.claim_on_trial(tenant, backends, node).await?,
                RoundAnswer::Alone => self.claim_alone(tenant, backends, node).await?,
            });
        }
        Ok(claims)
    }
}

/// What became of the claim of one node among others.
#[derive(Clone)]
enum RoundAnswer {
    Claim(Claim),
    /// The node has failed several attempts in a row.
    Suspect,
    /// Jobs are kept from some nodes, so this one has to claim alone.
    Alone,
}

impl Claims {
    /// Claims for one node, passing over the jobs that are kept from it.
    pub(super) async fn claim_alone(
        &self,
        tenant: &TenantId,
        backends: &ClaimableBackends,
        node: &ClaimCaller,
    ) -> StoreResult<Claim> {
        let answers = self.rounds(tenant, backends, &[node], true).await?;
        let Some(RoundAnswer::Claim(claim)) = answers.into_iter().next() else { return Ok(Claim::NoSession) };
        let Claim::Nothing { next } = claim else { return Ok(claim) };
        Ok(match self.next_kept(tenant, backends, node).await? {
            Some(kept) => Claim::PassedOver { next: next.map_or(kept, |next| next.min(kept)) },
            None => Claim::Nothing { next },
        })
    }

    /// Claims in rounds until every node has an answer. `alone`: there is one node, and it is not quarantined.
    async fn rounds(
        &self,
        tenant: &TenantId,
        backends: &ClaimableBackends,
        nodes: &[&ClaimCaller],
        alone: bool,
    ) -> StoreResult<Vec<RoundAnswer>> {
        let mut answers: Vec<Option<RoundAnswer>> = vec![None; nodes.len()];
        let mut max_entries = 2 * nodes.len() + SPARE_ENTRIES;
        let mut lost_races = 0_u32;
        loop {
            let open: Vec<usize> = (0..nodes.len()).filter(|at| answers[*at].is_none()).collect();
            let asking: Vec<&ClaimCaller> = open.iter().map(|at| nodes[*at]).collect();
            let round = self.round(tenant, backends, &asking, max_entries, alone).await?;
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
                let now = RoundAnswer::Claim(Claim::Nothing { next: Some(self.0.clock.now()) });
                return Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| now.clone())).collect());
            }
            if round.found >= max_entries {
                max_entries = (max_entries * 4).min(MAX_ENTRIES);
            }
            sleep(Duration::from_millis(u64::from(lost_races / 4))).await;
        }
        let nothing = RoundAnswer::Claim(Claim::Nothing { next: self.next(tenant, backends).await? });
        Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(|| nothing.clone())).collect())
    }
}

struct Round {
    /// `None` when the round found no job for the node.
    answers: Vec<Option<RoundAnswer>>,
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
        nodes: &[&ClaimCaller],
        max_entries: usize,
        alone: bool,
    ) -> StoreResult<Round> {
        let shared = &self.0;
        let now = shared.clock.now();
        let tenant_id = tenant.as_str();
        let sessions: Vec<Uuid> = nodes.iter().map(|caller| caller.node.session.0).collect();
        let tokens: Vec<Vec<u8>> = nodes.iter().map(|caller| caller.node.token.digest().to_vec()).collect();
        let pulls: Vec<Option<Uuid>> = nodes.iter().map(|caller| caller.pull.map(|pull| pull.0)).collect();
        let limit = i64::try_from(max_entries).unwrap_or(i64::MAX);
        let until = now.0.saturating_add(millis(shared.policy.lease_ttl));
        let backends = &backends[..];
        let suspect_from = i64::from(shared.policy.quarantine_after);
        // A batch has the limits of its last claim, which are the newest.
        let max_running = nodes.last().map_or(0, |caller| signed(caller.limits.running_jobs));
        let claim: [Value<'_>; 11] = [
            &tenant_id,
            &sessions,
            &tokens,
            &backends,
            &limit,
            &now.0,
            &until,
            &suspect_from,
            &alone,
            &pulls,
            &max_running,
        ];
        let locks = session_locks(&sessions);
        let lock: [Value<'_>; 1] = [&locks];
        let calls: [Call<'_>; 2] = [(LOCK_SESSIONS, &lock), (CLAIM, &claim)];
        let mut answers = shared.connections.run_all(Scope::Tenant(tenant), Access::Write, &calls).await?;
        let rows = answers.pop().unwrap_or_default();

        let mut changes = TenantChanges::default();
        let mut round = Round { answers: Vec::with_capacity(nodes.len()), due: false, found: 0, claimed: 0 };
        round.answers.resize(nodes.len(), Some(RoundAnswer::Claim(Claim::NoSession)));
        for row in &rows {
            let mut reader = Reader::new(row);
            let number: usize = reader.count()?;
            round.due = reader.next()?;
            round.found = reader.count()?;
            let (suspect, kept): (bool, bool) = (reader.next()?, reader.next()?);
            let (slots_taken, at_limit): (bool, bool) = (reader.next()?, reader.next()?);
            let job = if reader.is_null() { None } else { Some(reader.job()?) };
            changes.changed |= job.is_some();
            round.claimed += usize::from(job.is_some());
            if let Some(answer) = round.answers.get_mut(number.saturating_sub(1)) {
                *answer = match job {
                    Some(job) => Some(RoundAnswer::Claim(Claim::Job(Box::new(job)))),
                    None if suspect => Some(RoundAnswer::Suspect),
                    None if slots_taken => Some(RoundAnswer::Claim(Claim::NoFreeSlot)),
                    None if at_limit => Some(RoundAnswer::Claim(Claim::LimitReached)),
                    None if kept => Some(RoundAnswer::Alone),
                    None => None,
                };
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

    async fn next_kept(
        &self,
        tenant: &TenantId,
        backends: &ClaimableBackends,
        node: &ClaimCaller,
    ) -> StoreResult<Option<Timestamp>> {
        let (tenant_id, backends, now) = (tenant.as_str(), &backends[..], self.0.clock.now().0);
        let values: [Value<'_>; 4] = [&tenant_id, &node.node.session.0, &backends, &now];
        let rows = self.0.connections.run(Scope::Tenant(tenant), Access::Read, NEXT_KEPT, &values).await?;
        let next = rows.first().map(|row| Reader::new(row).next::<Option<i64>>()).transpose()?;
        Ok(next.flatten().map(Timestamp))
    }
}
