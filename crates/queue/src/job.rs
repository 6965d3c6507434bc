//! Jobs, their attempts, and the request that creates one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, IdempotencyKey, JobId, SessionId, TenantId};
use crate::outcome::AttemptOutcome;
use crate::transition::State;
use vmafx_job::ScoringRequest;
use vmafx_job::{CancelCause, FailureReason, ScoreResult};

/// A job as its submitter describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewJob {
    pub scoring: ScoringRequest,
    /// Jobs with a higher priority are claimed first.
    pub priority: i32,
    pub key: Option<IdempotencyKey>,
    /// The authenticated subject that submits the job. Keys of different submitters are different keys.
    pub submitter: String,
    /// The Kubernetes resource that the job was submitted for.
    pub origin: Option<Origin>,
    /// The job fails when this many attempts were lost; at least 1. `None` means
    /// [`crate::policy::Policy::max_lost_attempts`].
    pub max_lost_attempts: Option<u32>,
    /// The job fails when it has not finished this long after its submission.
    pub deadline: Option<Duration>,
    /// A quality score given by human viewers.
    pub label: Option<Label>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub tenant: TenantId,
    pub state: State,
    pub scoring: ScoringRequest,
    pub priority: i32,
    pub key: Option<IdempotencyKey>,
    pub origin: Option<Origin>,
    /// Number of the latest attempt; 0 before the first claim.
    pub attempt: AttemptNumber,
    pub lost_attempts: u32,
    /// The job fails when `lost_attempts` reaches this number.
    pub max_lost_attempts: u32,
    /// The node that runs the job, or that ran its latest attempt.
    pub node: Option<String>,
    /// Progress of the running attempt; a restart may lose it.
    pub progress: Option<Progress>,
    /// Present exactly when the job is completed.
    pub result: Option<ScoreResult>,
    /// The message of a failed or cancelled job; empty otherwise.
    pub error: String,
    /// `Unspecified` unless the job failed.
    pub failure_reason: FailureReason,
    pub label: Option<Label>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Start of the latest attempt.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// End of the back-off after a lost attempt; the job cannot be claimed earlier.
    pub available_at: Option<Timestamp>,
    /// The sweep ends the running attempt at this time unless a heartbeat extends the lease.
    pub lease_expires_at: Option<Timestamp>,
    /// The job fails at this time if it has not finished.
    pub deadline_at: Option<Timestamp>,
    /// Increases with every stored change.
    pub revision: u64,
    /// Present exactly when the job is cancelled.
    pub cancel_cause: Option<CancelCause>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub number: AttemptNumber,
    pub session: SessionId,
    pub node: String,
    pub started_at: Timestamp,
    /// When and how the attempt ended; `None` while it runs.
    pub ended: Option<(Timestamp, AttemptOutcome)>,
    pub error: String,
}

/// A Kubernetes resource, in any cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    pub cluster: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl Origin {
    /// Whether `other` equals this origin in every part that is not empty here.
    pub fn covers(&self, other: &Self) -> bool {
        let matches = |expected: &str, actual: &str| expected.is_empty() || expected == actual;
        matches(&self.cluster, &other.cluster)
            && matches(&self.namespace, &other.namespace)
            && matches(&self.name, &other.name)
            && matches(&self.uid, &other.uid)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Frame pairs scored so far.
    pub done: u64,
    /// 0 when the number of frame pairs is unknown.
    pub total: u64,
}

/// A quality score given by human viewers, converted to 0 to 100 from whatever scale they used.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(f64);

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{value} is outside {lowest} to {highest}")]
pub struct LabelError {
    value: f64,
    lowest: f64,
    highest: f64,
}

impl Label {
    /// A value on the scale of a VMAF score, 0 to 100.
    pub fn percent(value: f64) -> Result<Self, LabelError> {
        within(value, 0.0, 100.0).map(Self)
    }

    /// A mean opinion score, 1 to 5.
    pub fn mos(value: f64) -> Result<Self, LabelError> {
        within(value, 1.0, 5.0).map(|value| Self((value - 1.0) * 25.0))
    }

    /// Between 0 and 100.
    pub fn value(self) -> f64 {
        self.0
    }
}

fn within(value: f64, lowest: f64, highest: f64) -> Result<f64, LabelError> {
    if (lowest..=highest).contains(&value) { Ok(value) } else { Err(LabelError { value, lowest, highest }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_covers_what_it_names() {
        let job = Origin { cluster: "a".into(), namespace: "n".into(), name: "x".into(), uid: "1".into() };
        assert!(Origin::default().covers(&job));
        assert!(Origin { namespace: "n".into(), ..Origin::default() }.covers(&job));
        assert!(!Origin { uid: "2".into(), ..job.clone() }.covers(&job));
    }

    #[test]
    fn labels_of_both_scales_end_on_one() {
        assert_eq!(Label::mos(3.0).map(Label::value), Ok(50.0));
        assert_eq!(Label::percent(0.0).map(Label::value), Ok(0.0));
        assert!(Label::percent(f64::NAN).is_err());
        // The stored label must equal the submitted one bit for bit.
        let awkward = 13.436_424_411_240_122;
        assert_eq!(Label::percent(awkward).map(Label::value), Ok(awkward));
        assert_eq!(Label::mos(5.5).unwrap_err().to_string(), "5.5 is outside 1 to 5");
    }
}
