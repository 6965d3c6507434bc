//! Attempts that fail through no fault of the job.

use serde_json::json;
use vmafx_proto::controller::v1::FailureReason;

use crate::agent::Agent;
use crate::harness::{Harness, condition, message, phase};

#[tokio::test]
async fn a_job_whose_attempt_failed_on_its_node_says_so_while_it_waits_for_the_next_one() {
    let harness = Harness::start().await;
    let (broken, healthy) =
        (Agent::register(&harness.controller, "a").await, Agent::register(&harness.controller, "b").await);
    harness.create("trailer", json!({})).await;
    let work = broken.pull().await;
    broken.fail(&work, FailureReason::ScratchFull, "the disk is full").await;
    let waiting = harness.until_reason("trailer", "Running", "BackingOff").await;
    assert_eq!(phase(&waiting), "Pending");
    assert!(
        message(&waiting)
            .starts_with("attempt 1 failed on a: the disk is full; the next attempt starts after 20")
    );
    harness.until_events(&["AttemptFailed"]).await;
    let again = healthy.pull().await;
    assert_eq!((again.id.as_str(), again.attempt), (work.id.as_str(), 2));
    healthy.score(&again, 90.0).await;
    let done = harness.until_phase("trailer", "Succeeded").await;
    assert_eq!(condition(&done, "Complete").1, "Scored");
    assert_eq!(done.status.unwrap().attempts, Some(2));
}

#[tokio::test]
async fn a_job_whose_attempts_are_used_up_fails_with_the_last_error() {
    let harness = Harness::start().await;
    let agent = Agent::register(&harness.controller, "a").await;
    harness.create("trailer", json!({ "backoffLimit": 0 })).await;
    let work = agent.pull().await;
    agent.fail(&work, FailureReason::WorkerCrashed, "the worker was killed").await;
    let failed = harness.until_phase("trailer", "Failed").await;
    assert_eq!(condition(&failed, "Failed"), ("True".to_owned(), "AttemptsExhausted".to_owned()));
    assert_eq!(message(&failed), "the worker was killed");
}
