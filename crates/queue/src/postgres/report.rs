//! Reports, batched.
//!
//! Failures that are not the job's are handled one by one in [`super::retry`]; all other reports share a statement.
//!
//! The statement ends exactly the jobs whose running attempt is held by the reporting session, which is the one
//! case that [`crate::fence`] accepts at once. A report that ended no attempt is classified afterwards, and a late score is
//! then stored by a statement of its own. That decision is final, because an ended attempt never runs again.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_postgres::types::Json;
use uuid::Uuid;

use super::Shared;
use super::batcher::BatchOperation;
use super::error::corrupt;
use super::pool::{Access, Scope, Value};
use super::row::{Reader, job_columns, session, text};
use super::tenant_changes::TenantChanges;
use super::usage::{bytes_when_over, counted};
use crate::fence::{FenceDecision, FenceState, decide};
use crate::ids::{AttemptNumber, SessionId, TenantId};
use crate::node::{Credentials, Report};
use crate::outcome::AttemptOutcome;
use crate::store::{Reported, StoreError, StoreResult};
use crate::transition::State;
use vmafx_job::{FailureReason, ScoreDetails, ScoreResult};

const REPORT: &str = concat!(
    "
WITH reports AS (
    SELECT t.*, coalesce(octet_length(t.features::text), 0) + coalesce(octet_length(t.details::text), 0) AS bytes
    FROM unnest(
        $2::uuid[], $3::bytea[], $4::uuid[], $5::bigint[], $6::text[], $7::float8[], $8::json[], $9::json[],
        $10::text[], $11::int[])
    WITH ORDINALITY AS t (session, token, job, attempt, status, score, features, details, error, reason, n)
    CROSS JOIN LATERAL (",
    session!("t"),
    ") s
), locked AS (
    -- All transactions lock rows in the order of their ids, which prevents deadlocks.
    SELECT j.id, j.bytes FROM vmafx.jobs j
    WHERE j.id = ANY ($4::uuid[]) AND coalesce(j.tenant_id, '') = $1 AND coalesce(j.status, '') = 'running'
    ORDER BY j.id FOR NO KEY UPDATE
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = reports.status, score = reports.score, features = reports.features, details = reports.details,
        error = reports.error, failure_reason = reports.reason, lease_session = NULL, lease_expires_at = NULL,
        progress_done = NULL, progress_total = NULL, updated_at = $12, finished_at = $12,
        next_spec = NULL, bytes = reports.bytes + ",
    bytes_when_over!(),
    ",
        revision = job.revision + 1, change_xid = pg_current_xact_id()
    FROM reports JOIN locked ON locked.id = reports.job
    WHERE job.id = locked.id AND coalesce(job.status, '') = 'running' AND job.lease_session = reports.session
        AND (reports.attempt IS NULL OR job.attempt = reports.attempt)
    RETURNING job.*, reports.n, job.bytes - locked.bytes AS growth
), ended AS (
    UPDATE vmafx.job_attempts AS a SET ended_at = $12, outcome = j.status, error = j.error, reason = j.failure_reason
    FROM j WHERE a.job_id = j.id AND a.attempt = j.attempt
    RETURNING a.job_id, a.node_labels
), scored AS (
    -- A score ends the quarantine of its node.
    DELETE FROM vmafx.node_faults AS f USING j
    WHERE f.tenant_id = $1 AND f.node_id = j.node AND j.status = 'completed'
), sampled AS (
    INSERT INTO vmafx.samples (tenant_id, job_id, features, label, labelled_by, node_labels, created_at)
    SELECT $1, j.id, j.features, j.label, j.labelled_by, ended.node_labels, $12
    FROM j JOIN ended ON ended.job_id = j.id
    WHERE j.status = 'completed' AND j.label IS NOT NULL
    RETURNING job_id
), counted AS (",
    counted!("0", "-count(*)", "sum(growth)", "j"),
    ")
SELECT reports.n, j.id IS NOT NULL AND EXISTS (SELECT FROM sampled WHERE sampled.job_id = j.id), ",
    job_columns!(),
    " FROM reports LEFT JOIN j USING (n)"
);

/// Ends a job by the score of its latest attempt, whose lease expired. The attempt no longer counts as lost. The row of the
/// job is locked first, so a claim either comes before, and the statement finds no pending job, or waits for it.
const REPORT_LATE: &str = concat!(
    "
WITH locked AS (
    SELECT j.id, j.attempt FROM vmafx.jobs j
    WHERE j.id = $2 AND coalesce(j.tenant_id, '') = $1 AND j.status = 'pending' AND j.attempt = $4
    FOR NO KEY UPDATE
), ended AS (
    UPDATE vmafx.job_attempts AS a SET ended_at = $8, outcome = 'completed', error = '', reason = 0
    FROM locked
    WHERE a.job_id = locked.id AND a.attempt = locked.attempt AND a.session_id = $3 AND a.outcome = 'expired'
    RETURNING a.job_id, a.node_labels
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = 'completed', ready = false, available_at = NULL, score = $5, features = $6::json, details = $7::json, error = '',
        failure_reason = 0, lost_attempts = greatest(job.lost_attempts - 1, 0), updated_at = $8, finished_at = $8,
        failed_attempt = nullif(job.failed_attempt, job.attempt),
        failed_node = CASE WHEN job.failed_attempt <> job.attempt THEN job.failed_node END,
        failed_reason = CASE WHEN job.failed_attempt <> job.attempt THEN job.failed_reason END,
        failed_error = CASE WHEN job.failed_attempt <> job.attempt THEN job.failed_error END,
        avoid_node = NULL, avoid_until = NULL,
        bytes = job.bytes + octet_length($6::text) + coalesce(octet_length($7::text), 0),
        revision = job.revision + 1, change_xid = pg_current_xact_id()
    FROM ended WHERE job.id = ended.job_id
    RETURNING job.*
), scored AS (
    DELETE FROM vmafx.node_faults AS f USING j WHERE f.tenant_id = $1 AND f.node_id = j.node
), sampled AS (
    INSERT INTO vmafx.samples (tenant_id, job_id, features, label, labelled_by, node_labels, created_at)
    SELECT $1, j.id, j.features, j.label, j.labelled_by, ended.node_labels, $8
    FROM j JOIN ended ON ended.job_id = j.id
    WHERE j.label IS NOT NULL
    RETURNING job_id
), counted AS (",
    counted!(
        "-count(*)",
        "0",
        "sum(octet_length(features::text) + coalesce(octet_length(details::text), 0))",
        "j"
    ),
    ")
SELECT EXISTS (SELECT FROM sampled), ",
    job_columns!(),
    " FROM j"
);

/// A job and the attempt that a report refers to: the one it names, or else the latest one of its session. The last column
/// tells whether the attempt kept the token that the report presents.
const REPORTED_ATTEMPT: &str = "
SELECT j.status, j.attempt, j.lease_session, a.attempt, a.session_id, a.outcome, coalesce(a.token_sha256 = $5, false)
FROM vmafx.jobs j
LEFT JOIN LATERAL (
    SELECT a.attempt, a.session_id, a.outcome, a.token_sha256 FROM vmafx.job_attempts a
    WHERE a.job_id = j.id AND CASE WHEN $4::bigint IS NULL THEN a.session_id = $3 ELSE a.attempt = $4 END
    ORDER BY a.attempt DESC LIMIT 1
) a ON true
WHERE j.id = $2 AND coalesce(j.tenant_id, '') = $1";

pub(super) struct PendingReport {
    pub(super) node: Credentials,
    pub(super) report: Report,
}

pub(super) struct Reports(pub(super) Arc<Shared>);

impl BatchOperation for Reports {
    type Key = TenantId;
    type Item = PendingReport;
    type Answer = Reported;
    const MAX_BATCH_SIZE: usize = 64;

    async fn run(&self, tenant: &TenantId, reports: &[PendingReport]) -> StoreResult<Vec<Reported>> {
        let (retryable, together): (Vec<_>, Vec<_>) =
            reports.iter().enumerate().partition(|(_, pending)| pending.retryable_failure().is_some());
        let mut answers: Vec<Option<Reported>> = (0..reports.len()).map(|_| None).collect();
        if !together.is_empty() {
            let batch: Vec<&PendingReport> = together.iter().map(|(_, pending)| *pending).collect();
            for ((at, _), answer) in together.iter().zip(self.run_together(tenant, &batch).await?) {
                answers[*at] = Some(answer);
            }
        }
        for (at, pending) in retryable {
            let Some((reason, message)) = pending.retryable_failure() else { continue };
            answers[at] = Some(match self.0.report_failure(tenant, pending, reason, message).await? {
                Some(reported) => reported,
                None => self.classify(tenant, pending, SessionState::Live).await?,
            });
        }
        Ok(answers.into_iter().map(|answer| answer.unwrap_or(Reported::NoSession)).collect())
    }
}

impl PendingReport {
    fn retryable_failure(&self) -> Option<(FailureReason, &str)> {
        let (reason, message) = self.report.result.as_ref().err()?;
        reason.is_retryable().then_some((*reason, message))
    }
}

/// Whether the session of a report exists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SessionState {
    Live,
    /// The session was evicted, or never existed, or its token is another.
    Evicted,
}

impl Reports {
    async fn run_together(
        &self,
        tenant: &TenantId,
        reports: &[&PendingReport],
    ) -> StoreResult<Vec<Reported>> {
        let shared = &self.0;
        let now = shared.clock.now().0;
        let c = ReportColumns::of(reports);
        let tenant_id = tenant.as_str();
        let values: [Value<'_>; 12] = [
            &tenant_id,
            &c.session,
            &c.token,
            &c.job,
            &c.attempt,
            &c.status,
            &c.score,
            &c.features,
            &c.details,
            &c.error,
            &c.reason,
            &now,
        ];
        let rows = shared.connections.run(Scope::Tenant(tenant), Access::Write, REPORT, &values).await?;

        let mut answers: Vec<Result<Reported, SessionState>> =
            (0..reports.len()).map(|_| Err(SessionState::Evicted)).collect();
        let mut changes = TenantChanges::default();
        for row in &rows {
            let mut reader = Reader::new(row);
            let number: usize = reader.count()?;
            let sampled = reader.next()?;
            let job = if reader.is_null() { None } else { Some(Box::new(reader.job()?)) };
            changes.changed |= job.is_some();
            changes.sampled |= sampled;
            if let Some(answer) = answers.get_mut(number.saturating_sub(1)) {
                *answer = job.map(|job| Reported::Moved { job, sampled }).ok_or(SessionState::Live);
            }
        }
        shared.notify(tenant, changes);
        let mut reported = Vec::with_capacity(reports.len());
        for (answer, pending) in answers.into_iter().zip(reports) {
            reported.push(match answer {
                Ok(answer) => answer,
                Err(session) => self.classify(tenant, pending, session).await?,
            });
        }
        Ok(reported)
    }

    /// Classifies a report that ended no attempt.
    async fn classify(
        &self,
        tenant: &TenantId,
        pending: &PendingReport,
        state: SessionState,
    ) -> StoreResult<Reported> {
        let refused = || if state == SessionState::Live { Reported::Fenced } else { Reported::NoSession };
        let (tenant_id, session) = (tenant.as_str(), pending.node.session);
        let attempt = pending.report.attempt.map(i64::from);
        let token = pending.node.token.digest();
        let values: [Value<'_>; 5] =
            [&tenant_id, &pending.report.job.0, &session.0, &attempt, &token.as_slice()];
        let rows =
            self.0.connections.run(Scope::Tenant(tenant), Access::Read, REPORTED_ATTEMPT, &values).await?;
        let Some(row) = rows.first() else { return Ok(refused()) };
        let mut reader = Reader::new(row);
        let job_state = State::from_name(reader.next()?).ok_or_else(|| corrupt("a status"))?;
        let (running, holder) = (reader.count()?, reader.next::<Option<Uuid>>()?.map(SessionId));
        let Some(number) = reader.next::<Option<i64>>()? else { return Ok(refused()) };
        let number = u32::try_from(number).map_err(|_| corrupt("an attempt"))?;
        let owner = SessionId(reader.next()?);
        let outcome = reader.next::<Option<&str>>()?.and_then(AttemptOutcome::from_name);
        let kept_token: bool = reader.next()?;
        if state == SessionState::Evicted && !kept_token {
            return Ok(Reported::NoSession);
        }
        let observed = FenceState {
            state: job_state,
            attempt: running,
            session: holder,
            reported: Some((owner, outcome)),
        };
        Ok(match (decide(&observed, session, number), &pending.report.result) {
            (FenceDecision::Repeat, _) => Reported::Repeated,
            (FenceDecision::AcceptLateScore, Ok(result)) => {
                self.accept_late(tenant, pending, number, result).await?.unwrap_or_else(refused)
            }
            (FenceDecision::AcceptLateScore, Err(_)) | (FenceDecision::Fenced, _) => refused(),
            // The session claimed the job after its report had been processed; the caller retries.
            (FenceDecision::Accept, _) => {
                return Err(StoreError::Unavailable(
                    "the job was claimed at the same moment; report again".into(),
                ));
            }
        })
    }

    /// Stores a late score; `None` if the job was claimed or ended in the meantime.
    async fn accept_late(
        &self,
        tenant: &TenantId,
        pending: &PendingReport,
        attempt: AttemptNumber,
        result: &ScoreResult,
    ) -> StoreResult<Option<Reported>> {
        let shared = &self.0;
        let now = shared.clock.now().0;
        let details = result.details.as_ref().map(Json);
        let values: [Value<'_>; 8] = [
            &tenant.as_str(),
            &pending.report.job.0,
            &pending.node.session.0,
            &i64::from(attempt),
            &result.score,
            &Json(&result.features),
            &details,
            &now,
        ];
        let rows = shared.connections.run(Scope::Tenant(tenant), Access::Write, REPORT_LATE, &values).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let mut reader = Reader::new(row);
        let sampled = reader.next()?;
        let job = Box::new(reader.job()?);
        shared.notify(tenant, TenantChanges { changed: true, sampled, ..TenantChanges::default() });
        Ok(Some(Reported::Moved { job, sampled }))
    }
}

/// The reports as one array for each parameter.
#[derive(Default)]
struct ReportColumns<'a> {
    session: Vec<Uuid>,
    token: Vec<Vec<u8>>,
    job: Vec<Uuid>,
    attempt: Vec<Option<i64>>,
    status: Vec<&'static str>,
    score: Vec<Option<f64>>,
    features: Vec<Option<Json<&'a BTreeMap<String, f64>>>>,
    details: Vec<Option<Json<&'a ScoreDetails>>>,
    error: Vec<String>,
    reason: Vec<i32>,
}

impl<'a> ReportColumns<'a> {
    fn of(reports: &[&'a PendingReport]) -> Self {
        let mut columns = Self::default();
        for PendingReport { node, report } in reports.iter().copied() {
            columns.session.push(node.session.0);
            columns.token.push(node.token.digest().to_vec());
            columns.job.push(report.job.0);
            columns.attempt.push(report.attempt.map(i64::from));
            let result = report.result.as_ref().ok();
            let failure = report.result.as_ref().err();
            let state = if result.is_some() { State::Completed } else { State::Failed };
            columns.status.push(state.name());
            columns.score.push(result.map(|result| result.score));
            columns.features.push(result.map(|result| Json(&result.features)));
            columns.details.push(result.and_then(|result| result.details.as_ref()).map(Json));
            columns.error.push(failure.map(|(_, message)| text(message)).unwrap_or_default());
            let reason = failure.map_or(FailureReason::Unspecified, |(reason, _)| *reason);
            columns.reason.push(reason.number());
        }
        columns
    }
}
