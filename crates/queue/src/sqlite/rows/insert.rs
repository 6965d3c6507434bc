//! Insertion of a job.

use rusqlite::{Connection, params};

use super::super::exact::ExactFloat;
use super::JobRow;
use crate::idempotency::RequestDigest;

pub(super) const INSERT: &str = "INSERT INTO jobs (id, tenant, state, ready, backend, priority, \
     created_at, seq, revision, attempt, lost_attempts, max_lost_attempts, updated_at, deadline_at, failure_reason, label, error, key, \
     origin_cluster, origin_namespace, origin_name, origin_uid, spec, submitter, request_digest, labelled_by, bytes) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, ?10, ?7, ?11, ?12, ?13, '', ?14, ?15, ?16, ?17, \
     ?18, ?19, ?20, ?21, ?22, ?23)";

/// Inserts a row with its submitter and, if it has a key, the digest of its request. Returns its row number.
pub(in super::super) fn insert(
    connection: &Connection,
    row: &JobRow,
    submitter: &str,
    digest: Option<&RequestDigest>,
) -> rusqlite::Result<i64> {
    let origin = row.origin.as_ref();
    connection.prepare_cached(INSERT)?.insert(params![
        row.id.0.as_bytes(),
        row.tenant.as_str(),
        row.state.name(),
        row.ready,
        row.backend,
        row.priority,
        row.created_at.0,
        row.seq,
        row.revision.cast_signed(),
        row.max_lost_attempts,
        row.deadline_at.map(|time| time.0),
        row.failure_reason.number(),
        row.label.map(ExactFloat),
        row.key,
        origin.map(|origin| &origin.cluster),
        origin.map(|origin| &origin.namespace),
        origin.map(|origin| &origin.name),
        origin.map(|origin| &origin.uid),
        row.spec,
        submitter,
        digest,
        row.labelled_by,
        i64::try_from(row.usage.bytes).unwrap_or(i64::MAX),
    ])
}
