//! What to do about the Kubernetes Job of a VmafxJob, and why. Pure.
//!
//! The first row that fits counts. Neither the resource nor the Kubernetes Job has ended. The guarding test of each row
//! is a case of `every_row_of_the_table`, named in the last column.
//!
//! | the resource | the Kubernetes Job                        | decision                                  | guarding test             |
//! |--------------|-------------------------------------------|-------------------------------------------|---------------------------|
//! | cancelled    | ours                                      | Delete                                    | `cancelled`               |
//! | cancelled    | any other, or none                        | None                                      | `cancelled_before`        |
//! | any          | being deleted, or of an earlier namesake  | `AwaitDeletion`                           | `leaving`                 |
//! | any          | of another owner                          | Refuse                                    | `of_another`              |
//! | suspended    | none, and a queue is named                | None: the queue would start it            | `held_before_its_queue`   |
//! | any          | none                                      | Create, suspended if the resource is      | `new`, `held_before`      |
//! | suspended    | in a queue                                | Delete: it would be started again         | `held_in_a_queue`         |
//! | any          | of another spec, no attempt under way     | Replace                                   | `changed_…`               |
//! | suspended    | started by another client                 | Delete: it would be started again         | `started_against_our_will` |
//! | suspended    | not suspended                             | Patch: suspend it and annotate it         | `held_while_it_runs`      |
//! | wanted       | suspended, with our annotation            | Patch: no annotation, resume unless queued | `resumed`                |
//! | wanted       | another deadline, backoff limit or queue  | Patch                                     | `another_deadline`        |
//! | any          | anything else                             | None                                      | `there`                   |
//!
//! A Job that another client has suspended, as Kueue does, lacks our annotation and stays suspended. A Job of another spec
//! is kept while an attempt is under way, and if the new spec yields no Job ([`TemplateProgress`]).

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use vmafx_api::conditions::{JobCondition, Reason};
use vmafx_api::{ConditionStatus, VmafxJob};

use super::render::{PRIORITY, QUEUE, queue, queue_labels, retries_left};
use super::snapshot::BatchJobSnapshot;
use super::source::TemplateProgress;
use super::status::Obstacle;
use crate::job::timing::{time_to_live, unaccepted_deadline};
use crate::reserved::HELD;
use crate::workload::ResourceOwner;

/// Covers changes that a watch has missed.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);

/// A deadline is compared in whole seconds, so that a pass may come a moment too early.
const MIN_REQUEUE_DELAY: Duration = Duration::from_secs(1);

const DELETION_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Poll interval while an obstacle remains that only a user can remove.
const OBSTACLE_POLL_INTERVAL: Duration = Duration::from_mins(1);

#[derive(Clone, Debug, PartialEq)]
pub struct PodJobPlan {
    pub action: PodJobAction,
    pub reason: PodPlanReason,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PodJobAction {
    None,
    Create,
    /// Change these fields and no others.
    Patch(Value),
    /// Delete it with its Pods.
    Delete,
    /// Delete it and create one from the current spec.
    Replace,
    AwaitDeletion,
    /// Do not touch an object that belongs to another owner.
    Refuse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodPlanReason {
    CancelRequested,
    Terminating,
    /// The Job of an earlier resource of this name; garbage collection deletes it.
    OwnedByPredecessor,
    ForeignOwner,
    /// The queue would start a Job that is to be suspended.
    QueueWouldStart,
    StartedDespiteSuspension,
    SuspendRequested,
    Missing,
    SpecChanged,
    /// The spec has changed in what only another Job can follow.
    TemplateChanged,
    UpToDate,
}

pub fn plan(job: &VmafxJob, live: Option<&BatchJobSnapshot>, progress: &TemplateProgress) -> PodJobPlan {
    let (action, reason) = decide(job, live, progress);
    PodJobPlan { action, reason }
}

fn decide(
    job: &VmafxJob,
    live: Option<&BatchJobSnapshot>,
    progress: &TemplateProgress,
) -> (PodJobAction, PodPlanReason) {
    let (owner, spec) = (ResourceOwner::of(job), &job.spec);
    let ownership = live.map(|live| Ownership::of(&owner, live));
    if spec.cancel {
        return match (ownership, live) {
            (Some(Ownership::Ours), Some(live)) if !live.terminating => {
                (PodJobAction::Delete, PodPlanReason::CancelRequested)
            }
            _ => (PodJobAction::None, PodPlanReason::CancelRequested),
        };
    }
    let queued = queue(job).is_some();
    match (live, ownership) {
        (Some(live), _) if live.terminating => (PodJobAction::AwaitDeletion, PodPlanReason::Terminating),
        (Some(_), Some(Ownership::Predecessor)) => {
            (PodJobAction::AwaitDeletion, PodPlanReason::OwnedByPredecessor)
        }
        (Some(_), Some(Ownership::Ours)) if spec.suspend && queued => {
            (PodJobAction::Delete, PodPlanReason::QueueWouldStart)
        }
        (Some(live), Some(Ownership::Ours)) => match progress {
            TemplateProgress::Behind { .. } => (PodJobAction::Replace, PodPlanReason::TemplateChanged),
            _ if spec.suspend => suspend(live),
            _ => update(job, live, queued),
        },
        (Some(_), _) => (PodJobAction::Refuse, PodPlanReason::ForeignOwner),
        (None, _) if spec.suspend && queued => (PodJobAction::None, PodPlanReason::QueueWouldStart),
        (None, _) => (PodJobAction::Create, PodPlanReason::Missing),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    Ours,
    /// Of a deleted resource that had this name; garbage collection will delete the Job.
    Predecessor,
    Foreign,
}

impl Ownership {
    fn of(owner: &ResourceOwner, live: &BatchJobSnapshot) -> Self {
        match &live.controller {
            Some(controller) if controller.uid == owner.uid => Self::Ours,
            Some(controller) if controller.kind == owner.kind && controller.name == owner.key.name => {
                Self::Predecessor
            }
            _ => Self::Foreign,
        }
    }
}

fn suspend(live: &BatchJobSnapshot) -> (PodJobAction, PodPlanReason) {
    match (live.suspended, live.held) {
        (true, _) => (PodJobAction::None, PodPlanReason::UpToDate),
        (false, true) => (PodJobAction::Delete, PodPlanReason::StartedDespiteSuspension),
        (false, false) => {
            let fields =
                json!({ "metadata": { "annotations": { HELD: "true" } }, "spec": { "suspend": true } });
            (PodJobAction::Patch(fields), PodPlanReason::SuspendRequested)
        }
    }
}

fn update(job: &VmafxJob, live: &BatchJobSnapshot, queued: bool) -> (PodJobAction, PodPlanReason) {
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
    let retries = retries_left(job, live.failed_before());
    if live.backoff_limit != Some(retries) {
        spec.insert("backoffLimit".to_owned(), json!(retries));
    }
    // Kueue does not let the queue of a started Job be changed.
    let desired = queue_labels(job);
    let desired = [QUEUE, PRIORITY].map(|label| desired.get(label).cloned());
    if live.suspended && queued && desired != live.queue {
        metadata.insert("labels".to_owned(), json!({ QUEUE: desired[0], PRIORITY: desired[1] }));
    }
    if metadata.is_empty() && spec.is_empty() {
        return (PodJobAction::None, PodPlanReason::UpToDate);
    }
    (PodJobAction::Patch(json!({ "metadata": metadata, "spec": spec })), PodPlanReason::SpecChanged)
}

/// `None` if nothing is left to do. A job with an obstacle is looked at again when its deadline passes.
pub fn requeue_after(job: &VmafxJob, obstacle: Option<&Obstacle>, now: Timestamp) -> Option<Duration> {
    let poll_interval = match obstacle {
        None => return (!job.spec.cancel).then_some(RESYNC_INTERVAL),
        Some(obstacle) if obstacle.is_final => return None,
        Some(Obstacle { reason: Reason::Terminating, .. }) => DELETION_POLL_INTERVAL,
        Some(_) => OBSTACLE_POLL_INTERVAL,
    };
    let left = obstacle_deadline(job, now).filter(|_| !job.spec.suspend);
    let left = left.map(|deadline| time_to_live(deadline, now).max(MIN_REQUEUE_DELAY));
    Some(left.map_or(poll_interval, |left| poll_interval.min(left)))
}

/// When a job fails that something keeps from having a Kubernetes Job: [`unaccepted_deadline`]. A job that had one, which
/// was deleted, has the whole time again, because Kubernetes counts it from the start of each Job.
pub fn obstacle_deadline(job: &VmafxJob, now: Timestamp) -> Option<Timestamp> {
    let unaccepted = unaccepted_deadline(job)?;
    let status = job.status.as_ref().filter(|status| status.attempts.is_some());
    let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
    let Some(accepted) = conditions.find(|one| one.type_ == JobCondition::Accepted.as_str()) else {
        return Some(unaccepted);
    };
    let since = if accepted.status == ConditionStatus::True { now } else { accepted.last_transition_time.0 };
    let seconds = SignedDuration::from_secs(job.spec.active_deadline_seconds?);
    since.checked_add(seconds).ok().map(|deadline| deadline.max(unaccepted))
}

pub fn terminating(live: &BatchJobSnapshot) -> Obstacle {
    let name = &live.identity.key.name;
    let message = format!("the Kubernetes Job {name} is being deleted; a new one is created when it is gone");
    Obstacle::new(Reason::Terminating, message)
}

pub fn foreign_owner(live: &BatchJobSnapshot) -> Obstacle {
    let owner = live.controller.as_ref().map_or_else(
        || "was not created by the operator".to_owned(),
        |controller| format!("belongs to {} {}", controller.kind, controller.name),
    );
    let name = &live.identity.key.name;
    let message = format!(
        "the Kubernetes Job {name} {owner}, so the operator does not change it: delete it, or rename one of the two"
    );
    Obstacle::new(Reason::ForeignOwner, message)
}

#[cfg(test)]
mod tests;
