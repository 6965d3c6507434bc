//! How much is written.

use std::sync::Mutex;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tokio::time::Instant;
use vmafx_api::job::Phase;
use vmafx_testkit::wait;

use crate::kubelet::scored;
use crate::scene::{SOON, Scene, stage};

/// Without a change for so long, what was under way has ended.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_job_costs_few_writes() {
    let scene = Scene::set().await;
    let mark = stage().await.proxy.request_count();
    scene.create("intro", json!({}), json!({})).await;
    let pod = scene.pod(1).await;
    scene.run(&pod).await;
    scene.until_phase(Phase::Running).await;
    scene.end(&pod, 0, "Completed", &scored(80.0)).await;
    scene.until_phase(Phase::Succeeded).await;
    scene
        .until_job("the Kubernetes Job to be complete", |job: &Job| {
            job.status.as_ref().is_some_and(|status| status.completion_time.is_some())
        })
        .await;
    let writes = scene.writes_since(mark).await;
    let said: Vec<_> =
        writes.iter().map(|one| format!("{:?} {}", one.request.verb, one.request.resource)).collect();
    assert_eq!(
        said.iter().filter(|one| one.ends_with("jobs") && !one.contains("vmafx")).count(),
        1,
        "{said:?}"
    );
    // Made, started, running, done.
    assert!(said.len() <= 5, "{said:?}");
}

/// The time is what is tested: nothing is waited for.
#[tokio::test]
async fn nothing_is_written_at_rest() {
    let scene = Scene::set().await;
    let names: Vec<_> = (0..10).map(|number| format!("j{number}")).collect();
    for name in &names {
        let labels =
            if name.ends_with('9') { json!({ "kueue.x-k8s.io/queue-name": "gpu" }) } else { json!({}) };
        let spec = if name.ends_with('8') { json!({ "suspend": true }) } else { json!({}) };
        scene.create(name, spec, labels).await;
    }
    let pods = wait::until(SOON, "eight Pods", || async {
        let pods = scene.pods.list(&ListParams::default()).await.unwrap().items;
        if pods.len() == 8 { Ok(pods) } else { Err(pods.len().to_string()) }
    })
    .await
    .unwrap();
    for pod in &pods[..4] {
        scene.end(pod, 0, "Completed", &scored(80.0)).await;
    }
    calm(&scene).await;
    let mark = stage().await.proxy.request_count();
    tokio::time::sleep(Duration::from_secs(4)).await;
    stage().await.proxy.close_connections();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let writes: Vec<_> = scene
        .writes_since(mark)
        .await
        .iter()
        .map(|one| format!("{:?} {}", one.request.verb, one.request.name))
        .collect();
    assert_eq!(writes, Vec::<String>::new());
}

/// Until nothing has changed for a while.
async fn calm(scene: &Scene) {
    let last = Mutex::new((Instant::now(), Vec::new()));
    wait::until(SOON, "everything to be at rest", async || {
        let all = ListParams::default();
        let resources = scene.resources.list(&all).await.ok()?.items;
        let jobs = scene.jobs.list(&all).await.ok()?.items;
        let now: Vec<_> = resources
            .iter()
            .map(ResourceExt::resource_version)
            .chain(jobs.iter().map(ResourceExt::resource_version))
            .collect();
        let mut last = last.lock().unwrap();
        if now != last.1 {
            *last = (Instant::now(), now);
        }
        (last.0.elapsed() > CALM).then_some(())
    })
    .await
    .unwrap();
}
