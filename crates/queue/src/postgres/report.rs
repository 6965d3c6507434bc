//! Reports, many in one transaction.
//!
//! The statement moves exactly the jobs whose running attempt the reporting session holds: [`crate::fence`]'s one case
//! that is accepted. Whoever moved nothing is judged afterwards, and that verdict stands: an attempt that is over does
//! not begin again.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_postgres::types::Json;
use uuid::Uuid;

use super::Shared;
use super::error::corrupt;
use super::lane::Batch;
use super::news::News;
use super::pool::{Access, Scope, Value};
use super::row::{Reader, job_columns, text};
use crate::fence::{Held, Verdict, judge};
use crate::ids::{SessionId, TenantId};
use crate::node::{Credentials, Report};
use crate::outcome::AttemptOutcome;
use crate::store::{Reported, StoreError};
use crate::transition::State;
use vmafx_job::ScoreDetails;

const REPORT: &str = concat!(
    "
WITH told AS (
    SELECT t.* FROM unnest(
        $2::uuid[], $3::bytea[], $4::uuid[], $5::bigint[], $6::text[], $7::float8[], $8::json[], $9::json[],
        $10::text[], $11::int[])
    WITH ORDINALITY AS t (session, token, job, attempt, status, score, features, details, error, reason, n)
    JOIN vmafx.node_sessions s
        ON s.id = t.session AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = t.token
), locked AS (
    -- In one order, so that no two transactions wait for each other.
    SELECT j.id FROM vmafx.jobs j
    WHERE j.id = ANY ($4::uuid[]) AND coalesce(j.tenant_id, '') = $1 AND coalesce(j.status, '') = 'running'
    ORDER BY j.id FOR NO KEY UPDATE
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = told.status, score = told.score, features = told.features, details = told.details,
        error = told.error, failure_reason = told.reason, lease_session = NULL, lease_expires_at = NULL,
        progress_done = NULL, progress_total = NULL, updated_at = $12, finished_at = $12,
        revision = job.revision + 1, change_xid = pg_current_xact_id()
    FROM told JOIN locked ON locked.id = told.job
    WHERE job.id = locked.id AND coalesce(job.status, '') = 'running' AND job.lease_session = told.session
        AND (told.attempt IS NULL OR job.attempt = told.attempt)
    RETURNING job.*, told.n
), ended AS (
    UPDATE vmafx.job_attempts AS a SET ended_at = $12, outcome = j.status, error = j.error
    FROM j WHERE a.job_id = j.id AND a.attempt = j.attempt
    RETURNING a.job_id, a.node_labels
), sampled AS (
    INSERT INTO vmafx.samples (tenant_id, job_id, features, label, node_labels, created_at)
    SELECT $1, j.id, j.features, j.label, ended.node_labels, $12
    FROM j JOIN ended ON ended.job_id = j.id
    WHERE j.status = 'completed' AND j.label IS NOT NULL
    RETURNING job_id
)
SELECT told.n, j.id IS NOT NULL AND EXISTS (SELECT FROM sampled WHERE sampled.job_id = j.id), ",
    job_columns!(),
    " FROM told LEFT JOIN j USING (n)"
);

/// A job and the attempt that is spoken of: the given one, or the last of this session.
const HELD: &str = "
SELECT j.status, j.attempt, j.lease_session, a.attempt, a.session_id, a.outcome
FROM vmafx.jobs j
LEFT JOIN LATERAL (
    SELECT a.attempt, a.session_id, a.outcome FROM vmafx.job_attempts a
    WHERE a.job_id = j.id AND CASE WHEN $4::bigint IS NULL THEN a.session_id = $3 ELSE a.attempt = $4 END
    ORDER BY a.attempt DESC LIMIT 1
) a ON true
WHERE j.id = $2 AND coalesce(j.tenant_id, '') = $1";

/// One report.
pub(super) struct Told {
    pub(super) node: Credentials,
    pub(super) report: Report,
}

/// The lane's work.
pub(super) struct Reports(pub(super) Arc<Shared>);

impl Batch for Reports {
    type Key = TenantId;
    type Item = Told;
    type Answer = Reported;
    const MOST: usize = 64;

    async fn run(&self, tenant: &TenantId, told: &[Told]) -> Result<Vec<Reported>, StoreError> {
        let shared = &self.0;
        let now = shared.clock.now().0;
        let c = Columns::of(told);
        let whose = tenant.as_str();
        let values: [Value<'_>; 12] = [
            &whose,
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
        let rows = shared.connections.run(Scope::Of(tenant), Access::Write, REPORT, &values).await?;

        let mut answers: Vec<Option<Reported>> = (0..told.len()).map(|_| Some(Reported::NoSession)).collect();
        let mut news = News::default();
        for row in &rows {
            let mut reader = Reader::new(row);
            let number: usize = reader.count()?;
            let sampled = reader.next()?;
            let job = if reader.is_null() { None } else { Some(Box::new(reader.job()?)) };
            news.changed |= job.is_some();
            news.sampled |= sampled;
            if let Some(answer) = answers.get_mut(number.saturating_sub(1)) {
                *answer = job.map(|job| Reported::Moved { job, sampled });
            }
        }
        shared.tell(tenant, news);
        let mut reported = Vec::with_capacity(told.len());
        for (answer, told) in answers.into_iter().zip(told) {
            reported.push(match answer {
                Some(answer) => answer,
                None => self.judge(tenant, told).await?,
            });
        }
        Ok(reported)
    }
}

impl Reports {
    /// Judges a report that moved nothing.
    async fn judge(&self, tenant: &TenantId, told: &Told) -> Result<Reported, StoreError> {
        let (whose, session) = (tenant.as_str(), told.node.session);
        let attempt = told.report.attempt.map(i64::from);
        let values: [Value<'_>; 4] = [&whose, &told.report.job.0, &session.0, &attempt];
        let rows = self.0.connections.run(Scope::Of(tenant), Access::Read, HELD, &values).await?;
        let Some(row) = rows.first() else { return Ok(Reported::Fenced) };
        let mut reader = Reader::new(row);
        let state = State::from_word(reader.next()?).ok_or_else(|| corrupt("a status"))?;
        let (running, holder) = (reader.count()?, reader.next::<Option<Uuid>>()?.map(SessionId));
        let Some(number) = reader.next::<Option<i64>>()? else { return Ok(Reported::Fenced) };
        let number = u32::try_from(number).map_err(|_| corrupt("an attempt"))?;
        let owner = SessionId(reader.next()?);
        let outcome = reader.next::<Option<&str>>()?.and_then(AttemptOutcome::from_word);
        let held = Held { state, attempt: running, session: holder, spoken_of: Some((owner, outcome)) };
        Ok(match judge(&held, session, number) {
            Verdict::Repeat => Reported::Repeated,
            Verdict::Fenced => Reported::Fenced,
            // It got the job in this very moment, after it had reported on it: say it again.
            Verdict::Accept => {
                return Err(StoreError::Unavailable("the job was handed out at the same moment".into()));
            }
        })
    }
}

/// The reports, column by column.
#[derive(Default)]
struct Columns<'a> {
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

impl<'a> Columns<'a> {
    fn of(told: &'a [Told]) -> Self {
        let mut columns = Self::default();
        for Told { node, report } in told {
            columns.session.push(node.session.0);
            columns.token.push(node.token.digest().to_vec());
            columns.job.push(report.job.0);
            columns.attempt.push(report.attempt.map(i64::from));
            let success = report.result.as_ref().ok();
            let failure = report.result.as_ref().err();
            let state = if success.is_some() { State::Completed } else { State::Failed };
            columns.status.push(state.word());
            columns.score.push(success.map(|success| success.score));
            columns.features.push(success.map(|success| Json(&success.features)));
            columns.details.push(success.and_then(|success| success.details.as_ref()).map(Json));
            columns.error.push(failure.map(|(_, message)| text(message)).unwrap_or_default());
            columns.reason.push(failure.map(|(reason, _)| reason.number()).unwrap_or_default());
        }
        columns
    }
}
