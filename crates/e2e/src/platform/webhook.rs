//! Waits until a release accepts resources.

use anyhow::Result;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use vmafx_api::VmafxNode;
use vmafx_testkit::wait;

use super::{Platform, STEP_TIMEOUT};

impl Platform {
    /// Waits until the API server reaches the webhook: its Service has an endpoint only a moment after the Pod is ready.
    pub async fn until_webhook_answers(&self, namespace: &str) -> Result<()> {
        let node = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "dry-run" },
            "spec": { "gpuVendor": "cpu" },
        });
        let (node, params) =
            (serde_json::from_value(node)?, PostParams { dry_run: true, ..PostParams::default() });
        let nodes = Api::<VmafxNode>::namespaced(self.client(), namespace);
        let create = async || nodes.create(&params, &node).await.map(drop);
        Ok(wait::until(STEP_TIMEOUT, "the webhook to answer", create).await?)
    }
}
