//! Reading jobs.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::super::exact::ExactFloat;
use super::super::usage::JobUsage;
use super::{JobRow, StoredLease, StoredResult};
use crate::clock::Timestamp;
use crate::ids::{IdempotencyKey, JobId, PullId, SessionId, TenantId};
use crate::job::{AvoidedNode, FailedAttempt, Origin};
use crate::transition::State;
use vmafx_job::{CancelCause, FailureReason, UnknownName};

macro_rules! columns {
    () => {
        "number, id, tenant, state, ready, backend, priority, created_at, seq, revision, attempt, lost_attempts, \
         max_lost_attempts, updated_at, started_at, finished_at, available_at, deadline_at, lease_session, \
         lease_expires_at, failure_reason, label, score, features, details, node, error, key, origin_cluster, \
         origin_namespace, origin_name, origin_uid, spec, cancel_cause, failed_attempt, failed_node, failed_reason, \
         failed_error, avoid_node, avoid_until, lease_pull, next_spec, labelled_by, bytes"
    };
}

/// The columns that [`from_row`] reads, in its order.
pub(in super::super) const COLUMNS: &str = columns!();

pub(in super::super) fn by_number(connection: &Connection, number: i64) -> rusqlite::Result<JobRow> {
    connection
        .prepare_cached(concat!("SELECT ", columns!(), " FROM jobs WHERE number = ?1"))?
        .query_row([number], from_row)
}

pub(in super::super) fn by_id(
    connection: &Connection,
    tenant: &TenantId,
    id: JobId,
) -> rusqlite::Result<Option<JobRow>> {
    connection
        .prepare_cached(concat!("SELECT ", columns!(), " FROM jobs WHERE id = ?1 AND tenant = ?2"))?
        .query_row(params![id.0.as_bytes(), tenant.as_str()], from_row)
        .optional()
}

/// Jobs of the tenant with this key, at most two, that of the submitter first. The flag tells whether it is theirs.
pub(in super::super) fn by_key(
    connection: &Connection,
    tenant: &TenantId,
    key: &IdempotencyKey,
    submitter: &str,
) -> rusqlite::Result<Vec<(i64, bool)>> {
    connection
        .prepare_cached(
            "SELECT number, submitter = ?3 FROM jobs WHERE tenant = ?1 AND key = ?2 \
             ORDER BY submitter = ?3 DESC LIMIT 2",
        )?
        .query_map([tenant.as_str(), key.as_str(), submitter], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

pub(in super::super) fn state_of(
    connection: &Connection,
    tenant: &TenantId,
    id: JobId,
) -> rusqlite::Result<Option<State>> {
    connection
        .prepare_cached("SELECT state FROM jobs WHERE id = ?1 AND tenant = ?2")?
        .query_row(params![id.0.as_bytes(), tenant.as_str()], |row| state(row, 0))
        .optional()
}

/// Reads [`COLUMNS`].
pub(in super::super) fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<JobRow> {
    let time = |column| row.get::<_, Option<i64>>(column).map(|time| time.map(Timestamp));
    let lease = match (row.get::<_, Option<[u8; 16]>>(18)?, time(19)?) {
        (Some(session), Some(expires_at)) => {
            let pull = row.get::<_, Option<[u8; 16]>>(40)?.map(|pull| PullId(Uuid::from_bytes(pull)));
            Some(StoredLease { session: SessionId(Uuid::from_bytes(session)), expires_at, pull })
        }
        _ => None,
    };
    let result = match (row.get(22)?, row.get(23)?) {
        (Some(ExactFloat(score)), Some(features)) => {
            Some(StoredResult { score, features, details: row.get(24)? })
        }
        _ => None,
    };
    let origin = match row.get(28)? {
        Some(cluster) => {
            Some(Origin { cluster, namespace: row.get(29)?, name: row.get(30)?, uid: row.get(31)? })
        }
        None => None,
    };
    let state = state(row, 3)?;
    let bytes = row.get::<_, i64>(43)?.unsigned_abs();
    Ok(JobRow {
        number: row.get(0)?,
        id: JobId(Uuid::from_bytes(row.get(1)?)),
        tenant: tenant_in(row, 2)?,
        state,
        ready: row.get(4)?,
        backend: row.get(5)?,
        priority: row.get(6)?,
        created_at: Timestamp(row.get(7)?),
        seq: row.get(8)?,
        revision: row.get::<_, i64>(9)?.unsigned_abs(),
        attempt: row.get(10)?,
        lost_attempts: row.get(11)?,
        max_lost_attempts: row.get(12)?,
        updated_at: Timestamp(row.get(13)?),
        started_at: time(14)?,
        finished_at: time(15)?,
        available_at: time(16)?,
        deadline_at: time(17)?,
        lease,
        failure_reason: FailureReason::from_number(row.get(20)?),
        label: row.get::<_, Option<ExactFloat>>(21)?.map(|label| label.0),
        result,
        node: row.get(25)?,
        error: row.get(26)?,
        key: row.get(27)?,
        origin,
        spec: row.get(32)?,
        cancel_cause: cancel_cause(row, 33)?,
        last_failure: last_failure(row)?,
        avoids: match (row.get(38)?, time(39)?) {
            (Some(node), Some(until)) => Some(AvoidedNode { node, until }),
            _ => None,
        },
        next_spec: row.get(41)?,
        labelled_by: row.get(42)?,
        usage: JobUsage { is_pending: state == State::Pending, bytes },
    })
}

fn last_failure(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<FailedAttempt>> {
    let Some(attempt) = row.get(34)? else { return Ok(None) };
    let reason = FailureReason::from_number(row.get(36)?);
    Ok(Some(FailedAttempt { attempt, node: row.get(35)?, reason, message: row.get(37)? }))
}

fn cancel_cause(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<CancelCause>> {
    let name = row.get_ref(column)?.as_str_or_null()?;
    name.map(|name| name.parse().map_err(|error: UnknownName| unreadable(column, error.into()))).transpose()
}

fn state(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<State> {
    let name = row.get_ref(column)?.as_str()?;
    State::from_name(name).ok_or_else(|| unreadable(column, format!("{name:?} is not a state").into()))
}

pub(in super::super) fn tenant_in(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<TenantId> {
    TenantId::new(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error.into()))
}

fn unreadable(column: usize, error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error)
}
