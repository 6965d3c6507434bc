//! Settings of the machine that scores, shared by the agent and `run-once`.

use std::path::PathBuf;

use vmafx_job::Backend;
use vmafx_kit::config::GoDuration;

use crate::fetch::{FetchSettings, FetcherError};
use crate::models::ModelSettings;
use crate::scratch::{ScratchError, ScratchSettings};

#[derive(Clone, Debug, clap::Args)]
pub struct ScorerSettings {
    /// Backend to compute with; all but cpu need --vmaf-binary
    #[arg(long, env = "VMAFX_BACKEND", value_name = "BACKEND", value_enum, default_value_t)]
    pub backend: Backend,

    /// `vmaf` program that computes on a GPU instead of the built-in libvmaf; not used on the cpu backend
    #[arg(long, env = "VMAFX_VMAF_BINARY", value_name = "FILE")]
    pub vmaf_binary: Option<PathBuf>,

    /// ffmpeg to decode with; without it, the one on PATH
    #[arg(long, env = "VMAFX_FFMPEG_BIN", value_name = "FILE")]
    pub ffmpeg_bin: Option<PathBuf>,

    /// CPU time that each process of a job may use; 0s: unlimited
    #[arg(long, env = "VMAFX_WORKER_CPU", value_name = "DURATION", default_value = "48h")]
    pub worker_cpu: GoDuration,

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
}

impl ScorerSettings {
    /// The external engine of a GPU backend; `None` on the CPU.
    pub fn engine(&self) -> Result<Option<PathBuf>, ScorerError> {
        match (self.backend, &self.vmaf_binary) {
            (Backend::Cpu, _) => Ok(None),
            (_, Some(program)) => Ok(Some(program.clone())),
            (backend, None) => Err(ScorerError::NoEngine(backend)),
        }
    }
}
