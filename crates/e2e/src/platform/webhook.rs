//! When a release takes resources.

use anyhow::Result;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use vmafx_api::VmafxNode;
use vmafx_testkit::wait;

use super::{PATIENCE, Platform};

impl Platform {
    /// Waits until the API server reaches the webhook: a moment after its Pod is ready, when the Service has heard of it.
    pub async fn answered(&self, namespace: &str) -> Result<()> {
        let node = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "nobody" },
            "spec": { "gpuVendor": "cpu" },
        });
        let (node, params) =
            (serde_json::from_value(node)?, PostParams { dry_run: true, ..PostParams::default() });
        let nodes = Api::<VmafxNode>::namespaced(self.client(), namespace);
        let asked = async || nodes.create(&params, &node).await.map(drop);
        Ok(wait::until(PATIENCE, "the webhook to be reached", asked).await?)
    }
}
