//! Writes of the operator in an idle cluster.

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

use super::cluster::BenchCluster;
use super::load::run;
use crate::bench::figure::Figure;

const FINISHED: usize = 2_000;
const WAITING: usize = 200;
const NODES: usize = 50;
const TRAININGS: usize = 5;
/// Time for all statuses to settle: a node whose agents never report becomes stale after a minute.
const SETTLE: Duration = Duration::from_secs(100);
const IDLE: Duration = Duration::from_mins(2);

/// Counts the requests at a proxy that only the operator uses.
#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
pub(super) fn measure(runtime: &Runtime, report: &mut dyn FnMut(Figure)) -> Result<()> {
    let cluster = BenchCluster::start(
        runtime,
        ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() },
    )?;
    let proxy = runtime.block_on(ApiProxy::start(&cluster.plane))?;
    let kubeconfig = cluster.directory.path().join("proxy.kubeconfig");
    let everything = [Grant::everything()];
    let account = TestServiceAccount::create(&cluster.plane, "default", "operator", &everything);
    runtime.block_on(account)?.write_kubeconfig(&kubeconfig, &proxy.url())?;
    run(&cluster, "finished", FINISHED)?;
    run(&cluster, "waiting", WAITING)?;
    runtime.block_on(create_nodes_and_trainings(&cluster))?;
    let _operator = cluster.operator_with(
        runtime,
        &kubeconfig,
        &[("VMAFX_OPERATOR_TRAINER_IMAGE", "vmafx-trainer:bench")],
    )?;
    thread::sleep(SETTLE);
    let mark = proxy.request_count();
    thread::sleep(IDLE);
    let writes = proxy.writes_since(mark);
    for write in writes.iter().take(5) {
        println!("a write in an idle cluster: {:?} {}", write.request.verb, write.request.path);
    }
    let samples = vec![writes.len() as f64];
    report(Figure::at_most("operator.writes-at-rest", "in 2 min", 0.0, samples));
    Ok(())
}

async fn create_nodes_and_trainings(cluster: &BenchCluster) -> Result<()> {
    let client = cluster.plane.client()?;
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
