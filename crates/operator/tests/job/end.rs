//! How jobs end.

use serde_json::json;
use vmafx_proto::controller::v1::{FailureReason, JobStatus};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::agent::Agent;
use crate::harness::{Harness, condition, controller_id, message, uid};

#[tokio::test]
async fn a_job_is_submitted_followed_and_scored() {
    let harness = Harness::start().await;
    let made = harness.create("trailer", json!({ "priority": 7, "minScore": 90, "groundTruth": 80 })).await;
    let waiting = harness.until_reason("trailer", "Running", "NoMatchingNode").await;
    assert_eq!(condition(&waiting, "Accepted"), ("True".to_owned(), "Submitted".to_owned()));

    let jobs = harness.controller.jobs().await;
    let [submitted] = jobs.as_slice() else { panic!("{jobs:?}") };
    assert_eq!((submitted.priority, submitted.max_lost_attempts), (7, 4));
    let origin = submitted.origin.as_ref().unwrap();
    assert_eq!((origin.name.as_str(), origin.uid.as_str()), ("trailer", uid(&made).as_str()));
    assert!(!origin.cluster.is_empty(), "the origin names the cluster");
    assert_eq!(controller_id(&waiting).as_deref(), Some(submitted.id.as_str()));

    let agent = Agent::register(&harness.controller, "gpu-0").await;
    let work = agent.pull().await;
    let running = harness.until_phase("trailer", "Running").await;
    let status = running.status.unwrap();
    assert_eq!((status.assigned_node.as_deref(), status.attempts), (Some("gpu-0"), Some(1)));
    assert!(status.started_at.is_some() && status.finished_at.is_none() && status.score.is_none());

    agent.score(&work, 0.0).await;
    let done = harness.until_phase("trailer", "Succeeded").await;
    assert_eq!(condition(&done, "Complete"), ("True".to_owned(), "BelowMinScore".to_owned()));
    assert_eq!(condition(&done, "Failed").0, "False");
    let status = done.status.unwrap();
    assert_eq!((status.score, status.passed, status.frames), (Some(0.0), Some(false), Some(48)));
    assert_eq!(status.model.unwrap().digest.as_deref(), Some("sha256:0"));
    assert!(status.finished_at.is_some());
    assert_eq!(harness.events().await, Vec::<String>::new(), "success has no event");
}

#[tokio::test]
async fn what_fails_says_why_and_ends() {
    let harness = Harness::start().await;
    harness.create("broken", json!({})).await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    let work = agent.pull().await;
    agent.fail(&work, FailureReason::InputNotFound, "/clips/d.y4m: no such file").await;
    let broken = harness.until_phase("broken", "Failed").await;
    assert_eq!(condition(&broken, "Failed"), ("True".to_owned(), "InputUnavailable".to_owned()));
    assert_eq!(message(&broken), "/clips/d.y4m: no such file");
    harness.until_events(&["InputUnavailable"]).await;
}

#[tokio::test]
async fn a_deadline_and_a_time_to_live_are_kept() {
    let harness = Harness::start().await;
    harness.create("late", json!({ "activeDeadlineSeconds": 1 })).await;
    harness.create("brief", json!({ "ttlSecondsAfterFinished": 1, "suspend": true })).await;
    let late = harness.until_phase("late", "Failed").await;
    assert_eq!(condition(&late, "Failed").1, "DeadlineExceeded");
    harness.change("brief", json!({ "spec": { "cancel": true } })).await;
    wait::until(TIMEOUT, "the resource to be removed", || async {
        harness.jobs.get_opt("brief").await.is_ok_and(|job| job.is_none())
    })
    .await
    .unwrap();
    assert!(harness.jobs.get_opt("late").await.unwrap().is_some(), "a job without a TTL stays");
}

#[tokio::test]
async fn a_deleted_job_is_cancelled_and_its_namesake_is_another_one() {
    let mut harness = Harness::start().await;
    harness.create("a", json!({})).await;
    let first = controller_id(&harness.until_reason("a", "Accepted", "Submitted").await).unwrap();
    harness.delete("a").await;
    harness.until_open(0).await;

    harness.create("a", json!({})).await;
    let second = controller_id(&harness.until_reason("a", "Accepted", "Submitted").await).unwrap();
    assert_ne!(first, second);

    // Deleted while no operator runs, and replaced by a resource of the same name.
    harness.operator.kill();
    harness.delete("a").await;
    let third = harness.create("a", json!({})).await;
    assert_eq!(harness.controller.open_jobs().await.len(), 1, "no operator has cancelled it");
    harness.restart_operator().await;
    let third = harness
        .until_reason("a", "Accepted", "Submitted")
        .await
        .status
        .unwrap()
        .controller_job_id
        .or(third.metadata.uid);
    harness.until_open(1).await;
    let open = harness.controller.open_jobs().await;
    assert_eq!(Some(open[0].id.clone()), third);
    let jobs = harness.controller.jobs().await;
    let ended = jobs.iter().find(|job| job.id == second).unwrap();
    assert_eq!(ended.status(), JobStatus::Cancelled);
    assert!(ended.error.contains("gone"), "{}", ended.error);
}
