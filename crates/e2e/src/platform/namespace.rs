//! Namespaces of scenarios: the strictest Pod security level, and the volumes that a provisioner would create.

use anyhow::Result;
use serde_json::json;

use super::{Platform, volume};
use crate::clips::Clips;
use crate::volume::Volume;

/// Label of the namespaces that scenarios create.
pub(super) const LABEL: &str = "vmafx.dev/e2e";

impl Platform {
    /// Creates a namespace that enforces `restricted`, with the claim [`Clips::CLAIM`].
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

    /// Creates a volume for a claim that a release will create, such as `vmafx-controller` of the release `vmafx`.
    pub async fn volume(&self, namespace: &str, claim: &str) -> Result<Volume> {
        let volume = volume(&self.cluster, &format!("{namespace}-{claim}")).create()?;
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
