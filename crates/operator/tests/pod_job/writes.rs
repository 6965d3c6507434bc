//! The number of writes.

use std::sync::Mutex;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tokio::time::Instant;
use vmafx_api::job::Phase;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::{Fixture, cluster};
use crate::kubelet::scored;

/// After this time without a change, everything under way has ended.
const QUIET_PERIOD: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_job_costs_few_writes() {
    let fixture = Fixture::new().await;
    let mark = cluster().await.proxy.request_count();
    fixture.create("intro", json!({}), json!({})).await;
    let pod = fixture.pod(1).await;
    fixture.run(&pod).await;
    fixture.until_phase(Phase::Running).await;
    fixture.end(&pod, 0, "Completed", &scored(80.0)).await;
    fixture.until_phase(Phase::Succeeded).await;
    fixture
        .until_job("the Kubernetes Job to be complete", |job: &Job| {
            job.status.as_ref().is_some_and(|status| status.completion_time.is_some())
        })
        .await;
    let writes = fixture.writes_since(mark).await;
    let requests: Vec<_> =
        writes.iter().map(|one| format!("{:?} {}", one.request.verb, one.request.resource)).collect();
    assert_eq!(
        requests.iter().filter(|one| one.ends_with("jobs") && !one.contains("vmafx")).count(),
        1,
        "{requests:?}"
    );
    // One for the account of the namespace, one for the Kubernetes Job, and one for the status each when created, starting,
    // running and succeeded.
    assert!(requests.len() <= 6, "{requests:?}");
}

/// The fixed times are what is tested: nothing may be written while they pass.
#[tokio::test]
async fn nothing_is_written_at_rest() {
    let fixture = Fixture::new().await;
    let names: Vec<_> = (0..10).map(|number| format!("j{number}")).collect();
    for name in &names {
        let labels =
            if name.ends_with('9') { json!({ "kueue.x-k8s.io/queue-name": "gpu" }) } else { json!({}) };
        let spec = if name.ends_with('8') { json!({ "suspend": true }) } else { json!({}) };
        fixture.create(name, spec, labels).await;
    }
    let pods = wait::until(TIMEOUT, "eight Pods", || async {
        let pods = fixture.pods.list(&ListParams::default()).await.unwrap().items;
        if pods.len() == 8 { Ok(pods) } else { Err(pods.len().to_string()) }
    })
    .await
    .unwrap();
    for pod in &pods[..4] {
        fixture.end(pod, 0, "Completed", &scored(80.0)).await;
    }
    until_quiet(&fixture).await;
    let mark = cluster().await.proxy.request_count();
    tokio::time::sleep(Duration::from_secs(4)).await;
    cluster().await.proxy.close_connections();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let writes: Vec<_> = fixture
        .writes_since(mark)
        .await
        .iter()
        .map(|one| format!("{:?} {}", one.request.verb, one.request.name))
        .collect();
    assert_eq!(writes, Vec::<String>::new());
}

/// Waits until nothing has changed for a while.
async fn until_quiet(fixture: &Fixture) {
    let last = Mutex::new((Instant::now(), Vec::new()));
    wait::until(TIMEOUT, "no more changes", async || {
        let all = ListParams::default();
        let resources = fixture.resources.list(&all).await.ok()?.items;
        let jobs = fixture.jobs.list(&all).await.ok()?.items;
        let now: Vec<_> = resources
            .iter()
            .map(ResourceExt::resource_version)
            .chain(jobs.iter().map(ResourceExt::resource_version))
            .collect();
        let mut last = last.lock().unwrap();
        if now != last.1 {
            *last = (Instant::now(), now);
        }
        (last.0.elapsed() > QUIET_PERIOD).then_some(())
    })
    .await
    .unwrap();
}
