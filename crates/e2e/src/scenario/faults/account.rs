//! The account: what was asked for against what came of it.
//!
//! Pure: it is given what Kubernetes and the queue say when all is over, and names everything that is not as it must be.
//! A job may be handed out as often as faults make it necessary; it is *asked for* once, *ends* once and is *completed*
//! once, with the score that the pair has.
//!
//! | finding         | means                                                                                     |
//! |-----------------|-------------------------------------------------------------------------------------------|
//! | `Vanished`      | a resource that was made is not there                                                     |
//! | `NeverOver`     | it has not ended                                                                          |
//! | `Revived`       | it had ended, and then stood elsewhere                                                    |
//! | `WrongEnd`      | it ended in another way than it must                                                      |
//! | `WrongScore`    | its score is not that of its pair, in the resource or in the queue                        |
//! | `NotInQueue`    | the queue has no job of it                                                                |
//! | `Double`        | the queue has several jobs of it                                                          |
//! | `OtherJob`      | the resource speaks of another job than the queue's                                       |
//! | `Disagreement`  | resource and queue say different ends                                                     |
//! | `Completions`   | not exactly one of its attempts was completed, or one was although it failed              |
//! | `OpenAttempt`   | an attempt has no end although the job has                                                |
//! | `Stray`         | the queue has a job of no resource                                                        |
//! | `FalseThanks`   | a node was thanked for an attempt that is not the one that counts                         |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use vmafx_api::job::Phase;

/// How a job must end.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    /// With this score, to the last bit.
    Score(f64),
    /// Failed, with these words in reason and message.
    Failure(&'static [&'static str]),
}

/// A VmafxJob, as Kubernetes has it at the end, and where it was seen to stand on the way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resource {
    pub(super) name: String,
    pub(super) uid: String,
    /// In the order in which they were seen, without repetitions; the last is that of the end.
    pub(super) phases: Vec<Phase>,
    pub(super) score: Option<f64>,
    pub(super) controller_job: Option<String>,
    /// Reason and message of its failure, or why it waits.
    pub(super) said: String,
}

/// A job, as the queue has it.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub(super) struct Queued {
    pub(super) id: String,
    /// Of the resource.
    pub(super) uid: Option<String>,
    pub(super) status: String,
    pub(super) score: Option<f64>,
    pub(super) attempts: Vec<Attempt>,
}

/// A handing-out.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) node: String,
    pub(super) outcome: Option<String>,
}

/// A report that a node saw accepted: job and attempt.
pub(super) type Thanks = (String, u32);

/// Something that must not be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Finding {
    Vanished { name: String },
    NeverOver { name: String, stands: Option<Phase>, said: String },
    Revived { name: String, phases: Vec<Phase> },
    WrongEnd { name: String, phase: Phase, said: String },
    WrongScore { name: String, expected: f64, resource: Option<f64>, queue: Option<f64> },
    NotInQueue { name: String },
    Double { name: String, jobs: Vec<String> },
    OtherJob { name: String, resource: Option<String>, queue: String },
    Disagreement { name: String, phase: Phase, status: String },
    Completions { name: String, attempts: Vec<Attempt> },
    OpenAttempt { name: String, attempts: Vec<Attempt> },
    Stray { job: String, uid: Option<String> },
    FalseThanks { job: String, attempt: u32 },
}

/// Everything that is wrong; nothing when all is well.
pub(super) fn findings(
    asked: &BTreeMap<String, End>,
    resources: &[Resource],
    queue: &[Queued],
    thanks: &[Thanks],
) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in asked.keys().filter(|name| !resources.iter().any(|resource| resource.name == **name)) {
        found.push(Finding::Vanished { name: name.clone() });
    }
    let mut jobs: BTreeMap<&str, Vec<&Queued>> = BTreeMap::new();
    for job in queue {
        jobs.entry(job.uid.as_deref().unwrap_or_default()).or_default().push(job);
    }
    for resource in resources {
        let jobs = jobs.get(resource.uid.as_str()).map_or(&[][..], Vec::as_slice);
        if let Some(end) = asked.get(&resource.name) {
            of_resource(end, resource, jobs, &mut found);
        }
    }
    let known: BTreeSet<_> = resources.iter().map(|resource| resource.uid.as_str()).collect();
    for job in queue.iter().filter(|job| !job.uid.as_deref().is_some_and(|uid| known.contains(uid))) {
        found.push(Finding::Stray { job: job.id.clone(), uid: job.uid.clone() });
    }
    for (job, attempt) in thanks.iter().filter(|thanks| !counts(thanks, queue)) {
        found.push(Finding::FalseThanks { job: job.clone(), attempt: *attempt });
    }
    found
}

fn of_resource(end: &End, resource: &Resource, jobs: &[&Queued], found: &mut Vec<Finding>) {
    let name = || resource.name.clone();
    let last = resource.phases.last().copied();
    let first_end = resource.phases.iter().position(|phase| phase.is_last());
    if first_end.is_some_and(|at| at + 1 < resource.phases.len()) {
        found.push(Finding::Revived { name: name(), phases: resource.phases.clone() });
    }
    let over = last.filter(|phase| phase.is_last());
    let Some(phase) = over else {
        found.push(Finding::NeverOver { name: name(), stands: last, said: resource.said.clone() });
        return of_jobs(resource, None, jobs, found);
    };
    let as_it_must = match end {
        End::Score(_) => phase == Phase::Succeeded,
        End::Failure(words) => {
            phase == Phase::Failed && words.iter().all(|word| resource.said.contains(word))
        }
    };
    if !as_it_must {
        found.push(Finding::WrongEnd { name: name(), phase, said: resource.said.clone() });
    }
    if let End::Score(expected) = *end {
        let queue = jobs.first().and_then(|job| job.score);
        if [resource.score, queue].into_iter().any(|score| !same(score, expected)) {
            found.push(Finding::WrongScore { name: name(), expected, resource: resource.score, queue });
        }
    }
    of_jobs(resource, over, jobs, found);
}

/// What the queue has of it.
fn of_jobs(resource: &Resource, over: Option<Phase>, jobs: &[&Queued], found: &mut Vec<Finding>) {
    let name = || resource.name.clone();
    let job = match jobs {
        [] => return found.push(Finding::NotInQueue { name: name() }),
        [job] => job,
        several => {
            let jobs = several.iter().map(|job| job.id.clone()).collect();
            return found.push(Finding::Double { name: name(), jobs });
        }
    };
    if resource.controller_job.as_ref() != Some(&job.id) {
        let (resource, queue) = (resource.controller_job.clone(), job.id.clone());
        found.push(Finding::OtherJob { name: name(), resource, queue });
    }
    if let Some(phase) = over.filter(|phase| status_of(*phase) != job.status) {
        found.push(Finding::Disagreement { name: name(), phase, status: job.status.clone() });
    }
    if over.is_none() {
        return;
    }
    let completed = job.attempts.iter().filter(|attempt| is_completed(attempt)).count();
    if completed != usize::from(job.status == "completed") {
        found.push(Finding::Completions { name: name(), attempts: job.attempts.clone() });
    }
    if job.attempts.iter().any(|attempt| attempt.outcome.is_none()) {
        found.push(Finding::OpenAttempt { name: name(), attempts: job.attempts.clone() });
    }
}

/// Whether the attempt that a node was thanked for is the one that was written down as completed.
fn counts((job, number): &Thanks, queue: &[Queued]) -> bool {
    queue.iter().filter(|queued| queued.id == *job).any(|queued| {
        queued.attempts.iter().any(|attempt| attempt.number == *number && is_completed(attempt))
    })
}

fn is_completed(attempt: &Attempt) -> bool {
    attempt.outcome.as_deref() == Some("completed")
}

fn same(score: Option<f64>, expected: f64) -> bool {
    score.is_some_and(|score| score.to_bits() == expected.to_bits())
}

/// The queue's word for it.
const fn status_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "pending",
        Phase::Running => "running",
        Phase::Succeeded => "completed",
        Phase::Failed => "failed",
        Phase::Cancelled => "cancelled",
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vanished { name } => write!(f, "{name}: lost: the resource is not there"),
            Self::NeverOver { name, stands, said } => {
                write!(f, "{name}: lost: it never ended, it is {stands:?}: {said}")
            }
            Self::Revived { name, phases } => {
                write!(f, "{name}: double: it went on after its end: {phases:?}")
            }
            Self::WrongEnd { name, phase, said } => write!(f, "{name}: it ended {phase:?}: {said}"),
            Self::WrongScore { name, expected, resource, queue } => write!(
                f,
                "{name}: wrong score: vmafx score says {expected}, the resource {resource:?}, the queue {queue:?}"
            ),
            Self::NotInQueue { name } => write!(f, "{name}: lost: the queue has no job of it"),
            Self::Double { name, jobs } => {
                write!(f, "{name}: double: the queue has several jobs of it: {jobs:?}")
            }
            Self::OtherJob { name, resource, queue } => {
                write!(f, "{name}: its status names job {resource:?}, the queue has {queue}")
            }
            Self::Disagreement { name, phase, status } => {
                write!(f, "{name}: it is {phase:?}, but {status} in the queue")
            }
            Self::Completions { name, attempts } => {
                write!(f, "{name}: double: not exactly one attempt was completed: {attempts:?}")
            }
            Self::OpenAttempt { name, attempts } => write!(f, "{name}: an attempt has no end: {attempts:?}"),
            Self::Stray { job, uid } => write!(f, "job {job}: double: of no resource (origin {uid:?})"),
            Self::FalseThanks { job, attempt } => write!(
                f,
                "job {job}: double: a node was thanked for attempt {attempt}, which is not the one that counts"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
