//! Compares the jobs that were requested with what became of them. Pure.
//!
//! The input is what Kubernetes and the queue report at the end. A job may have as many attempts as the faults make
//! necessary, but it is *submitted* once, *ends* once and is *completed* once, with the score of its pair.
//!
//! | violation             | means                                                                                |
//! |-----------------------|--------------------------------------------------------------------------------------|
//! | `ResourceMissing`     | a VmafxJob that was created does not exist                                           |
//! | `NeverEnded`          | it has not ended                                                                     |
//! | `ChangedAfterEnd`     | its phase changed after it had ended                                                 |
//! | `WrongEnd`            | it ended in another way than expected                                                |
//! | `WrongScore`          | its score is not that of its pair, in the resource or in the queue                   |
//! | `NotInQueue`          | the queue has no job for it                                                          |
//! | `DuplicateJob`        | the queue has several jobs for it                                                    |
//! | `JobIdMismatch`       | its status names another job than the queue's                                        |
//! | `StatusMismatch`      | resource and queue report different ends                                             |
//! | `CompletionCount`     | not exactly one attempt is completed, or one is although the job failed              |
//! | `OpenAttempt`         | an attempt has no outcome although the job has ended                                 |
//! | `OrphanedJob`         | the queue has a job without a resource                                               |
//! | `StaleReportAccepted` | a node's report was accepted for an attempt that is not the completed one            |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use vmafx_api::job::Phase;

/// The end that a job must have.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExpectedEnd {
    /// Success with exactly this score.
    Score(f64),
    /// Failure; reason or message contain these words.
    Failure(&'static [&'static str]),
}

/// A VmafxJob at the end, with the phases that were observed on the way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ObservedJob {
    pub(super) name: String,
    pub(super) uid: String,
    /// In the order in which they were observed, without repetitions.
    pub(super) phases: Vec<Phase>,
    pub(super) score: Option<f64>,
    pub(super) controller_job: Option<String>,
    /// Reasons of conditions that were observed on the way.
    pub(super) reasons: BTreeSet<String>,
    /// Reason and message of its failure, or the status message.
    pub(super) message: String,
}

/// A job in the controller's database.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub(super) struct QueuedJob {
    pub(super) id: String,
    /// UID of the resource.
    pub(super) uid: Option<String>,
    pub(super) status: String,
    pub(super) score: Option<f64>,
    pub(super) attempts: Vec<Attempt>,
}

#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) node: String,
    pub(super) outcome: Option<String>,
    /// Milliseconds since the Unix epoch, by the clock of the database.
    pub(super) started_at: i64,
    pub(super) ended_at: Option<i64>,
}

/// Job id and attempt of a report that the controller accepted, according to the node's log.
pub(super) type AcceptedReport = (String, u32);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Violation {
    ResourceMissing { name: String },
    NeverEnded { name: String, phase: Option<Phase>, message: String },
    ChangedAfterEnd { name: String, phases: Vec<Phase> },
    WrongEnd { name: String, phase: Phase, message: String },
    WrongScore { name: String, expected: f64, resource: Option<f64>, queue: Option<f64> },
    NotInQueue { name: String },
    DuplicateJob { name: String, jobs: Vec<String> },
    JobIdMismatch { name: String, resource: Option<String>, queue: String },
    StatusMismatch { name: String, phase: Phase, status: String },
    CompletionCount { name: String, attempts: Vec<Attempt> },
    OpenAttempt { name: String, attempts: Vec<Attempt> },
    OrphanedJob { job: String, uid: Option<String> },
    StaleReportAccepted { job: String, attempt: u32 },
}

pub(super) fn violations(
    requested: &BTreeMap<String, ExpectedEnd>,
    resources: &[ObservedJob],
    queue: &[QueuedJob],
    accepted: &[AcceptedReport],
) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in requested.keys().filter(|name| !resources.iter().any(|resource| resource.name == **name)) {
        found.push(Violation::ResourceMissing { name: name.clone() });
    }
    let mut jobs: BTreeMap<&str, Vec<&QueuedJob>> = BTreeMap::new();
    for job in queue {
        jobs.entry(job.uid.as_deref().unwrap_or_default()).or_default().push(job);
    }
    for resource in resources {
        let jobs = jobs.get(resource.uid.as_str()).map_or(&[][..], Vec::as_slice);
        if let Some(expected) = requested.get(&resource.name) {
            check_resource(expected, resource, jobs, &mut found);
        }
    }
    let uids: BTreeSet<_> = resources.iter().map(|resource| resource.uid.as_str()).collect();
    for job in queue.iter().filter(|job| !job.uid.as_deref().is_some_and(|uid| uids.contains(uid))) {
        found.push(Violation::OrphanedJob { job: job.id.clone(), uid: job.uid.clone() });
    }
    for (job, attempt) in accepted.iter().filter(|accepted| !is_completed_attempt(accepted, queue)) {
        found.push(Violation::StaleReportAccepted { job: job.clone(), attempt: *attempt });
    }
    found
}

fn check_resource(
    expected: &ExpectedEnd,
    resource: &ObservedJob,
    jobs: &[&QueuedJob],
    found: &mut Vec<Violation>,
) {
    let name = || resource.name.clone();
    let last = resource.phases.last().copied();
    let first_end = resource.phases.iter().position(|phase| phase.is_last());
    if first_end.is_some_and(|at| at + 1 < resource.phases.len()) {
        found.push(Violation::ChangedAfterEnd { name: name(), phases: resource.phases.clone() });
    }
    let end = last.filter(|phase| phase.is_last());
    let Some(phase) = end else {
        found.push(Violation::NeverEnded { name: name(), phase: last, message: resource.message.clone() });
        return check_queue(resource, None, jobs, found);
    };
    let as_expected = match expected {
        ExpectedEnd::Score(_) => phase == Phase::Succeeded,
        ExpectedEnd::Failure(words) => {
            phase == Phase::Failed && words.iter().all(|word| resource.message.contains(word))
        }
    };
    if !as_expected {
        found.push(Violation::WrongEnd { name: name(), phase, message: resource.message.clone() });
    }
    if let ExpectedEnd::Score(expected) = *expected {
        let queue = jobs.first().and_then(|job| job.score);
        if [resource.score, queue].map(|score| score.map(f64::to_bits)) != [Some(expected.to_bits()); 2] {
            found.push(Violation::WrongScore { name: name(), expected, resource: resource.score, queue });
        }
    }
    check_queue(resource, end, jobs, found);
}

fn check_queue(resource: &ObservedJob, end: Option<Phase>, jobs: &[&QueuedJob], found: &mut Vec<Violation>) {
    let name = || resource.name.clone();
    let job = match jobs {
        [] => return found.push(Violation::NotInQueue { name: name() }),
        [job] => job,
        several => {
            let jobs = several.iter().map(|job| job.id.clone()).collect();
            return found.push(Violation::DuplicateJob { name: name(), jobs });
        }
    };
    if resource.controller_job.as_ref() != Some(&job.id) {
        let (resource, queue) = (resource.controller_job.clone(), job.id.clone());
        found.push(Violation::JobIdMismatch { name: name(), resource, queue });
    }
    if let Some(phase) = end.filter(|phase| status_of(*phase) != job.status) {
        found.push(Violation::StatusMismatch { name: name(), phase, status: job.status.clone() });
    }
    if end.is_none() {
        return;
    }
    let completed = job.attempts.iter().filter(|attempt| is_completed(attempt)).count();
    if completed != usize::from(job.status == "completed") {
        found.push(Violation::CompletionCount { name: name(), attempts: job.attempts.clone() });
    }
    if job.attempts.iter().any(|attempt| attempt.outcome.is_none()) {
        found.push(Violation::OpenAttempt { name: name(), attempts: job.attempts.clone() });
    }
}

fn is_completed_attempt((job, number): &AcceptedReport, queue: &[QueuedJob]) -> bool {
    queue.iter().filter(|queued| queued.id == *job).any(|queued| {
        queued.attempts.iter().any(|attempt| attempt.number == *number && is_completed(attempt))
    })
}

fn is_completed(attempt: &Attempt) -> bool {
    attempt.outcome.as_deref() == Some("completed")
}

/// The queue's status for a phase.
pub(super) const fn status_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "pending",
        Phase::Running => "running",
        Phase::Succeeded => "completed",
        Phase::Failed => "failed",
        Phase::Cancelled => "cancelled",
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ResourceMissing { name } => write!(f, "{name}: lost: the resource does not exist"),
            Self::NeverEnded { name, phase, message } => {
                write!(f, "{name}: lost: it never ended, its phase is {phase:?}: {message}")
            }
            Self::ChangedAfterEnd { name, phases } => {
                write!(f, "{name}: its phase changed after it had ended: {phases:?}")
            }
            Self::WrongEnd { name, phase, message } => {
                write!(f, "{name}: unexpected end {phase:?}: {message}")
            }
            Self::WrongScore { name, expected, resource, queue } => write!(
                f,
                "{name}: wrong score: vmafx score gives {expected}, the resource has {resource:?}, the queue {queue:?}"
            ),
            Self::NotInQueue { name } => write!(f, "{name}: lost: the queue has no job for it"),
            Self::DuplicateJob { name, jobs } => {
                write!(f, "{name}: duplicate: the queue has several jobs for it: {jobs:?}")
            }
            Self::JobIdMismatch { name, resource, queue } => {
                write!(f, "{name}: its status names job {resource:?}, the queue has {queue}")
            }
            Self::StatusMismatch { name, phase, status } => {
                write!(f, "{name}: its phase is {phase:?}, but it is {status} in the queue")
            }
            Self::CompletionCount { name, attempts } => {
                write!(f, "{name}: wrong number of completed attempts: {attempts:?}")
            }
            Self::OpenAttempt { name, attempts } => {
                write!(f, "{name}: an attempt has no outcome: {attempts:?}")
            }
            Self::OrphanedJob { job, uid } => write!(f, "job {job}: it has no resource (origin {uid:?})"),
            Self::StaleReportAccepted { job, attempt } => write!(
                f,
                "job {job}: the report of attempt {attempt} was accepted, which is not the completed attempt"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
