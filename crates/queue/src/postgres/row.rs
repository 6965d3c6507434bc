//! Conversion of rows.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Json};
use uuid::Uuid;

use super::error::corrupt;
use crate::clock::Timestamp;
use crate::ids::{IdempotencyKey, JobId, SessionId, TenantId};
use crate::job::{Attempt, AvoidedNode, FailedAttempt, Job, Label, Origin, Progress};
use crate::node::Node;
use crate::outcome::AttemptOutcome;
use crate::policy::Policy;
use crate::quarantine::NodeFaults;
use crate::store::StoreResult;
use crate::transition::State;
use vmafx_job::{CancelCause, FailureReason, ScoreResult};

/// The expression of the index `jobs_claim`: the smallest is claimed first. It states [`crate::policy::PRIORITY_HEAD_START`].
macro_rules! claim_rank {
    ($job:literal) => {
        concat!("(", $job, ".created_at - ", $job, ".priority::bigint * 60000)")
    };
}
pub(super) use claim_rank;

/// The session of the row `$of`, which has its id and the hash of its token: a lateral subquery. `LIMIT` makes the server look
/// each session up, because it may otherwise read all of them first.
macro_rules! session {
    ($of:literal) => {
        concat!(
            "SELECT s.* FROM vmafx.node_sessions s WHERE s.id = ",
            $of,
            ".session AND coalesce(s.tenant_id, '') = $1 AND s.token_sha256 = ",
            $of,
            ".token LIMIT 1"
        )
    };
}
pub(super) use session;

/// The columns of a job, in the order in which [`Reader::job`] reads them. The table or query must be named `j`.
macro_rules! job_columns {
    () => {
        "j.id, j.tenant_id, j.status, j.spec, j.priority, j.idempotency_key, \
         j.origin_cluster, j.origin_namespace, j.origin_name, j.origin_uid, \
         j.attempt, j.lost_attempts, j.max_lost_attempts, j.node, j.progress_done, j.progress_total, \
         j.score, j.features, j.details, j.error, j.failure_reason, j.label, \
         j.created_at, j.updated_at, j.started_at, j.finished_at, j.available_at, j.lease_expires_at, \
         j.deadline_at, j.revision, j.cancel_cause, j.failed_attempt, j.failed_node, j.failed_reason, \
         j.failed_error, j.avoid_node, j.avoid_until, j.next_spec"
    };
}
pub(super) use job_columns;

/// Reads the columns of a row from left to right.
pub(super) struct Reader<'a> {
    row: &'a Row,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(row: &'a Row) -> Self {
        Self { row, at: 0 }
    }

    /// Starts at a later column.
    pub(super) fn after(row: &'a Row, at: usize) -> Self {
        Self { row, at }
    }

    pub(super) fn next<T: FromSql<'a>>(&mut self) -> StoreResult<T> {
        let at = self.at;
        self.at += 1;
        self.row.try_get(at).map_err(|_| {
            let column = self.row.columns().get(at);
            corrupt(format!("column {}", column.map_or("that is missing", |column| column.name())))
        })
    }

    fn json<T: DeserializeOwned>(&mut self) -> StoreResult<Option<T>> {
        Ok(self.next::<Option<Json<T>>>()?.map(|Json(value)| value))
    }

    fn time(&mut self) -> StoreResult<Option<Timestamp>> {
        Ok(self.next::<Option<i64>>()?.map(Timestamp))
    }

    /// A count, which the database stores as a signed number.
    pub(super) fn count<T: TryFrom<i64>>(&mut self) -> StoreResult<T> {
        T::try_from(self.next::<i64>()?).map_err(|_| corrupt("a count that is negative or too large"))
    }

    /// Whether the next column is NULL; does not advance.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.row.try_get::<_, Option<Anything>>(self.at), Ok(None))
    }

    fn origin(&mut self) -> StoreResult<Option<Origin>> {
        let mut part = || self.next::<Option<String>>();
        let parts = [part()?, part()?, part()?, part()?];
        let [Some(cluster), Some(namespace), Some(name), Some(uid)] = parts else { return Ok(None) };
        Ok(Some(Origin { cluster, namespace, name, uid }))
    }

    pub(super) fn tenant(&mut self) -> StoreResult<TenantId> {
        TenantId::new(self.next::<&str>()?).map_err(|_| corrupt("a tenant"))
    }

    /// Reads `j.bytes` and [`job_columns`].
    pub(super) fn stored_job(&mut self) -> StoreResult<StoredJob> {
        Ok(StoredJob { bytes: self.next()?, job: self.job()? })
    }

    /// Reads [`job_columns`].
    pub(super) fn job(&mut self) -> StoreResult<Job> {
        let id = JobId(self.next::<Uuid>()?);
        let tenant = self.tenant()?;
        let state = State::from_name(self.next()?).ok_or_else(|| corrupt("a status"))?;
        let scoring = self.json()?.ok_or_else(|| corrupt("a spec"))?;
        let priority = self.next()?;
        let key = self.next::<Option<&str>>()?.map(IdempotencyKey::new).transpose();
        let key = key.map_err(|_| corrupt("an idempotency key"))?;
        let origin = self.origin()?;
        let (attempt, lost_attempts, max_lost_attempts) = (self.count()?, self.count()?, self.count()?);
        let node = self.next()?;
        // Frame counts may use all 64 bits, so they are stored bit for bit as signed numbers.
        let progress = match (self.next::<Option<i64>>()?, self.next::<Option<i64>>()?) {
            (Some(done), Some(total)) => {
                Some(Progress { done: done.cast_unsigned(), total: total.cast_unsigned() })
            }
            _ => None,
        };
        let (score, features, details) = (self.next::<Option<f64>>()?, self.json()?, self.json()?);
        let result = match (score, features) {
            (Some(score), Some(features)) => Some(ScoreResult { score, features, details }),
            _ => None,
        };
        let (error, failure_reason) = (self.next()?, FailureReason::from_number(self.next()?));
        let label = self.next::<Option<f64>>()?.map(Label::percent).transpose();
        let label = label.map_err(|_| corrupt("a label"))?;
        let mut job = Job {
            id,
            tenant,
            state,
            scoring,
            next_scoring: None,
            priority,
            key,
            origin,
            attempt,
            lost_attempts,
            max_lost_attempts,
            node,
            progress,
            result,
            error,
            failure_reason,
            label,
            created_at: Timestamp(self.next()?),
            updated_at: Timestamp(self.next()?),
            started_at: self.time()?,
            finished_at: self.time()?,
            available_at: self.time()?,
            lease_expires_at: self.time()?,
            deadline_at: self.time()?,
            revision: self.count()?,
            cancel_cause: self.cancel_cause(state)?,
            last_failure: self.last_failure()?,
            avoids: match (self.next()?, self.time()?) {
                (Some(node), Some(until)) => Some(AvoidedNode { node, until }),
                _ => None,
            },
        };
        // A job that waits has one request: the newest, wherever it is stored.
        match (state, self.json()?) {
            (State::Pending, Some(next)) => job.scoring = next,
            (State::Running, next) => job.next_scoring = next,
            _ => {}
        }
        Ok(job)
    }

    fn last_failure(&mut self) -> StoreResult<Option<FailedAttempt>> {
        let attempt = self.next::<Option<i64>>()?.map(u32::try_from).transpose();
        let attempt = attempt.map_err(|_| corrupt("the number of a failed attempt"))?;
        let (node, reason) = (self.next::<Option<String>>()?, self.next::<Option<i32>>()?);
        let message = self.next::<Option<String>>()?;
        Ok(attempt.map(|attempt| FailedAttempt {
            attempt,
            node: node.unwrap_or_default(),
            reason: FailureReason::from_number(reason.unwrap_or_default()),
            message: message.unwrap_or_default(),
        }))
    }

    /// Reads `failures, tried_at, reason, error` of a node; `None` if they are NULL.
    pub(super) fn faults(&mut self) -> StoreResult<Option<NodeFaults>> {
        let (failures, tried_at) = (self.next::<Option<i64>>()?, self.time()?);
        let (reason, error) = (self.next::<Option<i32>>()?, self.next::<Option<String>>()?);
        let (Some(failures), Some(tried_at)) = (failures, tried_at) else { return Ok(None) };
        Ok(Some(NodeFaults {
            failures: u32::try_from(failures).map_err(|_| corrupt("the number of failures"))?,
            tried_at,
            reason: FailureReason::from_number(reason.unwrap_or_default()),
            error: error.unwrap_or_default(),
        }))
    }

    /// A job that an older controller cancelled has no stored cause and gets the default one.
    fn cancel_cause(&mut self, state: State) -> StoreResult<Option<CancelCause>> {
        let name = self.next::<Option<&str>>()?;
        let cause = name.map(str::parse).transpose().map_err(|_| corrupt("the cause of a cancellation"))?;
        Ok((state == State::Cancelled).then(|| cause.unwrap_or_default()))
    }

    /// Reads `attempt, session_id, node_id, started_at, ended_at, outcome, error, reason`.
    pub(super) fn attempt(&mut self) -> StoreResult<Attempt> {
        let number = self.count()?;
        let session = SessionId(self.next()?);
        let node = self.next()?;
        let started_at = Timestamp(self.next()?);
        let ended_at = self.time()?;
        let outcome = self.next::<Option<&str>>()?.map(AttemptOutcome::from_name);
        let ended = match (ended_at, outcome) {
            (Some(at), Some(Some(outcome))) => Some((at, outcome)),
            (None, None) => None,
            _ => return Err(corrupt("the outcome of an attempt")),
        };
        let (error, reason) = (self.next()?, FailureReason::from_number(self.next()?));
        Ok(Attempt { number, session, node, started_at, ended, error, reason })
    }

    /// Reads `id, node_id, capability, resource, created_at, last_seen_at`, the number of jobs that the node holds and
    /// its failures.
    pub(super) fn node(&mut self, policy: &Policy) -> StoreResult<Node> {
        Ok(Node {
            session: SessionId(self.next()?),
            name: self.next()?,
            capability: self.json()?.ok_or_else(|| corrupt("a capability"))?,
            resource: self.json()?,
            registered_at: Timestamp(self.next()?),
            last_seen_at: Timestamp(self.next()?),
            jobs: self.count()?,
            quarantine: self.faults()?.and_then(|faults| faults.quarantine(policy)),
        })
    }

    pub(super) fn value<T: DeserializeOwned>(&mut self) -> StoreResult<T> {
        self.json()?.ok_or_else(|| corrupt("a value is missing"))
    }

    /// A transaction id, which is selected as text.
    pub(super) fn transaction(&mut self) -> StoreResult<u64> {
        self.next::<&str>()?.parse().map_err(|_| corrupt("a transaction id"))
    }
}

/// Accepts a value of any type, to test for NULL.
struct Anything;

impl FromSql<'_> for Anything {
    fn from_sql(
        _: &tokio_postgres::types::Type,
        _: &[u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self)
    }

    fn accepts(_: &tokio_postgres::types::Type) -> bool {
        true
    }
}

/// A job and the number of bytes that count for its tenant.
pub(super) struct StoredJob {
    pub(super) bytes: i64,
    pub(super) job: Job,
}

/// Reads rows of `j.bytes` and [`job_columns`].
pub(super) fn stored_jobs(rows: &[Row]) -> StoreResult<Vec<StoredJob>> {
    rows.iter().map(|row| Reader::new(row).stored_job()).collect()
}

pub(super) fn jobs(rows: &[Row]) -> StoreResult<Vec<Job>> {
    rows.iter().map(|row| Reader::new(row).job()).collect()
}

/// Saturates at the largest signed number.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}

/// Replaces NUL characters, which Postgres does not store.
pub(super) fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
