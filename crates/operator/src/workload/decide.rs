//! Which StatefulSet is ours, and what to do about it. Pure.
//!
//! Ownership is proved by the controller owner reference, which contains the UID of the resource. The UID recorded in the
//! status is a fence: it tells a StatefulSet that the operator created from one that looks like it. A wrong deletion costs
//! running jobs, so a StatefulSet that another controller owns is never even written to, whatever the status says.
//!
//! The first matching row applies. A and B are UIDs; immutables are ours if they equal the desired ones.
//!
//! | #       | tracked | live        | owner   | and                             | decision                | test                                                |
//! |---------|---------|-------------|---------|---------------------------------|-------------------------|-----------------------------------------------------|
//! | 12, 13  | any     | any         | any     | the resource is being deleted   | Leave                   | `the_workload_of_a_deleted_resource_is_left`        |
//! | 1       | none    | absent      |         |                                 | Create                  | `tracked_on_status`                                 |
//! | 5       | A       | absent      |         |                                 | Recreate                | `recreated_after_delete`                            |
//! | 10      | any     | terminating | any     |                                 | Wait                    | `terminating_is_waited_for`                         |
//! | 4       | any     | any         | another |                                 | Refuse(ForeignOwner)    | `what_another_controls_is_refused_and_untouched`    |
//! | 2       | none    | any         | us      | immutables ours                 | Retrack                 | `a_first_status_write_that_is_lost_is_retracked`    |
//! | 6       | A       | A           | us      | immutables ours                 | Keep                    | `nothing_is_written_at_rest`                        |
//! | 8       | A       | B           | us      | immutables ours, B succeeds A   | Retrack                 | `a_lost_status_write_is_retracked_without_new_pods` |
//! | 8       | A       | B           | us      | B does not succeed A            | Replace(Impostor)       | `impostor_replaced_if_it_is_a_dump_of_ours`         |
//! | 11      | any     | any         | us      | immutables not ours             | Replace(ImmutableDrift) | `immutable_drift_is_replaced`                       |
//! | 3       | none    | any         | none    | immutables ours                 | Adopt                   | `an_unowned_compatible_namesake_is_adopted`         |
//! | 7       | A       | A           | none    | immutables ours, asked to adopt | Adopt                   | `a_stripped_owner_reference_…`                      |
//! | 7       | A       | A           | none    | not asked to adopt              | Refuse(HandedOver)      | `a_stripped_owner_reference_…`                      |
//! | 9       | A       | B           | none    | selector ours                   | Replace(Impostor)       | `impostor_replaced_if_it_is_a_namesake_…`           |
//! | 3, 7, 9 | any     | any         | none    | none of these                   | Refuse(Incompatible)    | `an_unowned_incompatible_namesake_is_refused`       |
//!
//! Each row is tested on a real API server by the test that it names, and all rows over the whole product of inputs by
//! `every_input_is_in_one_row_and_decided_as_the_row_says`. The invariants of any sequence of decisions, with faults and
//! interference by others, are tested by `whatever_happens_it_comes_to_rest_and_nobody_elses_is_touched`.
//!
//! Every Replace becomes Refuse(ReplaceLoop) after [`MAX_REPLACEMENTS`] within ten minutes: another client keeps recreating
//! the StatefulSet, and the two would only take turns (`an_impostor_that_comes_again_and_again_is_left_at_last`).

use vmafx_api::workload::StatefulSetRef;

use super::immutables::ImmutableFields;
use super::owner::ResourceOwner;
use super::snapshot::StatefulSetSnapshot;

/// Replacements of one workload within ten minutes.
pub const MAX_REPLACEMENTS: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadDecision {
    /// None exists and none is tracked.
    Create,
    /// The tracked one is gone; `lost` is its UID.
    Recreate { lost: String },
    /// It is ours, though the status does not record it: record it and apply.
    Retrack { uid: String },
    /// It has no controller: take it over.
    Adopt { uid: String },
    /// It is the tracked one: apply, if anything has changed.
    Keep { uid: String },
    /// Delete it and stop tracking the recorded one; the next pass creates a new one.
    Replace { uid: String, reason: ReplaceReason },
    /// It is being deleted.
    Wait { uid: String },
    /// It must not be touched.
    Refuse(WorkloadRefusal),
    /// The resource itself is being deleted, and garbage collection removes its objects.
    Leave,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplaceReason {
    /// It is not the one that the operator created.
    Impostor,
    /// A field differs that cannot be changed in place.
    ImmutableDrift,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkloadRefusal {
    /// Another controller owns it.
    ForeignOwner,
    /// It has no owner, and its immutable fields differ from the desired ones.
    Incompatible,
    /// It was ours, but its owner reference was removed.
    HandedOver,
    /// It was replaced too often.
    ReplaceLoop,
}

/// `replaced` is the number of replacements in the last ten minutes.
pub fn decide(
    owner: &ResourceOwner,
    tracked: Option<&StatefulSetRef>,
    live: Option<&StatefulSetSnapshot>,
    desired: &ImmutableFields,
    replaced: usize,
) -> WorkloadDecision {
    if owner.deleting {
        return WorkloadDecision::Leave;
    }
    let live = match (live, tracked) {
        (Some(live), _) => live,
        (None, Some(tracked)) => return WorkloadDecision::Recreate { lost: tracked.uid.clone() },
        (None, None) => return WorkloadDecision::Create,
    };
    let uid = live.identity.uid.clone();
    if live.terminating {
        return WorkloadDecision::Wait { uid };
    }
    let relation = Relation::of(tracked, live);
    let decision = match &live.controller {
        Some(controller) if controller.uid != owner.uid => {
            WorkloadDecision::Refuse(WorkloadRefusal::ForeignOwner)
        }
        Some(_) => ours(relation, uid, live.immutables == *desired),
        None => unowned(relation, uid, live, desired, owner.adopts),
    };
    match decision {
        WorkloadDecision::Replace { .. } if replaced >= MAX_REPLACEMENTS => {
            WorkloadDecision::Refuse(WorkloadRefusal::ReplaceLoop)
        }
        decision => decision,
    }
}

/// How the live StatefulSet relates to the recorded one.
#[derive(Clone, Copy)]
enum Relation {
    /// The status records none.
    Untracked,
    /// The status records this one.
    Tracked,
    /// The status records another, in whose place the operator created this one.
    Successor,
    /// The status records another.
    Stranger,
}

impl Relation {
    fn of(tracked: Option<&StatefulSetRef>, live: &StatefulSetSnapshot) -> Self {
        match tracked {
            None => Self::Untracked,
            Some(tracked) if tracked.uid == live.identity.uid => Self::Tracked,
            Some(tracked) if live.succeeds.as_ref() == Some(&tracked.uid) => Self::Successor,
            Some(_) => Self::Stranger,
        }
    }
}

/// A StatefulSet with our owner reference.
fn ours(relation: Relation, uid: String, compatible: bool) -> WorkloadDecision {
    match relation {
        Relation::Stranger => WorkloadDecision::Replace { uid, reason: ReplaceReason::Impostor },
        _ if !compatible => WorkloadDecision::Replace { uid, reason: ReplaceReason::ImmutableDrift },
        Relation::Tracked => WorkloadDecision::Keep { uid },
        Relation::Untracked | Relation::Successor => WorkloadDecision::Retrack { uid },
    }
}

/// A StatefulSet without a controller.
fn unowned(
    relation: Relation,
    uid: String,
    live: &StatefulSetSnapshot,
    desired: &ImmutableFields,
    adopts: bool,
) -> WorkloadDecision {
    let compatible = live.immutables == *desired;
    match relation {
        Relation::Tracked if !adopts => WorkloadDecision::Refuse(WorkloadRefusal::HandedOver),
        Relation::Untracked | Relation::Tracked if compatible => WorkloadDecision::Adopt { uid },
        // Without our owner reference the successor annotation proves nothing.
        Relation::Stranger | Relation::Successor if live.immutables.select_the_same(desired) => {
            WorkloadDecision::Replace { uid, reason: ReplaceReason::Impostor }
        }
        _ => WorkloadDecision::Refuse(WorkloadRefusal::Incompatible),
    }
}
