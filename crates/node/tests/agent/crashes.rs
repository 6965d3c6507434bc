//! Workers that are killed in the middle of their work.

use rustix::process::{Pid, Signal, kill_process};
use vmafx_node::failure::Reason;
use vmafx_proto::controller::v1::JobStatus;
use vmafx_testkit::wait;

use crate::expected::expected;
use crate::processes::processes_below;
use crate::stage::Stage;

/// Kills the next worker that is not one of those that were killed before.
async fn kill_next(stage: &Stage, killed: &mut Vec<Pid>) {
    let next = wait::until(Stage::PATIENCE, "a worker", || {
        let mut processes = processes_below(&stage.scratch()).into_iter().map(|process| process.id);
        std::future::ready(processes.find(|id| !killed.contains(id)))
    });
    let next = next.await.unwrap();
    kill_process(next, Signal::KILL).unwrap();
    killed.push(next);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_costs_its_job_nothing_but_time() {
    let stage = Stage::set().await;
    let _node = stage.node("node-0", &[]);
    let job = stage.submit("longer_ref.yuv", "longer_dis.yuv").await;
    kill_next(&stage, &mut Vec::new()).await;
    let done = stage.ended(&job).await;
    assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
    assert_eq!((done.attempt, done.lost_attempts), (1, 0));
    let score = expected(&stage.clip("longer_ref.yuv"), &stage.clip("longer_dis.yuv"));
    assert_eq!(done.final_score.to_bits(), score.to_bits());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_workers_die_one_after_the_other_fails_and_says_how() {
    let stage = Stage::set().await;
    let _node = stage.node("node-0", &[]);
    let job = stage.submit_long().await;
    let mut killed = Vec::new();
    kill_next(&stage, &mut killed).await;
    kill_next(&stage, &mut killed).await;
    let failed = stage.ended(&job).await;
    assert_eq!(
        (failed.status(), failed.failure_reason, failed.error.as_str()),
        (JobStatus::Failed, Reason::WorkerCrashed.number(), "the worker was ended by SIGKILL")
    );
    let next = stage.submit("ref.yuv", "dis.yuv").await;
    assert_eq!(stage.ended(&next).await.status(), JobStatus::Completed);
}
