#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "answers are written where they are used, as they are found"
)]

use rstest::rstest;
use serde_json::json;
use vmafx_api::workload::StatefulSetRef;

use super::*;
use crate::workload::WorkerCounts;

const STARTING: &str = "the trainer cannot be reached";

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

fn says(phase: TrainingPhase) -> Option<PollResult> {
    Some(Ok(TrainerReport { phase, ..TrainerReport::default() }))
}

fn silence() -> Option<PollResult> {
    Some(Err(STARTING.to_owned()))
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn running() -> VmafxModelTrainingStatus {
    status_of(&training(false, None), says(TrainingPhase::Running), 5)
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
#[case::not_asked(None, None, TrainingPhase::Initializing, "TrainerStarting")]
#[case::nobody_there_yet(None, silence(), TrainingPhase::Initializing, "TrainerStarting")]
#[case::begins(None, says(TrainingPhase::Initializing), TrainingPhase::Initializing, "TrainerStarting")]
#[case::learns(
    Some(TrainingPhase::Initializing),
    says(TrainingPhase::Running),
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
    says(TrainingPhase::Initializing),
    TrainingPhase::Initializing,
    "TrainerStarting"
)]
#[case::gives_up(
    Some(TrainingPhase::Running),
    says(TrainingPhase::Failed),
    TrainingPhase::Failed,
    "TrainingFailed"
)]
#[case::gave_up_and_left(Some(TrainingPhase::Failed), silence(), TrainingPhase::Failed, "TrainerUnreachable")]
#[case::recovers(
    Some(TrainingPhase::Failed),
    says(TrainingPhase::Running),
    TrainingPhase::Running,
    "Training"
)]
#[case::holds_itself_back(
    Some(TrainingPhase::Running),
    says(TrainingPhase::Paused),
    TrainingPhase::Paused,
    "Suspended"
)]
#[case::resumed(Some(TrainingPhase::Paused), silence(), TrainingPhase::Initializing, "TrainerStarting")]
#[case::resumed_and_not_asked(
    Some(TrainingPhase::Paused),
    None,
    TrainingPhase::Initializing,
    "TrainerStarting"
)]
fn the_phase_is_what_the_trainer_says_or_last_said(
    #[case] before: Option<TrainingPhase>,
    #[case] answer: Option<PollResult>,
    #[case] phase: TrainingPhase,
    #[case] ready: &str,
) {
    let before = before
        .map(|phase| VmafxModelTrainingStatus { phase: Some(phase), ..VmafxModelTrainingStatus::default() });
    let status = status_of(&training(false, before), answer, 5);
    assert_eq!((status.phase, condition_of(&status, TrainingCondition::Ready).1), (Some(phase), ready));
    assert_eq!(
        condition_of(&status, TrainingCondition::Ready).0 == ConditionStatus::True,
        ready == "Training"
    );
}

#[rstest]
#[case::asked_for_and_not_seen(WorkerCounts { observed: false, ..gone() }, says(TrainingPhase::Running), TrainingPhase::Running, "Draining")]
#[case::saves_its_work(leaving(), says(TrainingPhase::Paused), TrainingPhase::Running, "Draining")]
#[case::has_ended(leaving(), silence(), TrainingPhase::Running, "Draining")]
#[case::gone(gone(), None, TrainingPhase::Paused, "Drained")]
fn a_run_is_paused_when_its_trainer_is_gone(
    #[case] workers: WorkerCounts,
    #[case] answer: Option<PollResult>,
    #[case] phase: TrainingPhase,
    #[case] reason: &str,
) {
    let run = training(true, Some(running()));
    let status = status(&run, &workload(workers), answer.as_ref(), second(6));
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
fn what_the_trainer_says_is_what_the_status_has() {
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
#[case::nobody_answers(silence())]
#[case::not_asked(None)]
#[case::a_trainer_that_says_little(says(TrainingPhase::Running))]
fn what_is_not_said_stays(#[case] answer: Option<PollResult>) {
    let before = status_of(&training(false, None), Some(Ok(full())), 1_000);
    let after = status_of(&training(false, Some(before.clone())), answer, 2_000);
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
fn an_older_checkpoint_is_none() {
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
fn a_push_that_fails_is_said_until_one_succeeds() {
    let failed = TrainerReport { push_error: "the registry answered 401".to_owned(), ..full() };
    let first = status_of(&training(false, None), Some(Ok(failed)), 1_000);
    let pushed = (ConditionStatus::False, "PushFailed", "the registry answered 401");
    assert_eq!(condition_of(&first, TrainingCondition::CheckpointPushed), pushed);
    let silent = status_of(&training(false, Some(first.clone())), silence(), 2_000);
    assert_eq!(condition_of(&silent, TrainingCondition::CheckpointPushed), pushed);
    let well = status_of(&training(false, Some(first)), Some(Ok(full())), 3_000);
    assert_eq!(condition_of(&well, TrainingCondition::CheckpointPushed).0, ConditionStatus::True);
}

#[test]
fn the_same_facts_make_the_same_status() {
    for answer in [None, silence(), says(TrainingPhase::Running), Some(Ok(full()))] {
        let first = status_of(&training(false, None), answer.clone(), 1_000);
        let again = status_of(&training(false, Some(first.clone())), answer, 9_999);
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
    let running = polled(&first, says(TrainingPhase::Running));
    assert_eq!(events(&first, &running), ["Training"]);
    assert_eq!(events(&running, &running), [""; 0]);
    let more = TrainerReport { phase: TrainingPhase::Running, samples: Some(9), ..TrainerReport::default() };
    assert_eq!(events(&running, &polled(&running, Some(Ok(more)))), [""; 0]);
    let silent = polled(&running, silence());
    assert_eq!(events(&running, &silent), ["TrainerUnreachable"]);
    assert_eq!(events(&silent, &polled(&silent, says(TrainingPhase::Running))), ["Training"]);
    assert_eq!(events(&running, &polled(&running, says(TrainingPhase::Failed))), ["TrainingFailed"]);
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
