//! Two minutes in which nothing happens.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::runtime::Runtime;
use vmafx_api::{VmafxModelTraining, VmafxNode};
use vmafx_testkit::kube::ControlPlaneOptions;
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::kube::proxy::ApiProxy;

use super::load::run;
use super::scene::Scene;
use crate::bench::figure::{Bar, Figure};

const FINISHED: usize = 2_000;
const WAITING: usize = 200;
const NODES: usize = 50;
const TRAININGS: usize = 5;
/// Until everything has come to rest: a node whose agents never report is given a minute.
const SETTLE: Duration = Duration::from_secs(100);
const REST: Duration = Duration::from_mins(2);

/// Takes the figure, by counting at a proxy before the operator alone.
#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
pub(super) fn measure(runtime: &Runtime, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let scene = Scene::set(
        runtime,
        ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() },
    )?;
    let proxy = runtime.block_on(ApiProxy::start(&scene.plane))?;
    let kubeconfig = scene.directory.path().join("proxy.kubeconfig");
    let everything = [Grant::everything()];
    let account = TestServiceAccount::create(&scene.plane, "default", "operator", &everything);
    runtime.block_on(account)?.write_kubeconfig(&kubeconfig, &proxy.url())?;
    run(&scene, "finished", FINISHED)?;
    run(&scene, "waiting", WAITING)?;
    runtime.block_on(others(&scene))?;
    let _operator = scene.operator_with(
        runtime,
        &kubeconfig,
        &[("VMAFX_OPERATOR_TRAINER_IMAGE", "vmafx-trainer:bench")],
    )?;
    thread::sleep(SETTLE);
    let mark = proxy.request_count();
    thread::sleep(REST);
    let writes = proxy.writes_since(mark);
    for write in writes.iter().take(5) {
        println!("a write at rest: {:?} {}", write.request.verb, write.request.path);
    }
    let samples = vec![writes.len() as f64];
    tell(Figure { name: "operator.writes-at-rest", unit: "in 2 min", bar: Bar::AtMost, limit: 0.0, samples });
    Ok(())
}

async fn others(scene: &Scene) -> Result<()> {
    let client = scene.plane.client()?;
    let nodes: Api<VmafxNode> = Api::namespaced(client.clone(), "default");
    for number in 0..NODES {
        let node = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": format!("pool-{number}") },
            "spec": { "gpuVendor": "cpu", "replicas": 1 },
        });
        nodes.create(&PostParams::default(), &serde_json::from_value(node)?).await?;
    }
    let trainings: Api<VmafxModelTraining> = Api::namespaced(client, "default");
    for number in 0..TRAININGS {
        let training = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining",
            "metadata": { "name": format!("run-{number}") },
            "spec": {
                "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema",
                "outputRegistry": "registry.example.com/team/models",
            },
        });
        trainings.create(&PostParams::default(), &serde_json::from_value(training)?).await?;
    }
    Ok(())
}
