//! Settings of the machine that scores, shared by the agent and `run-once`.

use std::path::PathBuf;
use std::time::Duration;

use vmafx_job::{Backend, FeatureEngine};
use vmafx_kit::config::GoDuration;

use crate::confine::ConfinementPolicy;
use crate::fetch::{FetchSettings, FetcherError};
use crate::models::{ModelSettings, ModelsError};
use crate::scratch::{ScratchError, ScratchSettings};

#[derive(Clone, Debug, clap::Args)]
pub struct ScorerSettings {
    /// Backend to compute with; all but cpu need --vmaf-binary
    #[arg(long, env = "VMAFX_BACKEND", value_name = "BACKEND", value_enum, default_value_t)]
    pub backend: Backend,

    /// `vmaf` program that computes on a GPU instead of the built-in libvmaf; not used on the cpu backend
    #[arg(long, env = "VMAFX_VMAF_BINARY", value_name = "FILE")]
    pub vmaf_binary: Option<PathBuf>,

    /// What computes the features on the cpu backend: native, which takes half of libvmaf's time with AVX2, or libvmaf
    #[arg(long, env = "VMAFX_ENGINE", value_name = "ENGINE", default_value_t)]
    pub engine: FeatureEngine,

    /// ffmpeg to decode with; without it, the one on PATH
    #[arg(long, env = "VMAFX_FFMPEG_BIN", value_name = "FILE")]
    pub ffmpeg_bin: Option<PathBuf>,

    /// CPU time that each process of a job may use; 0s: unlimited
    #[arg(long, env = "VMAFX_WORKER_CPU", value_name = "DURATION", default_value = "48h")]
    pub worker_cpu: GoDuration,

    /// Time that a job may take on this node; 0s: unlimited [default: 24h; with a GPU backend 30m]
    #[arg(long, env = "VMAFX_WORKER_TIMEOUT", value_name = "DURATION", alias = "deadline")]
    pub worker_timeout: Option<GoDuration>,

    /// Whether to score where Landlock or seccomp is not in force
    #[arg(long, env = "VMAFX_CONFINEMENT", value_name = "POLICY", value_enum, default_value_t)]
    pub confinement: ConfinementPolicy,

    #[command(flatten)]
    pub scratch: ScratchSettings,

    #[command(flatten)]
    pub fetch: FetchSettings,

    #[command(flatten)]
    pub models: ModelSettings,
}

/// Why nothing can be scored with these settings.
#[derive(Debug, thiserror::Error)]
pub enum ScorerError {
    #[error(
        "VMAFX_BACKEND={0} needs an engine: set VMAFX_VMAF_BINARY to a vmaf program that is built for it"
    )]
    NoEngine(Backend),
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    #[error(transparent)]
    Fetcher(#[from] FetcherError),
    #[error(transparent)]
    Models(#[from] ModelsError),
}

/// Default of [`ScorerSettings::worker_timeout`]: far longer than the longest film takes on one core.
const DEFAULT_WORKER_TIMEOUT: Duration = Duration::from_hours(24);

impl ScorerSettings {
    /// Time that a job may take. An external engine reports no progress and has a stall timeout in its place unless the
    /// setting names one.
    pub fn job_deadline(&self) -> Option<Duration> {
        match self.worker_timeout {
            Some(GoDuration(limit)) => Some(limit).filter(|limit| !limit.is_zero()),
            None if self.backend == Backend::Cpu => Some(DEFAULT_WORKER_TIMEOUT),
            None => None,
        }
    }

    /// The external engine of a GPU backend; `None` on the CPU.
    pub fn external_engine(&self) -> Result<Option<PathBuf>, ScorerError> {
        match (self.backend, &self.vmaf_binary) {
            (Backend::Cpu, _) => Ok(None),
            (_, Some(program)) => Ok(Some(program.clone())),
            (backend, None) => Err(ScorerError::NoEngine(backend)),
        }
    }
}
