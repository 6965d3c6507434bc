//! Reading, cancelling and releasing jobs.
//!
//! Statements that look jobs up by id wrap all other columns in `coalesce`, here and in the neighbouring files, so
//! that no index serves them. A plan is often made and cached while the queue is empty, when all indexes look
//! equally good.

use uuid::Uuid;
use vmafx_job::CancelCause;

use super::Shared;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, job_columns, jobs, text};
use super::tenant_changes::TenantChanges;
use super::usage::{bytes_when_over, bytes_when_pending, counted};
use crate::ids::{AttemptNumber, JobId, TenantId};
use crate::job::{Attempt, Job};
use crate::node::Credentials;
use crate::policy::Policy;
use crate::store::{Cancelled, Filter, Page, Released, StoreResult};
use crate::transition::State;

const JOB: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM vmafx.jobs j WHERE j.id = $2 AND coalesce(j.tenant_id, '') = $1"
);

const ATTEMPTS: &str = "
SELECT a.attempt, a.session_id, a.node_id, a.started_at, a.ended_at, a.outcome, a.error, a.reason
FROM vmafx.job_attempts a WHERE a.job_id = $2 AND a.tenant_id = $1 ORDER BY a.attempt";

/// A page of jobs from a source, in either order.
macro_rules! list {
    ($source:expr, $after:literal, $order:literal) => {
        concat!(
            "SELECT ",
            job_columns!(),
            " FROM ",
            $source,
            " (o.created_at, o.id) ",
            $after,
            " ($3, $4)
        AND ($5::uuid[] IS NULL OR o.id = ANY ($5))
        AND ($6 = '' OR o.origin_cluster = $6) AND ($7 = '' OR o.origin_namespace = $7)
        AND ($8 = '' OR o.origin_name = $8) AND ($9 = '' OR o.origin_uid = $9)
    ORDER BY o.created_at ",
            $order,
            ", o.id ",
            $order,
            " LIMIT $10
) j ORDER BY j.created_at ",
            $order,
            ", j.id ",
            $order,
            " LIMIT $10"
        )
    };
}

/// One range for each state, each in order and no longer than the page.
macro_rules! by_state {
    () => {
        "unnest($2::text[]) AS state (name) CROSS JOIN LATERAL (
    SELECT * FROM vmafx.jobs o WHERE o.tenant_id = $1 AND o.status = state.name AND"
    };
}
macro_rules! by_id {
    () => {
        "(
    SELECT * FROM vmafx.jobs o
    WHERE o.id = ANY ($5) AND coalesce(o.tenant_id, '') = $1 AND coalesce(o.status, '') = ANY ($2::text[]) AND"
    };
}
macro_rules! by_origin {
    () => {
        "(
    SELECT * FROM vmafx.jobs o
    WHERE o.origin_uid = $9 AND coalesce(o.tenant_id, '') = $1 AND coalesce(o.status, '') = ANY ($2::text[]) AND"
    };
}

/// Oldest first and newest first.
const BY_STATE: [&str; 2] = [list!(by_state!(), ">", "ASC"), list!(by_state!(), "<", "DESC")];
const BY_ID: [&str; 2] = [list!(by_id!(), ">", "ASC"), list!(by_id!(), "<", "DESC")];
const BY_ORIGIN: [&str; 2] = [list!(by_origin!(), ">", "ASC"), list!(by_origin!(), "<", "DESC")];

const CANCEL: &str = concat!(
    "
WITH before AS (
    SELECT b.id, b.status, b.bytes FROM vmafx.jobs b
    WHERE b.id = $2 AND coalesce(b.tenant_id, '') = $1 AND coalesce(b.status, '') IN ('pending', 'running')
    FOR NO KEY UPDATE
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = 'cancelled', ready = false, available_at = NULL, avoid_node = NULL, avoid_until = NULL, error = $3,
        lease_session = NULL,
        lease_expires_at = NULL, progress_done = NULL, progress_total = NULL, updated_at = $4, finished_at = $4,
        revision = job.revision + 1, change_xid = pg_current_xact_id(), cancel_cause = $5,
        next_spec = NULL, bytes = ",
    bytes_when_over!(),
    "
    FROM before
    WHERE job.id = before.id AND coalesce(job.status, '') IN ('pending', 'running')
    RETURNING job.*, before.status AS status_before, job.bytes - before.bytes AS growth
), counted AS (",
    counted!(
        "-count(*) FILTER (WHERE status_before = 'pending')",
        "-count(*) FILTER (WHERE status_before = 'running')",
        "sum(growth)",
        "j"
    ),
    ")
SELECT ",
    job_columns!(),
    " FROM j"
);

/// A separate statement, because a statement that waited for a concurrent claim does not see the attempt that the
/// claim inserted.
const CANCEL_ATTEMPT: &str = "
UPDATE vmafx.job_attempts AS a SET ended_at = $4, outcome = 'cancelled', error = $3
WHERE a.job_id = $2 AND a.tenant_id = $1 AND a.ended_at IS NULL
    AND EXISTS (
        SELECT FROM vmafx.jobs j
        WHERE j.id = $2 AND coalesce(j.tenant_id, '') = $1 AND coalesce(j.status, '') = 'cancelled')";

const RELEASE: &str = concat!(
    "
WITH live AS (
    SELECT s.id FROM vmafx.node_sessions s
    WHERE s.id = $2 AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = $3
), before AS (
    SELECT b.id, b.bytes FROM vmafx.jobs b JOIN live ON b.lease_session = live.id
    WHERE b.id = $4 AND coalesce(b.tenant_id, '') = $1 AND coalesce(b.status, '') = 'running' AND b.attempt = $5
    FOR NO KEY UPDATE OF b
), j AS (
    UPDATE vmafx.jobs AS job SET
        status = 'pending', ready = true, lease_session = NULL, lease_expires_at = NULL, progress_done = NULL,
        progress_total = NULL, updated_at = $6, revision = job.revision + 1, change_xid = pg_current_xact_id(),
        spec = coalesce(job.next_spec, job.spec), next_spec = NULL, bytes = ",
    bytes_when_pending!(),
    "
    FROM before
    WHERE job.id = before.id AND coalesce(job.status, '') = 'running' AND job.attempt = $5
    RETURNING job.*, job.bytes - before.bytes AS growth
), ended AS (
    UPDATE vmafx.job_attempts AS a SET ended_at = $6, outcome = 'released', error = $7
    FROM j WHERE a.job_id = j.id AND a.attempt = j.attempt
), counted AS (",
    counted!("count(*)", "-count(*)", "sum(growth)", "j"),
    ")
SELECT ",
    job_columns!(),
    " FROM live LEFT JOIN j ON true"
);

impl Shared {
    pub(super) async fn job(&self, tenant: &TenantId, id: JobId) -> StoreResult<Option<Job>> {
        let values: [Value<'_>; 2] = [&tenant.as_str(), &id.0];
        let rows = self.connections.run(Scope::Tenant(tenant), Access::Read, JOB, &values).await?;
        rows.first().map(|row| Reader::new(row).job()).transpose()
    }

    pub(super) async fn attempts(&self, tenant: &TenantId, id: JobId) -> StoreResult<Vec<Attempt>> {
        let values: [Value<'_>; 2] = [&tenant.as_str(), &id.0];
        let rows = self.connections.run(Scope::Tenant(tenant), Access::Read, ATTEMPTS, &values).await?;
        rows.iter().map(|row| Reader::new(row).attempt()).collect()
    }

    pub(super) async fn jobs(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        page: &Page,
    ) -> StoreResult<Vec<Job>> {
        let edge = if page.newest_first { (i64::MAX, Uuid::max()) } else { (i64::MIN, Uuid::nil()) };
        let (at, id) = page.after.map_or(edge, |(at, id)| (at.0, id.0));
        let states: Vec<&str> = State::ALL
            .iter()
            .filter(|state| filter.states.is_empty() || filter.states.contains(state))
            .map(|state| state.name())
            .collect();
        let ids: Option<Vec<Uuid>> =
            (!filter.ids.is_empty()).then(|| filter.ids.iter().map(|id| id.0).collect());
        let origin = filter.origin.clone().unwrap_or_default();
        let limit = i64::from(page.limit);
        let statements = match (&ids, origin.uid.as_str()) {
            (Some(_), _) => BY_ID,
            (None, "") => BY_STATE,
            (None, _) => BY_ORIGIN,
        };
        let statement = statements[usize::from(page.newest_first)];
        let values: [Value<'_>; 10] = [
            &tenant.as_str(),
            &states,
            &at,
            &id,
            &ids,
            &origin.cluster,
            &origin.namespace,
            &origin.name,
            &origin.uid,
            &limit,
        ];
        jobs(&self.connections.run(Scope::Tenant(tenant), Access::Read, statement, &values).await?)
    }

    pub(super) async fn cancel(
        &self,
        tenant: &TenantId,
        id: JobId,
        (cause, reason): (CancelCause, &str),
    ) -> StoreResult<Option<Cancelled>> {
        let (error, now) = (text(&Policy::cancel_text(reason)), self.clock.now().0);
        let values: [Value<'_>; 5] = [&tenant.as_str(), &id.0, &error, &now, &cause.name()];
        let calls: [Call<'_>; 2] = [(CANCEL, &values), (CANCEL_ATTEMPT, &values[..4])];
        let answers = self.connections.run_all(Scope::Tenant(tenant), Access::Write, &calls).await?;
        let Some(row) = answers.first().and_then(|rows| rows.first()) else {
            let job = self.job(tenant, id).await?;
            return Ok(job.map(|job| Cancelled { job, moved: false }));
        };
        let job = Reader::new(row).job()?;
        self.notify(tenant, TenantChanges::of([&job]));
        Ok(Some(Cancelled { job, moved: true }))
    }

    pub(super) async fn release(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        (id, attempt): (JobId, AttemptNumber),
        reason: &str,
    ) -> StoreResult<Released> {
        let (token, reason) = (node.token.digest(), text(reason));
        let (attempt, now) = (i64::from(attempt), self.clock.now().0);
        let values: [Value<'_>; 7] =
            [&tenant.as_str(), &node.session.0, &token.as_slice(), &id.0, &attempt, &now, &reason];
        let rows = self.connections.run(Scope::Tenant(tenant), Access::Write, RELEASE, &values).await?;
        let Some(row) = rows.first() else { return Ok(Released::NoSession) };
        let mut reader = Reader::new(row);
        if reader.is_null() {
            return Ok(Released::Over);
        }
        self.notify(tenant, TenantChanges::of([&reader.job()?]));
        Ok(Released::Moved)
    }
}
