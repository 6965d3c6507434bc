use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::ConditionStatus;
use vmafx_api::conditions::JobCondition;
use vmafx_api::job::Phase;

use super::*;
use crate::job::in_pod::fixtures::{
    ENDED, STARTED, agent, defaults, end, ended, failure, job, observed, pod, resource, score, specified,
};
use crate::job::in_pod::outcome::outcome;
use crate::job::in_pod::snapshot::PodSnapshot;
use crate::job::in_pod::source::{TemplateSource, progress};

const NOW: &str = "2026-01-01T00:01:00Z";

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn made(spec: &Value, observed: &ObservedPodJob) -> VmafxJobStatus {
    made_of(&resource(spec), observed)
}

fn made_of(resource: &VmafxJob, observed: &ObservedPodJob) -> VmafxJobStatus {
    let outcome = observed.job.as_ref().and_then(|job| outcome(job, &observed.pods));
    let progress = progress(resource, observed, &defaults());
    status(resource, observed, &progress, outcome.as_ref(), None, at(NOW))
}

fn condition(status: &VmafxJobStatus, type_: JobCondition) -> (ConditionStatus, &str, &str) {
    let condition = status.conditions.iter().find(|one| one.type_ == type_.as_str()).unwrap();
    (condition.status, &condition.reason, &condition.message)
}

fn waiting(reason: &str, message: &str) -> Value {
    agent("Pending", &json!({ "waiting": { "reason": reason, "message": message } }))
}

fn unschedulable() -> Value {
    json!({ "phase": "Pending", "conditions": [
        { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available" },
    ]})
}

fn running() -> Value {
    agent("Running", &json!({ "running": { "startedAt": STARTED } }))
}

fn lost() -> Value {
    ended("Failed", 137, "Error", "")
}

#[rstest]
#[case::no_pod(json!({}), vec![], Phase::Pending, "JobCreated", "see `kubectl describe job vmafx-job-j`")]
#[case::starting(json!({ "active": 1 }), vec![waiting("ContainerCreating", "")], Phase::Pending, "PodStarting", "Pod p1 is starting")]
#[case::no_room(json!({ "active": 1 }), vec![unschedulable()], Phase::Pending, "Unschedulable", "0/3 nodes are available")]
#[case::no_image(json!({ "active": 1 }), vec![waiting("ErrImagePull", "not found")], Phase::Pending, "ImageUnavailable", "not found")]
#[case::no_secret(json!({ "active": 1 }), vec![waiting("CreateContainerConfigError", "secret \"a\" not found")],
    Phase::Pending, "PodStuck", "secret \"a\" not found")]
#[case::runs(json!({ "active": 1 }), vec![running()], Phase::Running, "Scoring", "Pod p1 on k8s-1 is scoring the clips")]
#[case::done_but_for_others(json!({ "active": 1 }), vec![ended("Running", 0, "Completed", "")], Phase::Running, "Scoring", "p1")]
#[case::lost_once(json!({ "failed": 1 }), vec![lost()], Phase::Pending, "BackingOff", "attempt 1 failed and will be retried")]
#[case::again(json!({ "failed": 1, "active": 1 }), vec![lost(), running()], Phase::Running, "Scoring", "Pod p2")]
#[case::at_fault_in_a_moment(json!({ "active": 1 }), vec![ended("Failed", 2, "Error", &failure("InputDenied", 2))],
    Phase::Running, "Scoring", "p1")]
#[case::lost_too_often_in_a_moment(json!({ "failed": 3 }), vec![lost(), lost(), lost(), lost()], Phase::Running, "Scoring", "p4")]
fn a_job_says_why_it_does_not_run(
    #[case] job_status: Value,
    #[case] pods: Vec<Value>,
    #[case] phase: Phase,
    #[case] reason: &str,
    #[case] text: &str,
) {
    let pods: Vec<_> = (1..).zip(&pods).map(|(number, status)| pod(number, status)).collect();
    let status = made(&json!({}), &observed(Some(job(&job_status)), pods));
    let (_, actual, message) = condition(&status, JobCondition::Running);
    assert_eq!((status.phase, actual), (Some(phase), reason));
    assert!(message.contains(text), "{message}");
    assert_eq!(status.message.as_deref(), Some(message));
    assert_eq!(condition(&status, JobCondition::Accepted).1, "JobCreated");
    let types: Vec<_> = status.conditions.iter().map(|one| one.type_.as_str()).collect();
    assert_eq!(types, JobCondition::ALL.iter().map(|one| one.as_str()).collect::<Vec<_>>());
    assert!(status.conditions.iter().all(|one| one.observed_generation == Some(2)));
    assert_eq!(status.finished_at, None);
}

#[rstest]
#[case::none_asked(json!({}), 0.0, None, "Scored")]
#[case::reached(json!({ "minScore": 90, "reportURI": "file:///x" }), 90.0, Some(true), "Scored")]
#[case::missed(json!({ "minScore": 90 }), 89.9, Some(false), "BelowMinScore")]
fn a_score_is_there_with_everything_around_it(
    #[case] spec: Value,
    #[case] value: f64,
    #[case] passed: Option<bool>,
    #[case] reason: &str,
) {
    let pods = vec![pod(1, &lost()), pod(2, &ended("Succeeded", 0, "Completed", &score(value)))];
    let status = made(&spec, &observed(Some(job(&json!({ "failed": 1, "succeeded": 1 }))), pods));
    assert_eq!((status.phase, status.score, status.passed), (Some(Phase::Succeeded), Some(value), passed));
    assert_eq!(condition(&status, JobCondition::Complete).1, reason);
    assert_eq!(
        (status.frames, status.attempts, status.report_uri.as_deref()),
        (Some(48), Some(2), spec["reportURI"].as_str())
    );
    assert_eq!((status.started_at, status.finished_at), (Some(Time(at(STARTED))), Some(Time(at(ENDED)))));
    assert_eq!(status.assigned_node.as_deref(), Some("k8s-1"));
    let model = status.model.unwrap();
    assert_eq!((model.name.as_str(), model.digest.as_deref()), ("vmaf_v0.6.1", Some("sha256:0")));
    let scores = status.scores.unwrap();
    assert_eq!((scores.mean, scores.harmonic_mean, scores.p50), (value, 1.0, 7.0));
}

#[test]
fn a_failure_has_its_word_and_its_time_and_no_score() {
    let pods = vec![pod(1, &ended("Failed", 2, "Error", &failure("InputDenied", 2)))];
    let over = json!({ "failed": 1, "conditions": end("Failed", "PodFailurePolicy") });
    let status = made(&json!({}), &observed(Some(job(&over)), pods));
    assert_eq!(condition(&status, JobCondition::Failed), (ConditionStatus::True, "InputRefused", "why"));
    assert_eq!((status.phase, status.score), (Some(Phase::Failed), None));
    assert_eq!(status.finished_at, Some(Time(at(ENDED))));
}

fn suspended_job() -> BatchJobSnapshot {
    specified(&json!({ "suspend": true }), &json!({}))
}

#[rstest]
#[case::held(Some(suspended_job()), vec![], 0, "Suspended")]
#[case::never_begun(None, vec![], 0, "Suspended")]
#[case::its_pod_is_leaving(Some(suspended_job()), vec![pod(1, &running())], 0, "Draining")]
#[case::the_pod_of_a_job_that_is_gone_is_leaving(None, vec![], 1, "Draining")]
fn a_suspended_job_waits_for_its_pod_to_leave(
    #[case] job: Option<BatchJobSnapshot>,
    #[case] pods: Vec<std::sync::Arc<PodSnapshot>>,
    #[case] leaving: usize,
    #[case] reason: &str,
) {
    let observed = ObservedPodJob { leaving, ..observed(job, pods) };
    let status = made(&json!({ "suspend": true }), &observed);
    assert_eq!((status.phase, condition(&status, JobCondition::Suspended).1), (Some(Phase::Pending), reason));
    assert_eq!(condition(&status, JobCondition::Accepted).1, "Suspended");
}

#[rstest]
#[case::by_kueue(Some("gpu"), "waiting for Kueue to admit the job to the queue gpu")]
#[case::by_another_client(None, "suspended by another client")]
fn whoever_suspended_the_kubernetes_job_is_named(#[case] queue: Option<&str>, #[case] text: &str) {
    let mut resource = resource(&json!({}));
    resource.metadata.labels =
        queue.map(|queue| [("kueue.x-k8s.io/queue-name".to_owned(), queue.to_owned())].into());
    let status = made_of(&resource, &observed(Some(suspended_job()), vec![]));
    let (_, reason, message) = condition(&status, JobCondition::Running);
    assert_eq!((status.phase, reason), (Some(Phase::Pending), "WaitingForAdmission"));
    assert!(message.contains(text), "{message}");
    assert_eq!(condition(&status, JobCondition::Suspended).1, "NotSuspended", "not by request");
}

#[rstest]
#[case::while_it_ran(Some(job(&json!({ "active": 1 }))), "JobCreated", Some(1))]
#[case::before(None, "Cancelled", None)]
fn a_cancelled_job_has_ended(
    #[case] job: Option<BatchJobSnapshot>,
    #[case] accepted: &str,
    #[case] attempts: Option<i32>,
) {
    let status = made(&json!({ "cancel": true }), &observed(job, vec![]));
    assert_eq!((status.phase, status.attempts), (Some(Phase::Cancelled), attempts));
    assert_eq!(condition(&status, JobCondition::Failed).1, "Cancelled");
    assert_eq!(condition(&status, JobCondition::Accepted).1, accepted);
    assert_eq!(status.finished_at, Some(Time(at(NOW))));
}

#[rstest]
#[case::for_now(false, Phase::Pending, ConditionStatus::False)]
#[case::for_good(true, Phase::Failed, ConditionStatus::True)]
fn what_stands_in_the_way_is_said(
    #[case] is_final: bool,
    #[case] phase: Phase,
    #[case] failed: ConditionStatus,
) {
    let obstacle = Obstacle { is_final, ..Obstacle::new(Reason::Invalid, "no image") };
    let status = obstructed(&resource(&json!({})), &obstacle, NOW);
    assert_eq!((status.phase, status.message.as_deref()), (Some(phase), Some("no image")));
    assert_eq!(condition(&status, JobCondition::Accepted), (ConditionStatus::False, "Invalid", "no image"));
    assert_eq!(
        (condition(&status, JobCondition::Failed).0, status.finished_at.is_some()),
        (failed, is_final)
    );
}

#[test]
fn the_same_facts_give_the_same_status_later_and_moving_words_are_kept() {
    let mut resource = resource(&json!({}));
    let first = made_of(
        &resource,
        &observed(Some(job(&json!({ "active": 1 }))), vec![pod(1, &waiting("ErrImagePull", "401"))]),
    );
    resource.status = Some(first.clone());
    let backing_off = pod(1, &waiting("ImagePullBackOff", "Back-off pulling image"));
    let later = observed(Some(job(&json!({ "active": 1 }))), vec![backing_off]);
    let second =
        status(&resource, &later, &TemplateProgress::UpToDate, None, None, at("2026-01-01T00:09:00Z"));
    assert_eq!(second, first);
}

fn obstructed(resource: &VmafxJob, obstacle: &Obstacle, now: &str) -> VmafxJobStatus {
    let (observed, progress) = (ObservedPodJob::default(), TemplateProgress::UpToDate);
    status(resource, &observed, &progress, None, Some(obstacle), at(now))
}

#[rstest]
#[case::in_time(json!({ "activeDeadlineSeconds": 60 }), "2026-01-01T00:00:59Z", Phase::Pending, "Unfinished")]
#[case::too_late(json!({ "activeDeadlineSeconds": 60 }), "2026-01-01T00:01:00Z", Phase::Failed, "DeadlineExceeded")]
#[case::endless(json!({}), "2026-01-01T00:01:00Z", Phase::Pending, "Unfinished")]
#[case::suspended(json!({ "activeDeadlineSeconds": 60, "suspend": true }), "2026-01-01T00:01:00Z", Phase::Pending, "Unfinished")]
fn an_obstacle_ends_the_job_at_its_deadline(
    #[case] spec: Value,
    #[case] now: &str,
    #[case] phase: Phase,
    #[case] reason: &str,
) {
    let mut resource = resource(&spec);
    resource.metadata.creation_timestamp = Some(Time(at("2026-01-01T00:00:00Z")));
    let status = obstructed(&resource, &Obstacle::new(Reason::InputRefused, "outside"), now);
    assert_eq!((status.phase, condition(&status, JobCondition::Failed).1), (Some(phase), reason));
    assert_eq!(
        condition(&status, JobCondition::Accepted),
        (ConditionStatus::False, "InputRefused", "outside")
    );
    assert_eq!(status.finished_at.is_some(), phase == Phase::Failed);
}

#[test]
fn a_change_that_is_not_used_is_not_claimed() {
    let before = TemplateSource::of(&resource(&json!({})), 0);
    let live = || BatchJobSnapshot { source: Some(before.clone()), ..job(&json!({ "active": 1 })) };
    let runs = observed(Some(live()), vec![pod(1, &running())]);
    let ended = observed(Some(live()), vec![pod(1, &ended("Succeeded", 0, "Completed", &score(80.0)))]);
    let made = |spec: Value, observed: &ObservedPodJob| {
        let mut changed = resource(&spec);
        changed.status = serde_json::from_value(json!({ "observedGeneration": 1 })).unwrap();
        made_of(&changed, observed)
    };
    let features = || json!({ "scoring": { "features": ["psnr"] } });
    let status = made(features(), &runs);
    assert_eq!(
        (status.observed_generation, status.message.unwrap()),
        (Some(1), format!("Pod p1 on k8s-1 is scoring the clips; {NEXT_ATTEMPT}"))
    );
    let status = made(features(), &ended);
    assert_eq!(
        (status.observed_generation, status.message.unwrap()),
        (Some(1), format!("the score is 80.000; {TOO_LATE}"))
    );
    let status = made(json!({ "reportURI": "s3://others/r.json" }), &runs);
    let (_, reason, message) = condition(&status, JobCondition::Accepted);
    assert_eq!((status.observed_generation, reason), (Some(1), "ChangeRefused"));
    assert!(message.contains("not its last change: spec.reportURI"), "{message}");
    assert_eq!(status.message.as_deref(), Some(message));
    assert_eq!(made(json!({ "priority": 3 }), &runs).observed_generation, Some(2));
}

#[test]
fn attempts_of_a_replaced_job_count() {
    let source = TemplateSource::of(&resource(&json!({})), 2);
    let live = BatchJobSnapshot { source: Some(source), ..job(&json!({ "active": 1 })) };
    let status = made(&json!({}), &observed(Some(live), vec![pod(1, &running())]));
    assert_eq!(status.attempts, Some(3));
}
