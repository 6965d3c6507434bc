//! The agent: the real binary, working for a real controller.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod crashes;
mod expected;
mod labels;
mod leaving;
mod pages;
mod processes;
mod stage;

use expected::expected;
use stage::Stage;
use vmafx_proto::controller::v1::JobStatus;

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_pulled_scored_and_reported_to_the_last_bit() {
    let stage = Stage::set().await;
    let node = stage.node("node-0", &[]);
    let job = stage.submit("ref.yuv", "dis.yuv").await;
    let done = stage.ended(&job).await;
    assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
    assert_eq!(
        done.final_score.to_bits(),
        expected(&stage.clip("ref.yuv"), &stage.clip("dis.yuv")).to_bits()
    );
    assert_eq!((done.assigned_node.as_str(), done.attempt), ("node-0", 1));
    let result = done.result.unwrap();
    assert_eq!((result.model.as_str(), result.backend.as_str()), ("vmaf_v0.6.1", "cpu"));
    assert!(result.model_digest.starts_with("sha256:"), "{}", result.model_digest);
    assert!(result.frames > 0 && result.scores.is_some() && !done.features.is_empty());
    node.terminate();
    assert_eq!(node.end(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_job_fails_with_its_reason_and_the_next_one_is_scored() {
    let stage = Stage::set().await;
    let _node = stage.node("node-0", &[]);
    let missing = stage.submit("ref.yuv", "nothing.yuv").await;
    let cut = stage.submit("ref.yuv", "cut.yuv").await;
    let good = stage.submit("ref.yuv", "dis.yuv").await;
    let (missing, cut, good) =
        (stage.ended(&missing).await, stage.ended(&cut).await, stage.ended(&good).await);
    assert_eq!((missing.status(), missing.failure_reason), (JobStatus::Failed, 1), "{}", missing.error);
    assert_eq!((cut.status(), cut.failure_reason), (JobStatus::Failed, 3), "{}", cut.error);
    assert!(cut.error.contains("cut.yuv"), "{}", cut.error);
    assert_eq!(good.status(), JobStatus::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_does_not_fit_into_the_grace_is_released_and_done_by_another_node() {
    let stage = Stage::set().await;
    let first = stage.node("first", &["--graceful-shutdown", "0s"]);
    let job = stage.submit_long().await;
    stage.until(&job, |job| job.status() == JobStatus::Running).await;
    first.terminate();
    let second = stage.node("second", &[]);
    assert_eq!(first.end(), Some(0));
    let again = stage.until(&job, |job| job.assigned_node == "second").await;
    assert_eq!((again.attempt, again.lost_attempts), (2, 0));
    stage.cancel(&job).await;
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_ends_on_its_node_and_frees_the_slot() {
    let stage = Stage::set().await;
    let _node = stage.node("node-0", &["--heartbeat-interval", "200ms"]);
    let long = stage.submit_long().await;
    stage.until(&long, |job| job.status() == JobStatus::Running).await;
    stage.cancel(&long).await;
    let next = stage.submit("ref.yuv", "dis.yuv").await;
    assert_eq!(stage.ended(&next).await.status(), JobStatus::Completed);
}
