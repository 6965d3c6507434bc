//! A VmafxNode: its workers are real.

use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::VmafxNode;
use vmafx_testkit::wait;

use crate::images::IMAGE;
use crate::stage::{PATIENCE, Stage, turn};

impl Stage {
    /// Waits for a condition with that status.
    async fn until(&self, type_: &str, status: &str) -> VmafxNode {
        let seen = async || {
            let node = self.nodes.get("pool").await.map_err(|error| error.to_string())?;
            let node = serde_json::to_value(&node).unwrap();
            let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let holds = conditions.iter().any(|one| one["type"] == type_ && one["status"] == status);
            if holds { Ok(serde_json::from_value(node).unwrap()) } else { Err(node["status"].to_string()) }
        };
        match wait::until(PATIENCE, &format!("{type_} to be {status}"), seen).await {
            Ok(node) => node,
            Err(error) => panic!("{error}\n{}", self.explain().await),
        }
    }

    /// The workers' UIDs, by name.
    async fn workers(&self) -> Vec<(String, String)> {
        let labelled = ListParams::default().labels("vmafx.dev/workload=vmafx-node-pool");
        let mut pods = self.pods.list(&labelled).await.unwrap().items;
        pods.sort_by_key(kube::ResourceExt::name_any);
        pods.iter().map(|pod| (pod.name_any(), pod.uid().unwrap())).collect()
    }

    async fn change(&self, patch: Value) {
        self.nodes.patch("pool", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn workers_really_start_pause_scale_and_roll() {
    let Some(_turn) = turn().await else { return };
    let base = tempfile::tempdir().unwrap();
    let stage = Stage::set(base.path()).await;
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
        "spec": {
            "gpuVendor": "cpu", "capacity": 2,
            "podTemplate": { "spec": { "containers": [{ "name": "agent", "command": ["/bin/vmafx-node"] }] } },
        },
    });
    stage.nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();

    let status = stage.until("Ready", "True").await.status.unwrap();
    assert_eq!((status.healthy, status.ready_replicas), (Some(true), Some(1)));
    assert!(status.last_heartbeat.is_some() && status.detected_device.is_some(), "{status:?}");
    assert_eq!(status.current_image.as_deref(), Some(IMAGE));
    let listed = stage.kubectl(&["get", "vmnode", "pool", "--no-headers"]);
    assert!(listed.contains("cpu") && listed.contains("true"), "{listed}");

    stage.kubectl(&["scale", "vmnode", "pool", "--replicas=2"]);
    stage.kubectl(&["wait", "--for=jsonpath={.status.readyReplicas}=2", "vmnode/pool", "--timeout=180s"]);
    let before = stage.workers().await;
    assert_eq!(before.len(), 2);

    stage.change(json!({ "spec": { "paused": true } })).await;
    stage.kubectl(&["wait", "--for=condition=Paused", "vmnode/pool", "--timeout=180s"]);
    assert_eq!(stage.workers().await, []);
    stage.change(json!({ "spec": { "paused": false } })).await;
    stage.until("Ready", "True").await;
    let back = stage.workers().await;
    assert!(back.len() == 2 && back.iter().all(|worker| !before.contains(worker)), "{back:?}");

    let marked = json!({ "spec": { "podTemplate": { "metadata": { "annotations": { "release": "2" } } } } });
    stage.change(marked).await;
    stage.until("RolloutInProgress", "True").await;
    stage.until("RolloutInProgress", "False").await;
    let rolled = stage.workers().await;
    assert!(rolled.len() == 2 && rolled.iter().all(|worker| !back.contains(worker)), "{rolled:?}");
    stage.until("Ready", "True").await;

    stage.kubectl(&["delete", "vmnode", "pool"]);
    let gone = async || stage.workers().await.is_empty();
    wait::until(PATIENCE, "the workers to be gone", gone).await.unwrap();
}
