//! Settings of the agent: each is a flag and an environment variable.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::{GoDuration, HostPorts, ListenAddr};
use vmafx_kit::daemon;
use vmafx_kit::logs::LogArgs;
use vmafx_proto::controller::v1::ResourceRef;

use crate::scorer::ScorerSettings;

/// Pulls jobs from the controller and scores them, each in a process of its own.
#[derive(Clone, Debug, clap::Parser)]
#[command(
    name = "vmafx-node",
    version,
    max_term_width = 110,
    after_help = "`vmafx-node run-once` scores one pair of clips and exits: see `vmafx-node run-once --help`."
)]
pub struct Settings {
    /// Addresses of the controller's gRPC service, separated by commas.
    #[arg(long, env = "VMAFX_CONTROLLER_ADDR", value_name = "HOST:PORT,…")]
    pub controller_addr: HostPorts,

    #[command(flatten)]
    pub(crate) channel: ChannelArgs,

    /// Interval between two heartbeats.
    #[arg(long, env = "VMAFX_CONTROLLER_HEARTBEAT_INTERVAL", value_name = "DURATION", default_value = "10s")]
    pub(crate) heartbeat_interval: GoDuration,

    /// How long a pull waits for a job at the controller.
    #[arg(long, env = "VMAFX_CONTROLLER_PULL_WAIT", value_name = "DURATION", default_value = "30s")]
    pub(crate) pull_wait: GoDuration,

    #[command(flatten)]
    pub(crate) node: NodeSettings,

    /// Address of the health and metrics pages; 0: none.
    #[arg(long, env = "VMAFX_HTTP_ADDR", value_name = "ADDR", default_value = ":9090")]
    pub(crate) http_addr: ListenAddr,

    #[command(flatten)]
    pub(crate) logs: LogArgs,
}

/// Settings of a node that do not depend on its controller.
#[derive(Clone, Debug, clap::Args)]
pub struct NodeSettings {
    /// Name of this process; by default the name of the host.
    #[arg(long, env = "VMAFX_NODE_ID", value_name = "NAME")]
    pub node_id: Option<String>,

    /// Jobs to run at once.
    #[arg(long, env = "VMAFX_NODE_SLOTS", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=64))]
    pub slots: i32,

    #[command(flatten)]
    pub scorer: ScorerSettings,

    /// Labels of this node, as name=value,…: training runs select samples by them.
    #[arg(long, env = "VMAFX_NODE_LABELS", value_name = "LABELS", default_value = "")]
    pub labels: Labels,

    /// Tenants whose jobs this node runs besides those of its own tenant, as tenant,…; * for all. Those that the
    /// administrator of the controller permits count.
    #[arg(long, env = "VMAFX_NODE_SERVES", value_name = "TENANTS", default_value = "")]
    pub serves: ServedTenants,

    #[command(flatten)]
    pub resource: ResourceSettings,

    /// Stall timeout: a job that makes no progress for this long fails.
    #[arg(long, env = "VMAFX_WORKER_STALL", value_name = "DURATION", default_value = "5m")]
    pub worker_stall: GoDuration,

    /// Directory for finished results that the controller has not accepted yet; it must survive a restart of the process
    /// [default: `outbox` in the scratch directory]
    #[arg(long, env = "VMAFX_OUTBOX_DIR", value_name = "DIR")]
    pub outbox_dir: Option<PathBuf>,

    /// Grace period of running jobs at shutdown; a job that is not done by then is released.
    #[arg(long, env = "VMAFX_NODE_GRACEFUL_SHUTDOWN", value_name = "DURATION", default_value = "30s")]
    pub graceful_shutdown: GoDuration,
}

impl NodeSettings {
    pub(crate) fn outbox_directory(&self) -> PathBuf {
        self.outbox_dir.clone().unwrap_or_else(|| self.scorer.scratch.directory().join("outbox"))
    }

    /// Permits registries on this machine, for a process whose user is also the administrator.
    pub fn permit_local_registries(&mut self) {
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        self.scorer.models.oci_private_hosts.extend(hosts);
    }

    /// Sets the scratch directory unless one is configured.
    pub fn default_scratch_directory(&mut self, directory: &Path) {
        self.scorer.scratch.scratch_dir.get_or_insert_with(|| directory.to_owned());
    }
}

/// The VmafxNode that a process belongs to.
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
    /// `None` if the settings name no VmafxNode.
    pub(crate) fn reference(&self) -> Option<ResourceRef> {
        (!self.resource_name.is_empty()).then(|| ResourceRef {
            cluster: self.cluster.clone(),
            namespace: self.resource_namespace.clone(),
            name: self.resource_name.clone(),
            uid: self.resource_uid.clone(),
        })
    }
}

/// Written `tenant,…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedTenants(pub Vec<String>);

impl FromStr for ServedTenants {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self(names.map(str::to_owned).collect()))
    }
}

/// Written `name=value,…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub BTreeMap<String, String>);

impl FromStr for Labels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let label = |part: &str| {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("{part:?} is not a label; use NAME=VALUE"))?;
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() {
                Err(format!("{part:?} has no name; use NAME=VALUE"))
            } else {
                Ok((name.to_owned(), value.to_owned()))
            }
        };
        text.split(',').filter(|part| !part.trim().is_empty()).map(label).collect::<Result<_, _>>().map(Self)
    }
}

impl daemon::DaemonSettings for Settings {
    fn logs(&self) -> LogArgs {
        self.logs.clone()
    }

    /// The grace period of jobs, and the time to release those that are not done.
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
        assert_eq!("zone".parse::<Labels>().unwrap_err(), "\"zone\" is not a label; use NAME=VALUE");
        assert_eq!("=a".parse::<Labels>().unwrap_err(), "\"=a\" has no name; use NAME=VALUE");
        assert_eq!("".parse::<Labels>().unwrap(), Labels::default());
    }
}
