//! Which StatefulSet is ours, and what to do about it.
//!
//! Ownership is proved by the controller owner reference, which holds the UID of the resource. The UID recorded in the
//! status is a fence: it tells "we made this one" from "somebody made one like it". A wrong deletion costs running
//! jobs, so a StatefulSet that another controller owns is never even written to, whatever our status says.
//!
//! The first row that fits counts. A and B are UIDs; immutables are ours if they are what we want.
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
//! | 3       | none    | any         | nobody  | immutables ours                 | Adopt                   | `an_unowned_compatible_namesake_is_adopted`         |
//! | 7       | A       | A           | nobody  | immutables ours, asked to adopt | Adopt                   | `a_stripped_owner_reference_…`                      |
//! | 7       | A       | A           | nobody  | not asked to adopt              | Refuse(HandedOver)      | `a_stripped_owner_reference_…`                      |
//! | 9       | A       | B           | nobody  | selector ours                   | Replace(Impostor)       | `impostor_replaced_if_it_is_a_namesake_…`           |
//! | 3, 7, 9 | any     | any         | nobody  | none of these                   | Refuse(Incompatible)    | `an_unowned_incompatible_namesake_is_refused`       |
//!
//! Each row is met on a real API server by the test that it names, and all of them over the whole product of inputs by
//! `every_input_is_in_one_row_and_decided_as_the_row_says`. What holds for any sequence of them, with faults and others
//! at work, is `whatever_happens_it_comes_to_rest_and_nobody_elses_is_touched`.
//!
//! Every Replace becomes Refuse(ReplaceLoop) when there were [`MAX_REPLACEMENTS`] within ten minutes: somebody else
//! keeps making it, and we would only take turns with them (`an_impostor_that_comes_again_and_again_is_left_at_last`).

use vmafx_api::workload::StatefulSetRef;

use super::immutables::ImmutableFields;
use super::owner::ResourceOwner;
use super::snapshot::StatefulSetSnapshot;

/// So often within ten minutes a workload is replaced, and no more.
pub const MAX_REPLACEMENTS: usize = 5;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadDecision {
    /// There is none and there was none: make it.
    Create,
    /// The one that we had is gone: make it again.
    Recreate {
        /// Its UID.
        lost: String,
    },
    /// It is ours, though the status does not say so: record it and apply.
    Retrack {
        /// Its UID.
        uid: String,
    },
    /// Nobody controls it: take it over.
    Adopt {
        /// Its UID.
        uid: String,
    },
    /// It is the one: apply, if anything has changed.
    Keep {
        /// Its UID.
        uid: String,
    },
    /// Delete it, and forget the one that was recorded. The next pass makes a new one.
    Replace {
        /// Its UID.
        uid: String,
        reason: ReplaceReason,
    },
    /// It is being deleted: wait.
    Wait {
        /// Its UID.
        uid: String,
    },
    /// It must not be touched.
    Refuse(RefusalReason),
    /// The resource itself is being deleted; garbage collection does the rest.
    Leave,
}

/// Why a StatefulSet is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplaceReason {
    /// It is not the one that we made.
    Impostor,
    /// A field differs that cannot be changed in place.
    ImmutableDrift,
}

/// Why a StatefulSet is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// Another controller owns it.
    ForeignOwner,
    /// Nobody owns it, but it could not be made ours.
    Incompatible,
    /// It was ours, and somebody removed our owner reference.
    HandedOver,
    /// It was replaced too often.
    ReplaceLoop,
}

/// Says what is to be done. `replaced` counts the replacements of the last ten minutes.
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
            WorkloadDecision::Refuse(RefusalReason::ForeignOwner)
        }
        Some(_) => ours(relation, uid, live.immutables == *desired),
        None => nobodys(relation, uid, live, desired, owner.adopts),
    };
    match decision {
        WorkloadDecision::Replace { .. } if replaced >= MAX_REPLACEMENTS => {
            WorkloadDecision::Refuse(RefusalReason::ReplaceLoop)
        }
        decision => decision,
    }
}

/// What the status says of the live one.
#[derive(Clone, Copy)]
enum Relation {
    /// The status names none.
    Untracked,
    /// The status names this one.
    Tracked,
    /// The status names another, in whose place we made this one.
    Successor,
    /// The status names another.
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

/// It has our owner reference.
fn ours(relation: Relation, uid: String, compatible: bool) -> WorkloadDecision {
    match relation {
        Relation::Stranger => WorkloadDecision::Replace { uid, reason: ReplaceReason::Impostor },
        _ if !compatible => WorkloadDecision::Replace { uid, reason: ReplaceReason::ImmutableDrift },
        Relation::Tracked => WorkloadDecision::Keep { uid },
        Relation::Untracked | Relation::Successor => WorkloadDecision::Retrack { uid },
    }
}

/// It has no controller.
fn nobodys(
    relation: Relation,
    uid: String,
    live: &StatefulSetSnapshot,
    desired: &ImmutableFields,
    adopts: bool,
) -> WorkloadDecision {
    let compatible = live.immutables == *desired;
    match relation {
        Relation::Tracked if !adopts => WorkloadDecision::Refuse(RefusalReason::HandedOver),
        Relation::Untracked | Relation::Tracked if compatible => WorkloadDecision::Adopt { uid },
        // Without our owner reference the mark of a successor proves nothing.
        Relation::Stranger | Relation::Successor if live.immutables.select_the_same(desired) => {
            WorkloadDecision::Replace { uid, reason: ReplaceReason::Impostor }
        }
        _ => WorkloadDecision::Refuse(RefusalReason::Incompatible),
    }
}
