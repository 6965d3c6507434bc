//! The invariants after all kills.

use std::time::Duration;

use serde_json::Value;
use vmafx_proto::controller::v1::{Job, JobStatus, ListNodesRequest};
use vmafx_testkit::controller::ControllerServer;
use vmafx_testkit::http_client;
use vmafx_testkit::http_server::HttpServer;
use vmafx_testkit::wait;

use crate::controller::Client;
use crate::fleet::Fleet;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Every job completed once, with the right score, and has no lease.
pub(crate) async fn jobs(jobs: &[Job], controller: &ControllerServer, score: f64) {
    for job in jobs {
        assert_eq!((job.status(), job.error.as_str()), (JobStatus::Completed, ""), "{job:?}");
        assert_eq!(job.final_score.to_bits(), score.to_bits(), "{job:?}");
        assert_eq!(job.lease_expires_at_ms, 0, "{job:?}");
        attempts(controller, job).await;
    }
}

/// Attempts are numbered without a gap, all have ended, and only the last one completed the job.
async fn attempts(controller: &ControllerServer, job: &Job) {
    let path = format!("/v1/jobs/{}/attempts", job.id);
    let response = http_client::get(controller.http(), &path).await.unwrap();
    let list: Value = serde_json::from_str(&response.body).unwrap();
    let all = list["attempts"].as_array().unwrap();
    assert_eq!(all.len(), usize::try_from(job.attempt).unwrap(), "{list}");
    for (number, attempt) in (1..).zip(all) {
        let outcome = attempt["outcome"].as_str().unwrap_or_else(|| panic!("an open attempt: {list}"));
        let expected: &[&str] = if number == all.len() { &["completed"] } else { &["expired", "released"] };
        assert!(attempt["number"] == number && expected.contains(&outcome), "{list}");
    }
}

/// No process, no file and no lease is left.
pub(crate) async fn nothing_left(client: &Client, fleet: &mut Fleet) {
    wait::until(TIMEOUT, "idle nodes", || async {
        let nodes = client.clone().list_nodes(ListNodesRequest {}).await;
        let nodes = nodes.map_err(|error| error.to_string())?.into_inner().nodes;
        let idle = nodes.len() == fleet.agents() && nodes.iter().all(|node| node.jobs_running == 0);
        if idle { Ok(()) } else { Err(format!("{nodes:?}")) }
    })
    .await
    .unwrap();
    wait::until(TIMEOUT, "nothing to be left of the jobs", || {
        let (processes, files) = (fleet.processes(), fleet.files());
        let none = processes.is_empty() && files.is_empty();
        std::future::ready(if none { Ok(()) } else { Err(format!("{processes:?} {files:?}")) })
    })
    .await
    .unwrap();
    assert_eq!(fleet.agent_directories().len(), fleet.agents(), "{:?}", fleet.agent_directories());
    fleet.shut_down();
    assert!(fleet.agent_directories().is_empty(), "{:?}", fleet.agent_directories());
}

/// Every kind of process was killed while it worked.
pub(crate) fn kills(jobs: &[Job], fleet: &Fleet, server: &HttpServer) {
    let replaced = fleet.replaced();
    let repeated: u32 = jobs.iter().map(|job| job.attempt - 1).sum();
    let (failed_calls, fetched) = (fleet.failed_calls(), server.requests().len());
    eprintln!(
        "{} jobs; {replaced} workers replaced, {repeated} attempts repeated, {failed_calls} calls failed, \
         {fetched} downloads",
        jobs.len()
    );
    assert!(replaced > 0, "no worker was killed at work");
    assert!(repeated > 0, "no agent was killed at work");
    assert!(failed_calls > 0, "no call failed while the controller was down");
    assert!(fetched > 0, "nothing was fetched");
}
