//! Parameters of store operations.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::ids::{IdempotencyKey, JobId};
use crate::job::Origin;
use crate::transition::State;

/// Selects jobs. Empty fields match every job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub states: Vec<State>,
    /// Compared in every part that is not empty.
    pub origin: Option<Origin>,
    /// A list of at most 1000 ids.
    pub ids: Vec<JobId>,
}

impl Filter {
    pub fn matches(&self, job: &crate::Job) -> bool {
        let origin = |expected: &Origin| match &job.origin {
            Some(origin) => expected.covers(origin),
            None => *expected == Origin::default(),
        };
        (self.states.is_empty() || self.states.contains(&job.state))
            && (self.ids.is_empty() || self.ids.contains(&job.id))
            && self.origin.as_ref().is_none_or(origin)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Continues after this job, in the order of the list.
    pub after: Option<(Timestamp, JobId)>,
    /// Maximum number of jobs in the page.
    pub limit: u32,
    pub newest_first: bool,
}

/// A job, identified by its id or by its idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelTarget {
    Id(JobId),
    /// The job that this submitter submitted with the key, or else the only job of the tenant with the key.
    Key {
        key: IdempotencyKey,
        submitter: String,
    },
}

/// Limits on what is kept, applied to every tenant separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Maximum age of finished jobs and their attempts.
    pub jobs_for: Duration,
    /// Maximum number of finished jobs.
    pub jobs: u64,
    /// Maximum age of samples.
    pub samples_for: Duration,
    /// Maximum number of samples.
    pub samples: u64,
    /// Maximum number of jobs, and of samples, that one call removes.
    pub batch: u32,
}
