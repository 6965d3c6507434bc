//! The table of decisions, over the whole product of its inputs.

mod rows;

use serde_json::json;
use vmafx_api::workload::StatefulSetRef;
use vmafx_operator::workload::{
    ImmutableFields, ResourceOwner, SUCCEEDS, StatefulSetSnapshot, WorkloadDecision, decide,
};

use self::rows::rows;
use crate::objects::{DesiredSet, NAME, NAMESPACE, controller, owner};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracked {
    None,
    This,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Live {
    Absent,
    There,
    Terminating,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controlled {
    Us,
    None,
    Another,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    Ours,
    OtherPolicy,
    OtherSelector,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Succeeds {
    Nothing,
    Tracked,
    Another,
}

#[derive(Clone, Copy, Debug)]
struct Input {
    tracked: Tracked,
    live: Live,
    owner: Controlled,
    fixed: Fixed,
    succeeds: Succeeds,
    adopts: bool,
    deleting: bool,
    replaced: usize,
}

fn every_input() -> Vec<Input> {
    let mut inputs = Vec::new();
    for tracked in [Tracked::None, Tracked::This, Tracked::Other] {
        for live in [Live::Absent, Live::There, Live::Terminating] {
            for owner in [Controlled::Us, Controlled::None, Controlled::Another] {
                for fixed in [Fixed::Ours, Fixed::OtherPolicy, Fixed::OtherSelector] {
                    for succeeds in [Succeeds::Nothing, Succeeds::Tracked, Succeeds::Another] {
                        for flags in 0..4 {
                            for replaced in [0, 4, 5, 6] {
                                let (adopts, deleting) = (flags & 1 == 1, flags & 2 == 2);
                                inputs.push(Input {
                                    tracked,
                                    live,
                                    owner,
                                    fixed,
                                    succeeds,
                                    adopts,
                                    deleting,
                                    replaced,
                                });
                            }
                        }
                    }
                }
            }
        }
    }
    inputs
}

impl Input {
    fn decided(self) -> WorkloadDecision {
        let tracked = match self.tracked {
            Tracked::None => None,
            Tracked::This => Some("this"),
            Tracked::Other => Some("other"),
        };
        let tracked = tracked.map(|uid| StatefulSetRef { name: NAME.to_owned(), uid: uid.to_owned() });
        let owner = ResourceOwner { adopts: self.adopts, deleting: self.deleting, ..owner() };
        let desired = ImmutableFields::of(DesiredSet::default().rendered(NAMESPACE).spec.as_ref());
        decide(&owner, tracked.as_ref(), self.snapshot(tracked.as_ref()).as_ref(), &desired, self.replaced)
    }

    fn snapshot(self, tracked: Option<&StatefulSetRef>) -> Option<StatefulSetSnapshot> {
        let mut set = DesiredSet::default().manifest(NAMESPACE);
        set["metadata"]["uid"] = json!("this");
        match self.live {
            Live::Absent => return None,
            Live::There => {}
            Live::Terminating => set["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z"),
        }
        match self.owner {
            Controlled::Us => {
                set["metadata"]["ownerReferences"] = json!([controller("VmafxNode", NAME, "owner")]);
            }
            Controlled::Another => {
                set["metadata"]["ownerReferences"] = json!([controller("Other", NAME, "another")]);
            }
            Controlled::None => {}
        }
        match self.fixed {
            Fixed::Ours => {}
            Fixed::OtherPolicy => set["spec"]["podManagementPolicy"] = json!("OrderedReady"),
            Fixed::OtherSelector => set["spec"]["selector"]["matchLabels"] = json!({ "app": "theirs" }),
        }
        match self.succeeds {
            Succeeds::Nothing => {}
            Succeeds::Tracked => {
                let uid = tracked.map_or("nothing", |tracked| tracked.uid.as_str());
                set["metadata"]["annotations"] = json!({ SUCCEEDS: uid });
            }
            Succeeds::Another => set["metadata"]["annotations"] = json!({ SUCCEEDS: "long-gone" }),
        }
        Some(StatefulSetSnapshot::from(
            serde_json::from_value::<k8s_openapi::api::apps::v1::StatefulSet>(set).unwrap(),
        ))
    }

    /// The StatefulSet exists and has this controller, and neither it nor the resource is being deleted.
    fn is_live(&self, owner: Controlled) -> bool {
        !self.deleting && self.live == Live::There && self.owner == owner
    }

    fn exhausted(&self) -> bool {
        self.replaced >= 5
    }
}

#[test]
fn every_input_is_in_one_row_and_decided_as_the_row_says() {
    let rows = rows();
    let mut matched = vec![0; rows.len()];
    for input in every_input() {
        let of: Vec<usize> = (0..rows.len()).filter(|row| (rows[*row].applies)(&input)).collect();
        let names: Vec<&str> = of.iter().map(|row| rows[*row].name).collect();
        assert_eq!(of.len(), 1, "{input:?} is in {names:?}");
        matched[of[0]] += 1;
        assert_eq!(input.decided(), (rows[of[0]].decision)(), "{}: {input:?}", names[0]);
    }
    let never: Vec<&str> =
        rows.iter().zip(matched).filter(|(_, matched)| *matched == 0).map(|(row, _)| row.name).collect();
    assert!(never.is_empty(), "no input for {never:?}");
}

#[test]
fn what_another_controls_is_never_written_nor_deleted() {
    for input in every_input().into_iter().filter(|input| input.owner == Controlled::Another) {
        let decision = input.decided();
        let harmless = matches!(
            decision,
            WorkloadDecision::Refuse(_) | WorkloadDecision::Wait { .. } | WorkloadDecision::Leave
        );
        // An object that does not exist has no controller.
        assert!(harmless || input.live == Live::Absent, "{decision:?} for {input:?}");
    }
}

#[test]
fn nothing_is_deleted_without_a_proof_that_it_stands_in_our_place() {
    for input in every_input() {
        if let WorkloadDecision::Replace { .. } = input.decided() {
            let ours = input.owner == Controlled::Us;
            let selects_our_pods = input.fixed != Fixed::OtherSelector && input.tracked == Tracked::Other;
            assert!(input.live == Live::There && (ours || selects_our_pods), "{input:?}");
        }
    }
}
