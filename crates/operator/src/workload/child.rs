//! Which Service or disruption budget is ours, and what to do about it. Pure.
//!
//! | live                                        | decision                                   |
//! |---------------------------------------------|--------------------------------------------|
//! | any, while the owner is deleted             | Leave: garbage collection removes it       |
//! | absent                                      | Create                                     |
//! | being deleted                               | Wait                                       |
//! | controlled by the owner                     | Keep: applied, unless nothing has changed  |
//! | controlled by none, applied by the operator | Adopt: its resource was deleted as orphan  |
//! | controlled by none, applied by others only  | Refuse, whatever its labels say            |
//! | controlled by another                       | Refuse                                     |

use vmafx_api::conditions::Reason;

use super::desired::DesiredChild;
use super::objects::{ObjectWrite, ObservedObject};
use super::owner::{ControllerRef, ResourceOwner};
use super::snapshot::ChildSnapshot;
use crate::conditions::ConditionState;
use crate::key::ObjectKey;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildDecision {
    Leave,
    Create,
    Wait,
    Keep,
    Adopt,
    Refuse { controller: Option<ControllerRef> },
}

pub fn decide_child(owner: &ResourceOwner, live: Option<&ChildSnapshot>) -> ChildDecision {
    match live {
        _ if owner.deleting => ChildDecision::Leave,
        None => ChildDecision::Create,
        Some(live) if live.terminating => ChildDecision::Wait,
        Some(live) if live.controller.as_ref().is_some_and(|controller| controller.uid == owner.uid) => {
            ChildDecision::Keep
        }
        Some(live) if live.controller.is_none() && live.applied_by_operator => ChildDecision::Adopt,
        Some(live) => ChildDecision::Refuse { controller: live.controller.clone() },
    }
}

/// What to do about one Service or disruption budget.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildPlan {
    pub kind: String,
    pub key: ObjectKey,
    pub decision: ChildDecision,
    pub write: Option<ObjectWrite>,
}

impl ChildPlan {
    pub(super) fn of(
        owner: &ResourceOwner,
        desired: &DesiredChild,
        observed: &ObservedObject<ChildSnapshot>,
    ) -> Self {
        let decision = decide_child(owner, observed.live.as_deref());
        let write = match &decision {
            ChildDecision::Create => Some(ObjectWrite::Create(desired.body.clone())),
            ChildDecision::Keep | ChildDecision::Adopt => observed.apply(desired.body.clone()),
            ChildDecision::Leave | ChildDecision::Wait | ChildDecision::Refuse { .. } => None,
        };
        Self { kind: desired.kind.clone(), key: desired.key.clone(), decision, write }
    }

    /// Why the object is not as desired, for the condition `WorkloadSynced`.
    pub fn obstacle(&self) -> Option<ConditionState> {
        let Self { kind, key, .. } = self;
        let (reason, message) = match &self.decision {
            ChildDecision::Leave | ChildDecision::Create | ChildDecision::Keep | ChildDecision::Adopt => {
                return None;
            }
            ChildDecision::Wait => (
                Reason::Terminating,
                format!("{kind} {key} is being deleted; a new one follows when it is gone"),
            ),
            ChildDecision::Refuse { controller: Some(ControllerRef { kind: owner, name, .. }) } => (
                Reason::ForeignOwner,
                format!("{kind} {key} belongs to {owner} {name} and is left alone: rename one of the two"),
            ),
            ChildDecision::Refuse { controller: None } => (
                Reason::ForeignOwner,
                format!(
                    "{kind} {key} was not created by the operator and is left alone: delete or rename it"
                ),
            ),
        };
        Some(ConditionState::unmet(reason, message))
    }
}
