//! A job, and what is told about it at submission.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{AttemptNumber, IdempotencyKey, JobId, SessionId, TenantId};
use crate::outcome::AttemptOutcome;
use crate::transition::State;
use vmafx_job::ScoringRequest;
use vmafx_job::{CancelCause, FailureReason, ScoreResult};

/// What a submitter says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewJob {
    /// What to score.
    pub scoring: ScoringRequest,
    /// Higher goes first.
    pub priority: i32,
    /// The submitter's own name for it.
    pub key: Option<IdempotencyKey>,
    /// The resource that wants it.
    pub origin: Option<Origin>,
    /// Lost attempts that end it; at least 1.
    pub max_lost_attempts: Option<u32>,
    /// It fails when it is not over this long after its submission.
    pub deadline: Option<Duration>,
    /// What viewers said.
    pub label: Option<Label>,
}

/// A job as the store knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// Whose it is.
    pub tenant: TenantId,
    /// Where it stands.
    pub state: State,
    /// What to score.
    pub scoring: ScoringRequest,
    /// Higher goes first.
    pub priority: i32,
    /// The submitter's own name.
    pub key: Option<IdempotencyKey>,
    /// The resource that wants it.
    pub origin: Option<Origin>,
    /// How often it was handed out.
    pub attempt: AttemptNumber,
    /// How many attempts were lost.
    pub lost_attempts: u32,
    /// The number that ends it.
    pub max_lost_attempts: u32,
    /// The node that holds it, or held it last.
    pub node: Option<String>,
    /// How far the running attempt is. Not durable.
    pub progress: Option<Progress>,
    /// Present exactly when completed.
    pub success: Option<ScoreResult>,
    /// Why it failed or was cancelled; empty otherwise.
    pub error: String,
    /// One word for it, when failed.
    pub failure_reason: FailureReason,
    /// What viewers said.
    pub label: Option<Label>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When the latest attempt was handed out.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
    /// Not handed out before; only while it pauses after a lost attempt.
    pub available_at: Option<Timestamp>,
    /// When the running attempt is given up.
    pub lease_expires_at: Option<Timestamp>,
    /// When it fails if it is not over.
    pub deadline_at: Option<Timestamp>,
    /// Rises with every stored change.
    pub revision: u64,
    /// Present exactly when cancelled.
    pub cancel_cause: Option<CancelCause>,
}

/// One handing-out of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Its number.
    pub number: AttemptNumber,
    /// Who held it.
    pub session: SessionId,
    /// The node's name.
    pub node: String,
    /// From when.
    pub started_at: Timestamp,
    /// Until when, and how it ended; `None` while it runs.
    pub ended: Option<(Timestamp, AttemptOutcome)>,
    /// What was said at its end.
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
    /// Whether `other` equals this one in every part that is not empty here.
    pub fn covers(&self, other: &Self) -> bool {
        let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        fits(&self.cluster, &other.cluster)
            && fits(&self.namespace, &other.namespace)
            && fits(&self.name, &other.name)
            && fits(&self.uid, &other.uid)
    }
}

/// How far an attempt is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Frame pairs scored.
    pub done: u64,
    /// 0: not known.
    pub total: u64,
}

/// What viewers said, 0 to 100 whatever the scale was.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(f64);

/// A label outside its scale.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{value} is outside {lowest} to {highest}")]
pub struct LabelError {
    value: f64,
    lowest: f64,
    highest: f64,
}

impl Label {
    /// On the scale of a VMAF score.
    pub fn percent(value: f64) -> Result<Self, LabelError> {
        within(value, 0.0, 100.0).map(Self)
    }

    /// A mean opinion score, 1 to 5.
    pub fn mos(value: f64) -> Result<Self, LabelError> {
        within(value, 1.0, 5.0).map(|value| Self((value - 1.0) * 25.0))
    }

    /// 0 to 100.
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
        // Whoever compares it with what was sent must find it again, to the last bit.
        let awkward = 13.436_424_411_240_122;
        assert_eq!(Label::percent(awkward).map(Label::value), Ok(awkward));
        assert_eq!(Label::mos(5.5).unwrap_err().to_string(), "5.5 is outside 1 to 5");
    }
}
