//! Directories of the node that Pods use by a claim, as on clusters without a provisioner.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::json;

/// Whom all Pods run as.
const USER: u32 = 65532;

/// A directory that one claim of one namespace may have.
#[derive(Debug, Clone)]
pub struct Volume {
    /// Where it is on this machine.
    pub here: PathBuf,
    /// Where the node sees it.
    pub(crate) on_node: PathBuf,
}

impl Volume {
    /// Makes the directory, for Pods to write to.
    pub(crate) fn make(self) -> Result<Self> {
        let made = fs::create_dir_all(&self.here).and_then(|()| chown(&self.here, Some(USER), Some(USER)));
        made.with_context(|| format!("{} cannot be made", self.here.display()))?;
        Ok(self)
    }

    /// The `PersistentVolume` that only this claim can have; what is in it stays when the claim is deleted.
    pub(crate) fn object(&self, namespace: &str, claim: &str) -> serde_json::Value {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": { "name": format!("{namespace}-{claim}"), "labels": { "vmafx.dev/e2e": namespace } },
            "spec": {
                "capacity": { "storage": "10Gi" }, "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
                "claimRef": { "namespace": namespace, "name": claim },
                "hostPath": { "path": self.on_node, "type": "Directory" },
            },
        })
    }
}
