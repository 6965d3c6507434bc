//! What the operator is told by its environment and its command line.

use std::path::PathBuf;

use vmafx_kit::config::{GoDuration, HostPort, ListenAddr, Renamed};
use vmafx_kit::daemon;
use vmafx_kit::logs::LogArgs;

use crate::lease::LeaseArgs;
use crate::node::render::{ControllerTls, Defaults, GpuResources};
use crate::webhook::WebhookArgs;

/// Reconciles the custom resources of VMAFX.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "vmafx-operator", version)]
pub struct Settings {
    /// Where metrics are served; 0 is nowhere.
    #[arg(long, env = "VMAFX_OPERATOR_METRICS_ADDR", value_name = "ADDR", default_value = ":8081")]
    pub metrics_addr: ListenAddr,

    /// Where health is served; 0 is nowhere.
    #[arg(long, env = "VMAFX_OPERATOR_HEALTH_PROBE_ADDR", value_name = "ADDR", default_value = ":8082")]
    pub health_probe_addr: ListenAddr,

    /// How long what is under way may take to end when the process is told to stop.
    #[arg(long, env = "VMAFX_OPERATOR_GRACEFUL_SHUTDOWN", value_name = "DURATION", default_value = "30s")]
    pub graceful_shutdown: GoDuration,

    /// Reconciles of one kind at a time.
    #[arg(long, env = "VMAFX_OPERATOR_CONCURRENCY", value_name = "NUMBER", default_value_t = 8,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=256))]
    pub concurrency: usize,

    /// The namespace that the operator runs in; by default the one of its credentials.
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    /// Which of several operators works.
    #[command(flatten)]
    pub lease: LeaseArgs,

    /// What is refused before it is stored.
    #[command(flatten)]
    pub webhook: WebhookArgs,

    /// The controller.
    #[command(flatten)]
    pub controller: ControllerArgs,

    /// What workers get.
    #[command(flatten)]
    pub workers: WorkerArgs,

    /// How it is logged.
    #[command(flatten)]
    pub logs: LogArgs,
}

/// Where the controller is.
#[derive(Clone, Debug, clap::Args)]
pub struct ControllerArgs {
    /// Its gRPC address; by default that of the Service vmafx-controller beside the operator.
    #[arg(long, env = "VMAFX_CONTROLLER_GRPC_ADDR", value_name = "HOST:PORT")]
    pub controller_grpc_addr: Option<HostPort>,

    /// Its HTTP address with the scheme; by default that of the same Service.
    #[arg(long, env = "VMAFX_CONTROLLER_HTTP_ADDR", value_name = "URL")]
    pub controller_http_addr: Option<String>,

    /// Workers speak TLS to the controller.
    #[arg(long, env = "VMAFX_CONTROLLER_TLS")]
    pub controller_tls: bool,

    /// PEM file with the authorities that may have signed the controller's certificate; the system's by default.
    #[arg(long, env = "VMAFX_CONTROLLER_CA_FILE", value_name = "FILE")]
    pub controller_ca_file: Option<PathBuf>,

    /// Name that the controller's certificate carries; the host of its address by default.
    #[arg(long, env = "VMAFX_CONTROLLER_SERVER_NAME", value_name = "NAME")]
    pub controller_server_name: Option<String>,

    /// What the controller calls this cluster.
    #[arg(long, env = "VMAFX_CLUSTER", value_name = "NAME", default_value = "")]
    pub cluster: String,
}

impl ControllerArgs {
    /// Where workers find it.
    pub fn grpc(&self, namespace: &str) -> String {
        self.controller_grpc_addr
            .as_ref()
            .map_or_else(|| format!("{}:9090", service(namespace)), ToString::to_string)
    }

    /// Where it is asked how it is.
    pub fn http(&self, namespace: &str) -> String {
        self.controller_http_addr.clone().unwrap_or_else(|| format!("http://{}:8080", service(namespace)))
    }
}

fn service(namespace: &str) -> String {
    format!("vmafx-controller.{namespace}.svc.cluster.local")
}

/// What workers get that do not say otherwise.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkerArgs {
    /// Image of workers whose VmafxNode names none.
    #[arg(long, env = "VMAFX_OPERATOR_NODE_IMAGE", value_name = "IMAGE")]
    pub node_image: Option<String>,

    /// How long a worker may take to finish its jobs when it must leave; what is not done then is handed back.
    #[arg(long, env = "VMAFX_OPERATOR_NODE_DRAIN", value_name = "DURATION", default_value = "5m")]
    pub node_drain: GoDuration,

    /// Whom the workers' ServiceAccount token is for.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_TOKEN_AUDIENCE",
        value_name = "NAME",
        default_value = "vmafx-controller"
    )]
    pub token_audience: String,

    /// Extended resource of NVIDIA's GPUs.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_GPU_NVIDIA",
        value_name = "RESOURCE",
        default_value = "nvidia.com/gpu"
    )]
    pub gpu_nvidia: String,

    /// Extended resource of AMD's GPUs.
    #[arg(long, env = "VMAFX_OPERATOR_GPU_AMD", value_name = "RESOURCE", default_value = "amd.com/gpu")]
    pub gpu_amd: String,

    /// Extended resource of Intel's GPUs; with the xe driver it is gpu.intel.com/xe.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_GPU_INTEL",
        value_name = "RESOURCE",
        default_value = "gpu.intel.com/i915"
    )]
    pub gpu_intel: String,
}

impl Settings {
    /// What workers are made from.
    pub fn defaults(&self, namespace: &str) -> Defaults {
        let (controller, workers) = (&self.controller, &self.workers);
        Defaults {
            image: workers.node_image.clone(),
            controller: controller.grpc(namespace),
            tls: controller
                .controller_tls
                .then(|| ControllerTls { server_name: controller.controller_server_name.clone() }),
            cluster: controller.cluster.clone(),
            audience: workers.token_audience.clone(),
            drain_seconds: i64::try_from(workers.node_drain.0.as_secs()).unwrap_or(i64::MAX / 2),
            gpus: GpuResources {
                nvidia: workers.gpu_nvidia.clone(),
                amd: workers.gpu_amd.clone(),
                intel: workers.gpu_intel.clone(),
            },
        }
    }
}

impl daemon::Settings for Settings {
    const RENAMED: &'static [Renamed] = &[
        Renamed::new("VMAFX_OPERATOR_PROBE_ADDR", "VMAFX_OPERATOR_HEALTH_PROBE_ADDR"),
        Renamed::new("VMAFX_OPERATOR_LEADER_ELECT", "VMAFX_OPERATOR_LEADER_ELECTION"),
        Renamed::new("VMAFX_OPERATOR_LOG_LEVEL", "VMAFX_LOG_LEVEL"),
        Renamed::new("VMAFX_OPERATOR_WEBHOOKS_ENABLED", "VMAFX_OPERATOR_WEBHOOK_PORT")
            .with("a port such as 9443, or 0"),
    ];

    fn logs(&self) -> LogArgs {
        self.logs.clone()
    }

    fn shutdown_budget(&self) -> GoDuration {
        self.graceful_shutdown
    }
}
