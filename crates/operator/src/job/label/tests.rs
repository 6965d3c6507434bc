use rstest::rstest;
use serde_json::{Value, json};
use vmafx_proto::controller::v1::GroundTruth;

use super::*;
use crate::job::fixtures::job;

fn ended(phase: &str, generation: i64, truth: Option<f64>) -> Value {
    json!({ "phase": phase, "controllerJobID": "7", "observedGeneration": generation, "groundTruth": truth })
}

fn live(status: JobStatus, revision: u64, truth: Option<(f64, LabelScale)>) -> Job {
    let ground_truth = truth.map(|(value, scale)| GroundTruth { value, scale: scale.into() });
    Job { id: "7".to_owned(), status: status.into(), revision, ground_truth, ..Job::default() }
}

#[rstest]
#[case::none_wanted(json!({}), live(JobStatus::Pending, 1, None), None)]
#[case::none_there(json!({ "groundTruth": 0 }), live(JobStatus::Pending, 1, None), Some(0.0))]
#[case::while_it_runs(json!({ "groundTruth": 50 }), live(JobStatus::Running, 1, None), Some(50.0))]
#[case::as_it_ends(json!({ "groundTruth": 50 }), live(JobStatus::Completed, 1, None), Some(50.0))]
#[case::another_there(json!({ "groundTruth": 50 }), live(JobStatus::Running, 1, Some((40.0, LabelScale::Percent))), Some(50.0))]
#[case::the_same_there(json!({ "groundTruth": 50 }), live(JobStatus::Running, 1, Some((50.0, LabelScale::Percent))), None)]
#[case::on_another_scale(json!({ "groundTruth": 50 }), live(JobStatus::Running, 1, Some((3.0, LabelScale::Mos))), None)]
#[case::taken_away(json!({}), live(JobStatus::Running, 1, Some((50.0, LabelScale::Percent))), None)]
#[case::just_submitted(json!({ "groundTruth": 50 }), live(JobStatus::Pending, 0, None), None)]
#[case::failed(json!({ "groundTruth": 50 }), live(JobStatus::Failed, 1, None), None)]
#[case::given_up(json!({ "groundTruth": 50 }), live(JobStatus::Cancelled, 1, None), None)]
fn what_an_open_job_lacks(#[case] spec: Value, #[case] live: Job, #[case] expected: Option<f64>) {
    assert_eq!(missing(&job(&spec, &json!({})), &live), expected);
}

#[rstest]
#[case::set_later(json!({ "groundTruth": 50 }), ended("Succeeded", 1, None), true)]
#[case::changed(json!({ "groundTruth": 50 }), ended("Succeeded", 1, Some(40.0)), true)]
#[case::zero(json!({ "groundTruth": 0 }), ended("Succeeded", 1, None), true)]
#[case::known(json!({ "groundTruth": 50 }), ended("Succeeded", 1, Some(50.0)), false)]
#[case::taken_away(json!({}), ended("Succeeded", 1, Some(50.0)), false)]
#[case::refused_before(json!({ "groundTruth": 50 }), ended("Succeeded", 2, None), false)]
#[case::of_a_failed_job(json!({ "groundTruth": 50 }), ended("Failed", 1, None), true)]
#[case::that_had_it_all_along(json!({ "groundTruth": 50 }), ended("Failed", 2, None), false)]
#[case::of_a_pod(json!({ "groundTruth": 50, "execution": "Pod" }), ended("Succeeded", 1, None), false)]
fn what_comes_late_is_told_once(#[case] spec: Value, #[case] status: Value, #[case] expected: bool) {
    let job = job(&spec, &status);
    assert_eq!(is_late(&job), expected);
    for response in [LabelResponse::Accepted, LabelResponse::Rejected("reason".to_owned())] {
        let after = VmafxJob { status: Some(status_after(&job, &response)), ..job.clone() };
        assert!(!is_late(&after), "{response:?}");
    }
}

#[rstest]
#[case::scored(ended("Succeeded", 1, None), LateLabelPlan::Send { id: "7", value: 50.0 })]
#[case::failed(ended("Failed", 1, None), LateLabelPlan::Reject(WITHOUT_SCORE))]
#[case::given_up(ended("Cancelled", 1, None), LateLabelPlan::Reject(WITHOUT_SCORE))]
#[case::never_submitted(json!({ "phase": "Failed", "observedGeneration": 1 }), LateLabelPlan::Reject(WITHOUT_SCORE))]
fn only_a_score_can_be_learned_from(#[case] status: Value, #[case] expected: LateLabelPlan<'_>) {
    assert_eq!(plan_late(&job(&json!({ "groundTruth": 50 }), &status)), expected);
}

#[rstest]
#[case::taken(LabelResponse::Accepted, Some(50.0))]
#[case::refused(LabelResponse::Rejected("reason".to_owned()), Some(40.0))]
fn the_record_is_what_the_controller_has(#[case] response: LabelResponse, #[case] expected: Option<f64>) {
    let before = job(&json!({ "groundTruth": 50 }), &ended("Succeeded", 1, Some(40.0)));
    let after = status_after(&before, &response);
    assert_eq!((after.ground_truth, after.observed_generation), (expected, Some(2)));
    assert_eq!((after.phase, after.controller_job_id.as_deref()), (Some(Phase::Succeeded), Some("7")));
}
