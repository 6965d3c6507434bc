use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::job::in_pod::fixtures::{agent, defaults, ended, failure, job, observed, pod, resource, score};
use crate::job::in_pod::snapshot::PodSnapshot;

const BEHIND: TemplateProgress = TemplateProgress::Behind { failed_before: 0 };

fn changed() -> VmafxJob {
    resource(&json!({ "scoring": { "features": ["psnr"] } }))
}

/// A Job that was made from the spec before the change.
fn of_before(status: &Value, failed_before: i32) -> BatchJobSnapshot {
    let source = TemplateSource::of(&resource(&json!({})), failed_before);
    BatchJobSnapshot { source: Some(source), ..job(status) }
}

fn running() -> Value {
    agent("Running", &json!({ "running": { "startedAt": "2026-01-01T00:00:05Z" } }))
}

fn waiting() -> Value {
    agent("Pending", &json!({ "waiting": { "reason": "ContainerCreating" } }))
}

fn killed() -> Value {
    ended("Failed", 137, "Error", "")
}

fn disrupted() -> Value {
    let conditions = json!([{ "type": "DisruptionTarget", "status": "True", "reason": "Preempted" }]);
    json!({ "phase": "Failed", "conditions": conditions })
}

fn pods(statuses: &[Value]) -> Vec<Arc<PodSnapshot>> {
    (1..).zip(statuses).map(|(number, status)| pod(number, status)).collect()
}

#[rstest]
#[case::no_pod(json!({}), vec![], BEHIND)]
#[case::pod_without_status(json!({ "active": 1 }), vec![json!({ "phase": "Pending" })], BEHIND)]
#[case::pod_starts(json!({ "active": 1 }), vec![waiting()], BEHIND)]
#[case::runs(json!({ "active": 1 }), vec![running()], TemplateProgress::NextAttempt)]
#[case::backs_off(json!({ "failed": 1 }), vec![killed()], TemplateProgress::Behind { failed_before: 1 })]
#[case::backs_off_uncounted(json!({ "active": 1 }), vec![killed()], TemplateProgress::Behind { failed_before: 1 })]
#[case::its_failed_pod_is_gone(json!({ "failed": 2 }), vec![], TemplateProgress::Behind { failed_before: 2 })]
#[case::disrupted(json!({}), vec![disrupted()], BEHIND)]
#[case::second_runs(json!({ "failed": 1, "active": 1 }), vec![killed(), running()], TemplateProgress::NextAttempt)]
#[case::out_of_retries(json!({ "failed": 3 }), vec![killed(), killed(), killed(), killed()], TemplateProgress::NextAttempt)]
#[case::at_fault(json!({}), vec![ended("Failed", 2, "Error", &failure("InputDenied", 2))], TemplateProgress::NextAttempt)]
#[case::scored(json!({}), vec![ended("Succeeded", 0, "Completed", &score(90.0))], TemplateProgress::NextAttempt)]
#[case::scored_and_its_pod_is_gone(json!({ "succeeded": 1 }), vec![], TemplateProgress::NextAttempt)]
#[case::ending(json!({ "conditions": [{ "type": "FailureTarget", "status": "True" }] }), vec![], TemplateProgress::NextAttempt)]
fn a_job_is_replaced_while_no_attempt_is_under_way(
    #[case] status: Value,
    #[case] statuses: Vec<Value>,
    #[case] expected: TemplateProgress,
) {
    let observe = |live| observed(Some(live), pods(&statuses));
    assert_eq!(progress(&changed(), &observe(of_before(&status, 0)), &defaults()), expected);
    assert_eq!(
        progress(&resource(&json!({})), &observe(of_before(&status, 0)), &defaults()),
        TemplateProgress::UpToDate
    );
    if let TemplateProgress::Behind { failed_before } = expected {
        let again = TemplateProgress::Behind { failed_before: failed_before + 4 };
        assert_eq!(progress(&changed(), &observe(of_before(&status, 4)), &defaults()), again);
    }
}

#[rstest]
#[case::report(json!({ "reportURI": "file:///r.json" }), true)]
#[case::overwrite(json!({ "overwriteReport": true }), true)]
#[case::input(json!({ "input": { "width": 16, "height": 16 } }), true)]
#[case::template(json!({ "podTemplate": { "spec": { "nodeSelector": { "a": "b" } } } }), true)]
#[case::limits(json!({ "backoffLimit": 9, "priority": 4, "activeDeadlineSeconds": 3, "groundTruth": 5 }), false)]
#[case::suspended(json!({ "suspend": true }), false)]
#[case::another_spelling(json!({ "model": "", "scoring": {} }), false)]
fn a_change_counts_if_it_changes_what_a_pod_does(#[case] spec: Value, #[case] counts: bool) {
    let observed = observed(Some(of_before(&json!({}), 0)), vec![]);
    assert_eq!(progress(&resource(&spec), &observed, &defaults()) == BEHIND, counts);
}

#[test]
fn a_change_that_yields_no_job_leaves_the_one_before() {
    let observed = observed(Some(of_before(&json!({}), 0)), vec![]);
    let outside = resource(&json!({ "reportURI": "s3://others/r.json" }));
    let TemplateProgress::Refused(problem) = progress(&outside, &observed, &defaults()) else {
        panic!("it was not refused")
    };
    assert!(problem.starts_with("spec.reportURI: \"s3://others/r.json\" is outside"), "{problem}");
}

/// A new release of the operator must not replace the Jobs of the one before, unless their resources change.
#[rstest]
#[case::unchanged(Some(2), TemplateProgress::UpToDate)]
#[case::never_observed(None, TemplateProgress::UpToDate)]
#[case::changed(Some(1), BEHIND)]
fn a_job_of_an_unknown_source_follows_what_was_observed(
    #[case] observed_generation: Option<i64>,
    #[case] expected: TemplateProgress,
) {
    let mut resource = changed();
    resource.status = serde_json::from_value(json!({ "observedGeneration": observed_generation })).unwrap();
    let unknown = || job(&json!({}));
    assert_eq!(progress(&resource, &observed(Some(unknown()), vec![]), &defaults()), expected);
    let runs = observed(Some(unknown()), pods(&[running()]));
    assert_ne!(progress(&resource, &runs, &defaults()), BEHIND, "a running attempt is not interrupted");
}

#[test]
fn the_annotation_is_read_back_and_anything_else_is_unknown() {
    let source = TemplateSource::of(&changed(), 3);
    let read = |text: String| {
        let live =
            serde_json::from_value(json!({ "metadata": { "annotations": { SOURCE: text } } })).unwrap();
        TemplateSource::of_live(&live)
    };
    assert_eq!(read(source.annotation()), Some(source));
    assert_eq!(read("66571179".to_owned()), None);
    assert_eq!(TemplateSource::of_live(&Job::default()), None);
}
