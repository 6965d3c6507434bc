use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ImageLayer, architecture};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageConfig {
    /// Creation time, as in `1970-01-01T00:00:00Z`. It must come from the input, or no two builds are identical.
    pub created: String,
    pub entrypoint: Vec<String>,
    /// `NAME=value`.
    pub env: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// `uid` or `uid:gid`, as numbers: Kubernetes cannot verify that a user name is not root.
    pub user: String,
    pub directory: String,
    pub tcp_ports: Vec<u16>,
    /// As in `SIGTERM`.
    pub stop_signal: String,
}

impl ImageConfig {
    pub(super) fn document(&self, layers: &[ImageLayer]) -> Value {
        let mut config = json!({"Entrypoint": self.entrypoint, "Env": self.env, "Labels": self.labels});
        for (key, value) in
            [("User", &self.user), ("WorkingDir", &self.directory), ("StopSignal", &self.stop_signal)]
        {
            if !value.is_empty() {
                config[key] = json!(value);
            }
        }
        if !self.tcp_ports.is_empty() {
            config["ExposedPorts"] =
                self.tcp_ports.iter().map(|port| (format!("{port}/tcp"), json!({}))).collect();
        }
        let history_entry =
            |layer: &ImageLayer| json!({"created": self.created, "created_by": layer.purpose});
        json!({
            "created": self.created,
            "os": "linux",
            "architecture": architecture(),
            "config": config,
            "rootfs": {
                "type": "layers",
                "diff_ids": layers.iter().map(|layer| &layer.diff_id).collect::<Vec<_>>(),
            },
            "history": layers.iter().map(history_entry).collect::<Vec<_>>(),
        })
    }
}
