//! What is to be done about the Kubernetes Job of a VmafxJob. Pure.
//!
//! The first row that fits counts. The resource has no last word yet, and neither has the Job.
//!
//! | the resource      | the Kubernetes Job                            | step                                           |
//! |-------------------|-----------------------------------------------|------------------------------------------------|
//! | cancelled         | ours                                          | Delete                                         |
//! | cancelled         | any other, or none                            | Nothing                                        |
//! | any               | being deleted, or of an earlier namesake      | Wait                                           |
//! | any               | another's                                     | Refuse                                         |
//! | suspended         | none, and a queue is named                    | Nothing: the queue would start it              |
//! | any               | none                                          | Create, suspended if the resource is           |
//! | suspended         | in a queue, or started against our will       | Delete: whoever started it would do so again   |
//! | suspended         | not suspended                                 | Change: suspend, and mark it                   |
//! | wanted            | suspended, with our mark                      | Change: take the mark, resume unless queued    |
//! | wanted            | another deadline, retries or queue            | Change                                         |
//! | any               | anything else                                 | Nothing                                        |
//!
//! A Job that somebody else has suspended, as Kueue does, has no mark of ours and is left suspended.

use serde_json::{Map, Value, json};
use vmafx_api::VmafxJob;

use super::facts::JobFacts;
use super::render::{PRIORITY, QUEUE, queue, queue_labels};
use crate::reserved::HELD;
use crate::workload::ResourceOwner;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It is as it should be, or cannot be yet.
    Nothing,
    /// Make it.
    Create,
    /// Change these fields of it, and no others.
    Change(Value),
    /// Remove it with its Pods.
    Delete,
    /// The name is free in a moment.
    Wait,
    /// It is somebody else's.
    Refuse,
}

/// Decides.
pub fn decide(job: &VmafxJob, live: Option<&JobFacts>) -> Step {
    let (owner, spec) = (ResourceOwner::of(job), &job.spec);
    let whose = live.map(|live| Whose::of(&owner, live));
    if spec.cancel {
        return match (whose, live) {
            (Some(Whose::Ours), Some(live)) if !live.terminating => Step::Delete,
            _ => Step::Nothing,
        };
    }
    let queued = queue(job).is_some();
    match (live, whose) {
        (Some(live), _) if live.terminating => Step::Wait,
        (Some(_), Some(Whose::Namesakes)) => Step::Wait,
        (Some(live), Some(Whose::Ours)) if spec.suspend => hold(live, queued),
        (Some(live), Some(Whose::Ours)) => keep(job, live, queued),
        (Some(_), _) => Step::Refuse,
        (None, _) if spec.suspend && queued => Step::Nothing,
        (None, _) => Step::Create,
    }
}

/// Whose a Job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Ours,
    /// Of a resource that had this name before; its end is near.
    Namesakes,
    Others,
}

impl Whose {
    fn of(owner: &ResourceOwner, live: &JobFacts) -> Self {
        match &live.controller {
            Some(controller) if controller.uid == owner.uid => Self::Ours,
            Some(controller) if controller.kind == owner.kind && controller.name == owner.key.name => {
                Self::Namesakes
            }
            _ => Self::Others,
        }
    }
}

fn hold(live: &JobFacts, queued: bool) -> Step {
    match (live.suspended, live.held) {
        _ if queued => Step::Delete,
        (true, _) => Step::Nothing,
        (false, true) => Step::Delete,
        (false, false) => Step::Change(
            json!({ "metadata": { "annotations": { HELD: "true" } }, "spec": { "suspend": true } }),
        ),
    }
}

fn keep(job: &VmafxJob, live: &JobFacts, queued: bool) -> Step {
    let (mut metadata, mut spec) = (Map::new(), Map::new());
    if live.held {
        metadata.insert("annotations".to_owned(), json!({ HELD: null }));
        if !queued {
            spec.insert("suspend".to_owned(), json!(false));
        }
    }
    if live.deadline != job.spec.active_deadline_seconds {
        spec.insert("activeDeadlineSeconds".to_owned(), json!(job.spec.active_deadline_seconds));
    }
    if live.backoff_limit != Some(job.spec.backoff_limit) {
        spec.insert("backoffLimit".to_owned(), json!(job.spec.backoff_limit));
    }
    // Once it has begun, its queue lets it go no more.
    let wanted = queue_labels(job);
    let named = [QUEUE, PRIORITY].map(|label| wanted.get(label).cloned());
    if live.suspended && queued && named != live.queue {
        metadata.insert("labels".to_owned(), json!({ QUEUE: named[0], PRIORITY: named[1] }));
    }
    if metadata.is_empty() && spec.is_empty() {
        return Step::Nothing;
    }
    Step::Change(json!({ "metadata": metadata, "spec": spec }))
}

#[cfg(test)]
mod tests;
