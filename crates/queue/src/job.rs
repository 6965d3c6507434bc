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
    /// Each step is a head start of [`crate::policy::PRIORITY_HEAD_START`].
    pub priority: i32,
    pub key: Option<IdempotencyKey>,
    /// The authenticated subject that submits the job. Keys of different submitters are different keys.
    pub submitter: String,
    /// The Kubernetes resource that the job was submitted for.
    pub origin: Option<Origin>,
    /// The job fails when this many attempts were lost, or failed through no fault of the job; at least 1. `None` means
    /// [`crate::policy::Policy::max_lost_attempts`].
    pub max_lost_attempts: Option<u32>,
    /// The job fails when it has not finished this long after its submission.
    pub deadline: Option<Duration>,
    /// A quality score given by human viewers.
    pub label: Option<Label>,
    /// Who gave the label.
    pub labelled_by: Labeller,
}

/// Changes of a job that has not finished. `None` leaves a field as it is. The job keeps its id and its creation time, and
/// so its place among the jobs of its priority.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobUpdate {
    /// Used from the next attempt on. Names the same clips, model and backend as before.
    pub scoring: Option<ScoringRequest>,
    pub priority: Option<i32>,
    /// At least 1. Counts when the next attempt is lost.
    pub max_lost_attempts: Option<u32>,
    pub deadline: Option<DeadlineUpdate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineUpdate {
    Never,
    /// Counts from the submission of the job.
    After(Duration),
}

impl DeadlineUpdate {
    /// The deadline of a job that was submitted at `created_at`.
    pub(crate) fn deadline_at(self, created_at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Never => None,
            Self::After(length) => Some(created_at + length),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub tenant: TenantId,
    pub state: State,
    /// What the latest attempt scores; of a pending job, what the next one will score.
    pub scoring: ScoringRequest,
    /// What the next attempt will score, if the job was changed while it runs. Present only while it runs.
    pub next_scoring: Option<ScoringRequest>,
    pub priority: i32,
    pub key: Option<IdempotencyKey>,
    pub origin: Option<Origin>,
    /// Number of the latest attempt; 0 before the first claim.
    pub attempt: AttemptNumber,
    /// Attempts that were lost, or failed through no fault of the job.
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
    /// End of the back-off after a lost or failed attempt; the job cannot be claimed earlier.
    pub available_at: Option<Timestamp>,
    /// The sweep ends the running attempt at this time unless a heartbeat extends the lease.
    pub lease_expires_at: Option<Timestamp>,
    /// The job fails at this time if it has not finished.
    pub deadline_at: Option<Timestamp>,
    /// Increases with every stored change.
    pub revision: u64,
    /// Present exactly when the job is cancelled.
    pub cancel_cause: Option<CancelCause>,
    /// The last attempt after which the job was requeued because it failed or was lost.
    pub last_failure: Option<FailedAttempt>,
    /// The node that does not get the job for a while; only of a pending job.
    pub avoids: Option<AvoidedNode>,
}

/// An attempt after which its job was requeued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    pub attempt: AttemptNumber,
    pub node: String,
    pub reason: FailureReason,
    pub message: String,
}

/// A node that failed a job which another node may score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvoidedNode {
    pub node: String,
    /// The node may claim the job from then on.
    pub until: Timestamp,
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
    /// Why the attempt failed or was lost; `Unspecified` otherwise.
    pub reason: FailureReason,
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

/// Who gave a label: an opaque name, which tells labellers apart and identifies nobody. Empty for labels of programs that
/// did not record it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labeller(String);

impl Labeller {
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

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
