//! Workers that are killed while they score.

use rustix::process::{Pid, Signal, kill_process};
use vmafx_job::FailureReason;
use vmafx_proto::controller::v1::JobStatus;
use vmafx_testkit::wait;

use crate::expected::expected;
use crate::harness::Harness;
use crate::processes::processes_below;

/// Waits for a worker that was not killed before, and kills it.
async fn kill_next(harness: &Harness, killed: &mut Vec<Pid>) {
    let next = wait::until(Harness::TIMEOUT, "a worker", || {
        let mut processes = processes_below(&harness.scratch()).into_iter().map(|process| process.id);
        std::future::ready(processes.find(|id| !killed.contains(id)))
    });
    let next = next.await.unwrap();
    kill_process(next, Signal::KILL).unwrap();
    killed.push(next);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_costs_its_job_nothing_but_time() {
    let harness = Harness::start().await;
    let _node = harness.node("node-0", &[]);
    let job = harness.submit("longer_ref.yuv", "longer_dis.yuv").await;
    kill_next(&harness, &mut Vec::new()).await;
    let done = harness.ended(&job).await;
    assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
    assert_eq!((done.attempt, done.lost_attempts), (1, 0));
    let score = expected(&harness.clip("longer_ref.yuv"), &harness.clip("longer_dis.yuv"));
    assert_eq!(done.final_score.to_bits(), score.to_bits());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_workers_crash_in_its_last_attempt_fails_and_names_the_signal() {
    let harness = Harness::start().await;
    let _node = harness.node("node-0", &[]);
    let job = harness.submit_with_lost_limit("long.yuv", "long.yuv", 1).await;
    let mut killed = Vec::new();
    kill_next(&harness, &mut killed).await;
    kill_next(&harness, &mut killed).await;
    let failed = harness.ended(&job).await;
    assert_eq!(
        (failed.status(), failed.failure_reason, failed.error.as_str()),
        (JobStatus::Failed, FailureReason::WorkerCrashed.number(), "the worker was killed by SIGKILL")
    );
    let next = harness.submit("ref.yuv", "dis.yuv").await;
    assert_eq!(harness.ended(&next).await.status(), JobStatus::Completed);
}
