//! Obstacles that somebody else can remove: the job waits until its deadline.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::job::Phase;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::{Fixture, JOB};
use crate::resources::{events, message, reason};

/// Passes while a job is watched.
const SOON: i64 = 3;

#[rstest]
#[case::clip("reference", "s3://others/r.y4m")]
#[case::report("reportURI", "s3://clips/others/report.json")]
#[tokio::test]
async fn a_job_outside_the_scoring_roots_waits_without_a_pod(#[case] field: &str, #[case] address: &str) {
    let fixture = Fixture::new().await;
    fixture.create("intro", json!({ field: address }), json!({})).await;
    let job = fixture.until_reason("Accepted", "InputRefused").await;
    assert_eq!(job.status.as_ref().unwrap().phase, Some(Phase::Pending));
    assert_eq!(reason(&job, "Failed"), "Unfinished");
    let text = message(&job, "Accepted");
    assert!(text.starts_with(&format!("spec.{field}: \"{address}\" is outside the scoring roots")), "{text}");
    assert!(text.contains("VMAFX_OPERATOR_SCORING_ROOTS"), "{text}");
    assert!(fixture.jobs.get_opt(JOB).await.unwrap().is_none(), "a Pod would only refuse the clip");
    let published = async || {
        events(&fixture.namespace).await.iter().any(|event| event.reason.as_deref() == Some("InputRefused"))
    };
    wait::until(TIMEOUT, "the event", published).await.unwrap();
}

#[tokio::test]
async fn a_report_that_is_moved_into_the_roots_lets_its_job_start() {
    let fixture = Fixture::new().await;
    fixture.create("intro", json!({ "reportURI": "s3://others/report.json" }), json!({})).await;
    fixture.until_reason("Accepted", "InputRefused").await;
    fixture.change(json!({ "spec": { "reportURI": fixture.inside_roots("report.json") } })).await;
    fixture.until_reason("Accepted", "JobCreated").await;
    fixture.pod(1).await;
}

/// What is in the way of a job.
#[derive(Clone, Copy, Debug)]
enum InTheWay {
    Roots,
    NamesakeJob,
    Quota,
    Template,
}

impl InTheWay {
    fn spec(self) -> Value {
        match self {
            Self::Roots => json!({ "distorted": "s3://others/d.y4m" }),
            Self::Template => json!({ "podTemplate": { "spec": { "nodeSelektor": "ssd" } } }),
            Self::NamesakeJob | Self::Quota => json!({}),
        }
    }

    async fn put(self, fixture: &Fixture) {
        let params = PostParams::default();
        match self {
            Self::NamesakeJob => {
                let job: Job = serde_json::from_value(json!({
                    "metadata": { "name": JOB },
                    "spec": { "suspend": true, "template": { "spec": {
                        "restartPolicy": "Never", "containers": [{ "name": "theirs", "image": "theirs:1" }],
                    } } },
                }))
                .unwrap();
                fixture.jobs.create(&params, &job).await.unwrap();
            }
            Self::Quota => {
                let quota = serde_json::from_value(json!({
                    "metadata": { "name": "none" }, "spec": { "hard": { "count/jobs.batch": "0" } },
                }))
                .unwrap();
                quotas(fixture).create(&params, &quota).await.unwrap();
            }
            Self::Roots | Self::Template => {}
        }
    }
}

fn quotas(fixture: &Fixture) -> Api<ResourceQuota> {
    Api::namespaced(fixture.namespace.client(), fixture.namespace.name())
}

#[rstest]
#[case::roots(InTheWay::Roots, "InputRefused")]
#[case::of_another_owner(InTheWay::NamesakeJob, "ForeignOwner")]
#[case::quota(InTheWay::Quota, "Forbidden")]
#[case::template(InTheWay::Template, "Invalid")]
#[tokio::test]
async fn an_obstacle_that_outlasts_the_deadline_ends_the_job(#[case] obstacle: InTheWay, #[case] why: &str) {
    let fixture = Fixture::new().await;
    obstacle.put(&fixture).await;
    let mut spec = obstacle.spec();
    spec["activeDeadlineSeconds"] = json!(SOON);
    fixture.create("intro", spec, json!({})).await;
    let job = fixture.until_phase(Phase::Failed).await;
    assert_eq!(
        (reason(&job, "Failed").as_str(), reason(&job, "Accepted").as_str()),
        ("DeadlineExceeded", why)
    );
    let (failed, accepted) = (message(&job, "Failed"), message(&job, "Accepted"));
    assert_eq!(
        failed,
        format!("the operator could not create the Kubernetes Job before the deadline: {accepted}")
    );
    assert!(job.status.unwrap().finished_at.is_some());
}

#[tokio::test]
async fn a_suspended_job_has_the_whole_time_after_it_is_resumed() {
    let fixture = Fixture::new().await;
    let quota = InTheWay::Quota;
    quota.put(&fixture).await;
    fixture.create("intro", json!({ "suspend": true, "activeDeadlineSeconds": 1 }), json!({})).await;
    let job = fixture.until_reason("Accepted", "Forbidden").await;
    assert_eq!(job.status.as_ref().unwrap().phase, Some(Phase::Pending));
    let created = job.metadata.creation_timestamp.clone().unwrap().0;
    let passed =
        async || (k8s_openapi::jiff::Timestamp::now().duration_since(created).as_secs() > 3).then_some(());
    wait::until(TIMEOUT, "the deadline to pass", passed).await.unwrap();
    fixture.change(json!({ "metadata": { "annotations": { "look": "again" } } })).await;
    fixture.change(json!({ "spec": { "activeDeadlineSeconds": 600 } })).await;
    fixture
        .until("the change to be observed", |job| {
            job.status.as_ref().unwrap().observed_generation == job.metadata.generation
        })
        .await;
    assert_eq!(
        fixture.until_reason("Accepted", "Forbidden").await.status.unwrap().phase,
        Some(Phase::Pending)
    );
    quotas(&fixture).delete("none", &DeleteParams::default()).await.unwrap();
    fixture.change(json!({ "spec": { "suspend": false } })).await;
    fixture.until_reason("Accepted", "JobCreated").await;
}
