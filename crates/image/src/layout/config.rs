//! How an image is run.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Layer, architecture};

/// How an image is run, and what it says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// When it was made, as in `1970-01-01T00:00:00Z`: a fact of the input, or no two builds are the same.
    pub created: String,
    /// What a container runs.
    pub entrypoint: Vec<String>,
    /// Environment variables, `NAME=value`.
    pub env: Vec<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// `uid` or `uid:gid`. Numbers, since Kubernetes cannot tell that a name is not root.
    pub user: String,
    /// Where it runs.
    pub directory: String,
    /// TCP ports that it listens on.
    pub ports: Vec<u16>,
    /// What ends it in good order, as in `SIGTERM`.
    pub stop_signal: String,
}

impl Config {
    pub(super) fn document(&self, layers: &[Layer]) -> Value {
        let mut config = json!({"Entrypoint": self.entrypoint, "Env": self.env, "Labels": self.labels});
        for (key, value) in
            [("User", &self.user), ("WorkingDir", &self.directory), ("StopSignal", &self.stop_signal)]
        {
            if !value.is_empty() {
                config[key] = json!(value);
            }
        }
        if !self.ports.is_empty() {
            config["ExposedPorts"] =
                self.ports.iter().map(|port| (format!("{port}/tcp"), json!({}))).collect();
        }
        let step = |layer: &Layer| json!({"created": self.created, "created_by": layer.purpose});
        json!({
            "created": self.created,
            "os": "linux",
            "architecture": architecture(),
            "config": config,
            "rootfs": {
                "type": "layers",
                "diff_ids": layers.iter().map(|layer| &layer.diff_id).collect::<Vec<_>>(),
            },
            "history": layers.iter().map(step).collect::<Vec<_>>(),
        })
    }
}
