//! The agent: the real binary with a real controller.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod broken_node;
mod crashes;
mod expected;
mod harness;
mod kernels;
mod labels;
mod open_request;
mod outbox;
mod pool;
mod processes;
mod report_roots;
mod scratch_full;
mod shutdown;
mod unconfined;

use expected::expected;
use harness::Harness;
use vmafx_proto::controller::v1::JobStatus;

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_pulled_scored_and_reported_to_the_last_bit() {
    let harness = Harness::start().await;
    let node = harness.node("node-0", &[]);
    let job = harness.submit("ref.yuv", "dis.yuv").await;
    let done = harness.ended(&job).await;
    assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
    assert_eq!(
        done.final_score.to_bits(),
        expected(&harness.clip("ref.yuv"), &harness.clip("dis.yuv")).to_bits()
    );
    assert_eq!((done.assigned_node.as_str(), done.attempt), ("node-0", 1));
    let result = done.result.unwrap();
    assert_eq!((result.model.as_str(), result.backend.as_str()), ("vmaf_v0.6.1", "cpu"));
    assert!(result.model_digest.starts_with("sha256:"), "{}", result.model_digest);
    assert!(result.frames > 0 && result.scores.is_some() && !done.features.is_empty());
    node.terminate();
    assert_eq!(node.exit_code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_job_fails_with_its_reason_and_the_next_one_is_scored() {
    let harness = Harness::start().await;
    let _node = harness.node("node-0", &[]);
    let missing = harness.submit("ref.yuv", "nothing.yuv").await;
    let cut = harness.submit("ref.yuv", "cut.yuv").await;
    let good = harness.submit("ref.yuv", "dis.yuv").await;
    let (missing, cut, good) =
        (harness.ended(&missing).await, harness.ended(&cut).await, harness.ended(&good).await);
    // Nobody else can tell whether the file is missing on this node only, so every attempt is used.
    assert_eq!((missing.status(), missing.failure_reason), (JobStatus::Failed, 27), "{}", missing.error);
    assert_eq!((missing.attempt, missing.lost_attempts), (3, 3));
    assert!(
        missing.error.starts_with("3 of at most 3 attempts failed, the last one on node-0: "),
        "{}",
        missing.error
    );
    assert_eq!((cut.status(), cut.failure_reason), (JobStatus::Failed, 3), "{}", cut.error);
    assert!(cut.error.contains("cut.yuv"), "{}", cut.error);
    assert_eq!(good.status(), JobStatus::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_exceeds_the_grace_period_is_released_and_done_by_another_node() {
    let harness = Harness::start().await;
    let first = harness.node("first", &["--graceful-shutdown", "0s"]);
    let job = harness.submit_long().await;
    harness.until(&job, |job| job.status() == JobStatus::Running).await;
    first.terminate();
    let second = harness.node("second", &[]);
    assert_eq!(first.exit_code(), Some(0));
    let again = harness.until(&job, |job| job.assigned_node == "second").await;
    assert_eq!((again.attempt, again.lost_attempts), (2, 0));
    harness.cancel(&job).await;
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_is_stopped_and_frees_its_slot() {
    let harness = Harness::start().await;
    let _node = harness.node("node-0", &["--heartbeat-interval", "200ms"]);
    let long = harness.submit_long().await;
    harness.until(&long, |job| job.status() == JobStatus::Running).await;
    harness.cancel(&long).await;
    let next = harness.submit("ref.yuv", "dis.yuv").await;
    assert_eq!(harness.ended(&next).await.status(), JobStatus::Completed);
}
