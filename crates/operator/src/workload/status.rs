//! What a resource's status and events say of its workload. Pure.

use std::sync::Arc;

use vmafx_api::ConditionStatus;
use vmafx_api::conditions::Reason;
use vmafx_api::workload::StatefulSetRef;
use vmafx_kit::causes::chain;

use super::apply::AppliedWorkload;
use super::decide::{MAX_REPLACEMENTS, ReplaceReason, WorkloadDecision, WorkloadRefusal};
use super::plan::{StatefulSetPlan, SyncPlan, WorkloadAction, WorkloadPlan};
use super::snapshot::StatefulSetSnapshot;
use super::workers::WorkerCounts;
use crate::conditions::ConditionState;
use crate::events::ResourceEvent;
use crate::runtime::ReconcileError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadStatus {
    /// The StatefulSet that the status records.
    pub tracked: Option<StatefulSetRef>,
    /// The condition `WorkloadSynced`.
    pub synced: ConditionState,
    pub workers: Option<WorkerCounts>,
    pub event: Option<ResourceEvent>,
}

impl WorkloadPlan {
    pub fn status(&self, applied: Result<&AppliedWorkload, &ReconcileError>) -> WorkloadStatus {
        let now = match applied {
            Ok(applied) => applied.stateful_set.as_ref(),
            Err(_) => self.observed.as_ref(),
        };
        let before = self.resource.tracked.clone();
        let (tracked, synced, event) = match (&self.action, applied) {
            (WorkloadAction::External, _) => (
                None,
                ConditionState::met(
                    Reason::External,
                    "the workers are not managed by the operator (managementPolicy: External)",
                ),
                None,
            ),
            (WorkloadAction::Blocked { reason, message, .. }, _) => {
                (before, ConditionState::unmet(*reason, message.clone()), None)
            }
            (WorkloadAction::Sync(_), Err(error)) => {
                (before, ConditionState::unmet(error.reason, chain(error.source.as_ref())), None)
            }
            (WorkloadAction::Sync(steps), Ok(_)) => {
                let (state, event) = self.report(&steps.stateful_set, now);
                let tracked = match &steps.stateful_set.decision {
                    WorkloadDecision::Create
                    | WorkloadDecision::Recreate { .. }
                    | WorkloadDecision::Retrack { .. }
                    | WorkloadDecision::Adopt { .. }
                    | WorkloadDecision::Keep { .. } => now.map(|set| set.reference()),
                    WorkloadDecision::Replace { .. } => None,
                    WorkloadDecision::Wait { .. } | WorkloadDecision::Refuse(_) | WorkloadDecision::Leave => {
                        before
                    }
                };
                (tracked, first_obstacle(state, steps), event)
            }
        };
        let workers = now.map(|set| WorkerCounts::from(set.as_ref()));
        WorkloadStatus { tracked, synced, workers, event }
    }

    /// Condition and event about the StatefulSet; `now` is what it is after the plan was carried out.
    fn report(
        &self,
        plan: &StatefulSetPlan,
        now: Option<&Arc<StatefulSetSnapshot>>,
    ) -> (ConditionState, Option<ResourceEvent>) {
        let (key, reason) = (&plan.key, plan.decision.reason());
        let (now, before) = (with_uid(now), with_uid(self.observed.as_ref()));
        let done = |note: String| {
            let replicas = now.1;
            let message = format!("StatefulSet {key}{} is as desired, with {replicas} replicas", now.0);
            let event = (!note.is_empty()).then(|| ResourceEvent::normal(reason, note));
            (ConditionState::met(Reason::AsExpected, message), event)
        };
        match &plan.decision {
            WorkloadDecision::Create => done(format!("StatefulSet {key} was created{}", now.0)),
            WorkloadDecision::Recreate { lost } => {
                done(format!("StatefulSet {key} with UID {lost} was gone and was created again{}", now.0))
            }
            WorkloadDecision::Retrack { uid } => {
                done(format!("StatefulSet {key} with UID {uid} has our owner reference and is tracked again"))
            }
            WorkloadDecision::Adopt { uid } => {
                done(format!("StatefulSet {key} with UID {uid} had no controller and was adopted"))
            }
            WorkloadDecision::Keep { .. } => done(String::new()),
            WorkloadDecision::Leave => {
                (ConditionState::unknown(reason, "the resource is being deleted"), None)
            }
            WorkloadDecision::Wait { uid } => {
                let message = format!(
                    "StatefulSet {key} with UID {uid} is being deleted; a new one follows when it is gone"
                );
                (ConditionState::unmet(reason, message), None)
            }
            WorkloadDecision::Replace { uid, reason: why } => {
                let note = self.replacing(plan, uid, *why);
                (ConditionState::unmet(reason, note.clone()), Some(ResourceEvent::warning(reason, note)))
            }
            WorkloadDecision::Refuse(refusal) => {
                let note = self.refusing(plan, *refusal, &before.0);
                // A reason that the condition has already is not published again.
                let reported = self.resource.synced_reason.as_deref() == Some(reason.as_str());
                let event = (!reported).then(|| ResourceEvent::warning(reason, note.clone()));
                (ConditionState::unmet(reason, note), event)
            }
        }
    }

    fn replacing(&self, plan: &StatefulSetPlan, uid: &str, why: ReplaceReason) -> String {
        let key = &plan.key;
        match why {
            ReplaceReason::Impostor => {
                let ours = self.resource.tracked.as_ref().map_or("unknown", |tracked| &tracked.uid);
                format!(
                    "StatefulSet {key} with UID {uid} is not the tracked one with UID {ours} and is replaced; its Pods are recreated"
                )
            }
            ReplaceReason::ImmutableDrift => format!(
                "StatefulSet {key} with UID {uid} differs in {}, which cannot be changed in place, and is replaced",
                plan.immutable_differences.join(", ")
            ),
        }
    }

    fn refusing(&self, plan: &StatefulSetPlan, refusal: WorkloadRefusal, uid: &str) -> String {
        let key = &plan.key;
        match refusal {
            WorkloadRefusal::ForeignOwner => {
                let owner = self.observed.as_ref().and_then(|set| set.controller.as_ref());
                let owner =
                    owner.map_or_else(|| "another owner".to_owned(), |o| format!("{} {}", o.kind, o.name));
                format!("StatefulSet {key}{uid} belongs to {owner} and is left alone: rename one of the two")
            }
            WorkloadRefusal::Incompatible => format!(
                "StatefulSet {key}{uid} has no owner and differs in {}, so it cannot be adopted: delete or rename it",
                plan.immutable_differences.join(", ")
            ),
            WorkloadRefusal::HandedOver => format!(
                "StatefulSet {key}{uid} has lost its owner reference and is left alone: annotate the resource with {}=true to take it back",
                super::ADOPT
            ),
            WorkloadRefusal::ReplaceLoop => format!(
                "StatefulSet {key} was replaced {MAX_REPLACEMENTS} times within 10 minutes and is left alone for now: find out who recreates it"
            ),
        }
    }
}

/// The condition has one message; an obstacle of the StatefulSet comes before one of its children.
fn first_obstacle(state: ConditionState, steps: &SyncPlan) -> ConditionState {
    if state.status != ConditionStatus::True {
        return state;
    }
    let mut children = steps.service.iter().chain(&steps.budget);
    children.find_map(super::ChildPlan::obstacle).unwrap_or(state)
}

/// The UID as part of a sentence, and the number of replicas.
fn with_uid(set: Option<&Arc<StatefulSetSnapshot>>) -> (String, i32) {
    let uid = set.map(|set| format!(" with UID {}", set.identity.uid)).unwrap_or_default();
    (uid, set.map_or(0, |set| set.replicas))
}
