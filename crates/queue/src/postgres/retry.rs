//! Reports of failures that are not the job's, one by one.
//!
//! Such a report depends on the earlier attempts at the job and on the other nodes, so it is decided here between two
//! statements of a transaction that holds the lock of the job.

use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use tokio::time::{sleep, timeout};
use vmafx_job::FailureReason;

use super::Shared;
use super::error::{ErrorClass, classify, timed_out, unavailable};
use super::faults::{blame, nodes_of, query};
use super::nodes::NODES_OF_TENANT;
use super::pool::Value;
use super::report::PendingReport;
use super::row::{Reader, StoredJob, job_columns, text};
use super::tenant_changes::TenantChanges;
use super::usage::{UsageChanges, bytes_when_over, bytes_when_pending, store_usage_changes};
use crate::clock::Timestamp;
use crate::ids::TenantId;
use crate::job::{AvoidedNode, Job};
use crate::policy::MAX_AVOIDING_JOBS;
use crate::quarantine::has_stand_in;
use crate::store::{Reported, StoreError, StoreResult};
use crate::transition::{JobEvent, State, Transition, next};
use crate::verdict::{EarlierFailure, FailureVerdict, ReportedFailure, judge};

const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a transaction is tried that the server rolls back because of a conflict.
const MAX_TRIES: u32 = 4;

const SESSION: &str = "
SELECT s.node_id FROM vmafx.node_sessions s
WHERE s.id = $2 AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = $3";

const RUNNING: &str = concat!(
    "SELECT j.bytes, ",
    job_columns!(),
    " FROM vmafx.jobs j
WHERE j.id = $2 AND coalesce(j.tenant_id, '') = $1 AND coalesce(j.status, '') = 'running' AND j.lease_session = $3
    AND ($4::bigint IS NULL OR j.attempt = $4)
FOR NO KEY UPDATE OF j"
);

const EARLIER: &str = "
SELECT a.node_id, a.reason FROM vmafx.job_attempts a
WHERE a.job_id = $2 AND a.tenant_id = $1 AND a.outcome = 'failed' ORDER BY a.attempt";

const AVOIDING: &str = "
SELECT count(*) FROM vmafx.jobs j WHERE j.tenant_id = $1 AND j.avoid_node = $2 AND j.avoid_until > $3";

const END: &str = concat!(
    "
WITH j AS (
    UPDATE vmafx.jobs AS job SET
        status = $2, ready = false, lost_attempts = $3, available_at = $4, error = $5, failure_reason = $6,
        avoid_node = $7, avoid_until = $8, lease_session = NULL, lease_expires_at = NULL, progress_done = NULL,
        progress_total = NULL, updated_at = $9, finished_at = CASE WHEN $2 = 'failed' THEN $9::bigint END,
        failed_attempt = CASE WHEN $2 = 'failed' THEN job.failed_attempt ELSE job.attempt END,
        failed_node = CASE WHEN $2 = 'failed' THEN job.failed_node ELSE job.node END,
        failed_reason = CASE WHEN $2 = 'failed' THEN job.failed_reason ELSE $10 END,
        failed_error = CASE WHEN $2 = 'failed' THEN job.failed_error ELSE $11 END,
        spec = CASE WHEN $2 = 'failed' THEN job.spec ELSE coalesce(job.next_spec, job.spec) END, next_spec = NULL,
        bytes = CASE WHEN $2 = 'failed' THEN ",
    bytes_when_over!(),
    " ELSE ",
    bytes_when_pending!(),
    " END,
        revision = job.revision + 1, change_xid = pg_current_xact_id()
    WHERE job.id = $1
    RETURNING job.*
), ended AS (
    UPDATE vmafx.job_attempts AS a SET ended_at = $9, outcome = 'failed', error = $11, reason = $10
    FROM j WHERE a.job_id = j.id AND a.attempt = j.attempt
)
SELECT j.bytes, ",
    job_columns!(),
    " FROM j"
);

impl Shared {
    /// Ends the attempt of a failure report. `None`: the report ended no attempt.
    pub(super) async fn report_failure(
        &self,
        tenant: &TenantId,
        pending: &PendingReport,
        reason: FailureReason,
        message: &str,
    ) -> StoreResult<Option<Reported>> {
        let mut tries = 1;
        loop {
            let mut client = self.connections.take().await?;
            let work = self.fail_in_transaction(&mut client, tenant, pending, (reason, message));
            let Ok(done) = timeout(TRANSACTION_TIMEOUT, work).await else {
                drop(Object::take(client));
                return Err(timed_out());
            };
            match done {
                Err(error) if classify(&error) == ErrorClass::Retry && tries < MAX_TRIES => {
                    sleep(Duration::from_millis(u64::from(tries * 5))).await;
                    tries += 1;
                }
                Ok(Some(Reported::Moved { job, sampled })) => {
                    self.notify(tenant, TenantChanges::of([&*job]));
                    return Ok(Some(Reported::Moved { job, sampled }));
                }
                done => return done,
            }
        }
    }

    async fn fail_in_transaction(
        &self,
        client: &mut Object,
        tenant: &TenantId,
        pending: &PendingReport,
        (reason, message): (FailureReason, &str),
    ) -> StoreResult<Option<Reported>> {
        let transaction = client.transaction().await.map_err(unavailable)?;
        let tenant_id = tenant.as_str();
        query(&transaction, "SELECT set_config('vmafx.tenant_id', $1, true)", &[&tenant_id]).await?;
        let (session, digest) = (pending.node.session.0, pending.node.token.digest());
        let found = query(&transaction, SESSION, &[&tenant_id, &session, &digest.as_slice()]).await?;
        let Some(row) = found.first() else { return Ok(Some(Reported::NoSession)) };
        let node: String = Reader::new(row).next()?;
        let attempt = pending.report.attempt.map(i64::from);
        let running: [Value<'_>; 4] = [&tenant_id, &pending.report.job.0, &session, &attempt];
        let found = query(&transaction, RUNNING, &running).await?;
        let Some(row) = found.first() else { return Ok(None) };
        let before = Reader::new(row).stored_job()?;
        let job = &before.job;
        let reported = ReportedFailure { node: &node, reason, message };
        let earlier = earlier_failures(&transaction, tenant, job).await?;
        let lost = job.lost_attempts.saturating_add(1);
        let verdict = judge(reported, &earlier, lost, job.max_lost_attempts);
        let Transition::To(state) = next(job.state, verdict.event) else { return Ok(None) };
        let now = self.clock.now();
        let available_at = (state == State::Pending).then(|| now + self.policy.backoff(lost));
        let avoids = match available_at {
            Some(at) => self.avoidance(&transaction, tenant, job, &node, at).await?,
            None => None,
        };
        let end = AttemptEnd { state, lost, available_at, avoids, verdict: &verdict, reported };
        let after = end.store(&transaction, job, now).await?;
        blame(&transaction, tenant, reported, &verdict.blame, now).await?;
        let mut usage = UsageChanges::default();
        usage.add(&before, &after);
        store_usage_changes(&transaction, &usage).await?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(Some(Reported::Moved { job: Box::new(after.job), sampled: false }))
    }

    /// Keeps the job from the node that failed it if another one can run it. The limit keeps the claims of that node short.
    async fn avoidance(
        &self,
        transaction: &Transaction<'_>,
        tenant: &TenantId,
        job: &Job,
        node: &str,
        available_at: Timestamp,
    ) -> StoreResult<Option<AvoidedNode>> {
        let tenant_id = tenant.as_str();
        let nodes = nodes_of(&query(transaction, NODES_OF_TENANT, &[&tenant_id]).await?, self)?;
        if !has_stand_in(&nodes, node, &[job.scoring.backend_name()]) {
            return Ok(None);
        }
        let rows = query(transaction, AVOIDING, &[&tenant_id, &node, &self.clock.now().0]).await?;
        let avoiding: u32 = rows.first().map_or(Ok(0), |row| Reader::new(row).count())?;
        let until = available_at + self.policy.avoid_window;
        Ok((avoiding < MAX_AVOIDING_JOBS).then(|| AvoidedNode { node: node.to_owned(), until }))
    }
}

async fn earlier_failures(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    job: &Job,
) -> StoreResult<Vec<EarlierFailure>> {
    if job.attempt <= 1 {
        return Ok(vec![]);
    }
    let rows = query(transaction, EARLIER, &[&tenant.as_str(), &job.id.0]).await?;
    let failures = rows.iter().map(|row| {
        let mut reader = Reader::new(row);
        let node = reader.next()?;
        Ok::<_, StoreError>(EarlierFailure { node, reason: FailureReason::from_number(reader.next()?) })
    });
    failures.collect()
}

/// The end of a failed attempt, and the new state of its job.
struct AttemptEnd<'a> {
    state: State,
    lost: u32,
    available_at: Option<Timestamp>,
    avoids: Option<AvoidedNode>,
    verdict: &'a FailureVerdict,
    reported: ReportedFailure<'a>,
}

impl AttemptEnd<'_> {
    async fn store(
        &self,
        transaction: &Transaction<'_>,
        job: &Job,
        now: Timestamp,
    ) -> StoreResult<StoredJob> {
        let is_final = self.state == State::Failed;
        let lost = if self.verdict.event == JobEvent::Fail { job.lost_attempts } else { self.lost };
        let error = if is_final { text(&self.verdict.error) } else { String::new() };
        let reason = if is_final { self.verdict.reason } else { FailureReason::Unspecified };
        let values: [Value<'_>; 11] = [
            &job.id.0,
            &self.state.name(),
            &i64::from(lost),
            &self.available_at.map(|at| at.0),
            &error,
            &reason.number(),
            &self.avoids.as_ref().map(|avoided| avoided.node.as_str()),
            &self.avoids.as_ref().map(|avoided| avoided.until.0),
            &now.0,
            &self.reported.reason.number(),
            &text(self.reported.message),
        ];
        let rows = query(transaction, END, &values).await?;
        let row = rows.first().ok_or_else(|| super::error::corrupt("a job that is locked and gone"))?;
        Reader::new(row).stored_job()
    }
}
