//! The rows of the table, each with the inputs to which it applies and its decision.

use vmafx_operator::workload::{ReplaceReason, WorkloadDecision, WorkloadRefusal};

use super::{Controlled, Fixed, Input, Live, Succeeds, Tracked};

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) applies: fn(&Input) -> bool,
    pub(super) decision: fn() -> WorkloadDecision,
}

fn row(name: &'static str, applies: fn(&Input) -> bool, decision: fn() -> WorkloadDecision) -> Row {
    Row { name, applies, decision }
}

fn this() -> String {
    "this".to_owned()
}

pub(super) fn rows() -> Vec<Row> {
    [absent(), ours(), uncontrolled(), others()].into_iter().flatten().collect()
}

/// No StatefulSet exists.
fn absent() -> Vec<Row> {
    vec![
        row(
            "1: creates when nothing exists",
            |i| !i.deleting && i.live == Live::Absent && i.tracked == Tracked::None,
            || WorkloadDecision::Create,
        ),
        row(
            "5: recreates a StatefulSet that is gone: this",
            |i| !i.deleting && i.live == Live::Absent && i.tracked == Tracked::This,
            || WorkloadDecision::Recreate { lost: this() },
        ),
        row(
            "5: recreates a StatefulSet that is gone: other",
            |i| !i.deleting && i.live == Live::Absent && i.tracked == Tracked::Other,
            || WorkloadDecision::Recreate { lost: "other".to_owned() },
        ),
    ]
}

/// The StatefulSet has our owner reference.
fn ours() -> Vec<Row> {
    vec![
        row(
            "2: retracks what is ours and not recorded",
            |i| i.is_live(Controlled::Us) && i.tracked == Tracked::None && i.fixed == Fixed::Ours,
            || WorkloadDecision::Retrack { uid: this() },
        ),
        row(
            "6: keeps its own",
            |i| i.is_live(Controlled::Us) && i.tracked == Tracked::This && i.fixed == Fixed::Ours,
            || WorkloadDecision::Keep { uid: this() },
        ),
        row(
            "8: retracks a successor",
            |i| {
                i.is_live(Controlled::Us)
                    && i.tracked == Tracked::Other
                    && i.succeeds == Succeeds::Tracked
                    && i.fixed == Fixed::Ours
            },
            || WorkloadDecision::Retrack { uid: this() },
        ),
        row(
            "8: replaces an impostor with our owner reference",
            |i| {
                i.is_live(Controlled::Us)
                    && i.tracked == Tracked::Other
                    && i.succeeds != Succeeds::Tracked
                    && !i.exhausted()
            },
            || WorkloadDecision::Replace { uid: this(), reason: ReplaceReason::Impostor },
        ),
        row(
            "8: gives up on an impostor that comes again and again",
            |i| {
                i.is_live(Controlled::Us)
                    && i.tracked == Tracked::Other
                    && i.succeeds != Succeeds::Tracked
                    && i.exhausted()
            },
            || WorkloadDecision::Refuse(WorkloadRefusal::ReplaceLoop),
        ),
        row(
            "11: replaces what cannot be changed in place",
            |i| i.is_live(Controlled::Us) && drifted(i) && !i.exhausted(),
            || WorkloadDecision::Replace { uid: this(), reason: ReplaceReason::ImmutableDrift },
        ),
        row(
            "11: gives up on it",
            |i| i.is_live(Controlled::Us) && drifted(i) && i.exhausted(),
            || WorkloadDecision::Refuse(WorkloadRefusal::ReplaceLoop),
        ),
    ]
}

/// The StatefulSet has no controller.
fn uncontrolled() -> Vec<Row> {
    vec![
        row(
            "3: adopts a compatible namesake without controller",
            |i| i.is_live(Controlled::None) && i.tracked == Tracked::None && i.fixed == Fixed::Ours,
            || WorkloadDecision::Adopt { uid: this() },
        ),
        row(
            "3: refuses an incompatible namesake without controller",
            |i| i.is_live(Controlled::None) && i.tracked == Tracked::None && i.fixed != Fixed::Ours,
            || WorkloadDecision::Refuse(WorkloadRefusal::Incompatible),
        ),
        row(
            "7: refuses a StatefulSet that lost its owner reference",
            |i| i.is_live(Controlled::None) && i.tracked == Tracked::This && !i.adopts,
            || WorkloadDecision::Refuse(WorkloadRefusal::HandedOver),
        ),
        row(
            "7: adopts it again on request",
            |i| {
                i.is_live(Controlled::None)
                    && i.tracked == Tracked::This
                    && i.adopts
                    && i.fixed == Fixed::Ours
            },
            || WorkloadDecision::Adopt { uid: this() },
        ),
        row(
            "7: cannot adopt it again if it is incompatible",
            |i| {
                i.is_live(Controlled::None)
                    && i.tracked == Tracked::This
                    && i.adopts
                    && i.fixed != Fixed::Ours
            },
            || WorkloadDecision::Refuse(WorkloadRefusal::Incompatible),
        ),
        row(
            "9: replaces an unowned impostor that selects our Pods",
            |i| {
                i.is_live(Controlled::None)
                    && i.tracked == Tracked::Other
                    && i.fixed != Fixed::OtherSelector
                    && !i.exhausted()
            },
            || WorkloadDecision::Replace { uid: this(), reason: ReplaceReason::Impostor },
        ),
        row(
            "9: gives up on it",
            |i| {
                i.is_live(Controlled::None)
                    && i.tracked == Tracked::Other
                    && i.fixed != Fixed::OtherSelector
                    && i.exhausted()
            },
            || WorkloadDecision::Refuse(WorkloadRefusal::ReplaceLoop),
        ),
        row(
            "9: refuses an unowned namesake with Pods of its own",
            |i| i.is_live(Controlled::None) && i.tracked == Tracked::Other && i.fixed == Fixed::OtherSelector,
            || WorkloadDecision::Refuse(WorkloadRefusal::Incompatible),
        ),
    ]
}

/// Another controller owns the StatefulSet, or it or the resource is being deleted.
fn others() -> Vec<Row> {
    vec![
        row(
            "4: refuses a StatefulSet of another controller",
            |i| i.is_live(Controlled::Another),
            || WorkloadDecision::Refuse(WorkloadRefusal::ForeignOwner),
        ),
        row(
            "10: waits for the deletion",
            |i| !i.deleting && i.live == Live::Terminating,
            || WorkloadDecision::Wait { uid: this() },
        ),
        row(
            "12, 13: leaves the objects of a resource that is being deleted",
            |i| i.deleting,
            || WorkloadDecision::Leave,
        ),
    ]
}

/// Provably ours, but with immutable fields that differ from the desired ones.
fn drifted(input: &Input) -> bool {
    let proved = match input.tracked {
        Tracked::None | Tracked::This => true,
        Tracked::Other => input.succeeds == Succeeds::Tracked,
    };
    proved && input.fixed != Fixed::Ours
}
