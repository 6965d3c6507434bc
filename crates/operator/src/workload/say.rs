//! What people are told about a decision.

use vmafx_api::conditions::Reason;
use vmafx_api::workload::StatefulSetRef;

use super::decide::{Decision, MOST_REPLACEMENTS, Refusal, Why};
use super::facts::Facts;
use super::immutables::Immutables;
use crate::conditions::Statement;
use crate::events::Happening;
use crate::key::ObjectKey;

/// What a decision was about.
pub(super) struct About<'a> {
    pub(super) key: &'a ObjectKey,
    pub(super) tracked: Option<&'a StatefulSetRef>,
    /// As it was found.
    pub(super) found: Option<&'a Facts>,
    pub(super) wanted: &'a Immutables,
    /// As it is after a write.
    pub(super) now: Option<&'a Facts>,
    /// The reason that the condition gives already.
    pub(super) said: Option<&'a str>,
}

/// The condition, and the event if something has happened.
pub(super) fn told(decision: &Decision, about: &About<'_>) -> (Statement, Option<Happening>) {
    let key = about.key;
    let happened = |reason, note: String| {
        let statement = as_expected(about);
        (statement, Some(Happening::normal(reason, note)))
    };
    match decision {
        Decision::Create => {
            happened(Reason::Created, format!("StatefulSet {key} was created{}", uid(about.now)))
        }
        Decision::Recreate { lost } => happened(
            Reason::Recreated,
            format!("StatefulSet {key} with UID {lost} had vanished and was made again{}", uid(about.now)),
        ),
        Decision::Retrack { uid } => happened(
            Reason::Retracked,
            format!("StatefulSet {key} with UID {uid} is ours and is recorded again"),
        ),
        Decision::Adopt { uid } => happened(
            Reason::Adopted,
            format!("StatefulSet {key} with UID {uid}, which nobody controlled, was taken over"),
        ),
        Decision::Keep { .. } => (as_expected(about), None),
        Decision::Replace { uid, why: Why::Impostor } => {
            let ours = about.tracked.map_or("another", |tracked| &tracked.uid);
            let note = format!(
                "StatefulSet {key} with UID {uid} is not the one with UID {ours} and is replaced; its Pods start anew"
            );
            standing(Reason::ReplacingImpostor, note, None)
        }
        Decision::Replace { uid, why: Why::ImmutableDrift } => {
            let fields = differing(about);
            let note = format!(
                "StatefulSet {key} with UID {uid} differs in {fields}, which cannot be changed in place, and is replaced"
            );
            standing(Reason::ReplacingImmutable, note, None)
        }
        Decision::Wait { uid } => {
            let note = format!(
                "StatefulSet {key} with UID {uid} is being deleted; a new one follows when it is gone"
            );
            let (statement, _) = standing(Reason::Terminating, note, about.said);
            (statement, None)
        }
        Decision::Refuse(refusal) => {
            let (reason, note) = refused(*refusal, about);
            standing(reason, note, about.said)
        }
        Decision::Leave => (Statement::unknown(Reason::Terminating, "the resource is being deleted"), None),
    }
}

/// It is not as it should be. There is an event unless the condition says so already.
fn standing(reason: Reason, note: String, said: Option<&str>) -> (Statement, Option<Happening>) {
    let happening = Happening::warning(reason, note.clone());
    (Statement::no(reason, note), (said != Some(reason.as_str())).then_some(happening))
}

fn as_expected(about: &About<'_>) -> Statement {
    let replicas = about.now.map_or(0, |facts| facts.replicas);
    let message = format!(
        "StatefulSet {}{} is as the spec wants it, with {replicas} replicas",
        about.key,
        uid(about.now)
    );
    Statement::yes(Reason::AsExpected, message)
}

fn refused(refusal: Refusal, about: &About<'_>) -> (Reason, String) {
    let (key, uid) = (about.key, uid(about.found));
    match refusal {
        Refusal::ForeignOwner => {
            let owner = about.found.and_then(|found| found.controller.as_ref());
            let owner =
                owner.map_or_else(|| "somebody else".to_owned(), |o| format!("{} {}", o.kind, o.name));
            let note =
                format!("StatefulSet {key}{uid} belongs to {owner} and is left alone: rename one of the two");
            (Reason::ForeignOwner, note)
        }
        Refusal::Incompatible => {
            let fields = differing(about);
            let note = format!(
                "StatefulSet {key}{uid} has no owner and differs in {fields}, so it cannot be taken over: delete or rename it"
            );
            (Reason::Incompatible, note)
        }
        Refusal::HandedOver => {
            let note = format!(
                "StatefulSet {key}{uid} has lost its owner reference and is left alone: annotate the resource with {}=true to take it back",
                super::ADOPT
            );
            (Reason::HandedOver, note)
        }
        Refusal::ReplaceLoop => {
            let note = format!(
                "StatefulSet {key} was replaced {MOST_REPLACEMENTS} times within 10 minutes and is left as it is for now: find out who keeps making it"
            );
            (Reason::ReplaceLoop, note)
        }
    }
}

fn differing(about: &About<'_>) -> String {
    let fields = about.found.map(|found| found.immutables.differences(about.wanted)).unwrap_or_default();
    fields.join(", ")
}

fn uid(facts: Option<&Facts>) -> String {
    facts.map(|facts| format!(" with UID {}", facts.identity.uid)).unwrap_or_default()
}
