//! Ground truths that are set after the submission, and after the end of the job.

use serde_json::json;
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::kube::proxy::{Fault, RequestMatcher};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::agent::Agent;
use crate::controller::Controller;
use crate::harness::Harness;

impl Controller {
    /// The labels of all samples, oldest first.
    async fn samples(&self) -> Vec<f64> {
        let request = wire::StreamSamplesRequest::default();
        let mut stream = self.client().stream_samples(request).await.unwrap().into_inner();
        let mut labels = Vec::new();
        while let Some(item) = stream.message().await.unwrap() {
            labels.extend(item.sample.map(|sample| sample.ground_truth));
        }
        labels
    }
}

impl Harness {
    async fn set_ground_truth(&self, name: &str, ground_truth: Option<f64>) {
        self.change(name, json!({ "spec": { "groundTruth": ground_truth } })).await;
    }

    /// Waits until the controller's only job has this label.
    async fn until_labelled(&self, value: f64) {
        wait::until(TIMEOUT, &format!("the controller to have {value}"), || async {
            let jobs = self.controller.jobs().await;
            let label = jobs.first().and_then(|job| job.ground_truth.as_ref()).map(|truth| truth.value);
            if label == Some(value) { Ok(()) } else { Err(format!("{label:?}")) }
        })
        .await
        .unwrap();
    }

    /// Waits until the status records this as the label of its sample.
    async fn until_recorded(&self, name: &str, value: f64) {
        let what = format!("{value} to be recorded");
        let job =
            self.until(name, &what, |job| job.status.as_ref().unwrap().ground_truth == Some(value)).await;
        assert_eq!(job.status.unwrap().observed_generation, job.metadata.generation);
    }

    /// Makes the operator reconcile the resource once more and waits for it.
    async fn reconcile_again(&self, name: &str) {
        let before = self.operator.reconciles().await;
        self.change(name, json!({ "metadata": { "annotations": { "reconciled": before.to_string() } } }))
            .await;
        wait::until(TIMEOUT, "another reconcile", || async { self.operator.reconciles().await > before })
            .await
            .unwrap();
    }

    /// Creates a job and scores it.
    async fn create_scored(&self, name: &str, agent: &Agent) {
        self.create(name, json!({})).await;
        let work = agent.pull().await;
        agent.score(&work, 50.0).await;
        self.until_phase(name, "Succeeded").await;
    }
}

#[tokio::test]
async fn what_viewers_say_reaches_the_controller_while_a_job_waits_runs_and_has_a_score() {
    let harness = Harness::start().await;
    harness.create("a", json!({})).await;
    harness.until_reason("a", "Accepted", "Submitted").await;
    harness.set_ground_truth("a", Some(0.0)).await;
    harness.until_labelled(0.0).await;
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    let work = agent.pull().await;
    harness.until_phase("a", "Running").await;
    harness.set_ground_truth("a", Some(20.5)).await;
    harness.until_labelled(20.5).await;
    agent.score(&work, 50.0).await;
    harness.until_phase("a", "Succeeded").await;
    harness.until_recorded("a", 20.5).await;
    assert_eq!(harness.controller.samples().await, [20.5], "only the last label before the end is a sample");

    harness.set_ground_truth("a", Some(30.0)).await;
    harness.until_recorded("a", 30.0).await;
    let mark = harness.proxy.request_count();
    harness.reconcile_again("a").await;
    // A sample stays one when its ground truth is removed from the resource.
    harness.set_ground_truth("a", None).await;
    harness.reconcile_again("a").await;
    assert_eq!(harness.proxy.writes_since(mark).len(), 0);
    assert_eq!(harness.controller.samples().await, [20.5, 30.0], "each label is sent once");
    assert_eq!(harness.controller.jobs().await.len(), 1);
    assert_eq!(harness.events().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_was_said_while_nobody_was_there_is_told_once_when_they_are_back() {
    let mut harness = Harness::start().await;
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    harness.create_scored("a", &agent).await;
    harness.operator.kill();
    harness.set_ground_truth("a", Some(40.0)).await;
    // The controller gets the label, but the write of the status fails.
    let record = RequestMatcher::writes().and(|request| request.resource == "vmafxjobs").nth(1);
    let lost = harness.proxy.inject(record, Fault::Respond(500));
    harness.restart_operator().await;
    harness.until_recorded("a", 40.0).await;
    assert_eq!(lost.hits().len(), 1);

    harness.until_streaming().await;
    harness.controller.kill().unwrap();
    harness.set_ground_truth("a", Some(60.0)).await;
    harness.reconcile_again("a").await;
    harness.controller.restart().await.unwrap();
    harness.until_recorded("a", 60.0).await;

    harness.restart_operator().await;
    harness.reconcile_again("a").await;
    assert_eq!(harness.controller.samples().await, [40.0, 60.0]);
    assert_eq!(harness.events().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_learned_from_is_said_once() {
    let mut harness = Harness::start().await;
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    harness.create("failed", json!({})).await;
    let work = agent.pull().await;
    agent.fail(&work, wire::FailureReason::Unspecified, "broken").await;
    harness.until_phase("failed", "Failed").await;
    harness.set_ground_truth("failed", Some(10.0)).await;
    harness.until_events(&["ScoringFailed", "LabelRefused"]).await;

    // As after the end of the controller's retention.
    harness.create_scored("old", &agent).await;
    harness.controller.kill().unwrap();
    harness.controller.delete_store().unwrap();
    harness.controller.restart().await.unwrap();
    harness.set_ground_truth("old", Some(20.0)).await;
    harness.until_events(&["ScoringFailed", "LabelRefused", "LabelRefused"]).await;

    harness.restart_operator().await;
    let mark = harness.proxy.request_count();
    for name in ["failed", "old"] {
        harness.reconcile_again(name).await;
        let status = harness.jobs.get(name).await.unwrap().status.unwrap();
        assert_eq!(status.ground_truth, None);
    }
    assert_eq!(harness.proxy.writes_since(mark).len(), 0, "nothing is retried");
    assert_eq!(harness.controller.jobs().await.len(), 0, "and nothing is submitted again");
}
