//! The protocol between the agent and a worker process.
//!
//! The agent writes one [`Task`] as a line of JSON to the worker's standard input and keeps that open: when it closes, the
//! agent is gone, and the worker stops with everything it has started. The worker writes [`WorkerMessage`]s to its
//! standard output, one JSON object per line: progress and activity, and at last one [`WorkerMessage::Done`]. A worker that exits
//! without it has crashed; the end of its standard error becomes part of the failure's message.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vmafx_job::{Backend, Failure, RawVideo, ScoreResult, ScoringOptions};

use crate::paths::local::FileId;

/// One comparison of local files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub reference: ClipFile,
    pub distorted: ClipFile,
    pub model: ModelSource,
    pub options: ScoringOptions,
    /// Threads that compute features.
    pub threads: u32,
    /// Path of the per-frame report; its ending tells the format. `None`: no report.
    pub report: Option<PathBuf>,
    /// The ffmpeg to decode with; `None`: the one on `PATH`.
    pub ffmpeg: Option<PathBuf>,
    /// A program that scores instead of the worker itself.
    #[serde(default)]
    pub engine: Option<ExternalEngine>,
    pub limits: WorkerLimits,
}

/// A `vmaf` command of this machine, for GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalEngine {
    pub program: PathBuf,
    pub backend: Backend,
}

/// A clip on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClipFile {
    pub path: PathBuf,
    /// The identity of the file that was checked, where somebody else could replace what the path leads to.
    #[serde(default)]
    pub file: Option<FileId>,
    /// The clip's address as the job has it, for messages and reports.
    pub name: String,
    /// Describes the clip in case it has no header.
    pub raw: Option<RawVideo>,
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelSource {
    /// Chosen by the reference's height and frame rate.
    Auto,
    /// Built into libvmaf, by its name.
    BuiltIn(String),
    File {
        path: PathBuf,
        /// The model's name or reference, for messages, results and reports.
        name: String,
    },
}

/// Resources that a worker may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerLimits {
    /// Memory of the worker and, each on its own, of its decoders.
    pub memory_bytes: u64,
    /// CPU time of each process; 0: unlimited.
    pub cpu_seconds: u64,
    /// Size of each file that is written; 0: unlimited.
    pub file_bytes: u64,
    /// The worker's private directory, the only one that it may write to.
    pub scratch: PathBuf,
}

/// A line that a worker writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerMessage {
    /// The confinement measures, active and missing; sent once, at the start.
    Confined(Vec<String>),
    Progress {
        /// Frame pairs scored.
        done: u64,
        /// 0: unknown.
        total: u64,
    },
    /// What was read so far, of all clips and for digests: a worker whose numbers grow is alive, also when it scores no frame
    /// for a long time.
    Activity {
        frames: u64,
        bytes: u64,
    },
    Done(Result<Box<ScoreResult>, Failure>),
}
