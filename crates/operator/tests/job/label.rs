//! Ground truths that come after the submission, also after the end.

use serde_json::json;
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::kube::proxy::{Fault, RequestMatcher};
use vmafx_testkit::wait;

use crate::SOON;
use crate::agent::Agent;
use crate::controller::Controller;
use crate::world::World;

impl Controller {
    /// The labels of all samples, in the order in which they came to be.
    async fn samples(&self) -> Vec<f64> {
        let asked = wire::StreamSamplesRequest::default();
        let mut stream = self.client().stream_samples(asked).await.unwrap().into_inner();
        let mut labels = Vec::new();
        while let Some(item) = stream.message().await.unwrap() {
            labels.extend(item.sample.map(|sample| sample.ground_truth));
        }
        labels
    }
}

impl World {
    async fn say(&self, name: &str, ground_truth: Option<f64>) {
        self.change(name, json!({ "spec": { "groundTruth": ground_truth } })).await;
    }

    /// Waits until the controller's only job has this label.
    async fn until_told(&self, value: f64) {
        wait::until(SOON, &format!("the controller to have {value}"), || async {
            let jobs = self.controller.jobs().await;
            let told = jobs.first().and_then(|job| job.ground_truth.as_ref()).map(|truth| truth.value);
            if told == Some(value) { Ok(()) } else { Err(format!("{told:?}")) }
        })
        .await
        .unwrap();
    }

    /// Waits until the resource says that this is the label of its sample.
    async fn until_recorded(&self, name: &str, value: f64) {
        let what = format!("{value} to be recorded");
        let job =
            self.until(name, &what, |job| job.status.as_ref().unwrap().ground_truth == Some(value)).await;
        assert_eq!(job.status.unwrap().observed_generation, job.metadata.generation);
    }

    /// Waits until it was looked at once more, though nothing is to be done.
    async fn look_again(&self, name: &str) {
        let looks = self.operator.reconciles().await;
        self.change(name, json!({ "metadata": { "annotations": { "looked": looks.to_string() } } })).await;
        wait::until(SOON, "another look", || async { self.operator.reconciles().await > looks })
            .await
            .unwrap();
    }

    /// A job with a score.
    async fn scored(&self, name: &str, agent: &Agent) {
        self.create(name, json!({})).await;
        let work = agent.pull().await;
        agent.score(&work, 50.0).await;
        self.until_phase(name, "Succeeded").await;
    }
}

#[tokio::test]
async fn what_viewers_say_reaches_the_controller_while_a_job_waits_runs_and_has_a_score() {
    let world = World::start().await;
    world.create("a", json!({})).await;
    world.until_reason("a", "Accepted", "Submitted").await;
    world.say("a", Some(0.0)).await;
    world.until_told(0.0).await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
    let work = agent.pull().await;
    world.until_phase("a", "Running").await;
    world.say("a", Some(20.5)).await;
    world.until_told(20.5).await;
    agent.score(&work, 50.0).await;
    world.until_phase("a", "Succeeded").await;
    world.until_recorded("a", 20.5).await;
    assert_eq!(world.controller.samples().await, [20.5], "only what was said last before the end");

    world.say("a", Some(30.0)).await;
    world.until_recorded("a", 30.0).await;
    let mark = world.proxy.request_count();
    world.look_again("a").await;
    // What was a sample stays one.
    world.say("a", None).await;
    world.look_again("a").await;
    assert_eq!(world.proxy.writes_since(mark).len(), 0);
    assert_eq!(world.controller.samples().await, [20.5, 30.0], "it is told once");
    assert_eq!(world.controller.jobs().await.len(), 1);
    assert_eq!(world.events().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_was_said_while_nobody_was_there_is_told_once_when_they_are_back() {
    let mut world = World::start().await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
    world.scored("a", &agent).await;
    world.operator.kill();
    world.say("a", Some(40.0)).await;
    // The controller is told, and the record of it is lost.
    let record = RequestMatcher::writes().and(|request| request.resource == "vmafxjobs").nth(1);
    let lost = world.proxy.inject(record, Fault::Respond(500));
    world.restart_operator().await;
    world.until_recorded("a", 40.0).await;
    assert_eq!(lost.hits().len(), 1);

    world.until_followed().await;
    world.controller.kill();
    world.say("a", Some(60.0)).await;
    world.look_again("a").await;
    world.controller.begin_again().await;
    world.until_recorded("a", 60.0).await;

    world.restart_operator().await;
    world.look_again("a").await;
    assert_eq!(world.controller.samples().await, [40.0, 60.0]);
    assert_eq!(world.events().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_learned_from_is_said_once() {
    let mut world = World::start().await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
    world.create("failed", json!({})).await;
    let work = agent.pull().await;
    agent.fail(&work, wire::FailureReason::Unspecified, "broken").await;
    world.until_phase("failed", "Failed").await;
    world.say("failed", Some(10.0)).await;
    world.until_events(&["ScoringFailed", "LabelRefused"]).await;

    // It is older than what the controller keeps.
    world.scored("old", &agent).await;
    world.controller.kill();
    world.controller.restore(None);
    world.controller.begin_again().await;
    world.say("old", Some(20.0)).await;
    world.until_events(&["ScoringFailed", "LabelRefused", "LabelRefused"]).await;

    world.restart_operator().await;
    let mark = world.proxy.request_count();
    for name in ["failed", "old"] {
        world.look_again(name).await;
        let status = world.jobs.get(name).await.unwrap().status.unwrap();
        assert_eq!(status.ground_truth, None);
    }
    assert_eq!(world.proxy.writes_since(mark).len(), 0, "nothing is tried again");
    assert_eq!(world.controller.jobs().await.len(), 0, "and nothing is submitted again");
}
