//! Sessions of nodes: opened by a registration, extended by heartbeats, ended by the sweep.

use std::sync::Arc;

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::error::corrupt;
use super::live::{CredentialsDigest, LiveState, NodeRegistration, Session};
use super::rows::{self, tenant_in};
use super::unit_of_work::UnitOfWork;
use crate::clock::Timestamp;
use crate::ids::{SessionId, TenantId};
use crate::node::{Credentials, Heartbeat, HeartbeatReply, NewNode};
use crate::policy::Policy;
use crate::transition::State;
use crate::usage::reached;
use crate::{StoreError, StoreResult};
use vmafx_job::{TenantLimit, TenantLimits};

pub(super) fn digest_credentials(node: &Credentials) -> CredentialsDigest {
    CredentialsDigest { session: node.session, digest: node.token.digest() }
}

/// The inner error is a refusal, which must not roll back the whole batch.
pub(super) fn register(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    node: &NewNode,
    digest: [u8; 32],
    limits: &TenantLimits,
) -> StoreResult<Result<SessionId, StoreError>> {
    if tx.live.sessions_of(tenant) >= limits.nodes {
        let Some(oldest) = tx.live.oldest_session(tenant, &node.name) else {
            return Ok(Err(reached(TenantLimit::Nodes, limits)));
        };
        remove(tx, oldest)?;
    }
    let id = SessionId(tx.new_id(tx.now));
    insert(tx, tenant, node, CredentialsDigest { session: id, digest })?;
    Ok(Ok(id))
}

/// Opens a session unless there is one with this id.
pub(super) fn register_as(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    node: &NewNode,
    credentials: CredentialsDigest,
) -> StoreResult<()> {
    if tx.live.has_session(credentials.session) { Ok(()) } else { insert(tx, tenant, node, credentials) }
}

fn insert(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    node: &NewNode,
    CredentialsDigest { session: id, digest }: CredentialsDigest,
) -> StoreResult<()> {
    let capability = encode(&node.capability)?;
    let resource = node.resource.as_ref().map(encode).transpose()?;
    tx.connection
        .prepare_cached(
            "INSERT INTO sessions (id, tenant, name, token_sha256, capability, resource, registered_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            id.0.as_bytes(),
            tenant.as_str(),
            node.name,
            digest,
            capability,
            resource,
            tx.now.0
        ])?;
    let registration = NodeRegistration {
        tenant: tenant.clone(),
        name: node.name.clone(),
        labels: encode(&node.capability.labels)?,
        capability: node.capability.clone(),
        resource: node.resource.clone(),
        registered_at: tx.now,
    };
    tx.live.put_session(id, new_session(registration, digest, tx.now, tx.policy));
    Ok(())
}

fn new_session(registration: NodeRegistration, digest: [u8; 32], now: Timestamp, policy: &Policy) -> Session {
    Session {
        registration: Arc::new(registration),
        digest,
        last_seen_at: now,
        expires_at: now + policy.session_ttl,
    }
}

fn encode(value: &impl serde::Serialize) -> StoreResult<String> {
    serde_json::to_string(value).map_err(super::error::unavailable)
}

/// Extends a session and its leases. Writes nothing to the database.
pub(super) fn heartbeat(
    tx: &mut UnitOfWork<'_>,
    tenant: &TenantId,
    credentials: &CredentialsDigest,
    heartbeat: &Heartbeat,
) -> StoreResult<Option<HeartbeatReply>> {
    if tx.live.session(tenant, credentials).is_none() {
        return Ok(None);
    }
    tx.live.touch(credentials.session, tx.now, tx.policy);
    let mut reply = HeartbeatReply::default();
    for job in &heartbeat.running {
        if tx.live.extend(*job, credentials.session, tx.now + tx.policy.lease_ttl) {
            continue;
        }
        match rows::state_of(tx.connection, tenant, *job)? {
            Some(State::Cancelled) => reply.cancelled.push(*job),
            _ => reply.lost.push(*job),
        }
    }
    for (job, attempt, progress) in &heartbeat.progress {
        tx.live.progress(*job, credentials.session, *attempt, *progress);
    }
    Ok(Some(reply))
}

pub(super) fn remove(tx: &mut UnitOfWork<'_>, id: SessionId) -> StoreResult<()> {
    tx.connection.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id.0.as_bytes()])?;
    tx.live.end_session(id);
    Ok(())
}

/// Loads the stored sessions, each with its full duration.
pub(super) fn restore(
    connection: &Connection,
    live: &mut LiveState,
    now: Timestamp,
    policy: &Policy,
) -> StoreResult<()> {
    let mut statement = connection.prepare(
        "SELECT id, tenant, name, token_sha256, capability, resource, registered_at FROM sessions",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = SessionId(Uuid::from_bytes(row.get(0)?));
        let broken = |error: serde_json::Error| corrupt(format!("session {id}: {error}"));
        let capability: crate::node::Capability =
            serde_json::from_str(row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?).map_err(broken)?;
        let resource: Option<String> = row.get(5)?;
        let registration = NodeRegistration {
            tenant: tenant_in(row, 1)?,
            name: row.get(2)?,
            labels: encode(&capability.labels)?,
            capability,
            resource: resource.map(|text| serde_json::from_str(&text)).transpose().map_err(broken)?,
            registered_at: Timestamp(row.get(6)?),
        };
        live.put_session(id, new_session(registration, row.get(3)?, now, policy));
    }
    Ok(())
}
