//! Acts on Pods as a kubelet would.

use k8s_openapi::api::core::v1::{Binding, Pod};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::fixture::Fixture;

pub(crate) const STARTED: &str = "2026-01-01T00:00:05Z";
pub(crate) const ENDED: &str = "2026-01-01T00:00:09Z";

impl Fixture {
    /// Places the Pod on the node `k8s-1` and starts its container.
    pub(crate) async fn run(&self, pod: &Pod) {
        let name = pod.name_any();
        let binding: Binding = serde_json::from_value(json!({
            "metadata": { "name": name }, "target": { "kind": "Node", "name": "k8s-1" },
        }))
        .unwrap();
        let params = PostParams::default();
        self.pods.create_subresource::<_, Value>("binding", &name, &params, &binding).await.unwrap();
        self.show(pod, "Running", json!({ "running": { "startedAt": STARTED } })).await;
    }

    /// Terminates its container.
    pub(crate) async fn end(&self, pod: &Pod, code: i32, reason: &str, message: &str) {
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        let state = json!({ "terminated": {
            "exitCode": code, "reason": reason, "message": message, "startedAt": STARTED, "finishedAt": ENDED,
        }});
        self.show(pod, phase, state).await;
    }

    /// Sets the state of its container.
    pub(crate) async fn show(&self, pod: &Pod, phase: &str, state: Value) {
        self.set_status(pod, json!({ "phase": phase, "containerStatuses": [{
            "name": "agent", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state,
        }]}))
        .await;
    }

    pub(crate) async fn set_status(&self, pod: &Pod, status: Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        self.pods.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await.unwrap();
    }

    /// Completes the deletion of a Pod.
    pub(crate) async fn remove(&self, pod: &Pod) {
        let at_once = DeleteParams::default().grace_period(0);
        match self.pods.delete(&pod.name_any(), &at_once).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            other => drop(other.unwrap()),
        }
    }
}

pub(crate) fn scored(score: f64) -> String {
    json!({
        "outcome": "Scored", "score": score, "features": { "psnr_y": 40.0 }, "model": "vmaf_v0.6.1",
        "modelDigest": "sha256:0", "frames": 48, "size": [160, 90], "warnings": [],
        "pooled": { "mean": score, "harmonicMean": 1.0, "min": 0.0, "max": 2.0, "stddev": 3.0,
                    "p1": 4.0, "p5": 5.0, "p10": 6.0, "p50": 7.0 },
    })
    .to_string()
}

pub(crate) fn failed(reason: &str, number: i32, message: &str) -> String {
    json!({ "outcome": "Failed", "reason": reason, "number": number, "message": message }).to_string()
}
