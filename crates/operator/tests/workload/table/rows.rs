//! The rows, each with its own words for where it applies.

use vmafx_operator::workload::{RefusalReason, ReplaceReason, WorkloadDecision};

use super::{Controlled, Fixed, Input, Live, Succeeds, Tracked};

/// Where it applies, and what it says.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) applies: fn(&Input) -> bool,
    pub(super) says: fn() -> WorkloadDecision,
}

fn row(name: &'static str, applies: fn(&Input) -> bool, says: fn() -> WorkloadDecision) -> Row {
    Row { name, applies, says }
}

fn this() -> String {
    "this".to_owned()
}

pub(super) fn rows() -> Vec<Row> {
    [absent(), ours(), nobodys(), others()].into_iter().flatten().collect()
}

/// There is none.
fn absent() -> Vec<Row> {
    vec![
        row(
            "1: creates when nothing exists",
            |i| !i.deleting && i.live == Live::Absent && i.tracked == Tracked::None,
            || WorkloadDecision::Create,
        ),
        row(
            "5: makes again what has vanished: this",
            |i| !i.deleting && i.live == Live::Absent && i.tracked == Tracked::This,
            || WorkloadDecision::Recreate { lost: this() },
        ),
        row(
            "5: makes again what has vanished: other",
            |i| !i.deleting && i.live == Live::Absent && i.tracked == Tracked::Other,
            || WorkloadDecision::Recreate { lost: "other".to_owned() },
        ),
    ]
}

/// It has our owner reference.
fn ours() -> Vec<Row> {
    vec![
        row(
            "2: retracks what is ours and not recorded",
            |i| i.stands(Controlled::Us) && i.tracked == Tracked::None && i.fixed == Fixed::Ours,
            || WorkloadDecision::Retrack { uid: this() },
        ),
        row(
            "6: keeps its own",
            |i| i.stands(Controlled::Us) && i.tracked == Tracked::This && i.fixed == Fixed::Ours,
            || WorkloadDecision::Keep { uid: this() },
        ),
        row(
            "8: retracks a successor",
            |i| {
                i.stands(Controlled::Us)
                    && i.tracked == Tracked::Other
                    && i.succeeds == Succeeds::Tracked
                    && i.fixed == Fixed::Ours
            },
            || WorkloadDecision::Retrack { uid: this() },
        ),
        row(
            "8: replaces an impostor with our owner reference",
            |i| {
                i.stands(Controlled::Us)
                    && i.tracked == Tracked::Other
                    && i.succeeds != Succeeds::Tracked
                    && !i.exhausted()
            },
            || WorkloadDecision::Replace { uid: this(), reason: ReplaceReason::Impostor },
        ),
        row(
            "8: gives up on an impostor that comes again and again",
            |i| {
                i.stands(Controlled::Us)
                    && i.tracked == Tracked::Other
                    && i.succeeds != Succeeds::Tracked
                    && i.exhausted()
            },
            || WorkloadDecision::Refuse(RefusalReason::ReplaceLoop),
        ),
        row(
            "11: replaces what cannot be changed in place",
            |i| i.stands(Controlled::Us) && drifted(i) && !i.exhausted(),
            || WorkloadDecision::Replace { uid: this(), reason: ReplaceReason::ImmutableDrift },
        ),
        row(
            "11: gives up on it",
            |i| i.stands(Controlled::Us) && drifted(i) && i.exhausted(),
            || WorkloadDecision::Refuse(RefusalReason::ReplaceLoop),
        ),
    ]
}

/// It has no controller.
fn nobodys() -> Vec<Row> {
    vec![
        row(
            "3: adopts a compatible namesake that nobody controls",
            |i| i.stands(Controlled::Nobody) && i.tracked == Tracked::None && i.fixed == Fixed::Ours,
            || WorkloadDecision::Adopt { uid: this() },
        ),
        row(
            "3: refuses an incompatible namesake that nobody controls",
            |i| i.stands(Controlled::Nobody) && i.tracked == Tracked::None && i.fixed != Fixed::Ours,
            || WorkloadDecision::Refuse(RefusalReason::Incompatible),
        ),
        row(
            "7: refuses what was taken out of our hands",
            |i| i.stands(Controlled::Nobody) && i.tracked == Tracked::This && !i.adopts,
            || WorkloadDecision::Refuse(RefusalReason::HandedOver),
        ),
        row(
            "7: takes it back when asked",
            |i| {
                i.stands(Controlled::Nobody)
                    && i.tracked == Tracked::This
                    && i.adopts
                    && i.fixed == Fixed::Ours
            },
            || WorkloadDecision::Adopt { uid: this() },
        ),
        row(
            "7: cannot take back what does not fit",
            |i| {
                i.stands(Controlled::Nobody)
                    && i.tracked == Tracked::This
                    && i.adopts
                    && i.fixed != Fixed::Ours
            },
            || WorkloadDecision::Refuse(RefusalReason::Incompatible),
        ),
        row(
            "9: replaces an unowned impostor that selects our Pods",
            |i| {
                i.stands(Controlled::Nobody)
                    && i.tracked == Tracked::Other
                    && i.fixed != Fixed::OtherSelector
                    && !i.exhausted()
            },
            || WorkloadDecision::Replace { uid: this(), reason: ReplaceReason::Impostor },
        ),
        row(
            "9: gives up on it",
            |i| {
                i.stands(Controlled::Nobody)
                    && i.tracked == Tracked::Other
                    && i.fixed != Fixed::OtherSelector
                    && i.exhausted()
            },
            || WorkloadDecision::Refuse(RefusalReason::ReplaceLoop),
        ),
        row(
            "9: refuses an unowned namesake with Pods of its own",
            |i| {
                i.stands(Controlled::Nobody) && i.tracked == Tracked::Other && i.fixed == Fixed::OtherSelector
            },
            || WorkloadDecision::Refuse(RefusalReason::Incompatible),
        ),
    ]
}

/// It is somebody else's, or on its way out.
fn others() -> Vec<Row> {
    vec![
        row(
            "4: refuses what another controls",
            |i| i.stands(Controlled::Another),
            || WorkloadDecision::Refuse(RefusalReason::ForeignOwner),
        ),
        row(
            "10: waits for the end",
            |i| !i.deleting && i.live == Live::Terminating,
            || WorkloadDecision::Wait { uid: this() },
        ),
        row(
            "12, 13: leaves everything of a resource that is deleted",
            |i| i.deleting,
            || WorkloadDecision::Leave,
        ),
    ]
}

/// Ours by every proof, but not as wanted.
fn drifted(input: &Input) -> bool {
    let proved = match input.tracked {
        Tracked::None | Tracked::This => true,
        Tracked::Other => input.succeeds == Succeeds::Tracked,
    };
    proved && input.fixed != Fixed::Ours
}
