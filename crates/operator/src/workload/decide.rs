//! Which StatefulSet is ours, and what to do about it.
//!
//! Ownership is proved by the controller owner reference, which holds the UID of the resource. The UID recorded in the
//! status is a fence: it tells "we made this one" from "somebody made one like it". A wrong deletion costs running
//! jobs, so a StatefulSet that another controller owns is never even written to, whatever our status says.
//!
//! Rows are tried from above. "Ours" in the column of immutables means that they are what we want.
//!
//! | # | resource | tracked | live        | owner   | immutables | more                | decision                |
//! |---|----------|---------|-------------|---------|------------|---------------------|-------------------------|
//! | 12, 13 | deleting | any | any        | any     | any        |                     | Leave                   |
//! | 1 |          | none    | absent      |         |            |                     | Create                  |
//! | 5 |          | A       | absent      |         |            |                     | Recreate                |
//! | 10 |         | any     | terminating | any     | any        |                     | Wait                    |
//! | 4 |          | any     | any         | another | any        |                     | Refuse(ForeignOwner)    |
//! | 2 |          | none    | any         | us      | ours       |                     | Retrack                 |
//! | 6 |          | A       | A           | us      | ours       |                     | Keep                    |
//! | 8 |          | A       | B           | us      | ours       | B succeeds A        | Retrack                 |
//! | 8 |          | A       | B           | us      | any        | B does not          | Replace(Impostor)       |
//! | 11 |         | any     | any         | us      | not ours   |                     | Replace(ImmutableDrift) |
//! | 3 |          | none    | any         | nobody  | ours       |                     | Adopt                   |
//! | 7 |          | A       | A           | nobody  | ours       | `adopt: "true"`     | Adopt                   |
//! | 7 |          | A       | A           | nobody  | any        | no such annotation  | Refuse(HandedOver)      |
//! | 9 |          | A       | B           | nobody  | our selector |                   | Replace(Impostor)       |
//! | 3, 7, 9 |    | any     | any         | nobody  | not ours   |                     | Refuse(Incompatible)    |
//!
//! Every Replace becomes Refuse(ReplaceLoop) when there were [`MOST_REPLACEMENTS`] within ten minutes: somebody else
//! keeps making it, and we would only take turns with them.

use vmafx_api::workload::StatefulSetRef;

use super::facts::Facts;
use super::immutables::Immutables;
use super::owner::Owner;

/// So often within ten minutes a workload is replaced, and no more.
pub const MOST_REPLACEMENTS: usize = 5;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
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
        /// Why it cannot stay.
        why: Why,
    },
    /// It is being deleted: wait.
    Wait {
        /// Its UID.
        uid: String,
    },
    /// It must not be touched.
    Refuse(Refusal),
    /// The resource itself is being deleted; garbage collection does the rest.
    Leave,
}

/// Why a StatefulSet is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// It is not the one that we made.
    Impostor,
    /// A field differs that cannot be changed in place.
    ImmutableDrift,
}

/// Why a StatefulSet is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
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
    owner: &Owner,
    tracked: Option<&StatefulSetRef>,
    live: Option<&Facts>,
    wanted: &Immutables,
    replaced: usize,
) -> Decision {
    if owner.deleting {
        return Decision::Leave;
    }
    let live = match (live, tracked) {
        (Some(live), _) => live,
        (None, Some(tracked)) => return Decision::Recreate { lost: tracked.uid.clone() },
        (None, None) => return Decision::Create,
    };
    let uid = live.identity.uid.clone();
    if live.terminating {
        return Decision::Wait { uid };
    }
    let relation = Relation::of(tracked, live);
    let decision = match &live.controller {
        Some(controller) if controller.uid != owner.uid => Decision::Refuse(Refusal::ForeignOwner),
        Some(_) => ours(relation, uid, live.immutables == *wanted),
        None => nobodys(relation, uid, live, wanted, owner.adopts),
    };
    match decision {
        Decision::Replace { .. } if replaced >= MOST_REPLACEMENTS => Decision::Refuse(Refusal::ReplaceLoop),
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
    fn of(tracked: Option<&StatefulSetRef>, live: &Facts) -> Self {
        match tracked {
            None => Self::Untracked,
            Some(tracked) if tracked.uid == live.identity.uid => Self::Tracked,
            Some(tracked) if live.succeeds.as_ref() == Some(&tracked.uid) => Self::Successor,
            Some(_) => Self::Stranger,
        }
    }
}

/// It has our owner reference.
fn ours(relation: Relation, uid: String, compatible: bool) -> Decision {
    match relation {
        Relation::Stranger => Decision::Replace { uid, why: Why::Impostor },
        _ if !compatible => Decision::Replace { uid, why: Why::ImmutableDrift },
        Relation::Tracked => Decision::Keep { uid },
        Relation::Untracked | Relation::Successor => Decision::Retrack { uid },
    }
}

/// It has no controller.
fn nobodys(relation: Relation, uid: String, live: &Facts, wanted: &Immutables, adopts: bool) -> Decision {
    let compatible = live.immutables == *wanted;
    match relation {
        Relation::Tracked if !adopts => Decision::Refuse(Refusal::HandedOver),
        Relation::Untracked | Relation::Tracked if compatible => Decision::Adopt { uid },
        // Without our owner reference the mark of a successor proves nothing.
        Relation::Stranger | Relation::Successor if live.immutables.select_the_same(wanted) => {
            Decision::Replace { uid, why: Why::Impostor }
        }
        _ => Decision::Refuse(Refusal::Incompatible),
    }
}
