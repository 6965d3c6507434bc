//! Settings from the environment and the command line.
//!
//! The operator sets the variables from a VmafxModelTraining. Each has a flag as well, so that a trainer can be run
//! by hand with a controller and a registry, without Kubernetes.

mod learner;
mod name;
mod selector;

use std::path::PathBuf;

use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::{GoDuration, HostPorts, ListenAddr, RenamedVariable};
use vmafx_kit::daemon;
use vmafx_kit::logs::LogArgs;

pub use self::learner::LearnerArgs;
pub use self::name::RunName;
pub use self::selector::NodeSelector;

/// Trains a quality model on labelled jobs as they arrive, and pushes checkpoints to an OCI registry for nodes to load.
///
/// With a controller and a registry on this machine:
///
///   vmafx-trainer --name demo --controller-addr localhost:9090 --output-registry localhost:5000/models
#[derive(Clone, Debug, clap::Parser)]
#[command(
    name = "vmafx-trainer",
    version,
    max_term_width = 110,
    verbatim_doc_comment,
    after_help = "`vmafx-trainer evaluate` trains on a table of labelled clips and prints the accuracy; see \
                  `vmafx-trainer evaluate --help`."
)]
pub struct Settings {
    #[command(flatten)]
    pub run: RunArgs,

    /// gRPC addresses of the controller that streams the samples, as host:port, separated by commas.
    #[arg(long, env = "VMAFX_CONTROLLER_ADDR", value_name = "HOST:PORT,…")]
    pub controller_addr: HostPorts,

    #[command(flatten)]
    pub channel: ChannelArgs,

    /// Listen address of /status, /healthz, /readyz and /metrics; 0 disables them.
    #[arg(long, env = "VMAFX_TRAINER_STATUS_ADDR", value_name = "ADDR", default_value = ":9091")]
    pub status_addr: ListenAddr,

    /// Timeout of the last checkpoint, which is taken when the process is asked to stop.
    #[arg(long, env = "VMAFX_TRAINER_GRACEFUL_SHUTDOWN", value_name = "DURATION", default_value = "60s")]
    pub graceful_shutdown: GoDuration,

    #[command(flatten)]
    pub logs: LogArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    /// Name of the run, with which its tags in the registry start.
    #[arg(long, env = "VMAFX_TRAINER_NAME", value_name = "NAME")]
    pub name: RunName,

    /// Namespace of the run, which its checkpoints record.
    #[arg(long, env = "VMAFX_TRAINER_NAMESPACE", value_name = "NAMESPACE", default_value = "")]
    pub namespace: String,

    /// Identifies the run: a run does not resume from checkpoints of an earlier run with the same name and another UID.
    #[arg(long, env = "VMAFX_TRAINER_UID", value_name = "UID", default_value = "")]
    pub uid: String,

    /// Name of this cluster at the controller.
    #[arg(long, env = "VMAFX_CLUSTER", value_name = "NAME", default_value = "")]
    pub cluster: String,

    /// The model to start from: a built-in name, a file, or `oci://registry/repository:tag`.
    #[arg(long, env = "VMAFX_TRAINER_BASE_MODEL", value_name = "MODEL", default_value = "vmaf_v0.6.1")]
    pub base_model: String,

    /// Directory with model files, for base models that are given by name.
    #[arg(long, env = "VMAFX_MODEL_DIR", value_name = "DIRECTORY")]
    pub model_dir: Option<PathBuf>,

    /// Training algorithm.
    #[arg(long, env = "VMAFX_TRAINER_ALGORITHM", value_name = "ALGORITHM", default_value = "online-sgd-ema")]
    pub algorithm: Algorithm,

    /// Learn only from samples of nodes that had these labels when they scored them, as a JSON object; by default from
    /// all samples.
    #[arg(long, env = "VMAFX_TRAINER_NODE_SELECTOR", value_name = "JSON", default_value = "{}")]
    pub node_selector: NodeSelector,

    /// Minimum time between two checkpoints.
    #[arg(long, env = "VMAFX_TRAINER_CHECKPOINT_INTERVAL", value_name = "DURATION", default_value = "10m")]
    pub checkpoint_interval: GoDuration,

    /// Minimum number of new samples between two checkpoints, and before the first.
    #[arg(long, env = "VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", value_name = "NUMBER", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_min_samples: u64,

    /// Repository for checkpoints, such as registry.example.com/team/models. Credentials come from docker's
    /// config.json in the directory that `DOCKER_CONFIG` names.
    #[arg(long, env = "VMAFX_TRAINER_OUTPUT_REGISTRY", value_name = "REPOSITORY")]
    pub output_registry: String,

    /// Registries without TLS, as host:port; those on this machine need not be listed.
    #[arg(long, env = "VMAFX_OCI_PLAIN_HTTP", value_name = "LIST", value_delimiter = ',')]
    pub oci_plain_http: Vec<String>,

    /// Promotion gate: by how much the rank correlation (SROCC) with labels may be lower than the base model's.
    #[arg(long, env = "VMAFX_TRAINER_GATE_MAX_SROCC_DROP", value_name = "NUMBER", default_value = "0.005",
          value_parser = between::<0, 2>)]
    pub gate_max_srocc_drop: f64,

    /// Promotion gate: maximum ratio of the model's error (RMSE) to the base model's.
    #[arg(long, env = "VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", value_name = "NUMBER", default_value = "1",
          value_parser = between::<0, 100>)]
    pub gate_max_rmse_ratio: f64,

    #[command(flatten)]
    pub learner: LearnerArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Algorithm {
    /// Updates the weights with each sample as it arrives, and keeps an exponential moving average of them.
    OnlineSgdEma,
}

/// A number in a range, which NaN never is.
fn between<const MIN: u32, const MAX: u32>(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (f64::from(MIN)..=f64::from(MAX)).contains(number));
    number.ok_or_else(|| format!("use a number from {MIN} to {MAX}"))
}

impl daemon::DaemonSettings for Settings {
    const RENAMED: &'static [RenamedVariable] = &[
        RenamedVariable::new("VMAFX_BASE_MODEL_PATH", "VMAFX_TRAINER_BASE_MODEL")
            .with("a built-in name, a model file in JSON or oci://…"),
        RenamedVariable::new("VMAFX_SIDECAR_SOCKET", "VMAFX_CONTROLLER_ADDR")
            .with("host:port of the controller that streams the samples"),
        RenamedVariable::new("VMAFX_SIDECAR_CHECKPOINT_DIR", "VMAFX_TRAINER_OUTPUT_REGISTRY")
            .with("a repository such as registry.example.com/team/models"),
        RenamedVariable::new("VMAFX_SIDECAR_CKPT_INTERVAL_S", "VMAFX_TRAINER_CHECKPOINT_INTERVAL")
            .with("a duration such as 10m"),
        RenamedVariable::new("VMAFX_SIDECAR_MIN_SAMPLES_CKPT", "VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES"),
        RenamedVariable::new("VMAFX_SIDECAR_EMA_DECAY", "VMAFX_TRAINER_EMA"),
        RenamedVariable::new("VMAFX_SIDECAR_REPLAY_CAPACITY", "VMAFX_TRAINER_REPLAY_CAPACITY"),
        RenamedVariable::new("VMAFX_SIDECAR_REPLAY_MIX", "VMAFX_TRAINER_REPLAY")
            .with("the number of samples to replay with each new one, such as 1"),
        RenamedVariable::new("VMAFX_SIDECAR_BATCH_SIZE", "VMAFX_TRAINER_REPLAY")
            .with("the number of samples to replay with each new one, such as 1"),
        RenamedVariable::new("VMAFX_SIDECAR_LR", "VMAFX_TRAINER_LABEL_NOISE")
            .with("the standard deviation of a label in points, from which the learning rate follows"),
        RenamedVariable::new("VMAFX_SIDECAR_N_FEATURES", "VMAFX_TRAINER_BASE_MODEL")
            .with("a model with that many features"),
    ];

    fn logs(&self) -> LogArgs {
        self.logs.clone()
    }

    fn shutdown_budget(&self) -> GoDuration {
        self.graceful_shutdown
    }
}

#[cfg(test)]
mod tests;
