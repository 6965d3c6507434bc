//! Namespaces of scenarios: the strictest rules for Pods, and the volumes that a cluster with storage would give.

use anyhow::Result;
use serde_json::json;

use super::{Platform, volume};
use crate::clips::Clips;
use crate::volume::Volume;

/// Which namespaces are ours.
pub(super) const LABEL: &str = "vmafx.dev/e2e";

impl Platform {
    /// Makes a namespace that enforces `restricted`, with the claim [`Clips::CLAIM`].
    pub async fn namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": name, "labels": {
                LABEL: name,
                "pod-security.kubernetes.io/enforce": "restricted",
            }},
        });
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": { "name": Clips::CLAIM, "namespace": name },
            "spec": {
                "accessModes": ["ReadOnlyMany"], "storageClassName": "",
                "resources": { "requests": { "storage": "1Gi" } },
            },
        });
        let clips = self.clips.volume.object(name, Clips::CLAIM);
        for object in [namespace, clips, claim] {
            self.kubectl.apply(&object.to_string()).await?;
        }
        Ok(())
    }

    /// A directory for a claim that something in the namespace will make, such as `vmafx-controller` of a release `vmafx`.
    pub async fn volume(&self, namespace: &str, claim: &str) -> Result<Volume> {
        let volume = volume(&self.cluster, &format!("{namespace}-{claim}")).make()?;
        self.kubectl.apply(&volume.object(namespace, claim).to_string()).await?;
        Ok(volume)
    }

    /// Removes a namespace with everything in it, and its volumes.
    pub async fn remove(&self, namespace: &str) -> Result<()> {
        let ours = format!("--selector={LABEL}={namespace}");
        self.kubectl.run(&["delete", "namespace", namespace, "--timeout=180s"]).await?;
        self.kubectl.run(&["delete", "persistentvolume", &ours, "--timeout=60s"]).await?;
        Ok(())
    }
}
