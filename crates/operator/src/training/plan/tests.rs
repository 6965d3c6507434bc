#![allow(clippy::needless_pass_by_value, reason = "statuses are written where they are used")]

use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::conditions::Reason;
use vmafx_api::training::TrainingPhase;

use super::*;
use crate::events::ResourceEvent;
use crate::training::observe::ObservedTrainer;
use crate::training::poll::TrainerReport;
use crate::workload::{ObservedWorkload, TrackedResource, WorkloadAction, WorkloadDecision};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn training(status: Value) -> VmafxModelTraining {
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining",
        "metadata": { "name": "m", "namespace": "video", "uid": "u" },
        "spec": { "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": "r/m" },
        "status": status,
    }))
    .unwrap()
}

fn planned(training: &VmafxModelTraining, poll: Option<PollResult>) -> TrainingPlan {
    let desired = crate::training::render::desired(training, &crate::training::render::tests::defaults());
    let resource = TrackedResource::of(training);
    let workload = ObservedWorkload { resource, ..ObservedWorkload::default() };
    let trainer =
        poll.map(|poll| ObservedTrainer { poll: Arc::new(poll), next_poll: Duration::from_secs(5) });
    plan(training, &desired, &ObservedTraining { workload, trainer }, at(1_000))
}

fn report(checkpoint: i64) -> TrainerReport {
    TrainerReport {
        phase: TrainingPhase::Running,
        samples: Some(7),
        checkpoint: Some(at(checkpoint)),
        version: Some("m-v000001".to_owned()),
        ..TrainerReport::default()
    }
}

#[rstest]
#[case::first(json!({}), Some(Ok(report(100))), true)]
#[case::later(json!({ "lastCheckpoint": at(90) }), Some(Ok(report(100))), true)]
#[case::recorded(json!({ "lastCheckpoint": at(100) }), Some(Ok(report(100))), false)]
#[case::older(json!({ "lastCheckpoint": at(110) }), Some(Ok(report(100))), false)]
#[case::recorded_by_a_wrong_clock(json!({ "lastCheckpoint": at(9_000) }), Some(Ok(report(100))), true)]
#[case::none_yet(json!({}), Some(Ok(TrainerReport::default())), false)]
#[case::silent(json!({}), Some(Err("cannot be reached".to_owned())), false)]
#[case::not_polled(json!({}), None, false)]
fn an_event_is_planned_for_each_new_checkpoint(
    #[case] status: Value,
    #[case] poll: Option<PollResult>,
    #[case] new: bool,
) {
    let plan = planned(&training(status), poll);
    let note = "Model checkpoint written: version=m-v000001 samples=7";
    let event = new.then(|| ResourceEvent::normal(Reason::CheckpointWritten, note));
    assert_eq!(plan.checkpoint.map(|checkpoint| checkpoint.event), event);
}

#[test]
fn a_trainer_is_polled_as_soon_as_it_is_tracked_and_then_when_its_poll_is_due() {
    let new = planned(&training(Value::Null), None);
    let WorkloadAction::Sync(steps) = &new.workload.action else { panic!("{new:?}") };
    assert_eq!(steps.stateful_set.decision, WorkloadDecision::Create);
    assert!(steps.service.is_some() && steps.budget.is_none());
    assert_eq!(new.requeue_after, RequeueAfter(Duration::ZERO));
    let polled = planned(&training(Value::Null), Some(Ok(report(100))));
    assert_eq!(polled.requeue_after, RequeueAfter(Duration::from_secs(5)));
}
