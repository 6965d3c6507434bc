//! Nodes and their sessions.

use std::collections::BTreeMap;

use tokio_postgres::types::Json;
use uuid::Uuid;

use super::Shared;
use super::faults::nodes_of;
use super::pool::{Access, Call, Scope, Value};
use super::row::{Reader, millis, signed, text};
use crate::ids::{JobId, SessionId, TenantId};
use crate::node::{Credentials, Heartbeat, HeartbeatReply, NewNode, Node, SessionToken};
use crate::store::StoreResult;
use crate::usage::reached;
use vmafx_job::{TenantLimit, TenantLimits};

/// Registrations of a tenant wait for each other, so that each counts those before it.
const LOCK_REGISTRATIONS: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 56))::text";

/// Replaces the oldest session of the same name if the tenant has as many sessions as it may.
const REGISTER: &str = "
WITH sessions AS MATERIALIZED (
    -- A shared node counts for its home tenant only.
    SELECT count(*) AS total FROM vmafx.node_sessions s
    WHERE s.tenant_id = $1 AND s.capability ->> 'shared' IS NULL
), replaced AS (
    DELETE FROM vmafx.node_sessions WHERE id = (
        SELECT s.id FROM vmafx.node_sessions s, sessions
        WHERE s.tenant_id = $1 AND s.node_id = $3 AND sessions.total >= $9::bigint
            AND s.capability ->> 'shared' IS NULL
        ORDER BY s.last_seen_at, s.id LIMIT 1)
    RETURNING id
)
INSERT INTO vmafx.node_sessions
    (id, tenant_id, node_id, token_sha256, capability, resource, created_at, last_seen_at, expires_at)
SELECT $2, $1, $3, $4, $5, $6, $7, $7, $8 FROM sessions
WHERE sessions.total < $9::bigint OR EXISTS (SELECT FROM replaced)
ON CONFLICT (id) DO NOTHING
RETURNING id";

/// Extends the session and the leases that the heartbeat names, stores the progress, and returns the held and the
/// cancelled jobs.
const HEARTBEAT: &str = "
WITH session AS (
    UPDATE vmafx.node_sessions AS s SET last_seen_at = $4, expires_at = $5
    WHERE s.id = $2 AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = $3
    RETURNING s.id
), progress AS (
    SELECT * FROM unnest($8::uuid[], $9::bigint[], $10::bigint[], $11::bigint[]) AS t (id, attempt, done, total)
), locked AS (
    -- All transactions lock rows in the order of their ids, which prevents deadlocks.
    SELECT j.id, j.attempt FROM vmafx.jobs j
    WHERE j.id = ANY ($6::uuid[] || $8::uuid[]) AND coalesce(j.tenant_id, '') = $1
        AND coalesce(j.status, '') = 'running'
        AND j.lease_session = (SELECT id FROM session)
    ORDER BY j.id FOR NO KEY UPDATE
), held AS (
    UPDATE vmafx.jobs AS job SET
        lease_expires_at = CASE WHEN job.id = ANY ($6::uuid[]) THEN $7 ELSE job.lease_expires_at END,
        progress_done = coalesce(progress.done, job.progress_done),
        progress_total = coalesce(progress.total, job.progress_total)
    FROM locked LEFT JOIN progress ON progress.id = locked.id AND progress.attempt = locked.attempt
    WHERE job.id = locked.id AND coalesce(job.status, '') = 'running' AND job.lease_session = $2
    RETURNING job.id
)
SELECT ARRAY (SELECT held.id FROM held), ARRAY (
    SELECT j.id FROM vmafx.jobs j
    WHERE j.id = ANY ($6::uuid[]) AND coalesce(j.tenant_id, '') = $1 AND coalesce(j.status, '') = 'cancelled')
FROM session";

macro_rules! nodes {
    ($which:literal) => {
        concat!(
            "
SELECT s.id, s.node_id, s.capability, s.resource, s.created_at, s.last_seen_at, (
    SELECT count(*) FROM vmafx.jobs j
    WHERE j.tenant_id = s.tenant_id AND j.status = 'running' AND j.lease_session = s.id),
    f.failures, f.tried_at, f.reason, f.error
FROM vmafx.node_sessions s
LEFT JOIN vmafx.node_faults f ON f.tenant_id = s.tenant_id AND f.node_id = s.node_id
WHERE ",
            $which,
            " ORDER BY s.node_id COLLATE \"C\", s.id"
        )
    };
}
pub(super) const NODES_OF_TENANT: &str = nodes!("s.tenant_id = $1");
const NODES_WITH_RESOURCE: &str = nodes!("s.resource IS NOT NULL");

impl Shared {
    pub(super) async fn register(
        &self,
        tenant: &TenantId,
        node: &NewNode,
        limits: &TenantLimits,
    ) -> StoreResult<Credentials> {
        let session = SessionId(self.new_job_id(self.clock.now()).0);
        let credentials = Credentials { session, token: SessionToken::generate() };
        let max = signed(limits.nodes);
        let inserted = self.insert_session(tenant, node, &credentials, max).await?;
        if inserted { Ok(credentials) } else { Err(reached(TenantLimit::Nodes, limits)) }
    }

    /// Opens a session unless there is one with this id. A shared node counts against no limit of the tenants that it serves.
    pub(super) async fn register_as(
        &self,
        tenant: &TenantId,
        node: &NewNode,
        credentials: &Credentials,
    ) -> StoreResult<()> {
        self.insert_session(tenant, node, credentials, i64::MAX).await.map(drop)
    }

    /// `false` if the tenant has `max` nodes, or if there is a session with this id.
    async fn insert_session(
        &self,
        tenant: &TenantId,
        node: &NewNode,
        Credentials { session, token }: &Credentials,
        max: i64,
    ) -> StoreResult<bool> {
        let now = self.clock.now();
        let (name, digest) = (text(&node.name), token.digest());
        let until = now.0.saturating_add(millis(self.policy.session_ttl));
        let (capability, resource) = (Json(&node.capability), node.resource.as_ref().map(Json));
        let values: [Value<'_>; 9] = [
            &tenant.as_str(),
            &session.0,
            &name,
            &digest.as_slice(),
            &capability,
            &resource,
            &now.0,
            &until,
            &max,
        ];
        let calls: [Call<'_>; 2] = [(LOCK_REGISTRATIONS, &values[..1]), (REGISTER, &values)];
        let answers = self.connections.run_all(Scope::Tenant(tenant), Access::Write, &calls).await?;
        Ok(answers.get(1).is_some_and(|rows| !rows.is_empty()))
    }

    pub(super) async fn heartbeat(
        &self,
        tenant: &TenantId,
        node: &Credentials,
        heartbeat: &Heartbeat,
    ) -> StoreResult<Option<HeartbeatReply>> {
        let now = self.clock.now().0;
        let session_until = now.saturating_add(millis(self.policy.session_ttl));
        let lease_until = now.saturating_add(millis(self.policy.lease_ttl));
        let named: Vec<Uuid> = heartbeat.running.iter().map(|id| id.0).collect();
        // The last progress wins when a heartbeat names an attempt twice.
        let progress: BTreeMap<_, _> =
            heartbeat.progress.iter().map(|(id, attempt, it)| ((id.0, *attempt), *it)).collect();
        let ids: Vec<Uuid> = progress.keys().map(|(id, _)| *id).collect();
        let attempts: Vec<i64> = progress.keys().map(|(_, attempt)| i64::from(*attempt)).collect();
        let done: Vec<i64> = progress.values().map(|it| it.done.cast_signed()).collect();
        let total: Vec<i64> = progress.values().map(|it| it.total.cast_signed()).collect();
        let token = node.token.digest();
        let values: [Value<'_>; 11] = [
            &tenant.as_str(),
            &node.session.0,
            &token.as_slice(),
            &now,
            &session_until,
            &named,
            &lease_until,
            &ids,
            &attempts,
            &done,
            &total,
        ];
        let rows = self.connections.run(Scope::Tenant(tenant), Access::Write, HEARTBEAT, &values).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let mut reader = Reader::new(row);
        let (held, cancelled): (Vec<Uuid>, Vec<Uuid>) = (reader.next()?, reader.next()?);
        let mut reply = HeartbeatReply::default();
        for JobId(id) in &heartbeat.running {
            if cancelled.contains(id) {
                reply.cancelled.push(JobId(*id));
            } else if !held.contains(id) {
                reply.lost.push(JobId(*id));
            }
        }
        Ok(Some(reply))
    }

    pub(super) async fn nodes(&self, tenant: &TenantId) -> StoreResult<Vec<Node>> {
        let values: [Value<'_>; 1] = [&tenant.as_str()];
        let rows =
            self.connections.run(Scope::Tenant(tenant), Access::Read, NODES_OF_TENANT, &values).await?;
        nodes_of(&rows, self)
    }

    pub(super) async fn nodes_with_resource(&self) -> StoreResult<Vec<Node>> {
        let rows = self.connections.run(Scope::Maintenance, Access::Read, NODES_WITH_RESOURCE, &[]).await?;
        nodes_of(&rows, self)
    }
}
