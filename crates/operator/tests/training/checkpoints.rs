//! Each checkpoint is published in exactly one event, with crashes and failed requests in between.

use kube::api::{DeleteParams, ListParams};
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::VmafxModelTraining;
use vmafx_testkit::kube::proxy::{ApiRequest, Fault, RbacVerb, RequestMatcher, ResponseHandling};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::TrainingFixture;
use crate::resources::reason;

const FIRST: &str = "2026-11-16T10:00:00Z";
const SECOND: &str = "2026-11-16T10:10:00Z";

fn checkpoint(version: u32, time: &str) -> Value {
    json!({ "phase": "running", "current_samples": 1000 * version, "last_checkpoint_time": time,
            "model_version": format!("m-v{version:06}"), "digest": "sha256:ab" })
}

fn note(version: u32) -> String {
    format!("Model checkpoint written: version=m-v{version:06} samples={}", 1000 * version)
}

fn has(run: &VmafxModelTraining, time: &str) -> bool {
    let recorded = run.status.as_ref().and_then(|status| status.last_checkpoint.as_ref());
    recorded.is_some_and(|recorded| recorded.0 == time.parse().unwrap())
}

/// Whether the request creates the event about a checkpoint.
fn event(request: &ApiRequest) -> bool {
    request.verb == RbacVerb::Create
        && request.resource == "events"
        && request.json()["reason"] == "CheckpointWritten"
}

/// Whether the request writes the status that records the first checkpoint.
fn record(request: &ApiRequest) -> bool {
    request.verb == RbacVerb::Patch
        && request.resource == "vmafxmodeltrainings"
        && request.json()["status"]["lastCheckpoint"] == FIRST
}

#[tokio::test]
async fn each_checkpoint_is_published_once_with_the_documented_note() {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    fixture.set_report(checkpoint(1, FIRST));
    let run = fixture.until("the first checkpoint", |run| has(run, FIRST)).await;
    assert_eq!(reason(&run, "CheckpointPushed"), "CheckpointWritten");
    assert_eq!(run.status.unwrap().model_version.as_deref(), Some("m-v000001"));
    fixture.wait_for_polls(5).await;
    assert_eq!(fixture.notes("CheckpointWritten").await, [note(1)]);
    fixture.set_report(checkpoint(2, SECOND));
    fixture.until("the second checkpoint", |run| has(run, SECOND)).await;
    // A trainer that restarts from the first checkpoint has written no new one.
    fixture.set_report(checkpoint(1, FIRST));
    fixture
        .until("the restart of the trainer", |run| run.status.as_ref().unwrap().current_samples == Some(1000))
        .await;
    fixture.set_report(checkpoint(2, SECOND));
    fixture.wait_for_polls(3).await;
    assert_eq!(fixture.notes("CheckpointWritten").await, [note(1), note(2)]);
}

#[tokio::test]
async fn a_failed_push_and_a_missed_gate_are_published_once_each_time_they_begin() {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    let mut bad = checkpoint(1, FIRST);
    bad["push_error"] = json!("the registry answered 401");
    bad["gate_passed"] = json!(false);
    bad["gate_message"] = json!("SROCC fell by 0.02, and 0.005 are allowed");
    for round in 1..=2 {
        fixture.set_report(bad.clone());
        let run = fixture.until_reason("CheckpointPushed", "PushFailed").await;
        assert_eq!(reason(&run, "GatePassed"), "GateMissed");
        fixture.wait_for_polls(3).await;
        let mut good = checkpoint(1, FIRST);
        good["gate_passed"] = json!(true);
        fixture.set_report(good);
        fixture.until_reason("CheckpointPushed", "CheckpointWritten").await;
        fixture.until_reason("GatePassed", "GateHeld").await;
        assert_eq!(fixture.notes("PushFailed").await.len(), round);
        assert_eq!(fixture.notes("GateMissed").await.len(), round);
    }
    assert_eq!(fixture.notes("GateMissed").await[0], "SROCC fell by 0.02, and 0.005 are allowed");
}

/// When the operator is killed.
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
async fn an_operator_that_is_killed_meanwhile_publishes_the_checkpoint_once_after_its_restart(
    #[case] at: At,
) {
    let mut fixture = TrainingFixture::new().await;
    fixture.running().await;
    let kill = fixture.operator.killer();
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
    let fault = fixture.proxy.inject(which.nth(1), act);
    fixture.set_report(checkpoint(1, FIRST));
    fault.wait_for_hit(TIMEOUT).await.unwrap();
    drop(fault);
    let already = fixture.notes("CheckpointWritten").await;
    assert_eq!(already.is_empty(), matches!(at, At::BeforeTheEvent), "{already:?}");
    fixture.restart().await;
    fixture.until("the checkpoint", |run| has(run, FIRST)).await;
    fixture.wait_for_polls(3).await;
    assert_eq!(fixture.notes("CheckpointWritten").await, [note(1)]);
}

#[rstest]
#[case::event_refused(RequestMatcher::matching(event), Fault::Respond(500))]
#[case::event_written_and_not_answered(RequestMatcher::matching(event), Fault::FailAfter(500))]
#[case::event_cut(RequestMatcher::matching(event), Fault::DisconnectAfter)]
#[case::event_in_conflict(RequestMatcher::matching(event), Fault::Respond(409))]
#[case::status_in_conflict(RequestMatcher::matching(record), Fault::Respond(409))]
#[case::status_written_and_not_answered(RequestMatcher::matching(record), Fault::FailAfter(500))]
#[tokio::test]
async fn after_a_failed_request_the_checkpoint_is_published_once(
    #[case] which: RequestMatcher,
    #[case] act: Fault,
) {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    let fault = fixture.proxy.inject(which.nth(1), act);
    fixture.set_report(checkpoint(1, FIRST));
    fault.wait_for_hit(TIMEOUT).await.unwrap();
    fixture.until("the checkpoint", |run| has(run, FIRST)).await;
    fixture.wait_for_polls(3).await;
    assert_eq!(fixture.notes("CheckpointWritten").await, [note(1)]);
}

#[tokio::test]
async fn while_events_cannot_be_written_the_rest_of_the_status_is_updated() {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    let fault = fixture.proxy.inject(RequestMatcher::matching(event), Fault::Respond(500));
    fixture.set_report(checkpoint(1, FIRST));
    let run = fixture
        .until("the samples", |run| {
            run.status.as_ref().is_some_and(|status| status.current_samples == Some(1000))
        })
        .await;
    let status = run.status.as_ref().unwrap();
    assert_eq!((&status.last_checkpoint, &status.model_version, &status.digest), (&None, &None, &None));
    drop(fault);
    fixture.until("the checkpoint", |run| has(run, FIRST)).await;
    assert_eq!(fixture.notes("CheckpointWritten").await, [note(1)]);
}

#[tokio::test]
async fn an_event_that_is_denied_does_not_delay_the_status() {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    let _fault = fixture.proxy.inject(RequestMatcher::matching(event), Fault::Respond(403));
    fixture.set_report(checkpoint(1, FIRST));
    fixture.until("the checkpoint", |run| has(run, FIRST)).await;
    let lost = async || fixture.operator.metric("operator_events_lost_total", "").await;
    wait::until(TIMEOUT, "the loss to be counted", async || lost().await.is_ok_and(|lost| lost >= 1.0))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_recorded_checkpoint_is_not_published_again_when_its_event_is_gone() {
    let mut fixture = TrainingFixture::new().await;
    fixture.running().await;
    fixture.set_report(checkpoint(1, FIRST));
    fixture.until("the checkpoint", |run| has(run, FIRST)).await;
    // The API server deletes events after an hour.
    let events = fixture.all::<k8s_openapi::api::events::v1::Event>();
    events.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    fixture.operator.kill();
    fixture.restart().await;
    fixture.wait_for_polls(3).await;
    assert_eq!(fixture.notes("CheckpointWritten").await, [""; 0]);
}
