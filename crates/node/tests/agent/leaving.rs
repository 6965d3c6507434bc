//! A node that is told to leave while it works.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use vmafx_proto::controller::v1::{Job, JobStatus};
use vmafx_testkit::wait;

use crate::expected::expected;
use crate::pages::{Question, page, value};
use crate::processes::processes_below;
use crate::stage::{Stage, free_address};

/// Much longer than the job takes that is to finish.
const GRACE: &str = "10s";

/// A request that is begun must be ended sooner than this, or the server gives it up.
const FRESH: Duration = Duration::from_secs(2);

/// What the two nodes count in the end.
const COUNTED: [(&str, f64, f64); 6] = [
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="completed"}"#, 1.0, 1.0),
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="released"}"#, 1.0, 0.0),
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="failed"}"#, 0.0, 0.0),
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="cancelled"}"#, 0.0, 0.0),
    (r#"vmafx_node_jobs_total{backend="cpu",outcome="lost"}"#, 0.0, 0.0),
    (RUNNING, 0.0, 0.0),
];
const RUNNING: &str = "vmafx_node_jobs_running";

fn told(metrics: &str) -> [(&'static str, Option<f64>); 6] {
    COUNTED.map(|(series, ..)| (series, value(metrics, series)))
}

/// Stops two workers in the middle of their work.
async fn stop_two_workers(stage: &Stage) -> [Pid; 2] {
    let mut stopped = Vec::new();
    wait::until(Stage::PATIENCE, "two workers", || {
        for process in processes_below(&stage.scratch()) {
            if !stopped.contains(&process.id) && kill_process(process.id, Signal::STOP).is_ok() {
                stopped.push(process.id);
            }
        }
        std::future::ready(<[Pid; 2]>::try_from(stopped.clone()).ok())
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_running_jobs_one_finishes_in_the_grace_and_the_other_is_done_by_another_node() {
    let stage = Stage::set().await;
    let score = expected(&stage.clip("longer_ref.yuv"), &stage.clip("longer_dis.yuv"));
    let http = free_address();
    let first = stage.node("first", &["--slots=2", "--http-addr", &http, "--graceful-shutdown", GRACE]);
    let jobs = [
        stage.submit("longer_ref.yuv", "longer_dis.yuv").await,
        stage.submit("longer_ref.yuv", "longer_dis.yuv").await,
    ];
    let [finishes, _stays] = stop_two_workers(&stage).await;
    first.terminate();
    wait::until(Stage::PATIENCE, "the node to leave", || async {
        page(&http, "/readyz").await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 503"))
    })
    .await
    .unwrap();
    assert_eq!(value(&page(&http, "/metrics").await.unwrap(), RUNNING), Some(2.0));

    kill_process(finishes, Signal::CONT).unwrap();
    let done = stage.until_one(&jobs, |job| job.status() == JobStatus::Completed).await;
    assert_eq!((done.assigned_node.as_str(), done.attempt, done.lost_attempts), ("first", 1, 0));
    assert_eq!(done.final_score.to_bits(), score.to_bits());

    let other = jobs.iter().find(|job| **job != done.id).unwrap();
    let (given_back, metrics) = released(&stage, other, &http).await;
    assert_eq!((given_back.attempt, given_back.lost_attempts), (1, 0));
    assert_eq!(told(&metrics), COUNTED.map(|(series, first, _)| (series, Some(first))));
    assert_eq!(first.end(), Some(0));
    assert_eq!(processes_below(&stage.scratch()), []);

    let http = free_address();
    let _second = stage.node("second", &["--http-addr", &http]);
    let done = stage.ended(other).await;
    assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
    assert_eq!((done.assigned_node.as_str(), done.attempt, done.lost_attempts), ("second", 2, 0));
    assert_eq!(done.final_score.to_bits(), score.to_bits());
    wait::until(Stage::PATIENCE, "the counters of the second node", || async {
        let metrics = page(&http, "/metrics").await.map_err(|error| error.to_string())?;
        let (told, right) = (told(&metrics), COUNTED.map(|(series, _, second)| (series, Some(second))));
        if told == right { Ok(()) } else { Err(format!("{told:?}")) }
    })
    .await
    .unwrap();
}

/// A job as it waits again, and the last metrics of the node that gave it back: a question that was begun before is
/// answered before the node is gone.
async fn released(stage: &Stage, job: &str, http: &str) -> (Job, String) {
    loop {
        let question = Question::begin(http, "/metrics").await.unwrap();
        let waits = stage.until_within(FRESH, job, |job| job.status() == JobStatus::Pending).await;
        if let Some(job) = waits {
            return (job, question.end().await.unwrap());
        }
    }
}
