//! Changes of the spec of jobs that wait, run and have ended.

use serde_json::json;
use vmafx_api::VmafxJob;
use vmafx_proto::controller::v1::FailureReason;

use crate::agent::Agent;
use crate::harness::{Harness, condition, controller_id, message, phase};

const NEXT_ATTEMPT: &str = "the changed spec takes effect at the next attempt";

fn is_honoured(job: &VmafxJob) -> bool {
    job.status.as_ref().and_then(|status| status.observed_generation) == job.metadata.generation
}

impl Harness {
    /// Waits until the status has observed the newest generation.
    pub(crate) async fn until_honoured(&self, name: &str) -> VmafxJob {
        self.until(name, "the change to be honoured", is_honoured).await
    }

    async fn create_submitted(&self, name: &str) -> String {
        self.create(name, json!({})).await;
        controller_id(&self.until_reason(name, "Accepted", "Submitted").await).unwrap()
    }
}

#[tokio::test]
async fn a_waiting_job_fails_by_a_deadline_that_it_got_later() {
    let harness = Harness::start().await;
    let id = harness.create_submitted("a").await;
    harness.change("a", json!({ "spec": { "activeDeadlineSeconds": 10 } })).await;
    let late = harness.until_phase("a", "Failed").await;
    assert_eq!(condition(&late, "Failed").1, "DeadlineExceeded");
    assert_eq!(controller_id(&late), Some(id), "the job is still the same");
}

#[tokio::test]
async fn a_waiting_job_is_scored_as_it_was_changed_and_keeps_its_place() {
    let harness = Harness::start().await;
    let first = harness.create_submitted("first").await;
    harness.create_submitted("second").await;
    let change = json!({ "spec": {
        "scoring": { "features": ["psnr"], "frameStep": 5 }, "backoffLimit": 7,
        "input": { "width": 64, "height": 32, "pixelFormat": "yuv420p", "bitDepth": 8 },
        "reportURI": "file:///clips/report.json",
    } });
    harness.change("first", change).await;
    harness.until_honoured("first").await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    let work = agent.pull().await;
    assert_eq!((&work.id, work.max_lost_attempts), (&first, 8));
    let scoring = work.scoring.clone().unwrap();
    assert_eq!((scoring.features, scoring.frame_step), (vec!["psnr".to_owned()], 5));
    assert_eq!(scoring.report_uri, "file:///clips/report.json");
    assert_eq!(scoring.input.unwrap().width, 64);
    agent.score(&work, 50.0).await;
    harness.until_phase("first", "Succeeded").await;
    assert_eq!(harness.controller.jobs().await.len(), 2);
    assert_eq!(harness.events().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_running_job_says_that_a_change_takes_effect_at_the_next_attempt() {
    let harness = Harness::start().await;
    let id = harness.create_submitted("a").await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    let work = agent.pull().await;
    harness.until_phase("a", "Running").await;
    harness.change("a", json!({ "spec": { "scoring": { "features": ["psnr"] } } })).await;
    let running = harness.until("a", "the note", |job| message(job).ends_with(NEXT_ATTEMPT)).await;
    assert_eq!((phase(&running).as_str(), is_honoured(&running)), ("Running", false));
    agent.release(&work).await;
    let again = agent.pull().await;
    assert_eq!((again.id.clone(), again.attempt), (id, 2));
    assert_eq!(again.scoring.clone().unwrap().features, ["psnr"]);
    harness.until("a", "the note to go", |job| !message(job).contains(NEXT_ATTEMPT)).await;
    agent.score(&again, 50.0).await;
    let done = harness.until_phase("a", "Succeeded").await;
    assert_eq!(message(&done), "the score is 50.000");
}

#[tokio::test]
async fn a_change_after_the_end_is_said_to_have_come_too_late() {
    let mut harness = Harness::start().await;
    harness.create_submitted("a").await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    let work = agent.pull().await;
    harness.until_phase("a", "Running").await;
    // The job ends and the spec changes while no operator runs.
    harness.operator.kill();
    agent.score(&work, 50.0).await;
    harness.change("a", json!({ "spec": { "scoring": { "features": ["psnr"] } } })).await;
    harness.restart_operator().await;
    let done = harness.until_phase("a", "Succeeded").await;
    assert!(message(&done).contains("came too late and was not used"), "{}", message(&done));
    assert!(!is_honoured(&done), "{:?}", done.status);
}

#[tokio::test]
async fn a_change_that_the_controller_refuses_is_said_and_the_job_goes_on_as_it_was() {
    let harness = Harness::start().await;
    harness.create_submitted("a").await;
    harness.change("a", json!({ "spec": { "reportURI": "file:///etc/report.json" } })).await;
    let refused = harness.until_reason("a", "Accepted", "ChangeRefused").await;
    assert!(message(&refused).contains("report_uri"), "{}", message(&refused));
    assert!(!is_honoured(&refused));
    harness.until_events(&["ChangeRefused"]).await;
    harness.change("a", json!({ "spec": { "reportURI": null } })).await;
    let accepted = harness.until_reason("a", "Accepted", "Submitted").await;
    assert!(is_honoured(&accepted));
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    let work = agent.pull().await;
    agent.fail(&work, FailureReason::InputInvalid, "broken").await;
    harness.until_phase("a", "Failed").await;
}

#[tokio::test]
async fn a_change_while_the_controller_is_away_is_not_claimed_and_made_when_it_is_back() {
    let mut harness = Harness::start().await;
    harness.create_submitted("a").await;
    harness.until_streaming().await;
    harness.controller.kill().unwrap();
    harness.change("a", json!({ "spec": { "scoring": { "features": ["psnr"] } } })).await;
    let away = harness.until_reason("a", "Accepted", "ControllerUnreachable").await;
    assert!(!is_honoured(&away));
    harness.controller.restart().await.unwrap();
    harness.until_honoured("a").await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    assert_eq!(agent.pull().await.scoring.unwrap().features, ["psnr"]);
}
