//! The sweep ends expired leases, sessions and deadlines.
//!
//! Sweeps do not overlap: a controller that cannot lock the row of `vmafx.meta` skips its sweep. Rows that are
//! locked by another transaction are left for the next sweep.

use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use tokio::time::timeout;
use uuid::Uuid;

use super::Shared;
use super::announce::ChangesByTenant;
use super::clock_step::{self, ClockObservation};
use super::error::{timed_out, unavailable};
use super::faults::query;
use super::horizon::{HORIZON, Horizon};
use super::pool::Value;
use super::row::{Reader, StoredJob, job_columns, millis, stored_jobs};
use super::usage::{UsageChanges, bytes_when_over, bytes_when_pending, store_usage_changes};
use crate::clock::{ClockReading, Timestamp};
use crate::job::Job;
use crate::outcome::AttemptOutcome;
use crate::policy::Policy;
use crate::quarantine::FAULTS_RETENTION;
use crate::store::{StoreResult, Swept};
use crate::transition::{JobEvent, State, Transition, next};
use vmafx_job::FailureReason;

/// Maximum number of jobs or sessions of each kind that one sweep ends.
const MAX_EXPIRED_PER_SWEEP: i64 = 1000;
const SWEEP_TIMEOUT: Duration = Duration::from_secs(30);

const LAST_SWEEP: &str = "SELECT swept_at, clock_shift FROM vmafx.meta FOR UPDATE SKIP LOCKED";
/// Records the horizon as well: whatever history the database goes on with, it shares everything below it.
const RECORD_SWEEP: &str = "
UPDATE vmafx.meta SET
    swept_at = $1, swept_xid = pg_current_xact_id(), settled_xid = greatest(settled_xid, $2::text::xid8)";

const RENEW_LEASES: &str = "UPDATE vmafx.jobs SET lease_expires_at = $1 WHERE status = 'running'";
/// Bounds every back-off from now on, because the clock may have been set back while it lasted.
const SHORTEN_BACKOFFS: &str = "
UPDATE vmafx.jobs SET available_at = $1 WHERE status = 'pending' AND NOT ready AND available_at > $1";
const RENEW_SESSIONS: &str = "UPDATE vmafx.node_sessions SET expires_at = $1";

/// Makes the jobs of all tenants claimable whose back-off has ended.
const PROMOTE: &str = "
WITH due AS (
    SELECT j.id FROM vmafx.jobs j
    WHERE j.status = 'pending' AND NOT j.ready AND j.available_at <= $1
    FOR UPDATE SKIP LOCKED
), promoted AS (
    UPDATE vmafx.jobs AS job SET ready = true WHERE job.id = ANY (ARRAY (SELECT id FROM due))
    RETURNING job.tenant_id, job.backend
), classes AS (
    SELECT tenant_id, backend, count(*) AS jobs FROM promoted GROUP BY tenant_id, backend
)
SELECT tenant_id, backend, jobs FROM classes";

macro_rules! due {
    ($condition:literal) => {
        concat!(
            "SELECT j.bytes, ",
            job_columns!(),
            " FROM vmafx.jobs j WHERE ",
            $condition,
            " ORDER BY j.created_at, j.id LIMIT $2 FOR UPDATE OF j SKIP LOCKED"
        )
    };
}
const OVERDUE: &str = due!("j.deadline_at IS NOT NULL AND j.finished_at IS NULL AND j.deadline_at <= $1");
const EXPIRED: &str = due!(
    "j.status = 'running' AND j.lease_expires_at <= $1 AND (j.deadline_at IS NULL OR j.deadline_at > $1)"
);

const END: &str = concat!(
    "
WITH ended AS (
    SELECT * FROM unnest(
        $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::int[], $8::text[], $9::int[])
    AS e (id, status, lost_attempts, available_at, error, reason, outcome, attempt_reason)
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = ended.status, ready = false, lost_attempts = ended.lost_attempts, available_at = ended.available_at,
        error = CASE WHEN ended.status = 'failed' THEN ended.error ELSE '' END, failure_reason = ended.reason,
        lease_session = NULL, lease_expires_at = NULL, progress_done = NULL, progress_total = NULL, updated_at = $1,
        finished_at = CASE WHEN ended.status = 'failed' THEN $1::bigint END, avoid_node = NULL, avoid_until = NULL,
        failed_attempt = CASE WHEN ended.status = 'pending' THEN job.attempt ELSE job.failed_attempt END,
        failed_node = CASE WHEN ended.status = 'pending' THEN job.node ELSE job.failed_node END,
        failed_reason = CASE WHEN ended.status = 'pending' THEN ended.attempt_reason ELSE job.failed_reason END,
        failed_error = CASE WHEN ended.status = 'pending' THEN ended.error ELSE job.failed_error END,
        spec = CASE WHEN ended.status = 'pending' THEN coalesce(job.next_spec, job.spec) ELSE job.spec END,
        next_spec = NULL, bytes = CASE WHEN ended.status = 'pending' THEN ",
    bytes_when_pending!(),
    " ELSE ",
    bytes_when_over!(),
    " END,
        revision = job.revision + 1, change_xid = pg_current_xact_id()
    FROM ended WHERE job.id = ended.id
    RETURNING job.*, ended.outcome, ended.error AS attempt_error, ended.attempt_reason
), attempts AS (
    UPDATE vmafx.job_attempts AS a SET ended_at = $1, outcome = j.outcome, error = j.attempt_error,
        reason = j.attempt_reason, token_sha256 = CASE WHEN j.outcome = 'expired' THEN
            (SELECT s.token_sha256 FROM vmafx.node_sessions s WHERE s.id = a.session_id) END
    FROM j WHERE a.job_id = j.id AND a.attempt = j.attempt AND a.ended_at IS NULL
)
SELECT j.bytes, ",
    job_columns!(),
    " FROM j ORDER BY j.created_at, j.id"
);

const FORGET_FAULTS: &str = "DELETE FROM vmafx.node_faults WHERE tried_at < $1";

const EVICT: &str = "
DELETE FROM vmafx.node_sessions WHERE id = ANY (ARRAY (
    SELECT s.id FROM vmafx.node_sessions s WHERE s.expires_at <= $1
    ORDER BY s.expires_at, s.id LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING tenant_id, node_id";

impl Shared {
    pub(super) async fn sweep(&self) -> StoreResult<Swept> {
        let reading = self.clock.measure(&self.connections).await?;
        let mut client = self.connections.take().await?;
        let Ok(done) = timeout(SWEEP_TIMEOUT, self.sweep_in_transaction(&mut client, reading)).await else {
            drop(Object::take(client));
            return Err(timed_out());
        };
        let (swept, changes) = done?;
        for (tenant, changes) in changes {
            self.notify(&tenant, changes);
        }
        Ok(swept)
    }

    async fn sweep_in_transaction(
        &self,
        client: &mut Object,
        reading: Option<ClockReading>,
    ) -> StoreResult<(Swept, ChangesByTenant)> {
        let transaction = client.transaction().await.map_err(unavailable)?;
        transaction.batch_execute("SET LOCAL vmafx.maintenance = 'on'").await.map_err(unavailable)?;
        let horizon = Horizon::read(&query(&transaction, HORIZON, &[]).await?)?.transaction.to_string();
        let last = query(&transaction, LAST_SWEEP, &[]).await?;
        let Some(last) = last.first() else { return Ok(Default::default()) };
        let mut last = Reader::new(last);
        let (last, shift) = (last.next::<Option<i64>>()?.map(Timestamp), last.next()?);
        let clock = self.follow_clock(&transaction, reading, shift).await?;
        let now = self.clock.now();
        let mut changes = ChangesByTenant::new();
        query(&transaction, RECORD_SWEEP, &[&now.0, &horizon]).await?;
        for row in query(&transaction, PROMOTE, &[&now.0]).await? {
            let mut reader = Reader::new(&row);
            let tenant = reader.tenant()?;
            changes.entry(tenant).or_default().work(reader.next()?, reader.count()?);
        }
        let in_time = last.is_some_and(|last| now >= last && now.since(last) <= self.policy.max_sweep_gap());
        let swept = if in_time {
            end_expired(&transaction, now, &self.policy).await?
        } else {
            renew(&transaction, now, &self.policy).await?
        };
        transaction.commit().await.map_err(unavailable)?;
        if let Some(ClockObservation { watched, moved_millis, .. }) = clock {
            *self.watched_clock() = Some(watched);
            self.creation_order().follow(moved_millis);
        }
        for job in swept.requeued.iter().chain(&swept.failed) {
            changes.entry(job.tenant.clone()).or_default().add(job);
        }
        Ok((swept, changes))
    }

    /// Moves the jobs with the clock if it was set. The caller keeps the answer once the transaction is committed.
    async fn follow_clock(
        &self,
        transaction: &Transaction<'_>,
        reading: Option<ClockReading>,
        shift_millis: i64,
    ) -> StoreResult<Option<ClockObservation>> {
        let Some(reading) = reading else { return Ok(None) };
        let before = *self.watched_clock();
        let observed = clock_step::observe(before, reading, shift_millis);
        if let Some(step) = observed.step {
            clock_step::apply(transaction, step, &observed.watched).await?;
        }
        Ok(Some(observed))
    }
}

/// Renews every lease and session after a gap between sweeps or a clock jump.
async fn renew(transaction: &Transaction<'_>, now: Timestamp, policy: &Policy) -> StoreResult<Swept> {
    let (lease, session) = (policy.lease_ttl, policy.session_ttl);
    query(transaction, RENEW_LEASES, &[&now.0.saturating_add(millis(lease))]).await?;
    query(transaction, RENEW_SESSIONS, &[&now.0.saturating_add(millis(session))]).await?;
    query(transaction, SHORTEN_BACKOFFS, &[&now.0.saturating_add(millis(policy.backoff_max))]).await?;
    Ok(Swept { renewed: true, ..Swept::default() })
}

async fn end_expired(transaction: &Transaction<'_>, now: Timestamp, policy: &Policy) -> StoreResult<Swept> {
    let mut swept = Swept::default();
    let mut usage = UsageChanges::default();
    // Deadlines come first: a job that missed its deadline fails for that reason even if its lease expired too.
    for statement in [OVERDUE, EXPIRED] {
        let due = stored_jobs(&query(transaction, statement, &[&now.0, &MAX_EXPIRED_PER_SWEEP]).await?)?;
        let ends =
            due.iter().filter_map(|before| AttemptEnd::of(&before.job, statement == OVERDUE, now, policy));
        for after in store_ends(transaction, now, &ends.collect::<Vec<_>>()).await? {
            if let Some(before) = due.iter().find(|before| before.job.id == after.job.id) {
                usage.add(before, &after);
            }
            let job = after.job;
            if job.state == State::Failed { swept.failed.push(job) } else { swept.requeued.push(job) }
        }
    }
    query(transaction, FORGET_FAULTS, &[&(now - FAULTS_RETENTION).0]).await?;
    for row in query(transaction, EVICT, &[&now.0, &MAX_EXPIRED_PER_SWEEP]).await? {
        let mut reader = Reader::new(&row);
        swept.evicted.push((reader.tenant()?, reader.next()?));
    }
    store_usage_changes(transaction, &usage).await?;
    Ok(swept)
}

/// The end of an attempt, and the new state of its job.
struct AttemptEnd {
    id: Uuid,
    state: State,
    lost_attempts: u32,
    available_at: Option<Timestamp>,
    error: String,
    reason: FailureReason,
    outcome: AttemptOutcome,
    attempt_reason: FailureReason,
}

impl AttemptEnd {
    fn of(job: &Job, overdue: bool, now: Timestamp, policy: &Policy) -> Option<Self> {
        let lost_attempts = if overdue { job.lost_attempts } else { job.lost_attempts.saturating_add(1) };
        let event = if overdue {
            JobEvent::Overrun
        } else {
            JobEvent::Lose { lost: lost_attempts, allowed: job.max_lost_attempts }
        };
        let Transition::To(state) = next(job.state, event) else { return None };
        let (error, outcome) = if overdue {
            let length = job.deadline_at.unwrap_or(now).since(job.created_at);
            (Policy::deadline_text(length), AttemptOutcome::Failed)
        } else {
            let text = Policy::lost_text(job.attempt, lost_attempts, job.max_lost_attempts);
            (text, AttemptOutcome::Expired)
        };
        let attempt_reason = if overdue { FailureReason::DeadlineExceeded } else { FailureReason::NodeLost };
        let reason = if state == State::Failed { attempt_reason } else { FailureReason::Unspecified };
        let available_at = (state == State::Pending).then(|| now + policy.backoff(lost_attempts));
        Some(Self {
            id: job.id.0,
            state,
            lost_attempts,
            available_at,
            error,
            reason,
            outcome,
            attempt_reason,
        })
    }
}

async fn store_ends(
    transaction: &Transaction<'_>,
    now: Timestamp,
    ends: &[AttemptEnd],
) -> StoreResult<Vec<StoredJob>> {
    if ends.is_empty() {
        return Ok(vec![]);
    }
    let id: Vec<Uuid> = ends.iter().map(|end| end.id).collect();
    let status: Vec<&str> = ends.iter().map(|end| end.state.name()).collect();
    let lost: Vec<i64> = ends.iter().map(|end| end.lost_attempts.into()).collect();
    let available_at: Vec<Option<i64>> = ends.iter().map(|end| end.available_at.map(|at| at.0)).collect();
    let error: Vec<&str> = ends.iter().map(|end| end.error.as_str()).collect();
    let reason: Vec<i32> = ends.iter().map(|end| end.reason.number()).collect();
    let outcome: Vec<&str> = ends.iter().map(|end| end.outcome.name()).collect();
    let attempt_reason: Vec<i32> = ends.iter().map(|end| end.attempt_reason.number()).collect();
    let values: [Value<'_>; 9] =
        [&now.0, &id, &status, &lost, &available_at, &error, &reason, &outcome, &attempt_reason];
    stored_jobs(&query(transaction, END, &values).await?)
}
