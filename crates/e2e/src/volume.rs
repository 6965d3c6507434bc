//! Directories of the node that Pods use through a claim, as on clusters without a provisioner.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::json;

/// User and group of all Pods.
const USER: u32 = 65532;

/// A directory for one claim of one namespace.
#[derive(Debug, Clone)]
pub struct Volume {
    /// Path on this machine.
    pub host_path: PathBuf,
    /// Path on the node.
    pub(crate) node_path: PathBuf,
}

impl Volume {
    /// Creates the directory, writable for Pods.
    pub(crate) fn create(self) -> Result<Self> {
        let created =
            fs::create_dir_all(&self.host_path).and_then(|()| chown(&self.host_path, Some(USER), Some(USER)));
        created.with_context(|| format!("cannot create {}", self.host_path.display()))?;
        Ok(self)
    }

    /// The `PersistentVolume`, bound to this claim only; its contents survive the deletion of the claim.
    pub(crate) fn object(&self, namespace: &str, claim: &str) -> serde_json::Value {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": { "name": format!("{namespace}-{claim}"), "labels": { "vmafx.dev/e2e": namespace } },
            "spec": {
                "capacity": { "storage": "10Gi" }, "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
                "claimRef": { "namespace": namespace, "name": claim },
                "hostPath": { "path": self.node_path, "type": "Directory" },
            },
        })
    }
}
