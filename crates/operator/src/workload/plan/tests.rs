use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::workload::StatefulSetRef;

use super::*;
use crate::conditions::ConditionState;
use crate::error::ApiError;
use crate::render::RenderedWorkload;
use crate::template_policy::PodRole;
use crate::workload::objects::LastApply;
use crate::workload::{
    AppliedWorkload, ChildDecision, ChildSnapshot, RecentReplacements, ResourceOwner, SUCCEEDS, SyncPlan,
};

fn owner() -> ResourceOwner {
    ResourceOwner {
        key: ObjectKey::new("video", "pool"),
        uid: "owner".to_owned(),
        api_version: "vmafx.dev/v1".to_owned(),
        kind: "VmafxNode".to_owned(),
        deleting: false,
        adopts: false,
    }
}

fn controlled_by(uid: &str) -> Value {
    json!([{ "apiVersion": "v1", "kind": "ResourceOwner", "name": "theirs", "uid": uid, "controller": true }])
}

fn manifest() -> Value {
    json!({
        "metadata": { "name": "workers" },
        "spec": { "replicas": 2, "selector": { "matchLabels": { "a": "b" } }, "template": {} },
    })
}

fn desired() -> Result<DesiredWorkload, RenderError> {
    let service: Service = serde_json::from_value(json!({ "metadata": { "name": "workers" } })).unwrap();
    let account = DesiredAccount::new("video", "vmafx-worker", PodRole::Worker);
    let rendered = RenderedWorkload { account, service, budget: None, stateful_set: manifest() };
    DesiredWorkload::of(&rendered, &owner())
}

fn live(uid: &str, metadata: &Value) -> Arc<StatefulSetSnapshot> {
    let mut set = manifest();
    set["metadata"] = json!({ "namespace": "video", "name": "workers", "uid": uid });
    set["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    Arc::new(StatefulSetSnapshot::from(serde_json::from_value::<StatefulSet>(set).unwrap()))
}

fn ours(uid: &str) -> Arc<StatefulSetSnapshot> {
    live(uid, &json!({ "ownerReferences": controlled_by("owner") }))
}

fn service(controller: &str) -> ObservedObject<ChildSnapshot> {
    let metadata =
        json!({ "namespace": "video", "name": "workers", "ownerReferences": controlled_by(controller) });
    let service: Service = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
    ObservedObject { live: Some(Arc::new(ChildSnapshot::of(service))), last_apply: None }
}

fn observed(tracked: Option<&str>, live: Option<Arc<StatefulSetSnapshot>>) -> ObservedWorkload {
    let tracked = tracked.map(|uid| StatefulSetRef { name: "workers".to_owned(), uid: uid.to_owned() });
    ObservedWorkload {
        resource: TrackedResource { owner: owner(), tracked, synced_reason: None },
        stateful_set: ObservedObject { live, last_apply: None },
        service: service("owner"),
        replacements: RecentReplacements { count: 0, until_fewer: Duration::from_mins(3) },
        ..ObservedWorkload::default()
    }
}

fn steps(plan: &WorkloadPlan) -> &SyncPlan {
    let WorkloadAction::Sync(steps) = &plan.action else { panic!("{plan:?}") };
    steps
}

fn method(write: Option<&ObjectWrite>) -> &'static str {
    match write {
        None => "nothing",
        Some(ObjectWrite::Create(_)) => "create",
        Some(ObjectWrite::Apply(..)) => "apply",
        Some(ObjectWrite::Delete(_)) => "delete",
    }
}

#[rstest]
#[case::none_yet(None, None, Reason::Created, "create", RESYNC_INTERVAL)]
#[case::vanished(Some("a"), None, Reason::Recreated, "create", RESYNC_INTERVAL)]
#[case::not_recorded(None, Some(ours("a")), Reason::Retracked, "apply", RESYNC_INTERVAL)]
#[case::nobodys(None, Some(live("a", &json!({}))), Reason::Adopted, "apply", RESYNC_INTERVAL)]
#[case::recorded(Some("a"), Some(ours("a")), Reason::AsExpected, "apply", RESYNC_INTERVAL)]
#[case::impostor(Some("a"), Some(ours("b")), Reason::ReplacingImpostor, "delete", PROGRESS_POLL_INTERVAL)]
#[case::terminating(
    Some("a"),
    Some(live("a", &json!({ "deletionTimestamp": "2026-01-02T03:04:05Z" }))),
    Reason::Terminating,
    "nothing",
    PROGRESS_POLL_INTERVAL
)]
#[case::foreign(
    Some("a"),
    Some(live("a", &json!({ "ownerReferences": controlled_by("another") }))),
    Reason::ForeignOwner,
    "nothing",
    OBSTACLE_POLL_INTERVAL
)]
#[case::handed_over(Some("a"), Some(live("a", &json!({}))), Reason::HandedOver, "nothing", OBSTACLE_POLL_INTERVAL)]
fn every_decision_has_its_write_reason_and_requeue_delay(
    #[case] tracked: Option<&str>,
    #[case] live: Option<Arc<StatefulSetSnapshot>>,
    #[case] reason: Reason,
    #[case] write: &str,
    #[case] requeue_after: Duration,
) {
    let plan = plan(&desired(), &observed(tracked, live));
    let set = &steps(&plan).stateful_set;
    assert_eq!((set.decision.reason(), method(set.write.as_ref())), (reason, write));
    assert_eq!(plan.requeue_after(), Some(requeue_after));
}

#[test]
fn a_successor_carries_the_uid_of_the_one_that_is_lost() {
    let plan = plan(&desired(), &observed(Some("lost"), None));
    let Some(ObjectWrite::Create(body)) = &steps(&plan).stateful_set.write else { panic!("{plan:?}") };
    assert_eq!(body["metadata"]["annotations"][SUCCEEDS], "lost");
}

#[test]
fn an_apply_that_would_repeat_the_last_one_is_not_planned() {
    let mut observed = observed(Some("a"), Some(ours("a")));
    let body = desired().unwrap().stateful_set.body(None);
    observed.stateful_set.last_apply = Some(LastApply::of(&body, ours("a").as_ref()));
    assert_eq!(steps(&plan(&desired(), &observed)).stateful_set.write, None);
    observed.stateful_set.live =
        Some(live("a", &json!({ "ownerReferences": controlled_by("owner"), "labels": { "x": "y" } })));
    assert_eq!(method(steps(&plan(&desired(), &observed)).stateful_set.write.as_ref()), "apply");
}

#[test]
fn a_replace_loop_is_tried_again_when_the_oldest_replacement_no_longer_counts() {
    let mut observed = observed(Some("a"), Some(ours("b")));
    observed.replacements.count = 5;
    let plan = plan(&desired(), &observed);
    assert_eq!(steps(&plan).stateful_set.decision, WorkloadDecision::Refuse(WorkloadRefusal::ReplaceLoop));
    assert_eq!(plan.requeue_after(), Some(Duration::from_mins(3)));
}

#[test]
fn what_cannot_be_rendered_or_read_blocks_everything() {
    let blocked =
        |reason, retry, message: &str| WorkloadAction::Blocked { reason, retry, message: message.to_owned() };
    let unreadable = blocked(Reason::Forbidden, Retry::Slowly, "no");
    let mut observed = observed(None, None);
    observed.failure = Some(unreadable.clone());
    assert_eq!(plan(&desired(), &observed).action, unreadable);
    let invalid = Err(RenderError::NoImage { setting: "VMAFX_OPERATOR_NODE_IMAGE" });
    let message = "no image: set spec.image, or VMAFX_OPERATOR_NODE_IMAGE on the operator";
    let plan = plan(&invalid, &observed);
    assert_eq!(plan.action, blocked(Reason::Invalid, Retry::Slowly, message));
    let status = plan.status(Ok(&AppliedWorkload::default()));
    assert_eq!(status.synced, ConditionState::unmet(Reason::Invalid, message));
}

#[rstest]
#[case::everything_is_as_desired("owner", Some(ours("a")), Reason::AsExpected)]
#[case::a_service_in_the_way("another", Some(ours("a")), Reason::ForeignOwner)]
#[case::the_stateful_set_comes_first("another", Some(ours("b")), Reason::ReplacingImpostor)]
fn the_condition_names_the_first_obstacle(
    #[case] controller: &str,
    #[case] live: Option<Arc<StatefulSetSnapshot>>,
    #[case] reason: Reason,
) {
    let observed = ObservedWorkload { service: service(controller), ..observed(Some("a"), live.clone()) };
    let plan = plan(&desired(), &observed);
    let refused = matches!(steps(&plan).service.as_ref().unwrap().decision, ChildDecision::Refuse { .. });
    assert_eq!(refused, controller == "another");
    let status = plan.status(Ok(&AppliedWorkload { stateful_set: live }));
    assert_eq!(status.synced.reason, reason);
}

#[test]
fn a_refusal_is_an_event_only_until_the_condition_says_it() {
    let mut observed = observed(Some("a"), Some(live("a", &json!({}))));
    let event = |observed: &ObservedWorkload| {
        let status = plan(&desired(), observed).status(Ok(&AppliedWorkload::default()));
        status.event.map(|event| event.reason)
    };
    assert_eq!(event(&observed), Some(Reason::HandedOver));
    observed.resource.synced_reason = Some("HandedOver".to_owned());
    assert_eq!(event(&observed), None);
}

#[test]
fn a_write_that_fails_is_what_the_condition_says_and_the_record_stays() {
    let plan = plan(&desired(), &observed(Some("a"), Some(ours("a"))));
    let error = ApiError::Forbidden { action: "apply the StatefulSet", message: "not allowed".to_owned() };
    let status = plan.status(Err(&error.into()));
    let message = "cannot apply the StatefulSet: not allowed";
    assert_eq!(status.synced, ConditionState::unmet(Reason::Forbidden, message));
    assert_eq!(status.tracked.map(|tracked| tracked.uid).as_deref(), Some("a"));
    assert!(status.workers.is_some() && status.event.is_none());
}
