//! The protocol between the agent and a worker process.
//!
//! The agent writes one [`Task`] as a line of JSON to the worker's standard input and keeps that open: when it closes, the
//! agent is gone, and the worker stops with everything it has started. The worker writes [`WorkerMessage`]s to its
//! standard output, one JSON object per line: progress and activity, and at last one [`WorkerMessage::Done`]. A worker that exits
//! without it has crashed; the end of its standard error becomes part of the failure's message.
//!
//! In the place of a task the agent may send the limits of a job alone ([`WorkerRequest::Probe`]): the worker confines itself,
//! reports how far that went, and exits.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vmafx_job::{Backend, Confinement, Failure, FeatureEngine, RawVideo, ScoreResult, ScoringOptions};

use crate::confine::ConfinementPolicy;
use crate::paths::local::FileId;

/// The line that a worker reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerRequest {
    Score(Box<Task>),
    Probe(WorkerLimits),
}

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
    /// What computes the features, unless another program scores.
    #[serde(default)]
    pub features: FeatureEngine,
    /// A program that scores instead of the worker itself.
    #[serde(default)]
    pub engine: Option<ExternalEngine>,
    pub limits: WorkerLimits,
    /// Whether the worker may score if it cannot be confined completely.
    #[serde(default)]
    pub confinement: ConfinementPolicy,
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

/// How far a worker could confine itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfinementReport {
    /// Version of the Landlock ABI that is enforced; 0: none.
    pub landlock_abi: u32,
    pub seccomp: bool,
    /// All measures, active and missing, for logs.
    pub measures: Vec<String>,
}

impl ConfinementReport {
    /// The same with the limits of the job.
    pub fn with_limits(&self, limits: &WorkerLimits, deadline: Option<std::time::Duration>) -> Confinement {
        Confinement {
            landlock_abi: self.landlock_abi,
            seccomp: self.seccomp,
            memory_bytes: limits.memory_bytes,
            cpu_seconds: limits.cpu_seconds,
            wall_seconds: deadline.map_or(0, |deadline| deadline.as_secs()),
        }
    }
}

/// A line that a worker writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerMessage {
    /// Sent once, at the start.
    Confined(ConfinementReport),
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
    /// Asks the agent to kill a process that the worker has started. The agent does so only for a process of the worker's own
    /// group.
    Kill {
        process: u32,
    },
    Done(Result<Box<ScoreResult>, Failure>),
}
