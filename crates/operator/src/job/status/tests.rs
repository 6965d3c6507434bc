use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use vmafx_job::CancelCause;
use vmafx_proto::controller::v1::{self as wire, PooledScores, ResultDetails};

use super::*;
use crate::job::fixtures::{self, down};
use crate::job::plan::cancel_text;

const NOW: i64 = 1_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn job(spec: &Value) -> VmafxJob {
    fixtures::job(spec, &Value::Null)
}

fn live(status: JobStatus) -> Job {
    Job {
        id: "7".to_owned(),
        status: status.into(),
        assigned_node: "gpu-0".to_owned(),
        attempt: 2,
        started_at_ms: 5_000,
        ..Job::default()
    }
}

fn explained(explanation: &Explanation) -> StatusContext<'_> {
    StatusContext { explanation: Some(explanation), ..StatusContext::default() }
}

fn observed(job: Job) -> ObservedJob {
    ObservedJob::Present(Arc::new(job))
}

fn condition(status: &VmafxJobStatus, type_: JobCondition) -> (ConditionStatus, &str) {
    let condition = status.conditions.iter().find(|one| one.type_ == type_.as_str()).unwrap();
    (condition.status, &condition.reason)
}

fn over(status: JobStatus, error: &str) -> Job {
    Job { error: error.to_owned(), finished_at_ms: 9_000, ..live(status) }
}

fn cancelled(cause: CancelCause) -> Job {
    let cancel_cause = wire::CancelCause::from(cause).into();
    Job { cancel_cause, ..over(JobStatus::Cancelled, cancel_text(cause)) }
}

fn failed(reason: FailureReason) -> Job {
    Job { failure_reason: reason.number(), ..over(JobStatus::Failed, "why") }
}

fn refused() -> ObservedJob {
    ObservedJob::Refused(Explanation { reason: Reason::InputRefused, message: "outside".to_owned() })
}

/// A job that waits for another attempt.
fn retried(attempt: u32) -> Job {
    let failure = wire::FailedAttempt {
        attempt,
        node: "gpu-0".to_owned(),
        reason: FailureReason::ScratchFull.number(),
        message: "no space".to_owned(),
    };
    Job { attempt, last_failure: Some(failure), available_at_ms: 1_000_005_000, ..live(JobStatus::Pending) }
}

#[test]
fn a_job_that_waits_for_another_attempt_says_why_and_publishes_it_once() {
    let mut job = job(&json!({}));
    let mut notes = Vec::new();
    for attempt in [1, 1, 2] {
        let observed = observed(retried(attempt));
        let after = status(&job, &observed, StatusContext::default(), at(NOW));
        let failure = retried(attempt).last_failure;
        notes.extend(events(job.status.as_ref(), &after, None, failure.as_ref()));
        job.status = Some(after);
    }
    let message = "attempt 2 failed on gpu-0: no space; the next attempt starts after 1970-01-12T13:46:45Z";
    assert_eq!(job.status.unwrap().message.as_deref(), Some(message));
    let expected = [1, 2].map(|attempt| {
        let note = format!("attempt {attempt} failed on gpu-0, and the job was requeued: no space");
        ResourceEvent::warning(Reason::AttemptFailed, note)
    });
    assert_eq!(notes, expected);
}

#[test]
fn a_refusal_is_published_once() {
    let mut job = job(&json!({}));
    for expected in [1, 0] {
        let after = status(&job, &refused(), StatusContext::default(), at(NOW));
        assert_eq!(events(job.status.as_ref(), &after, None, None).len(), expected);
        job.status = Some(after);
    }
}

#[rstest]
#[case::new(json!({}), ObservedJob::NotAsked, Phase::Pending, "Reconciling")]
#[case::down(json!({}), down(), Phase::Pending, "ControllerUnreachable")]
#[case::forgotten(json!({}), ObservedJob::Missing, Phase::Pending, "Forgotten")]
#[case::waits(json!({}), observed(live(JobStatus::Pending)), Phase::Pending, "WaitingForSlot")]
#[case::runs(json!({}), observed(live(JobStatus::Running)), Phase::Running, "Scoring")]
#[case::scored(json!({}), observed(over(JobStatus::Completed, "")), Phase::Succeeded, "Finished")]
#[case::failed(json!({}), observed(failed(FailureReason::InputInvalid)), Phase::Failed, "Finished")]
#[case::refused(json!({}), ObservedJob::Rejected(Explanation { reason: Reason::InputRefused, message: "outside".to_owned() }), Phase::Failed, "Finished")]
#[case::refused_for_now(json!({}), refused(), Phase::Pending, "InputRefused")]
#[case::refused_too_long(json!({ "activeDeadlineSeconds": 60 }), refused(), Phase::Failed, "Finished")]
#[case::refused_not_too_long(json!({ "activeDeadlineSeconds": 2_000_000 }), refused(), Phase::Pending, "InputRefused")]
#[case::refused_and_suspended(json!({ "suspend": true, "activeDeadlineSeconds": 60 }), refused(), Phase::Pending, "Suspended")]
#[case::backs_off(json!({}), observed(retried(1)), Phase::Pending, "BackingOff")]
#[case::given_up(json!({ "cancel": true }), observed(cancelled(CancelCause::Requested)), Phase::Cancelled, "Finished")]
#[case::given_up_elsewhere(json!({}), observed(over(JobStatus::Cancelled, "by hand")), Phase::Cancelled, "Finished")]
#[case::given_up_before(json!({ "cancel": true }), ObservedJob::Missing, Phase::Cancelled, "Finished")]
#[case::held_back(json!({ "suspend": true }), observed(cancelled(CancelCause::Suspended)), Phase::Pending, "Suspended")]
#[case::held_back_at_once(json!({ "suspend": true }), ObservedJob::Missing, Phase::Pending, "Suspended")]
fn the_phase_follows_from_the_conditions(
    #[case] spec: Value,
    #[case] observed: ObservedJob,
    #[case] phase: Phase,
    #[case] running: &str,
) {
    let status = status(&job(&spec), &observed, StatusContext::default(), at(NOW));
    assert_eq!((status.phase, condition(&status, JobCondition::Running).1), (Some(phase), running));
    let types: Vec<_> = status.conditions.iter().map(|one| one.type_.as_str()).collect();
    assert_eq!(types, JobCondition::ALL.iter().map(|one| one.as_str()).collect::<Vec<_>>());
    assert!(status.conditions.iter().all(|one| one.observed_generation == Some(2)));
    let ends = [JobCondition::Complete, JobCondition::Failed].map(|type_| condition(&status, type_).0);
    assert_ne!(ends, [ConditionStatus::True; 2], "it ends once");
}

#[rstest]
#[case(FailureReason::InputNotFound, "InputUnavailable")]
#[case(FailureReason::InputDenied, "InputRefused")]
#[case(FailureReason::ClipsDiffer, "ScoringFailed")]
#[case(FailureReason::NodeLost, "AttemptsExhausted")]
#[case(FailureReason::WorkerCrashed, "AttemptsExhausted")]
#[case(FailureReason::InputMissingOnNode, "InputUnavailable")]
#[case(FailureReason::InputDeniedOnNode, "InputRefused")]
#[case(FailureReason::DeadlineExceeded, "DeadlineExceeded")]
#[case(FailureReason::Unspecified, "ScoringFailed")]
fn a_failure_has_a_reason_and_the_words_of_the_node(#[case] why: FailureReason, #[case] reason: &str) {
    let status = status(&job(&json!({})), &observed(failed(why)), StatusContext::default(), at(NOW));
    assert_eq!(condition(&status, JobCondition::Failed), (ConditionStatus::True, reason));
    assert_eq!((status.message.as_deref(), status.score), (Some("why"), None));
}

#[rstest]
#[case::none_asked(json!({}), 0.0, None, "Scored")]
#[case::reached(json!({ "minScore": 90 }), 90.0, Some(true), "Scored")]
#[case::missed(json!({ "minScore": 90 }), 89.9, Some(false), "BelowMinScore")]
#[case::nothing_is_a_score_too(json!({ "minScore": 0 }), 0.0, Some(true), "Scored")]
fn a_score_is_there_whenever_it_succeeded(
    #[case] spec: Value,
    #[case] score: f64,
    #[case] passed: Option<bool>,
    #[case] reason: &str,
) {
    let done = Job {
        final_score: score,
        result: Some(ResultDetails {
            model: "vmaf_v0.6.1".to_owned(),
            model_digest: "sha256:0".to_owned(),
            frames: 48,
            scores: Some(PooledScores { mean: score, ..PooledScores::default() }),
            ..ResultDetails::default()
        }),
        ..over(JobStatus::Completed, "")
    };
    let status = status(&job(&spec), &observed(done), StatusContext::default(), at(NOW));
    assert_eq!((status.score, status.passed), (Some(score), passed));
    assert_eq!(condition(&status, JobCondition::Complete), (ConditionStatus::True, reason));
    assert_eq!((status.frames, status.attempts), (Some(48), Some(2)));
    assert_eq!(status.model.unwrap().digest.as_deref(), Some("sha256:0"));
    assert_eq!((status.started_at, status.finished_at), (Some(Time(at(5))), Some(Time(at(9)))));
}

#[test]
fn numbers_that_move_by_themselves_are_not_written_again() {
    let mut job = job(&json!({}));
    let ahead = |count: u32| Explanation {
        reason: Reason::WaitingForSlot,
        message: format!("{count} jobs are ahead"),
    };
    let first = status(&job, &observed(live(JobStatus::Pending)), explained(&ahead(9)), at(NOW));
    assert_eq!(condition(&first, JobCondition::Running), (ConditionStatus::False, "WaitingForSlot"));
    job.status = Some(first.clone());
    let second = status(&job, &observed(live(JobStatus::Pending)), explained(&ahead(3)), at(NOW + 60));
    assert_eq!(second.conditions, first.conditions);
    let other = Explanation { reason: Reason::NoMatchingNode, message: "no node".to_owned() };
    let third = status(&job, &observed(live(JobStatus::Pending)), explained(&other), at(NOW + 60));
    assert_eq!(third.message.as_deref(), Some("no node"));
}

#[test]
fn a_controller_that_is_away_changes_nothing_but_one_reason() {
    let mut job = job(&json!({}));
    let first = status(&job, &observed(live(JobStatus::Running)), StatusContext::default(), at(NOW));
    job.status = Some(first.clone());
    let second = status(&job, &down(), StatusContext::default(), at(NOW + 60));
    assert_eq!((second.phase, &second.assigned_node), (first.phase, &first.assigned_node));
    assert_eq!(condition(&second, JobCondition::Accepted), (ConditionStatus::True, "ControllerUnreachable"));
    assert_eq!(condition(&second, JobCondition::Running), (ConditionStatus::True, "Scoring"));
    assert_eq!(second.message.as_deref(), Some("no answer"));
}

#[test]
fn why_it_waits_is_kept_until_the_controller_explains_it_again() {
    let mut job = job(&json!({}));
    let why = Explanation { reason: Reason::NoMatchingNode, message: "no node".to_owned() };
    job.status = Some(status(&job, &observed(live(JobStatus::Pending)), explained(&why), at(NOW)));
    let again = status(&job, &observed(live(JobStatus::Pending)), StatusContext::default(), at(NOW + 60));
    assert_eq!(Some(again), job.status);
}

#[test]
fn a_generation_is_observed_when_it_is_honoured() {
    let spec = json!({ "scoring": { "features": ["psnr"] } });
    let before = json!({ "observedGeneration": 1, "controllerJobID": "7" });
    let changed = fixtures::job(&spec, &before);
    let (old, new) = (json!({}), &spec);
    let running = Job {
        next_scoring: fixtures::live_as(new, JobStatus::Running).scoring,
        ..fixtures::live_as(&old, JobStatus::Running)
    };
    let cases = [
        (down(), 1, None),
        (observed(fixtures::live_as(&old, JobStatus::Pending)), 1, None),
        (observed(fixtures::live_as(new, JobStatus::Pending)), 2, None),
        (observed(running), 1, Some(NEXT_ATTEMPT)),
        (observed(fixtures::live_as(&old, JobStatus::Completed)), 1, Some(TOO_LATE)),
        (observed(fixtures::live_as(&old, JobStatus::Failed)), 1, Some(TOO_LATE)),
        (observed(fixtures::live_as(new, JobStatus::Completed)), 2, None),
    ];
    for (observed, generation, note) in cases {
        let status = status(&changed, &observed, StatusContext::default(), at(NOW));
        assert_eq!(status.observed_generation, Some(generation), "{observed:?}");
        let message = status.message.unwrap_or_default();
        for known in [NEXT_ATTEMPT, TOO_LATE] {
            assert_eq!(message.contains(known), note == Some(known), "{message}");
        }
    }
}

#[test]
fn a_refused_change_is_said_and_the_job_goes_on() {
    let changed =
        fixtures::job(&json!({ "reportURI": "file:///etc/r.json" }), &json!({ "observedGeneration": 1 }));
    let live = observed(fixtures::live_as(&json!({}), JobStatus::Running));
    let context = StatusContext { rejection: Some("outside the scoring roots"), ..StatusContext::default() };
    let status = status(&changed, &live, context, at(NOW));
    assert_eq!(condition(&status, JobCondition::Accepted), (ConditionStatus::True, "ChangeRefused"));
    assert_eq!((status.phase, status.observed_generation), (Some(Phase::Running), Some(1)));
    assert!(status.message.unwrap().ends_with("outside the scoring roots"));
}

#[test]
fn a_change_that_finds_the_store_full_is_shown_and_not_claimed() {
    let why = Explanation { reason: Reason::StoreFull, message: "free space".to_owned() };
    let context = StatusContext { refused_change: Some(&why), ..StatusContext::default() };
    let labelled = fixtures::job(&json!({ "groundTruth": 50 }), &json!({ "observedGeneration": 1 }));
    let waiting = observed(fixtures::live_as(&json!({}), JobStatus::Pending));
    let open = status(&labelled, &waiting, context, at(NOW));
    assert_eq!(condition(&open, JobCondition::Accepted), (ConditionStatus::True, "StoreFull"));
    assert_eq!((open.phase, open.observed_generation), (Some(Phase::Pending), Some(1)));
    assert!(open.message.unwrap().ends_with("free space"));
    // The generation stays behind, so that the ground truth is sent after the end.
    let scored = observed(fixtures::live_as(&json!({}), JobStatus::Completed));
    let ended = status(&labelled, &scored, context, at(NOW));
    assert_eq!(condition(&ended, JobCondition::Accepted), (ConditionStatus::True, "Submitted"));
    assert_eq!((ended.phase, ended.observed_generation), (Some(Phase::Succeeded), Some(1)));
}
