#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "answers are written where they are used, as they are found"
)]

use rstest::rstest;
use serde_json::json;

use super::*;

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

fn at_work() -> Workers {
    Workers { observed: true, wanted: 1, existing: 1, ready: 1, renewed: 1, one_revision: true, image: None }
}

fn leaving() -> Workers {
    Workers { wanted: 0, ..at_work() }
}

fn gone() -> Workers {
    Workers { wanted: 0, existing: 0, ready: 0, renewed: 0, ..at_work() }
}

fn found(answer: Option<Answer>) -> Found {
    Found {
        tracked: Some(StatefulSetRef { name: "vmafx-trainer-m".into(), uid: "u".into() }),
        synced: Statement::yes(Reason::AsExpected, ""),
        workers: Some(at_work()),
        answer: answer.map(Arc::new),
    }
}

fn says(phase: TrainingPhase) -> Option<Answer> {
    Some(Ok(Report { phase, ..Report::default() }))
}

fn silence() -> Option<Answer> {
    Some(Err(STARTING.to_owned()))
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn running() -> VmafxModelTrainingStatus {
    status(&training(false, None), &found(says(TrainingPhase::Running)), second(5))
}

fn said(status: &VmafxModelTrainingStatus, type_: TrainingCondition) -> (ConditionStatus, &str, &str) {
    let condition = status.conditions.iter().find(|condition| condition.type_ == type_.as_str()).unwrap();
    (condition.status, &condition.reason, &condition.message)
}

#[test]
fn every_condition_is_there_from_the_first_write_and_names_the_generation() {
    let status = status(&training(false, None), &found(None), second(5));
    let types: Vec<_> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types, TrainingCondition::ALL.iter().map(|type_| type_.as_str()).collect::<Vec<_>>());
    assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(3)));
    assert_eq!((status.phase, status.observed_generation), (Some(TrainingPhase::Initializing), Some(3)));
    for about in [TrainingCondition::CheckpointPushed, TrainingCondition::GatePassed] {
        assert_eq!(said(&status, about).0, ConditionStatus::Unknown);
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
    #[case] answer: Option<Answer>,
    #[case] phase: TrainingPhase,
    #[case] ready: &str,
) {
    let before = before
        .map(|phase| VmafxModelTrainingStatus { phase: Some(phase), ..VmafxModelTrainingStatus::default() });
    let status = status(&training(false, before), &found(answer), second(5));
    assert_eq!((status.phase, said(&status, TrainingCondition::Ready).1), (Some(phase), ready));
    assert_eq!(said(&status, TrainingCondition::Ready).0 == ConditionStatus::True, ready == "Training");
}

#[rstest]
#[case::asked_for_and_not_seen(Workers { observed: false, ..gone() }, says(TrainingPhase::Running), TrainingPhase::Running, "Draining")]
#[case::saves_its_work(leaving(), says(TrainingPhase::Paused), TrainingPhase::Running, "Draining")]
#[case::has_ended(leaving(), silence(), TrainingPhase::Running, "Draining")]
#[case::gone(gone(), None, TrainingPhase::Paused, "Drained")]
fn a_run_is_paused_when_its_trainer_is_gone(
    #[case] workers: Workers,
    #[case] answer: Option<Answer>,
    #[case] phase: TrainingPhase,
    #[case] reason: &str,
) {
    let found = Found { workers: Some(workers), ..found(answer) };
    let status = status(&training(true, Some(running())), &found, second(6));
    assert_eq!(status.phase, Some(phase));
    assert_eq!(said(&status, TrainingCondition::Paused).1, reason);
    assert_eq!(said(&status, TrainingCondition::Ready).1, reason);
}

#[test]
fn a_workload_that_is_not_synced_is_the_reason() {
    let refused = Found { synced: Statement::no(Reason::ForeignOwner, "somebody's"), ..found(None) };
    let status = status(&training(true, None), &refused, second(5));
    assert_eq!(
        said(&status, TrainingCondition::Ready),
        (ConditionStatus::False, "ForeignOwner", "somebody's")
    );
}

fn full() -> Report {
    Report {
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
        ..Report::default()
    }
}

#[test]
fn what_the_trainer_says_is_what_the_status_has() {
    let status = status(&training(false, None), &found(Some(Ok(full()))), second(1_000));
    assert_eq!((status.current_samples, status.samples_pending), (Some(4200), Some(200)));
    assert_eq!(status.last_checkpoint, Some(Time(second(100))));
    assert_eq!(status.model_version.as_deref(), Some("m-v000004"));
    assert_eq!(status.digest.as_deref(), Some("sha256:ab"));
    assert_eq!(status.stable_version.as_deref(), Some("m-v000003"));
    assert_eq!(status.metrics.as_ref().and_then(|metrics| metrics.rmse), Some(2.5));
    let pushed = (ConditionStatus::True, "CheckpointWritten", "the last checkpoint is m-v000004");
    assert_eq!(said(&status, TrainingCondition::CheckpointPushed), pushed);
    let missed = (ConditionStatus::False, "GateMissed", "SROCC fell by 0.02");
    assert_eq!(said(&status, TrainingCondition::GatePassed), missed);
}

#[rstest]
#[case::nobody_answers(silence())]
#[case::not_asked(None)]
#[case::a_trainer_that_says_little(says(TrainingPhase::Running))]
fn what_is_not_said_stays(#[case] answer: Option<Answer>) {
    let before = status(&training(false, None), &found(Some(Ok(full()))), second(1_000));
    let after = status(&training(false, Some(before.clone())), &found(answer), second(2_000));
    let numbers = |status: &VmafxModelTrainingStatus| VmafxModelTrainingStatus {
        conditions: status.conditions[4..].to_vec(),
        ..status.clone()
    };
    assert_eq!(numbers(&after), numbers(&before));
}

#[test]
fn fewer_samples_after_a_restart_are_fewer_samples() {
    let before = status(&training(false, None), &found(Some(Ok(full()))), second(1_000));
    let again = Report { samples: Some(17), samples_pending: Some(0), ..full() };
    let after = status(&training(false, Some(before)), &found(Some(Ok(again))), second(2_000));
    assert_eq!((after.current_samples, after.samples_pending), (Some(17), Some(0)));
}

#[test]
fn an_older_checkpoint_is_none() {
    let before = status(&training(false, None), &found(Some(Ok(full()))), second(1_000));
    let older = Report {
        checkpoint: Some(second(50)),
        version: Some("m-v000003".to_owned()),
        digest: Some("sha256:cd".to_owned()),
        ..full()
    };
    let after = status(&training(false, Some(before.clone())), &found(Some(Ok(older))), second(2_000));
    assert_eq!(after, before);
}

#[test]
fn a_push_that_fails_is_said_until_one_succeeds() {
    let failed = Report { push_error: "the registry answered 401".to_owned(), ..full() };
    let first = status(&training(false, None), &found(Some(Ok(failed))), second(1_000));
    let pushed = (ConditionStatus::False, "PushFailed", "the registry answered 401");
    assert_eq!(said(&first, TrainingCondition::CheckpointPushed), pushed);
    let silent = status(&training(false, Some(first.clone())), &found(silence()), second(2_000));
    assert_eq!(said(&silent, TrainingCondition::CheckpointPushed), pushed);
    let well = status(&training(false, Some(first)), &found(Some(Ok(full()))), second(3_000));
    assert_eq!(said(&well, TrainingCondition::CheckpointPushed).0, ConditionStatus::True);
}

#[test]
fn the_same_facts_make_the_same_status() {
    for answer in [None, silence(), says(TrainingPhase::Running), Some(Ok(full()))] {
        let first = status(&training(false, None), &found(answer.clone()), second(1_000));
        let again = status(&training(false, Some(first.clone())), &found(answer), second(9_999));
        assert_eq!(again, first);
    }
}

#[test]
fn people_hear_of_transitions_and_of_nothing_else() {
    let heard = |before: &VmafxModelTrainingStatus, after: &VmafxModelTrainingStatus| {
        let all = happenings(Some(before), after).into_iter();
        all.map(|happening| happening.reason.as_str()).collect::<Vec<_>>()
    };
    let of = |paused, before: &VmafxModelTrainingStatus, found: Found| {
        status(&training(paused, Some(before.clone())), &found, second(1_000))
    };
    let first = status(&training(false, None), &found(None), second(5));
    assert_eq!(happenings(None, &first), [], "a beginning is no transition");
    let running = of(false, &first, found(says(TrainingPhase::Running)));
    assert_eq!(heard(&first, &running), ["Training"]);
    assert_eq!(heard(&running, &running), [""; 0]);
    let more = Report { samples: Some(9), ..Report { phase: TrainingPhase::Running, ..Report::default() } };
    assert_eq!(heard(&running, &of(false, &running, found(Some(Ok(more))))), [""; 0]);
    let silent = of(false, &running, found(silence()));
    assert_eq!(heard(&running, &silent), ["TrainerUnreachable"]);
    assert_eq!(heard(&silent, &of(false, &silent, found(says(TrainingPhase::Running)))), ["Training"]);
    assert_eq!(heard(&running, &of(false, &running, found(says(TrainingPhase::Failed)))), ["TrainingFailed"]);
    let refused = Report { push_error: "401".to_owned(), ..full() };
    let refused = of(false, &running, found(Some(Ok(refused))));
    assert_eq!(heard(&running, &refused), ["PushFailed", "GateMissed"]);
    assert_eq!(heard(&refused, &refused), [""; 0], "once per transition");
    let draining = of(true, &running, Found { workers: Some(leaving()), ..found(None) });
    let drained = of(true, &draining, Found { workers: Some(gone()), ..found(None) });
    assert_eq!(heard(&running, &draining), ["Draining"]);
    assert_eq!(heard(&draining, &drained), ["Drained"]);
    assert_eq!(heard(&drained, &of(false, &drained, found(None))), ["Resumed"]);
}
