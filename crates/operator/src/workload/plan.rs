//! What to do about a workload, and why. Pure.

use std::sync::Arc;
use std::time::Duration;

use vmafx_api::conditions::Reason;

use super::accounts::DesiredAccount;
use super::child::ChildPlan;
use super::decide::{ReplaceReason, WorkloadDecision, WorkloadRefusal, decide};
use super::desired::{DesiredStatefulSet, DesiredWorkload};
use super::objects::{ObjectWrite, ObservedObject};
use super::observe::ObservedWorkload;
use super::resource::TrackedResource;
use super::snapshot::StatefulSetSnapshot;
use crate::error::Retry;
use crate::key::ObjectKey;
use crate::render::RenderError;

/// Requeue delay when nothing is expected to happen: the watches report changes, and this covers what they may miss.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);

/// Requeue delay while a deletion or rollout is in progress.
const PROGRESS_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Requeue delay while an obstacle remains that only a user can remove.
const OBSTACLE_POLL_INTERVAL: Duration = Duration::from_mins(1);

#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadPlan {
    pub resource: TrackedResource,
    /// The StatefulSet as it was observed.
    pub observed: Option<Arc<StatefulSetSnapshot>>,
    pub action: WorkloadAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadAction {
    /// The Pods are managed outside the operator; nothing is read or written.
    External,
    /// The objects cannot be rendered, or their state cannot be read.
    Blocked { reason: Reason, retry: Retry, message: String },
    /// The account and the children first, then the StatefulSet.
    Sync(Box<SyncPlan>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SyncPlan {
    /// The ServiceAccount that is to exist.
    pub account: Option<DesiredAccount>,
    pub service: Option<ChildPlan>,
    pub budget: Option<ChildPlan>,
    pub stateful_set: StatefulSetPlan,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StatefulSetPlan {
    pub key: ObjectKey,
    pub decision: WorkloadDecision,
    pub write: Option<ObjectWrite>,
    /// Fields that cannot be changed in place and differ from the desired ones.
    pub immutable_differences: Vec<&'static str>,
    pub requeue_after: Duration,
}

/// The plan for a workload that the operator runs.
pub fn plan(desired: &Result<DesiredWorkload, RenderError>, observed: &ObservedWorkload) -> WorkloadPlan {
    let action = match (desired, &observed.failure) {
        (Err(error), _) => WorkloadAction::Blocked {
            reason: error.reason(),
            retry: Retry::Slowly,
            message: error.to_string(),
        },
        (Ok(_), Some(failure)) => failure.clone(),
        (Ok(desired), None) => WorkloadAction::Sync(Box::new(sync(desired, observed))),
    };
    WorkloadPlan { resource: observed.resource.clone(), observed: observed.stateful_set.live.clone(), action }
}

/// The plan for a workload that is managed outside the operator.
pub fn external(observed: &ObservedWorkload) -> WorkloadPlan {
    WorkloadPlan { resource: observed.resource.clone(), observed: None, action: WorkloadAction::External }
}

impl WorkloadPlan {
    /// `None`: the caller has nothing to wait for on behalf of the workload.
    pub fn requeue_after(&self) -> Option<Duration> {
        match &self.action {
            WorkloadAction::Sync(plan) => Some(plan.stateful_set.requeue_after),
            WorkloadAction::External | WorkloadAction::Blocked { .. } => None,
        }
    }

    /// Whether this plan brings a StatefulSet of ours into place that was not tracked before.
    pub fn installs(&self) -> bool {
        let WorkloadAction::Sync(plan) = &self.action else { return false };
        matches!(
            plan.stateful_set.decision,
            WorkloadDecision::Create
                | WorkloadDecision::Recreate { .. }
                | WorkloadDecision::Retrack { .. }
                | WorkloadDecision::Adopt { .. }
        )
    }
}

fn sync(desired: &DesiredWorkload, observed: &ObservedWorkload) -> SyncPlan {
    let owner = &observed.resource.owner;
    let service = desired.service.as_ref().map(|child| ChildPlan::of(owner, child, &observed.service));
    let budget = desired.budget.as_ref().map(|child| ChildPlan::of(owner, child, &observed.budget));
    let account = desired.account.clone().filter(|_| !owner.deleting);
    SyncPlan { account, service, budget, stateful_set: stateful_set(&desired.stateful_set, observed) }
}

fn stateful_set(desired: &DesiredStatefulSet, observed: &ObservedWorkload) -> StatefulSetPlan {
    let live = observed.stateful_set.live.as_deref();
    let decision = observed.decide(desired);
    let write = write(&decision, desired, &observed.stateful_set);
    let requeue_after = match &decision {
        WorkloadDecision::Create
        | WorkloadDecision::Recreate { .. }
        | WorkloadDecision::Retrack { .. }
        | WorkloadDecision::Adopt { .. }
        | WorkloadDecision::Keep { .. }
        | WorkloadDecision::Leave => RESYNC_INTERVAL,
        WorkloadDecision::Replace { .. } | WorkloadDecision::Wait { .. } => PROGRESS_POLL_INTERVAL,
        WorkloadDecision::Refuse(WorkloadRefusal::ReplaceLoop) => {
            observed.replacements.until_fewer.max(PROGRESS_POLL_INTERVAL)
        }
        WorkloadDecision::Refuse(_) => OBSTACLE_POLL_INTERVAL,
    };
    let immutable_differences =
        live.map(|live| live.immutables.differences(&desired.immutables)).unwrap_or_default();
    StatefulSetPlan { key: desired.key.clone(), decision, write, immutable_differences, requeue_after }
}

fn write(
    decision: &WorkloadDecision,
    desired: &DesiredStatefulSet,
    observed: &ObservedObject<StatefulSetSnapshot>,
) -> Option<ObjectWrite> {
    let live = observed.live.as_deref();
    match decision {
        WorkloadDecision::Create => Some(ObjectWrite::Create(desired.body(None))),
        WorkloadDecision::Recreate { lost } => Some(ObjectWrite::Create(desired.body(Some(lost)))),
        WorkloadDecision::Retrack { .. } | WorkloadDecision::Adopt { .. } | WorkloadDecision::Keep { .. } => {
            observed.apply(desired.body(live.and_then(|live| live.succeeds.as_deref())))
        }
        WorkloadDecision::Replace { .. } => live.map(|live| ObjectWrite::Delete(live.identity.clone())),
        WorkloadDecision::Wait { .. } | WorkloadDecision::Refuse(_) | WorkloadDecision::Leave => None,
    }
}

impl ObservedWorkload {
    pub(super) fn decide(&self, desired: &DesiredStatefulSet) -> WorkloadDecision {
        let TrackedResource { owner, tracked, .. } = &self.resource;
        let live = self.stateful_set.live.as_deref();
        decide(owner, tracked.as_ref(), live, &desired.immutables, self.replacements.count)
    }
}

impl WorkloadDecision {
    /// The reason that condition, event, log and metric share.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Create => Reason::Created,
            Self::Recreate { .. } => Reason::Recreated,
            Self::Retrack { .. } => Reason::Retracked,
            Self::Adopt { .. } => Reason::Adopted,
            Self::Keep { .. } => Reason::AsExpected,
            Self::Replace { reason: ReplaceReason::Impostor, .. } => Reason::ReplacingImpostor,
            Self::Replace { reason: ReplaceReason::ImmutableDrift, .. } => Reason::ReplacingImmutable,
            Self::Wait { .. } | Self::Leave => Reason::Terminating,
            Self::Refuse(WorkloadRefusal::ForeignOwner) => Reason::ForeignOwner,
            Self::Refuse(WorkloadRefusal::Incompatible) => Reason::Incompatible,
            Self::Refuse(WorkloadRefusal::HandedOver) => Reason::HandedOver,
            Self::Refuse(WorkloadRefusal::ReplaceLoop) => Reason::ReplaceLoop,
        }
    }
}

#[cfg(test)]
mod tests;
