//! A node that shuts down while it scores.

use std::net::SocketAddr;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use vmafx_proto::controller::v1::{Job, JobStatus};
use vmafx_testkit::http_client::{self, HttpResponse};
use vmafx_testkit::{ports, wait};

use crate::expected::expected;
use crate::harness::Harness;
use crate::open_request::OpenRequest;
use crate::processes::processes_below;

/// Much longer than the job that is to finish takes.
const GRACE: &str = "10s";

/// A request must be completed sooner than this, or the server gives it up.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Final values of the counters of both nodes.
const COUNTERS: [(&str, f64, f64); 6] = [
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="completed"}"#, 1.0, 1.0),
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="released"}"#, 1.0, 0.0),
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="failed"}"#, 0.0, 0.0),
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="cancelled"}"#, 0.0, 0.0),
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="lost"}"#, 0.0, 0.0),
    (RUNNING, 0.0, 0.0),
];
const RUNNING: &str = "vmafx_node_jobs_running";

fn counters(metrics: &HttpResponse) -> [(&'static str, Option<f64>); 6] {
    COUNTERS.map(|(series, ..)| (series, metrics.metric(series)))
}

/// Suspends two workers while they score.
async fn suspend_two_workers(harness: &Harness) -> [Pid; 2] {
    let mut suspended = Vec::new();
    wait::until(Harness::TIMEOUT, "two workers", || {
        for process in processes_below(&harness.scratch()) {
            if !suspended.contains(&process.id) && kill_process(process.id, Signal::STOP).is_ok() {
                suspended.push(process.id);
            }
        }
        std::future::ready(<[Pid; 2]>::try_from(suspended.clone()).ok())
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_running_jobs_one_finishes_in_the_grace_period_and_the_other_on_another_node() {
    let harness = Harness::start().await;
    let score = expected(&harness.clip("longer_ref.yuv"), &harness.clip("longer_dis.yuv"));
    let http = ports::free_address().unwrap();
    let first =
        harness.node("first", &["--slots=2", "--http-addr", &http.to_string(), "--graceful-shutdown", GRACE]);
    let jobs = [
        harness.submit("longer_ref.yuv", "longer_dis.yuv").await,
        harness.submit("longer_ref.yuv", "longer_dis.yuv").await,
    ];
    let [finishes, _stays] = suspend_two_workers(&harness).await;
    first.terminate();
    wait::until(Harness::TIMEOUT, "the node to shut down", || async {
        http_client::get(http, "/readyz").await.is_ok_and(|response| response.status == 503)
    })
    .await
    .unwrap();
    assert_eq!(http_client::get(http, "/metrics").await.unwrap().metric(RUNNING), Some(2.0));

    kill_process(finishes, Signal::CONT).unwrap();
    let done = harness.until_one(&jobs, |job| job.status() == JobStatus::Completed).await;
    assert_eq!((done.assigned_node.as_str(), done.attempt, done.lost_attempts), ("first", 1, 0));
    assert_eq!(done.final_score.to_bits(), score.to_bits());

    let other = jobs.iter().find(|job| **job != done.id).unwrap();
    let (pending, metrics) = released(&harness, other, http).await;
    assert_eq!((pending.attempt, pending.lost_attempts), (1, 0));
    assert_eq!(counters(&metrics), COUNTERS.map(|(series, first, _)| (series, Some(first))));
    assert_eq!(first.exit_code(), Some(0));
    assert_eq!(processes_below(&harness.scratch()), []);

    let http = ports::free_address().unwrap();
    let _second = harness.node("second", &["--http-addr", &http.to_string()]);
    let done = harness.ended(other).await;
    assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
    assert_eq!((done.assigned_node.as_str(), done.attempt, done.lost_attempts), ("second", 2, 0));
    assert_eq!(done.final_score.to_bits(), score.to_bits());
    wait::until(Harness::TIMEOUT, "the counters of the second node", || async {
        let metrics = http_client::get(http, "/metrics").await.map_err(|error| error.to_string())?;
        let (actual, expected) =
            (counters(&metrics), COUNTERS.map(|(series, _, second)| (series, Some(second))));
        if actual == expected { Ok(()) } else { Err(format!("{actual:?}")) }
    })
    .await
    .unwrap();
}

/// The released job when it is pending again, and the last metrics of the node that released it: the node completes a
/// request that was open before it exits.
async fn released(harness: &Harness, job: &str, http: SocketAddr) -> (Job, HttpResponse) {
    loop {
        let request = OpenRequest::open(http, "/metrics").await.unwrap();
        let pending =
            harness.until_within(REQUEST_TIMEOUT, job, |job| job.status() == JobStatus::Pending).await;
        if let Some(job) = pending {
            return (job, request.complete().await.unwrap());
        }
    }
}
