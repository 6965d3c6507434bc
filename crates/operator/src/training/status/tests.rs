#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "results are written where they are used"
)]

use rstest::rstest;
use serde_json::json;
use vmafx_api::workload::StatefulSetRef;

use super::*;
use crate::workload::WorkerCounts;

const UNREACHABLE: &str = "the trainer cannot be reached";

fn training(paused: bool, status: Option<VmafxModelTrainingStatus>) -> VmafxModelTraining {
    let mut training: VmafxModelTraining = serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining",
        "metadata": { "name": "m", "namespace": "video", "generation": 3 },
        "spec": { "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": "r/m",
                  "paused": paused },
    }))
    .unwrap();
    training.status = status;
    training
}

fn at_work() -> WorkerCounts {
    WorkerCounts {
        observed: true,
        desired: 1,
        existing: 1,
        ready: 1,
        updated: 1,
        one_revision: true,
        image: None,
    }
}

fn leaving() -> WorkerCounts {
    WorkerCounts { desired: 0, ..at_work() }
}

fn gone() -> WorkerCounts {
    WorkerCounts { desired: 0, existing: 0, ready: 0, updated: 0, ..at_work() }
}

fn workload(workers: WorkerCounts) -> WorkloadStatus {
    WorkloadStatus {
        tracked: Some(StatefulSetRef { name: "vmafx-trainer-m".into(), uid: "u".into() }),
        synced: ConditionState::met(Reason::AsExpected, ""),
        workers: Some(workers),
        event: None,
    }
}

/// The status of a run whose workload is as desired.
fn status_of(training: &VmafxModelTraining, poll: Option<PollResult>, at: i64) -> VmafxModelTrainingStatus {
    status(training, &workload(at_work()), poll.as_ref(), second(at))
}

fn reports(phase: TrainingPhase) -> Option<PollResult> {
    Some(Ok(TrainerReport { phase, ..TrainerReport::default() }))
}

fn silence() -> Option<PollResult> {
    Some(Err(UNREACHABLE.to_owned()))
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn running() -> VmafxModelTrainingStatus {
    status_of(&training(false, None), reports(TrainingPhase::Running), 5)
}

fn condition_of(
    status: &VmafxModelTrainingStatus,
    type_: TrainingCondition,
) -> (ConditionStatus, &str, &str) {
    let condition = status.conditions.iter().find(|condition| condition.type_ == type_.as_str()).unwrap();
    (condition.status, &condition.reason, &condition.message)
}

#[test]
fn every_condition_is_there_from_the_first_write_and_names_the_generation() {
    let status = status_of(&training(false, None), None, 5);
    let types: Vec<_> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types, TrainingCondition::ALL.iter().map(|type_| type_.as_str()).collect::<Vec<_>>());
    assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(3)));
    assert_eq!((status.phase, status.observed_generation), (Some(TrainingPhase::Initializing), Some(3)));
    for about in [TrainingCondition::CheckpointPushed, TrainingCondition::GatePassed] {
        assert_eq!(condition_of(&status, about).0, ConditionStatus::Unknown);
    }
}

#[rstest]
#[case::not_polled(None, None, TrainingPhase::Initializing, "TrainerStarting")]
#[case::not_listening_yet(None, silence(), TrainingPhase::Initializing, "TrainerStarting")]
#[case::starts(None, reports(TrainingPhase::Initializing), TrainingPhase::Initializing, "TrainerStarting")]
#[case::learns(
    Some(TrainingPhase::Initializing),
    reports(TrainingPhase::Running),
    TrainingPhase::Running,
    "Training"
)]
#[case::stops_answering(
    Some(TrainingPhase::Running),
    silence(),
    TrainingPhase::Running,
    "TrainerUnreachable"
)]
#[case::restarts(
    Some(TrainingPhase::Running),
    reports(TrainingPhase::Initializing),
    TrainingPhase::Initializing,
    "TrainerStarting"
)]
#[case::fails(
    Some(TrainingPhase::Running),
    reports(TrainingPhase::Failed),
    TrainingPhase::Failed,
    "TrainingFailed"
)]
#[case::failed_and_stopped(
    Some(TrainingPhase::Failed),
    silence(),
    TrainingPhase::Failed,
    "TrainerUnreachable"
)]
#[case::recovers(
    Some(TrainingPhase::Failed),
    reports(TrainingPhase::Running),
    TrainingPhase::Running,
    "Training"
)]
#[case::paused_by_itself(
    Some(TrainingPhase::Running),
    reports(TrainingPhase::Paused),
    TrainingPhase::Paused,
    "Suspended"
)]
#[case::resumed(Some(TrainingPhase::Paused), silence(), TrainingPhase::Initializing, "TrainerStarting")]
#[case::resumed_and_not_polled(
    Some(TrainingPhase::Paused),
    None,
    TrainingPhase::Initializing,
    "TrainerStarting"
)]
fn the_phase_is_the_one_that_the_trainer_reports_or_last_reported(
    #[case] before: Option<TrainingPhase>,
    #[case] poll: Option<PollResult>,
    #[case] phase: TrainingPhase,
    #[case] ready: &str,
) {
    let before = before
        .map(|phase| VmafxModelTrainingStatus { phase: Some(phase), ..VmafxModelTrainingStatus::default() });
    let status = status_of(&training(false, before), poll, 5);
    assert_eq!((status.phase, condition_of(&status, TrainingCondition::Ready).1), (Some(phase), ready));
    assert_eq!(
        condition_of(&status, TrainingCondition::Ready).0 == ConditionStatus::True,
        ready == "Training"
    );
}

#[rstest]
#[case::requested_and_not_observed(WorkerCounts { observed: false, ..gone() }, reports(TrainingPhase::Running), TrainingPhase::Running, "Draining")]
#[case::saves_its_work(leaving(), reports(TrainingPhase::Paused), TrainingPhase::Running, "Draining")]
#[case::has_stopped(leaving(), silence(), TrainingPhase::Running, "Draining")]
#[case::gone(gone(), None, TrainingPhase::Paused, "Drained")]
fn a_run_is_paused_when_its_trainer_is_gone(
    #[case] workers: WorkerCounts,
    #[case] poll: Option<PollResult>,
    #[case] phase: TrainingPhase,
    #[case] reason: &str,
) {
    let run = training(true, Some(running()));
    let status = status(&run, &workload(workers), poll.as_ref(), second(6));
    assert_eq!(status.phase, Some(phase));
    assert_eq!(condition_of(&status, TrainingCondition::Paused).1, reason);
    assert_eq!(condition_of(&status, TrainingCondition::Ready).1, reason);
}

#[test]
fn a_workload_that_is_not_synced_is_the_reason() {
    let synced = ConditionState::unmet(Reason::ForeignOwner, "somebody's");
    let refused = WorkloadStatus { synced, ..workload(at_work()) };
    let status = status(&training(true, None), &refused, None, second(5));
    assert_eq!(
        condition_of(&status, TrainingCondition::Ready),
        (ConditionStatus::False, "ForeignOwner", "somebody's")
    );
}

fn full() -> TrainerReport {
    TrainerReport {
        phase: TrainingPhase::Running,
        samples: Some(4200),
        samples_pending: Some(200),
        checkpoint: Some(second(100)),
        version: Some("m-v000004".to_owned()),
        digest: Some("sha256:ab".to_owned()),
        stable_version: Some("m-v000003".to_owned()),
        metrics: TrainingMetrics { rmse: Some(2.5), ..TrainingMetrics::default() },
        gate_passed: Some(false),
        gate_message: "SROCC fell by 0.02".to_owned(),
        ..TrainerReport::default()
    }
}

#[test]
fn the_status_has_what_the_trainer_reports() {
    let status = status_of(&training(false, None), Some(Ok(full())), 1_000);
    assert_eq!((status.current_samples, status.samples_pending), (Some(4200), Some(200)));
    assert_eq!(status.last_checkpoint, Some(Time(second(100))));
    assert_eq!(status.model_version.as_deref(), Some("m-v000004"));
    assert_eq!(status.digest.as_deref(), Some("sha256:ab"));
    assert_eq!(status.stable_version.as_deref(), Some("m-v000003"));
    assert_eq!(status.metrics.as_ref().and_then(|metrics| metrics.rmse), Some(2.5));
    let pushed = (ConditionStatus::True, "CheckpointWritten", "the last checkpoint is m-v000004");
    assert_eq!(condition_of(&status, TrainingCondition::CheckpointPushed), pushed);
    let missed = (ConditionStatus::False, "GateMissed", "SROCC fell by 0.02");
    assert_eq!(condition_of(&status, TrainingCondition::GatePassed), missed);
}

#[rstest]
#[case::no_answer(silence())]
#[case::not_polled(None)]
#[case::a_short_report(reports(TrainingPhase::Running))]
fn what_is_not_reported_stays(#[case] poll: Option<PollResult>) {
    let before = status_of(&training(false, None), Some(Ok(full())), 1_000);
    let after = status_of(&training(false, Some(before.clone())), poll, 2_000);
    let numbers = |status: &VmafxModelTrainingStatus| VmafxModelTrainingStatus {
        conditions: status.conditions[4..].to_vec(),
        ..status.clone()
    };
    assert_eq!(numbers(&after), numbers(&before));
}

#[test]
fn fewer_samples_after_a_restart_are_fewer_samples() {
    let before = status_of(&training(false, None), Some(Ok(full())), 1_000);
    let again = TrainerReport { samples: Some(17), samples_pending: Some(0), ..full() };
    let after = status_of(&training(false, Some(before)), Some(Ok(again)), 2_000);
    assert_eq!((after.current_samples, after.samples_pending), (Some(17), Some(0)));
}

#[test]
fn an_older_checkpoint_is_ignored() {
    let before = status_of(&training(false, None), Some(Ok(full())), 1_000);
    let older = TrainerReport {
        checkpoint: Some(second(50)),
        version: Some("m-v000003".to_owned()),
        digest: Some("sha256:cd".to_owned()),
        ..full()
    };
    let after = status_of(&training(false, Some(before.clone())), Some(Ok(older)), 2_000);
    assert_eq!(after, before);
}

#[test]
fn a_failed_push_is_reported_until_one_succeeds() {
    let failed = TrainerReport { push_error: "the registry answered 401".to_owned(), ..full() };
    let first = status_of(&training(false, None), Some(Ok(failed)), 1_000);
    let pushed = (ConditionStatus::False, "PushFailed", "the registry answered 401");
    assert_eq!(condition_of(&first, TrainingCondition::CheckpointPushed), pushed);
    let silent = status_of(&training(false, Some(first.clone())), silence(), 2_000);
    assert_eq!(condition_of(&silent, TrainingCondition::CheckpointPushed), pushed);
    let pushed_again = status_of(&training(false, Some(first)), Some(Ok(full())), 3_000);
    assert_eq!(condition_of(&pushed_again, TrainingCondition::CheckpointPushed).0, ConditionStatus::True);
}

#[test]
fn the_same_observation_makes_the_same_status() {
    for poll in [None, silence(), reports(TrainingPhase::Running), Some(Ok(full()))] {
        let first = status_of(&training(false, None), poll.clone(), 1_000);
        let again = status_of(&training(false, Some(first.clone())), poll, 9_999);
        assert_eq!(again, first);
    }
}

#[test]
fn events_are_published_for_transitions_and_for_nothing_else() {
    let events = |before: &VmafxModelTrainingStatus, after: &VmafxModelTrainingStatus| {
        let events = transition_events(Some(before), after).into_iter();
        events.map(|event| event.reason.as_str()).collect::<Vec<_>>()
    };
    let polled = |before: &VmafxModelTrainingStatus, poll| {
        status_of(&training(false, Some(before.clone())), poll, 1_000)
    };
    let paused = |before: &VmafxModelTrainingStatus, workers| {
        status(&training(true, Some(before.clone())), &workload(workers), None, second(1_000))
    };
    let first = status_of(&training(false, None), None, 5);
    assert_eq!(transition_events(None, &first), [], "the first status is no transition");
    let running = polled(&first, reports(TrainingPhase::Running));
    assert_eq!(events(&first, &running), ["Training"]);
    assert_eq!(events(&running, &running), [""; 0]);
    let more = TrainerReport { phase: TrainingPhase::Running, samples: Some(9), ..TrainerReport::default() };
    assert_eq!(events(&running, &polled(&running, Some(Ok(more)))), [""; 0]);
    let silent = polled(&running, silence());
    assert_eq!(events(&running, &silent), ["TrainerUnreachable"]);
    assert_eq!(events(&silent, &polled(&silent, reports(TrainingPhase::Running))), ["Training"]);
    assert_eq!(events(&running, &polled(&running, reports(TrainingPhase::Failed))), ["TrainingFailed"]);
    let refused = TrainerReport { push_error: "401".to_owned(), ..full() };
    let refused = polled(&running, Some(Ok(refused)));
    assert_eq!(events(&running, &refused), ["PushFailed", "GateMissed"]);
    assert_eq!(events(&refused, &refused), [""; 0], "once per transition");
    let draining = paused(&running, leaving());
    let drained = paused(&draining, gone());
    assert_eq!(events(&running, &draining), ["Draining"]);
    assert_eq!(events(&draining, &drained), ["Drained"]);
    assert_eq!(events(&drained, &polled(&drained, None)), ["Resumed"]);
}
