//! What the trainer is told by its environment and its command line.
//!
//! The operator sets what a VmafxModelTraining says; everything has a flag as well, so that a trainer can be run by
//! hand beside a controller and a registry, without Kubernetes.

mod learner;
mod name;
mod selector;

use std::path::PathBuf;

use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::{GoDuration, HostPort, ListenAddr, Renamed};
use vmafx_kit::daemon;
use vmafx_kit::logs::LogArgs;

pub use self::learner::LearnerArgs;
pub use self::name::RunName;
pub use self::selector::NodeSelector;

/// Learns from labelled jobs as they come, and pushes each checkpoint to an OCI registry as a model that nodes load.
///
/// By hand, with a controller and a registry on this machine:
///
///   vmafx-trainer --name demo --controller-addr localhost:9090 --output-registry localhost:5000/models
#[derive(Clone, Debug, clap::Parser)]
#[command(
    name = "vmafx-trainer",
    version,
    max_term_width = 110,
    verbatim_doc_comment,
    after_help = "`vmafx-trainer evaluate` learns from a file of samples and says how good that is: see \
                  `vmafx-trainer evaluate --help`."
)]
pub struct Settings {
    /// What is learned, and when it is kept.
    #[command(flatten)]
    pub run: RunArgs,

    /// The controller whose samples are learned from, as host:port of its gRPC service.
    #[arg(long, env = "VMAFX_CONTROLLER_ADDR", value_name = "HOST:PORT")]
    pub controller_addr: HostPort,

    /// How it is spoken to.
    #[command(flatten)]
    pub channel: ChannelArgs,

    /// Where /status, /healthz, /readyz and /metrics are served; 0 is nowhere.
    #[arg(long, env = "VMAFX_TRAINER_STATUS_ADDR", value_name = "ADDR", default_value = ":9091")]
    pub status_addr: ListenAddr,

    /// How long the last checkpoint may take when the process is told to stop.
    #[arg(long, env = "VMAFX_TRAINER_GRACEFUL_SHUTDOWN", value_name = "DURATION", default_value = "60s")]
    pub graceful_shutdown: GoDuration,

    /// How it is logged.
    #[command(flatten)]
    pub logs: LogArgs,
}

/// What is learned, and when it is kept.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    /// Name of the run; tags in the registry begin with it.
    #[arg(long, env = "VMAFX_TRAINER_NAME", value_name = "NAME")]
    pub name: RunName,

    /// Namespace of the run, for those who read its checkpoints.
    #[arg(long, env = "VMAFX_TRAINER_NAMESPACE", value_name = "NAMESPACE", default_value = "")]
    pub namespace: String,

    /// Tells this run from an earlier one of the same name, whose checkpoints it does not go on from.
    #[arg(long, env = "VMAFX_TRAINER_UID", value_name = "UID", default_value = "")]
    pub uid: String,

    /// What the controller calls this cluster.
    #[arg(long, env = "VMAFX_CLUSTER", value_name = "NAME", default_value = "")]
    pub cluster: String,

    /// The model to start from: a built-in name, a file, or `oci://registry/repository:tag`.
    #[arg(long, env = "VMAFX_TRAINER_BASE_MODEL", value_name = "MODEL", default_value = "vmaf_v0.6.1")]
    pub base_model: String,

    /// Directory with model files, for base models that are given by name.
    #[arg(long, env = "VMAFX_MODEL_DIR", value_name = "DIRECTORY")]
    pub model_dir: Option<PathBuf>,

    /// How to learn.
    #[arg(long, env = "VMAFX_TRAINER_ALGORITHM", value_name = "ALGORITHM", default_value = "online-sgd-ema")]
    pub algorithm: Algorithm,

    /// Only samples whose node had these labels when it scored them, as a JSON object; all by default.
    #[arg(long, env = "VMAFX_TRAINER_NODE_SELECTOR", value_name = "JSON", default_value = "{}")]
    pub node_selector: NodeSelector,

    /// The least time between two checkpoints.
    #[arg(long, env = "VMAFX_TRAINER_CHECKPOINT_INTERVAL", value_name = "DURATION", default_value = "10m")]
    pub checkpoint_interval: GoDuration,

    /// The least number of new samples between two checkpoints, and before the first.
    #[arg(long, env = "VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", value_name = "NUMBER", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_min_samples: u64,

    /// Repository for checkpoints, such as registry.example.com/team/models. Credentials are those of docker, in the
    /// directory that `DOCKER_CONFIG` names.
    #[arg(long, env = "VMAFX_TRAINER_OUTPUT_REGISTRY", value_name = "REPOSITORY")]
    pub output_registry: String,

    /// Registries without TLS, as host:port; those on this machine need not be listed.
    #[arg(long, env = "VMAFX_OCI_PLAIN_HTTP", value_name = "LIST", value_delimiter = ',')]
    pub oci_plain_http: Vec<String>,

    /// How far the rank correlation with people may fall below the base model's before the stable tag stays.
    #[arg(long, env = "VMAFX_TRAINER_GATE_MAX_SROCC_DROP", value_name = "NUMBER", default_value = "0.005",
          value_parser = between::<0, 2>)]
    pub gate_max_srocc_drop: f64,

    /// The largest ratio of the model's error to the base model's with which the stable tag moves.
    #[arg(long, env = "VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", value_name = "NUMBER", default_value = "1",
          value_parser = between::<0, 100>)]
    pub gate_max_rmse_ratio: f64,

    /// How it is learned.
    #[command(flatten)]
    pub learner: LearnerArgs,
}

/// How to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Algorithm {
    /// Stochastic gradient descent on each sample as it comes, with a moving average of the weights.
    OnlineSgdEma,
}

/// A number of a range; `NaN` is in none.
fn between<const LEAST: u32, const MOST: u32>(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "is no number".to_owned())?;
    if (f64::from(LEAST)..=f64::from(MOST)).contains(&number) {
        Ok(number)
    } else {
        Err(format!("use {LEAST} to {MOST}"))
    }
}

impl daemon::Settings for Settings {
    const RENAMED: &'static [Renamed] = &[
        Renamed::new("VMAFX_BASE_MODEL_PATH", "VMAFX_TRAINER_BASE_MODEL")
            .with("a built-in name, a model file in JSON or oci://…"),
        Renamed::new("VMAFX_SIDECAR_SOCKET", "VMAFX_CONTROLLER_ADDR")
            .with("host:port of the controller that streams the samples"),
        Renamed::new("VMAFX_SIDECAR_CHECKPOINT_DIR", "VMAFX_TRAINER_OUTPUT_REGISTRY")
            .with("a repository such as registry.example.com/team/models"),
        Renamed::new("VMAFX_SIDECAR_CKPT_INTERVAL_S", "VMAFX_TRAINER_CHECKPOINT_INTERVAL")
            .with("a duration such as 10m"),
        Renamed::new("VMAFX_SIDECAR_MIN_SAMPLES_CKPT", "VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES"),
        Renamed::new("VMAFX_SIDECAR_EMA_DECAY", "VMAFX_TRAINER_EMA"),
        Renamed::new("VMAFX_SIDECAR_REPLAY_CAPACITY", "VMAFX_TRAINER_REPLAY_CAPACITY"),
        Renamed::new("VMAFX_SIDECAR_REPLAY_MIX", "VMAFX_TRAINER_REPLAY")
            .with("how many kept samples are replayed with each new one, such as 1"),
        Renamed::new("VMAFX_SIDECAR_BATCH_SIZE", "VMAFX_TRAINER_REPLAY")
            .with("how many kept samples are replayed with each new one, such as 1"),
        Renamed::new("VMAFX_SIDECAR_LR", "VMAFX_TRAINER_LABEL_NOISE")
            .with("how many points a label is off by; steps follow from it"),
        Renamed::new("VMAFX_SIDECAR_N_FEATURES", "VMAFX_TRAINER_BASE_MODEL")
            .with("a model that has as many features"),
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
