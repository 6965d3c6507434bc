//! Rows of the jobs table.
//!
//! A row keeps its JSON as text. The caller's thread parses it, so that the writer thread never does.

mod insert;
mod read;
mod save;
mod transition;

use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as ValueError;

pub(super) use insert::insert;
pub(super) use read::{COLUMNS, by_id, by_key, by_number, from_row, state_of, tenant_in};
pub(super) use save::save;

use super::error::corrupt;
use super::live::Lease;
use super::usage::JobUsage;
use crate::StoreResult;
use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, IdempotencyKey, JobId, PullId, SessionId, TenantId};
use crate::job::{AvoidedNode, FailedAttempt, Job, Label, Origin};
use crate::transition::State;
use vmafx_job::{CancelCause, FailureReason, ScoreResult};

#[derive(Clone, Debug)]
pub(super) struct JobRow {
    pub(super) number: i64,
    pub(super) id: JobId,
    pub(super) tenant: TenantId,
    pub(super) state: State,
    pub(super) ready: bool,
    pub(super) backend: String,
    pub(super) priority: i32,
    pub(super) created_at: Timestamp,
    pub(super) seq: i64,
    pub(super) revision: u64,
    pub(super) attempt: AttemptNumber,
    pub(super) lost_attempts: u32,
    pub(super) max_lost_attempts: u32,
    pub(super) updated_at: Timestamp,
    pub(super) started_at: Option<Timestamp>,
    pub(super) finished_at: Option<Timestamp>,
    pub(super) available_at: Option<Timestamp>,
    pub(super) deadline_at: Option<Timestamp>,
    pub(super) lease: Option<StoredLease>,
    pub(super) failure_reason: FailureReason,
    pub(super) label: Option<f64>,
    pub(super) labelled_by: String,
    pub(super) result: Option<StoredResult>,
    pub(super) node: Option<String>,
    pub(super) error: String,
    pub(super) key: Option<String>,
    pub(super) origin: Option<Origin>,
    pub(super) spec: String,
    /// The request of the next attempt, if the job was changed while it ran.
    pub(super) next_spec: Option<String>,
    pub(super) cancel_cause: Option<CancelCause>,
    pub(super) last_failure: Option<FailedAttempt>,
    pub(super) avoids: Option<AvoidedNode>,
    /// What the stored row adds to the usage of its tenant.
    pub(super) usage: JobUsage,
}

/// The holder of a job, and the expiry that was set by the claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredLease {
    pub(super) session: SessionId,
    pub(super) expires_at: Timestamp,
    pub(super) pull: Option<PullId>,
}

/// The result of a completed job, serialized.
#[derive(Clone, Debug)]
pub(super) struct StoredResult {
    pub(super) score: f64,
    pub(super) features: String,
    pub(super) details: Option<String>,
}

impl StoredResult {
    pub(super) fn of(result: &ScoreResult) -> Result<Self, serde_json::Error> {
        Ok(Self {
            score: result.score,
            features: serde_json::to_string(&result.features)?,
            details: result.details.as_ref().map(serde_json::to_string).transpose()?,
        })
    }

    fn parse(&self) -> Result<ScoreResult, serde_json::Error> {
        Ok(ScoreResult {
            score: self.score,
            features: serde_json::from_str(&self.features)?,
            details: self.details.as_deref().map(serde_json::from_str).transpose()?,
        })
    }
}

impl JobRow {
    /// A request that replaces that of a running attempt applies when the job waits again, and is dropped when the job is over.
    pub(super) fn settle_request(&mut self) {
        if self.state != State::Running
            && let Some(next) = self.next_spec.take()
            && self.state == State::Pending
        {
            self.spec = next;
        }
    }

    /// Converts the row. A lease from memory counts only if it belongs to the attempt of this row.
    pub(super) fn job(self, lease: Option<&Lease>) -> StoreResult<Job> {
        let id = self.id;
        let broken =
            |what: &str, error: &dyn std::fmt::Display| corrupt(format!("{what} of job {id}: {error}"));
        let scoring = |spec: &str| serde_json::from_str(spec).map_err(|error| broken("the request", &error));
        // A job that waits has one request: the newest, wherever it is stored.
        let (spec, next_spec) = match (self.state, self.next_spec) {
            (State::Pending, Some(next)) => (next, None),
            (State::Running, next) => (self.spec, next),
            (_, _) => (self.spec, None),
        };
        let lease = lease.filter(|lease| self.state == State::Running && lease.attempt == self.attempt);
        Ok(Job {
            id,
            scoring: scoring(&spec)?,
            next_scoring: next_spec.map(|next| scoring(&next)).transpose()?,
            key: self
                .key
                .map(|key| IdempotencyKey::new(&key))
                .transpose()
                .map_err(|error| broken("the key", &error))?,
            result: self
                .result
                .map(|result| result.parse())
                .transpose()
                .map_err(|error| broken("the result", &error))?,
            label: self.label.map(label).transpose().map_err(|error| broken("the label", &error))?,
            progress: lease.and_then(|lease| lease.progress),
            lease_expires_at: self
                .lease
                .map(|stored| lease.map_or(stored.expires_at, |lease| lease.expires_at)),
            tenant: self.tenant,
            state: self.state,
            priority: self.priority,
            origin: self.origin,
            attempt: self.attempt,
            lost_attempts: self.lost_attempts,
            max_lost_attempts: self.max_lost_attempts,
            node: self.node,
            error: self.error,
            failure_reason: self.failure_reason,
            created_at: self.created_at,
            updated_at: self.updated_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            available_at: self.available_at,
            deadline_at: self.deadline_at,
            revision: self.revision,
            // A job that an older program cancelled has no stored cause and gets the default one.
            cancel_cause: (self.state == State::Cancelled).then(|| self.cancel_cause.unwrap_or_default()),
            last_failure: self.last_failure,
            avoids: self.avoids,
        })
    }
}

/// Restores a label without conversion. It was validated when it was submitted.
fn label(value: f64) -> Result<Label, ValueError> {
    Label::deserialize(value.into_deserializer())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use rusqlite::Connection;

    use super::super::migrate::migrate;
    use super::insert::INSERT;
    use super::save::UPDATE;

    #[rstest]
    #[case::new(INSERT)]
    #[case::changed(UPDATE)]
    fn a_row_is_checked_without_temporary_tables(#[case] statement: &str) {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let mut explain = connection.prepare(&format!("EXPLAIN {statement}")).unwrap();
        let count = explain.parameter_count();
        let steps: Vec<String> = explain
            .query_map(rusqlite::params_from_iter(vec![0; count]), |row| row.get(1))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(!steps.iter().any(|step| step == "OpenEphemeral"), "{steps:?}");
    }
}
