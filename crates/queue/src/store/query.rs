//! What is asked.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::ids::{IdempotencyKey, JobId};
use crate::job::Origin;
use crate::transition::State;

/// Which jobs. Empty parts match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In one of these states.
    pub states: Vec<State>,
    /// Of this origin, in every part that is not empty.
    pub origin: Option<Origin>,
    /// One of these, at most 1000.
    pub ids: Vec<JobId>,
}

impl Filter {
    /// Whether a job matches.
    pub fn matches(&self, job: &crate::Job) -> bool {
        let origin = |wanted: &Origin| match &job.origin {
            Some(found) => wanted.covers(found),
            None => *wanted == Origin::default(),
        };
        (self.states.is_empty() || self.states.contains(&job.state))
            && (self.ids.is_empty() || self.ids.contains(&job.id))
            && self.origin.as_ref().is_none_or(origin)
    }
}

/// Which part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// After this one, in the order of the list.
    pub after: Option<(Timestamp, JobId)>,
    /// At most so many.
    pub limit: u32,
    /// Newest first instead of oldest first.
    pub newest_first: bool,
}

/// A job by either of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelTarget {
    /// Ours.
    Id(JobId),
    /// The submitter's.
    Key(IdempotencyKey),
}

/// What is kept. Every tenant is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Finished jobs for this long, with their attempts.
    pub jobs_for: Duration,
    /// And so many of them at most.
    pub jobs: u64,
    /// Samples for this long.
    pub samples_for: Duration,
    /// And so many of them at most.
    pub samples: u64,
    /// Removed in one go at most, of each kind.
    pub batch: u32,
}
