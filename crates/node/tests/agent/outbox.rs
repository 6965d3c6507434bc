//! Results that end while the controller is away.

use std::fs;
use std::path::Path;

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use vmafx_proto::controller::v1::{Job, JobStatus};
use vmafx_testkit::http_client;
use vmafx_testkit::{ports, wait};

use crate::expected::expected;
use crate::harness::{Harness, Node};
use crate::processes::processes_below;

/// Leases that a test can wait for, and that a busy machine does not lose by itself.
const SHORT_LEASES: [(&str, &str); 3] = [
    ("VMAFX_STORE_LEASE_TTL", "8s"),
    ("VMAFX_STORE_SESSION_TTL", "8s"),
    ("VMAFX_STORE_SWEEP_INTERVAL", "1s"),
];

const PENDING: &str = "vmafx_node_reports_pending";

/// The results in the outbox of all nodes, sorted.
pub(crate) fn results(outbox: &Path) -> Vec<String> {
    let entries = fs::read_dir(outbox).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let results = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut names: Vec<String> = results.map(|path| path.display().to_string()).collect();
    names.sort();
    names
}

/// Jobs whose workers are suspended, with a node that runs all of them.
struct SuspendedJobs {
    harness: Harness,
    node: Option<Node>,
    jobs: Vec<String>,
    workers: Vec<Pid>,
    score: f64,
}

impl SuspendedJobs {
    async fn start(harness: Harness, count: usize, lost_limit: u32, arguments: &[&str]) -> Self {
        let score = expected(&harness.clip("longer_ref.yuv"), &harness.clip("longer_dis.yuv"));
        let slots = format!("--slots={count}");
        let arguments: Vec<&str> = [slots.as_str()].into_iter().chain(arguments.iter().copied()).collect();
        let node = harness.node("node-0", &arguments);
        let mut jobs = Vec::new();
        for _ in 0..count {
            jobs.push(harness.submit_with_lost_limit("longer_ref.yuv", "longer_dis.yuv", lost_limit).await);
        }
        let mut workers: Vec<Pid> = Vec::new();
        wait::until(Harness::TIMEOUT, "the workers", || {
            for process in processes_below(&harness.scratch()) {
                if !workers.contains(&process.id) && kill_process(process.id, Signal::STOP).is_ok() {
                    workers.push(process.id);
                }
            }
            std::future::ready(workers.len() == count)
        })
        .await
        .unwrap();
        Self { harness, node: Some(node), jobs, workers, score }
    }

    /// Stops the controller and lets the jobs end; returns when all results are in the outbox.
    async fn end_without_controller(&mut self) {
        self.harness.kill_controller();
        for worker in &self.workers {
            kill_process(*worker, Signal::CONT).unwrap();
        }
        let outbox = self.harness.scratch().join("outbox");
        wait::until(Harness::TIMEOUT, "the results in the outbox", || {
            std::future::ready(results(&outbox).len() == self.jobs.len())
        })
        .await
        .unwrap();
    }

    /// Waits for all jobs and checks that each was scored exactly once.
    async fn assert_all_delivered(&self) {
        for job in &self.jobs {
            let done: Job = self.harness.ended(job).await;
            assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
            assert_eq!((done.attempt, done.lost_attempts), (1, 0));
            assert_eq!(done.final_score.to_bits(), self.score.to_bits());
        }
        let outbox = self.harness.scratch().join("outbox");
        wait::until(Harness::TIMEOUT, "an empty outbox", || std::future::ready(results(&outbox).is_empty()))
            .await
            .unwrap();
    }
}

#[rstest]
#[case::no_attempt_to_lose(1)]
#[case::three_attempts_to_lose(4)]
#[tokio::test(flavor = "multi_thread")]
async fn results_wait_on_disk_for_a_controller_that_is_away(#[case] lost_limit: u32) {
    let http = ports::free_address().unwrap();
    let arguments = ["--http-addr", &http.to_string()];
    let mut suspended = SuspendedJobs::start(Harness::start().await, 4, lost_limit, &arguments).await;
    suspended.end_without_controller().await;
    let pending = || async { http_client::get(http, "/metrics").await.ok()?.metric(PENDING) };
    wait::until(Harness::TIMEOUT, "four pending reports", || async { pending().await == Some(4.0) })
        .await
        .unwrap();
    suspended.harness.restart_controller().await;
    suspended.assert_all_delivered().await;
    wait::until(Harness::TIMEOUT, "no pending report", || async { pending().await == Some(0.0) })
        .await
        .unwrap();
    let next = suspended.harness.submit("ref.yuv", "dis.yuv").await;
    assert_eq!(suspended.harness.ended(&next).await.status(), JobStatus::Completed, "the slots are free");
}

#[rstest]
#[case::killed(Signal::KILL)]
#[case::terminated(Signal::TERM)]
#[tokio::test(flavor = "multi_thread")]
async fn the_next_process_of_the_agent_delivers_the_results_of_the_last_one(#[case] signal: Signal) {
    let grace = ["--graceful-shutdown", "0s"];
    let mut suspended = SuspendedJobs::start(Harness::start().await, 2, 1, &grace).await;
    suspended.end_without_controller().await;
    let node = suspended.node.take().unwrap();
    kill_process(node.id(), signal).unwrap();
    assert_eq!(node.exit_code(), (signal == Signal::TERM).then_some(0));
    let outbox = suspended.harness.scratch().join("outbox");
    fs::write(outbox.join("damaged.1.json"), "{\"version\":1,").unwrap();
    suspended.node = Some(suspended.harness.node("node-0", &[]));
    suspended.harness.restart_controller().await;
    suspended.assert_all_delivered().await;
    assert!(outbox.join("damaged.1.json.unreadable").exists());
}

/// The controller evicts the session and takes the leases away, and nobody else claims the jobs.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_counts_after_the_session_was_evicted_if_nobody_claimed_its_job() {
    let harness = Harness::with_controller(&[], &SHORT_LEASES).await;
    let mut suspended = SuspendedJobs::start(harness, 2, 3, &[]).await;
    suspended.end_without_controller().await;
    drop(suspended.node.take());
    suspended.harness.restart_controller().await;
    for job in &suspended.jobs {
        let lost = suspended.harness.until(job, |job| job.lost_attempts == 1).await;
        assert_eq!(lost.status(), JobStatus::Pending);
    }
    wait::until(Harness::TIMEOUT, "the session to be evicted", || async {
        suspended.harness.nodes().await.is_empty()
    })
    .await
    .unwrap();
    suspended.node = Some(suspended.harness.node("node-0", &["--slots=2"]));
    suspended.assert_all_delivered().await;
}

/// Another node has scored the job meanwhile: the result is refused and removed.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_whose_job_another_node_has_taken_is_removed() {
    let harness = Harness::with_controller(&[], &SHORT_LEASES).await;
    let mut suspended = SuspendedJobs::start(harness, 1, 3, &[]).await;
    suspended.end_without_controller().await;
    drop(suspended.node.take());
    suspended.harness.restart_controller().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let other = ["--outbox-dir", elsewhere.path().to_str().unwrap()];
    let _other = suspended.harness.node("other", &other);
    let done = suspended.harness.ended(&suspended.jobs[0]).await;
    assert_eq!((done.assigned_node.as_str(), done.attempt, done.lost_attempts), ("other", 2, 1));
    suspended.node = Some(suspended.harness.node("node-0", &[]));
    let outbox = suspended.harness.scratch().join("outbox");
    wait::until(Harness::TIMEOUT, "an empty outbox", || std::future::ready(results(&outbox).is_empty()))
        .await
        .unwrap();
    assert_eq!(suspended.harness.get(&suspended.jobs[0]).await, done);
}
