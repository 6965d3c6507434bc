//! What the environment says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::{GoDuration, HostPort, ListenAddr};
use vmafx_kit::daemon;
use vmafx_kit::logs::LogArgs;
use vmafx_proto::controller::v1::ResourceRef;

use crate::agent::Backend;
use crate::fetch::FetchSettings;
use crate::models::ModelSettings;
use crate::scratch::ScratchSettings;

/// Pulls jobs from the controller and scores them, each in a process of its own.
#[derive(Clone, Debug, clap::Parser)]
#[command(
    name = "vmafx-node",
    version,
    max_term_width = 110,
    after_help = "`vmafx-node run-once` scores one pair and ends: see `vmafx-node run-once --help`."
)]
pub struct Settings {
    /// The controller, as host:port of its gRPC service.
    #[arg(long, env = "VMAFX_CONTROLLER_ADDR", value_name = "HOST:PORT")]
    pub controller_addr: HostPort,

    #[command(flatten)]
    pub(crate) channel: ChannelArgs,

    /// Between two heartbeats.
    #[arg(long, env = "VMAFX_CONTROLLER_HEARTBEAT_INTERVAL", value_name = "DURATION", default_value = "10s")]
    pub(crate) heartbeat_interval: GoDuration,

    /// How long a pull waits for work at the controller.
    #[arg(long, env = "VMAFX_CONTROLLER_PULL_WAIT", value_name = "DURATION", default_value = "30s")]
    pub(crate) pull_wait: GoDuration,

    #[command(flatten)]
    pub(crate) node: NodeSettings,

    /// Where health and metrics are served; 0 is nowhere.
    #[arg(long, env = "VMAFX_HTTP_ADDR", value_name = "ADDR", default_value = ":9090")]
    pub(crate) http_addr: ListenAddr,

    #[command(flatten)]
    pub(crate) logs: LogArgs,
}

/// What a node is and how it scores, whoever it works for.
#[derive(Clone, Debug, clap::Args)]
pub struct NodeSettings {
    /// Name of this process; the host's name by default.
    #[arg(long, env = "VMAFX_NODE_ID", value_name = "NAME")]
    pub node_id: Option<String>,

    /// Jobs to run at once.
    #[arg(long, env = "VMAFX_NODE_SLOTS", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=64))]
    pub slots: i32,

    /// What to compute on: cpu, or cuda, hip, sycl, metal with an external engine.
    #[arg(long, env = "VMAFX_BACKEND", value_name = "BACKEND", default_value = "cpu", value_parser = backend)]
    pub backend: Backend,

    /// A `vmaf` program that scores instead of the built-in libvmaf; needed for GPUs.
    #[arg(long, env = "VMAFX_VMAF_BINARY", value_name = "FILE")]
    pub vmaf_binary: Option<PathBuf>,

    /// The decoder; the one on PATH by default.
    #[arg(long, env = "VMAFX_FFMPEG_BIN", value_name = "FILE")]
    pub ffmpeg_bin: Option<PathBuf>,

    /// Labels of this node, as name=value,…: training runs select samples by them.
    #[arg(long, env = "VMAFX_NODE_LABELS", value_name = "LABELS", default_value = "")]
    pub labels: Labels,

    /// The VmafxNode this process belongs to.
    #[command(flatten)]
    pub resource: ResourceSettings,

    /// A job without progress for this long is ended.
    #[arg(long, env = "VMAFX_WORKER_STALL", value_name = "DURATION", default_value = "5m")]
    pub worker_stall: GoDuration,

    /// A job that takes longer than this is ended; 0s is never.
    #[arg(long, env = "VMAFX_WORKER_TIMEOUT", value_name = "DURATION", default_value = "0s")]
    pub worker_timeout: GoDuration,

    /// CPU time that each process of a job may use.
    #[arg(long, env = "VMAFX_WORKER_CPU", value_name = "DURATION", default_value = "48h")]
    pub worker_cpu: GoDuration,

    /// For running jobs when the node is told to stop; what is not done then is given back.
    #[arg(long, env = "VMAFX_NODE_GRACEFUL_SHUTDOWN", value_name = "DURATION", default_value = "30s")]
    pub graceful_shutdown: GoDuration,

    #[command(flatten)]
    pub(crate) scratch: ScratchSettings,

    #[command(flatten)]
    pub(crate) fetch: FetchSettings,

    #[command(flatten)]
    pub(crate) models: ModelSettings,
}

impl NodeSettings {
    /// Downloads, and what jobs write, go into this directory unless another was named.
    pub fn scratch_in(&mut self, directory: &Path) {
        self.scratch.scratch_dir.get_or_insert_with(|| directory.to_owned());
    }
}

/// The VmafxNode a process belongs to.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ResourceSettings {
    /// Name of the cluster that the VmafxNode is in.
    #[arg(long, env = "VMAFX_CLUSTER", value_name = "NAME", default_value = "")]
    pub cluster: String,
    /// Namespace of the VmafxNode.
    #[arg(long, env = "VMAFX_NODE_RESOURCE_NAMESPACE", value_name = "NAMESPACE", default_value = "")]
    pub resource_namespace: String,
    /// Name of the VmafxNode.
    #[arg(long, env = "VMAFX_NODE_RESOURCE_NAME", value_name = "NAME", default_value = "")]
    pub resource_name: String,
    /// UID of the VmafxNode.
    #[arg(long, env = "VMAFX_NODE_RESOURCE_UID", value_name = "UID", default_value = "")]
    pub resource_uid: String,
}

impl ResourceSettings {
    /// The resource, if it is named.
    pub(crate) fn reference(&self) -> Option<ResourceRef> {
        (!self.resource_name.is_empty()).then(|| ResourceRef {
            cluster: self.cluster.clone(),
            namespace: self.resource_namespace.clone(),
            name: self.resource_name.clone(),
            uid: self.resource_uid.clone(),
        })
    }
}

/// Labels, as `name=value,…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub BTreeMap<String, String>);

impl FromStr for Labels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let label = |part: &str| {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("{part:?} is not name=value"))?;
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() {
                Err(format!("{part:?} has no name"))
            } else {
                Ok((name.to_owned(), value.to_owned()))
            }
        };
        text.split(',').filter(|part| !part.trim().is_empty()).map(label).collect::<Result<_, _>>().map(Self)
    }
}

fn backend(name: &str) -> Result<Backend, String> {
    Backend::from_name(name).ok_or_else(|| "must be one of cpu, cuda, sycl, hip, metal".to_owned())
}

impl daemon::DaemonSettings for Settings {
    fn logs(&self) -> LogArgs {
        self.logs.clone()
    }

    /// The jobs' grace, then one more call for each that is given back.
    fn shutdown_budget(&self) -> GoDuration {
        GoDuration(self.node.graceful_shutdown.0 + self.channel.controller_rpc_timeout.0 * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_pairs() {
        let labels: Labels = "zone=a, gpu=".parse().unwrap();
        assert_eq!(labels.0, [("zone".to_owned(), "a".to_owned()), ("gpu".to_owned(), String::new())].into());
        assert_eq!("zone".parse::<Labels>().unwrap_err(), "\"zone\" is not name=value");
        assert_eq!("=a".parse::<Labels>().unwrap_err(), "\"=a\" has no name");
        assert_eq!("".parse::<Labels>().unwrap(), Labels::default());
    }
}
