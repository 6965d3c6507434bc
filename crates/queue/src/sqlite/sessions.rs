//! Sessions of nodes: opened here, kept alive here, ended by the sweep.

use std::sync::Arc;

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::error::corrupt;
use super::live::{Facts, Live, Seal, Session};
use super::rows::{self, tenant_in};
use super::unit::Unit;
use crate::StoreError;
use crate::clock::Timestamp;
use crate::ids::{SessionId, TenantId};
use crate::node::{Beat, Credentials, NewNode, Pulse, SessionToken};
use crate::policy::Policy;
use crate::transition::State;

/// A secret nobody can guess: twice the randomness of a UUID.
pub(super) fn new_token() -> SessionToken {
    SessionToken(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
}

/// Whoever says to be a session, ready for comparison.
pub(super) fn seal(node: &Credentials) -> Seal {
    Seal { session: node.session, digest: node.token.digest() }
}

/// Opens a session.
pub(super) fn register(
    unit: &mut Unit<'_>,
    tenant: &TenantId,
    node: &NewNode,
    digest: [u8; 32],
) -> Result<SessionId, StoreError> {
    let id = SessionId(unit.new_id());
    let capability = encode(&node.capability)?;
    let resource = node.resource.as_ref().map(encode).transpose()?;
    unit.connection
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
            unit.now.0
        ])?;
    let facts = Facts {
        tenant: tenant.clone(),
        name: node.name.clone(),
        labels: encode(&node.capability.labels)?,
        capability: node.capability.clone(),
        resource: node.resource.clone(),
        registered_at: unit.now,
    };
    unit.live.put_session(id, begun(facts, digest, unit.now, unit.policy));
    Ok(id)
}

fn begun(facts: Facts, digest: [u8; 32], now: Timestamp, policy: &Policy) -> Session {
    Session { facts: Arc::new(facts), digest, last_seen_at: now, expires_at: now + policy.session_ttl }
}

fn encode(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(super::error::unavailable)
}

/// Keeps a session and its leases alive. Stores nothing.
pub(super) fn heartbeat(
    unit: &mut Unit<'_>,
    tenant: &TenantId,
    seal: &Seal,
    beat: &Beat,
) -> Result<Option<Pulse>, StoreError> {
    if unit.live.session(tenant, seal).is_none() {
        return Ok(None);
    }
    unit.live.touch(seal.session, unit.now, unit.policy);
    let mut pulse = Pulse::default();
    for job in &beat.running {
        if unit.live.extend(*job, seal.session, unit.now + unit.policy.lease_ttl) {
            continue;
        }
        match rows::state_of(unit.connection, tenant, *job)? {
            Some(State::Cancelled) => pulse.cancelled.push(*job),
            _ => pulse.lost.push(*job),
        }
    }
    for (job, attempt, progress) in &beat.progress {
        unit.live.progress(*job, seal.session, *attempt, *progress);
    }
    Ok(Some(pulse))
}

/// Forgets a session.
pub(super) fn remove(unit: &mut Unit<'_>, id: SessionId) -> Result<(), StoreError> {
    unit.connection.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id.0.as_bytes()])?;
    unit.live.end_session(id);
    Ok(())
}

/// Remembers the stored sessions, each with its full time.
pub(super) fn recall(
    connection: &Connection,
    live: &mut Live,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), StoreError> {
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
        let facts = Facts {
            tenant: tenant_in(row, 1)?,
            name: row.get(2)?,
            labels: encode(&capability.labels)?,
            capability,
            resource: resource.map(|text| serde_json::from_str(&text)).transpose().map_err(broken)?,
            registered_at: Timestamp(row.get(6)?),
        };
        live.put_session(id, begun(facts, row.get(3)?, now, policy));
    }
    Ok(())
}
