//! Changes of what a job scores and where it writes, before and after its first attempt.

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use vmafx_api::VmafxJob;
use vmafx_api::job::Phase;
use vmafx_testkit::kube::proxy::RbacVerb;

use crate::fixture::{Fixture, JOB, cluster};
use crate::kubelet::scored;
use crate::resources::{message, reason};

const QUEUE: &str = "kueue.x-k8s.io/queue-name";
const NEXT_ATTEMPT: &str = "the changed spec takes effect at the next attempt";
const TOO_LATE: &str = "the last change of the spec came too late and was not used";

/// Another request than the one that fixtures create.
fn more_features() -> Value {
    json!({ "spec": { "scoring": { "features": ["psnr"] } } })
}

/// The request that the Pods of this Kubernetes Job score.
fn request(job: &Job) -> Value {
    let pod = job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    let args = pod.containers[0].args.clone().unwrap();
    serde_json::from_str(args[1].strip_prefix("--request=").unwrap()).unwrap()
}

fn scores_psnr(job: &Job) -> bool {
    request(job)["features"] == json!(["psnr"])
}

fn is_observed(job: &VmafxJob) -> bool {
    job.status.as_ref().is_some_and(|status| status.observed_generation == job.metadata.generation)
}

async fn uid(fixture: &Fixture) -> Option<String> {
    fixture.jobs.get(JOB).await.unwrap().uid()
}

#[tokio::test]
async fn a_waiting_job_is_created_anew_from_its_changed_spec() {
    let fixture = Fixture::with(json!({})).await;
    let old = fixture.pod(1).await;
    let mark = cluster().await.proxy.request_count();
    fixture.change(more_features()).await;
    let job = fixture.until_job("the changed request", scores_psnr).await;
    fixture.until("the change to be observed", is_observed).await;
    fixture.remove(&old).await;
    let pod = fixture.pod(1).await;
    assert_eq!(pod.owner_references()[0].uid, job.uid().unwrap());
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.end(&pod, 0, "Completed", &scored(80.0)).await;
    let done = fixture.until_phase(Phase::Succeeded).await;
    assert!(is_observed(&done));
    assert_eq!(done.status.unwrap().attempts, Some(1), "the Pod that did not start is no attempt");
    let writes = fixture.writes_since(mark).await;
    let of_jobs: Vec<_> =
        writes.iter().filter(|one| one.request.resource == "jobs").map(|one| one.request.verb).collect();
    assert_eq!(of_jobs, [RbacVerb::Delete, RbacVerb::Create]);
}

#[tokio::test]
async fn a_job_in_a_queue_follows_its_report_and_stays_in_the_queue() {
    let fixture = Fixture::new().await;
    fixture.create("intro", json!({}), json!({ QUEUE: "gpu" })).await;
    fixture.until_reason("Running", "WaitingForAdmission").await;
    let report = fixture.inside_roots("report.json");
    fixture.change(json!({ "spec": { "reportURI": report } })).await;
    let job =
        fixture.until_job("the changed request", |job| request(job)["reportURI"] == json!(report)).await;
    assert_eq!((job.spec.as_ref().unwrap().suspend, &*job.labels()[QUEUE]), (Some(true), "gpu"));
    fixture.until("the change to be observed", is_observed).await;
}

#[tokio::test]
async fn a_suspended_job_follows_its_spec_and_stays_suspended() {
    let fixture = Fixture::new().await;
    fixture.create("intro", json!({ "suspend": true }), json!({})).await;
    fixture.until_reason("Suspended", "Suspended").await;
    fixture.change(more_features()).await;
    let job = fixture.until_job("the changed request", scores_psnr).await;
    assert_eq!(job.spec.unwrap().suspend, Some(true));
    fixture.until("the change to be observed", is_observed).await;
    fixture.until_no_pods().await;
    fixture.change(json!({ "spec": { "suspend": false } })).await;
    fixture.pod(1).await;
}

#[tokio::test]
async fn a_running_attempt_keeps_its_request_and_the_next_one_has_the_change() {
    let fixture = Fixture::with(json!({ "backoffLimit": 2 })).await;
    let (pod, first) = (fixture.pod(1).await, uid(&fixture).await);
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.change(more_features()).await;
    let job = fixture
        .until("the message", |job| message(job, "Running").ends_with(&format!("; {NEXT_ATTEMPT}")))
        .await;
    assert!(!is_observed(&job), "the running attempt has another request");
    assert_eq!(uid(&fixture).await, first, "a running attempt is not interrupted");
    fixture.end(&pod, 137, "OOMKilled", "").await;
    let job = fixture.until_job("the changed request", scores_psnr).await;
    assert_eq!(job.spec.as_ref().unwrap().backoff_limit, Some(1), "one retry is spent");
    fixture.until("the change to be observed", is_observed).await;
    fixture.remove(&pod).await;
    let second = fixture.pod(1).await;
    assert_eq!(second.owner_references()[0].uid, job.uid().unwrap());
    fixture.run(&second).await;
    fixture.until_phase(Phase::Running).await;
    fixture.change(json!({ "spec": { "backoffLimit": 4 } })).await;
    fixture
        .until_job("the retries that are left", |job| job.spec.as_ref().unwrap().backoff_limit == Some(3))
        .await;
    fixture.end(&second, 0, "Completed", &scored(91.5)).await;
    let status = fixture.until_phase(Phase::Succeeded).await.status.unwrap();
    assert_eq!((status.attempts, status.score), (Some(2), Some(91.5)));
}

#[tokio::test]
async fn a_change_during_the_last_attempt_comes_too_late() {
    let fixture = Fixture::with(json!({})).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.change(more_features()).await;
    fixture.until("the message", |job| message(job, "Running").ends_with(NEXT_ATTEMPT)).await;
    fixture.end(&pod, 0, "Completed", &scored(80.0)).await;
    let job = fixture.until_phase(Phase::Succeeded).await;
    assert!(!is_observed(&job), "the score is not that of the changed spec");
    assert_eq!(message(&job, "Complete"), format!("the score is 80.000; {TOO_LATE}"));
}

#[tokio::test]
async fn a_change_that_the_roots_forbid_leaves_the_job_as_it_is() {
    let fixture = Fixture::with(json!({})).await;
    let (pod, first) = (fixture.pod(1).await, uid(&fixture).await);
    fixture.change(json!({ "spec": { "reportURI": "s3://others/report.json" } })).await;
    let job = fixture.until_reason("Accepted", "ChangeRefused").await;
    let text = message(&job, "Accepted");
    assert!(text.contains("spec.reportURI: \"s3://others/report.json\" is outside"), "{text}");
    assert_eq!((is_observed(&job), uid(&fixture).await), (false, first.clone()));
    fixture.change(json!({ "spec": { "reportURI": null } })).await;
    let job = fixture.until_reason("Accepted", "JobCreated").await;
    assert!(is_observed(&job));
    assert_eq!(
        (uid(&fixture).await, fixture.pod(1).await.uid()),
        (first, pod.uid()),
        "nothing has changed after all"
    );
}

#[tokio::test]
async fn a_running_job_of_an_older_operator_is_not_interrupted() {
    let fixture = Fixture::with(json!({})).await;
    let (pod, first) = (fixture.pod(1).await, uid(&fixture).await);
    let live = fixture.jobs.get(JOB).await.unwrap();
    let unmarked: serde_json::Map<_, _> = live
        .annotations()
        .keys()
        .filter(|key| key.starts_with("vmafx.dev/"))
        .map(|key| (key.clone(), Value::Null))
        .collect();
    fixture.change_job(json!({ "metadata": { "annotations": unmarked } })).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.change(more_features()).await;
    let job = fixture.until("the message", |job| message(job, "Running").ends_with(NEXT_ATTEMPT)).await;
    assert_eq!((is_observed(&job), reason(&job, "Accepted").as_str()), (false, "JobCreated"));
    fixture.end(&pod, 0, "Completed", &scored(80.0)).await;
    fixture.until_phase(Phase::Succeeded).await;
    assert_eq!(uid(&fixture).await, first);
}
