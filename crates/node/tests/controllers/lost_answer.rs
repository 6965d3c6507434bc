//! A job is assigned, and the answer never reaches the node.

use vmafx_proto::controller::v1::JobStatus;
use vmafx_testkit::tcp_proxy::{ProxyFault, TcpProxy};
use vmafx_testkit::{http_client, wait};

use crate::harness::{Client, TIMEOUT, config, node};

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_that_is_lost_on_the_way_costs_no_attempt() {
    let controller = config().start().await.unwrap();
    let proxy = TcpProxy::start([controller.grpc()]).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut node = node(0, &proxy.address().to_string(), directory.path());
    let client = Client::new(&controller.grpc().to_string());
    let first = client.submit(None).await;
    let completed = |id: String| {
        let client = client.clone();
        async move {
            let job = client.jobs().await.into_iter().find(|job| job.id == id).unwrap();
            if job.status() == JobStatus::Completed { Ok(job) } else { Err(format!("{job:?}")) }
        }
    };
    wait::until(TIMEOUT, "the first job", || completed(first.clone())).await.unwrap();

    proxy.set_fault(ProxyFault::SwallowResponses);
    let lost = client.submit(Some(1)).await;
    let assigned = || async {
        let jobs = client.jobs().await;
        jobs.iter().any(|job| job.id == lost && job.status() == JobStatus::Running)
    };
    wait::until(TIMEOUT, "the second job to be assigned", assigned).await.unwrap();
    proxy.cut_connections();
    proxy.set_fault(ProxyFault::None);

    let done = wait::until(TIMEOUT, "the second job", || completed(lost.clone())).await.unwrap();
    assert_eq!((done.lost_attempts, done.attempt), (0, 2), "{done:?}");
    let path = format!("/v1/jobs/{lost}/attempts");
    let attempts = http_client::get(controller.http(), &path).await.unwrap().body;
    assert!(attempts.contains("\"released\""), "{attempts}");
    node.kill().unwrap();
}
