//! People are told of each checkpoint once, whatever happens in between.

use kube::api::{DeleteParams, ListParams};
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::VmafxModelTraining;
use vmafx_testkit::kube::proxy::{ApiRequest, Fault, RbacVerb, RequestMatcher, ResponseHandling};
use vmafx_testkit::wait;

use crate::SOON;
use crate::world::{World, reason};

const FIRST: &str = "2026-11-16T10:00:00Z";
const SECOND: &str = "2026-11-16T10:10:00Z";

fn checkpoint(version: u32, time: &str) -> Value {
    json!({ "phase": "running", "current_samples": 1000 * version, "last_checkpoint_time": time,
            "model_version": format!("m-v{version:06}"), "digest": "sha256:ab" })
}

fn told(version: u32) -> String {
    format!("Model checkpoint written: version=m-v{version:06} samples={}", 1000 * version)
}

fn has(run: &VmafxModelTraining, time: &str) -> bool {
    let recorded = run.status.as_ref().and_then(|status| status.last_checkpoint.as_ref());
    recorded.is_some_and(|recorded| recorded.0 == time.parse().unwrap())
}

/// The event about a checkpoint.
fn event(request: &ApiRequest) -> bool {
    request.verb == RbacVerb::Create
        && request.resource == "events"
        && request.json()["reason"] == "CheckpointWritten"
}

/// The status that records one.
fn record(request: &ApiRequest) -> bool {
    request.verb == RbacVerb::Patch
        && request.resource == "vmafxmodeltrainings"
        && request.json()["status"]["lastCheckpoint"] == FIRST
}

#[tokio::test]
async fn each_checkpoint_is_told_once_in_the_words_of_the_contract() {
    let world = World::set().await;
    world.running().await;
    world.says(checkpoint(1, FIRST));
    let run = world.until("the first checkpoint", |run| has(run, FIRST)).await;
    assert_eq!(reason(&run, "CheckpointPushed"), "CheckpointWritten");
    assert_eq!(run.status.unwrap().model_version.as_deref(), Some("m-v000001"));
    world.asked_more(5).await;
    assert_eq!(world.notes("CheckpointWritten").await, [told(1)]);
    world.says(checkpoint(2, SECOND));
    world.until("the second checkpoint", |run| has(run, SECOND)).await;
    // A trainer that begins again from the first has written nothing.
    world.says(checkpoint(1, FIRST));
    world.until("it to begin again", |run| run.status.as_ref().unwrap().current_samples == Some(1000)).await;
    world.says(checkpoint(2, SECOND));
    world.asked_more(3).await;
    assert_eq!(world.notes("CheckpointWritten").await, [told(1), told(2)]);
}

#[tokio::test]
async fn a_failed_push_and_a_missed_gate_are_told_once_each_time_they_begin() {
    let world = World::set().await;
    world.running().await;
    let mut bad = checkpoint(1, FIRST);
    bad["push_error"] = json!("the registry answered 401");
    bad["gate_passed"] = json!(false);
    bad["gate_message"] = json!("SROCC fell by 0.02, and 0.005 are allowed");
    for round in 1..=2 {
        world.says(bad.clone());
        let run = world.until_reason("CheckpointPushed", "PushFailed").await;
        assert_eq!(reason(&run, "GatePassed"), "GateMissed");
        world.asked_more(3).await;
        let mut good = checkpoint(1, FIRST);
        good["gate_passed"] = json!(true);
        world.says(good);
        world.until_reason("CheckpointPushed", "CheckpointWritten").await;
        world.until_reason("GatePassed", "GateHeld").await;
        assert_eq!(world.notes("PushFailed").await.len(), round);
        assert_eq!(world.notes("GateMissed").await.len(), round);
    }
    assert_eq!(world.notes("GateMissed").await[0], "SROCC fell by 0.02, and 0.005 are allowed");
}

/// Where the operator is killed.
#[derive(Clone, Copy, Debug)]
enum At {
    BeforeTheEvent,
    BetweenEventAndStatus,
    BeforeTheStatus,
    AfterTheStatus,
}

#[rstest]
#[case(At::BeforeTheEvent)]
#[case(At::BetweenEventAndStatus)]
#[case(At::BeforeTheStatus)]
#[case(At::AfterTheStatus)]
#[tokio::test]
async fn an_operator_that_is_killed_on_the_way_tells_it_once_when_it_is_back(#[case] at: At) {
    let mut world = World::set().await;
    world.running().await;
    let kill = world.operator.killer();
    let end = move |_: &_| {
        kill();
        ResponseHandling::Disconnect
    };
    let (which, act) = match at {
        At::BeforeTheEvent => (RequestMatcher::matching(event), Fault::before(end)),
        At::BetweenEventAndStatus => (RequestMatcher::matching(event), Fault::after(end)),
        At::BeforeTheStatus => (RequestMatcher::matching(record), Fault::before(end)),
        At::AfterTheStatus => (RequestMatcher::matching(record), Fault::after(end)),
    };
    let fault = world.proxy.inject(which.nth(1), act);
    world.says(checkpoint(1, FIRST));
    fault.wait_for_hit(SOON).await.unwrap();
    drop(fault);
    let already = world.notes("CheckpointWritten").await;
    assert_eq!(already.is_empty(), matches!(at, At::BeforeTheEvent), "{already:?}");
    world.restart().await;
    world.until("the checkpoint", |run| has(run, FIRST)).await;
    world.asked_more(3).await;
    assert_eq!(world.notes("CheckpointWritten").await, [told(1)]);
}

#[rstest]
#[case::event_refused(RequestMatcher::matching(event), Fault::Respond(500))]
#[case::event_written_and_not_answered(RequestMatcher::matching(event), Fault::FailAfter(500))]
#[case::event_cut(RequestMatcher::matching(event), Fault::DisconnectAfter)]
#[case::event_in_conflict(RequestMatcher::matching(event), Fault::Respond(409))]
#[case::status_in_conflict(RequestMatcher::matching(record), Fault::Respond(409))]
#[case::status_written_and_not_answered(RequestMatcher::matching(record), Fault::FailAfter(500))]
#[tokio::test]
async fn a_bad_answer_on_the_way_is_got_over_and_tells_nothing_twice(
    #[case] which: RequestMatcher,
    #[case] act: Fault,
) {
    let world = World::set().await;
    world.running().await;
    let fault = world.proxy.inject(which.nth(1), act);
    world.says(checkpoint(1, FIRST));
    fault.wait_for_hit(SOON).await.unwrap();
    world.until("the checkpoint", |run| has(run, FIRST)).await;
    world.asked_more(3).await;
    assert_eq!(world.notes("CheckpointWritten").await, [told(1)]);
}

#[tokio::test]
async fn while_events_cannot_be_written_the_rest_of_the_status_goes_on() {
    let world = World::set().await;
    world.running().await;
    let fault = world.proxy.inject(RequestMatcher::matching(event), Fault::Respond(500));
    world.says(checkpoint(1, FIRST));
    let run = world
        .until("the samples", |run| {
            run.status.as_ref().is_some_and(|status| status.current_samples == Some(1000))
        })
        .await;
    let status = run.status.as_ref().unwrap();
    assert_eq!((&status.last_checkpoint, &status.model_version, &status.digest), (&None, &None, &None));
    drop(fault);
    world.until("the checkpoint", |run| has(run, FIRST)).await;
    assert_eq!(world.notes("CheckpointWritten").await, [told(1)]);
}

#[tokio::test]
async fn an_event_that_nobody_will_ever_take_holds_nothing_up() {
    let world = World::set().await;
    world.running().await;
    let _fault = world.proxy.inject(RequestMatcher::matching(event), Fault::Respond(403));
    world.says(checkpoint(1, FIRST));
    world.until("the checkpoint", |run| has(run, FIRST)).await;
    let lost = async || world.operator.metric("operator_events_lost_total", "").await;
    wait::until(SOON, "the loss to be counted", async || lost().await.is_ok_and(|lost| lost >= 1.0))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_is_recorded_is_not_told_again_when_its_event_is_gone() {
    let mut world = World::set().await;
    world.running().await;
    world.says(checkpoint(1, FIRST));
    world.until("the checkpoint", |run| has(run, FIRST)).await;
    // As the API server does after an hour.
    let events = world.all::<k8s_openapi::api::events::v1::Event>();
    events.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    world.operator.kill();
    world.restart().await;
    world.asked_more(3).await;
    assert_eq!(world.notes("CheckpointWritten").await, [""; 0]);
}
