//! Rows of the attempts table.

use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::error::corrupt;
use super::live::NodeRegistration;
use super::rows::JobRow;
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, JobId, SessionId, TenantId};
use crate::job::Attempt;
use crate::outcome::AttemptOutcome;
use crate::verdict::EarlierFailure;
use vmafx_job::FailureReason;

/// Inserts the attempt that a claim just started.
pub(super) fn begin(
    connection: &Connection,
    row: &JobRow,
    session: SessionId,
    node: &NodeRegistration,
    now: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO attempts (job, attempt, session, node, node_labels, started_at, error) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, '')",
        )?
        .execute(params![row.number, row.attempt, session.0.as_bytes(), node.name, node.labels, now.0])?;
    Ok(())
}

/// Ends the latest attempt of the row, if it has not ended.
pub(super) fn end(
    connection: &Connection,
    row: &JobRow,
    outcome: AttemptOutcome,
    error: &str,
    now: Timestamp,
) -> rusqlite::Result<()> {
    end_with(connection, row, outcome, (FailureReason::Unspecified, error), now)
}

/// Ends the latest attempt of the row for a reason.
pub(super) fn end_with(
    connection: &Connection,
    row: &JobRow,
    outcome: AttemptOutcome,
    (reason, error): (FailureReason, &str),
    now: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE attempts SET ended_at = ?3, outcome = ?4, error = ?5, reason = ?6 \
             WHERE job = ?1 AND attempt = ?2 AND ended_at IS NULL",
        )?
        .execute(params![row.number, row.attempt, now.0, outcome.name(), error, reason.number()])?;
    Ok(())
}

/// Keeps the digest of the token of the session that held the latest attempt of the row.
pub(super) fn keep_token(connection: &Connection, row: &JobRow, token: &[u8; 32]) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE attempts SET token_sha256 = ?3 WHERE job = ?1 AND attempt = ?2")?
        .execute(params![row.number, row.attempt, token])?;
    Ok(())
}

/// The digest of the token of the session that held an expired attempt.
pub(super) fn token(
    connection: &Connection,
    job: i64,
    attempt: AttemptNumber,
) -> rusqlite::Result<Option<[u8; 32]>> {
    let token = connection
        .prepare_cached("SELECT token_sha256 FROM attempts WHERE job = ?1 AND attempt = ?2")?
        .query_row(params![job, attempt], |row| row.get(0))
        .optional()?;
    Ok(token.flatten())
}

/// Turns the latest attempt of the row, which has expired, into a completed one.
pub(super) fn complete_expired(
    connection: &Connection,
    row: &JobRow,
    now: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE attempts SET ended_at = ?3, outcome = ?4, error = '', reason = 0 \
             WHERE job = ?1 AND attempt = ?2 AND outcome = ?5",
        )?
        .execute(params![
            row.number,
            row.attempt,
            now.0,
            AttemptOutcome::Completed.name(),
            AttemptOutcome::Expired.name()
        ])?;
    Ok(())
}

/// The attempts at a job that their nodes reported as failed.
pub(super) fn failures(connection: &Connection, job: i64) -> rusqlite::Result<Vec<EarlierFailure>> {
    connection
        .prepare_cached(
            "SELECT node, reason FROM attempts WHERE job = ?1 AND outcome = 'failed' ORDER BY attempt",
        )?
        .query_map([job], |row| {
            Ok(EarlierFailure { node: row.get(0)?, reason: FailureReason::from_number(row.get(1)?) })
        })?
        .collect()
}

/// The session that held an attempt, and how the attempt ended.
pub(super) fn owner(
    connection: &Connection,
    job: i64,
    attempt: AttemptNumber,
) -> StoreResult<Option<(SessionId, Option<AttemptOutcome>)>> {
    let found = connection
        .prepare_cached("SELECT session, outcome FROM attempts WHERE job = ?1 AND attempt = ?2")?
        .query_row(params![job, attempt], |row| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?)))
        .optional()?;
    found
        .map(|(session, name)| Ok((SessionId(Uuid::from_bytes(session)), name.map(outcome).transpose()?)))
        .transpose()
}

/// The latest attempt of a job that the session held.
pub(super) fn last_of(
    connection: &Connection,
    job: i64,
    session: SessionId,
) -> rusqlite::Result<Option<AttemptNumber>> {
    connection
        .prepare_cached("SELECT max(attempt) FROM attempts WHERE job = ?1 AND session = ?2")?
        .query_row(params![job, session.0.as_bytes()], |row| row.get(0))
}

/// The serialized labels of the node that held the attempt.
pub(super) fn labels(connection: &Connection, job: i64, attempt: AttemptNumber) -> rusqlite::Result<String> {
    connection
        .prepare_cached("SELECT node_labels FROM attempts WHERE job = ?1 AND attempt = ?2")?
        .query_row(params![job, attempt], |row| row.get(0))
}

/// All attempts of a job, in ascending order.
pub(super) fn list(connection: &Connection, tenant: &TenantId, id: JobId) -> StoreResult<Vec<Attempt>> {
    let mut statement = connection.prepare_cached(
        "SELECT attempt, session, node, started_at, ended_at, outcome, error, reason FROM attempts \
         WHERE job = (SELECT number FROM jobs WHERE id = ?1 AND tenant = ?2) ORDER BY attempt",
    )?;
    let mut rows = statement.query(params![id.0.as_bytes(), tenant.as_str()])?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next()? {
        let ended = match (row.get(4)?, row.get(5)?) {
            (Some(at), Some(name)) => Some((Timestamp(at), outcome(name)?)),
            _ => None,
        };
        attempts.push(Attempt {
            number: row.get(0)?,
            session: SessionId(Uuid::from_bytes(row.get(1)?)),
            node: row.get(2)?,
            started_at: Timestamp(row.get(3)?),
            ended,
            error: row.get(6)?,
            reason: FailureReason::from_number(row.get(7)?),
        });
    }
    Ok(attempts)
}

#[expect(clippy::needless_pass_by_value, reason = "comes out of a row")]
fn outcome(name: String) -> StoreResult<AttemptOutcome> {
    AttemptOutcome::from_name(&name)
        .ok_or_else(|| corrupt(format!("{name:?} is not an outcome of an attempt")))
}
