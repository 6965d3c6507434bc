//! What a worker process is told, and what it says.
//!
//! The agent writes one [`Task`] as a line of JSON to the worker's standard input and keeps that open: when it closes, the
//! agent is gone, and the worker ends with everything it has started. The worker writes [`Message`]s to its standard
//! output, one JSON object per line: progress, and at last one [`Message::Done`]. A worker that ends without it has
//! crashed. What it writes to its standard error is kept for the message about that.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
pub use vmafx_proto::run_once::{Pooled, Score};

use crate::failure::Failure;
use crate::paths::local::FileId;

/// One comparison, of local files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The undistorted clip.
    pub reference: Input,
    /// The clip that is judged.
    pub distorted: Input,
    /// The model.
    pub model: Model,
    /// Metrics besides those of the model.
    #[serde(default)]
    pub features: Vec<String>,
    /// Every n-th frame; at least 1.
    pub frame_step: u64,
    /// The size of the comparison.
    pub scale_to: ScaleTo,
    /// Score as many frames as the shorter clip has.
    pub shortest: bool,
    /// Threads that measure.
    pub threads: u32,
    /// Where to write the per-frame report, if anywhere; `.json`, `.csv` or `.html` by its ending.
    pub report: Option<PathBuf>,
    /// The ffmpeg to decode with.
    pub ffmpeg: Option<PathBuf>,
    /// A program that scores instead of the worker itself.
    #[serde(default)]
    pub engine: Option<ExternalEngine>,
    /// What the process may use.
    pub limits: Limits,
}

/// A `vmaf` command of this machine, for GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalEngine {
    /// The program.
    pub program: PathBuf,
    /// What it is told to compute on, such as `cuda`.
    pub backend: String,
}

/// A clip on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// Which file that must be, where others could put another there.
    #[serde(default)]
    pub file: Option<FileId>,
    /// How messages call it: its address as the job has it.
    pub name: String,
    /// Its shape when it has no header.
    pub raw: Option<RawVideo>,
}

/// Shape of pictures without a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawVideo {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// `yuv420p`, `yuv422p` or `yuv444p`.
    pub pixel_format: String,
    /// 8, 10, 12 or 16.
    pub bit_depth: u32,
}

/// Which model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Model {
    /// By height and frame rate.
    Auto,
    /// Built into libvmaf.
    BuiltIn(String),
    /// A file, and how it is called in results.
    File {
        /// The file.
        path: PathBuf,
        /// Its name or reference as the job has it.
        name: String,
    },
}

/// The size at which clips are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ScaleTo {
    /// That of the reference.
    Reference,
    /// That of the distorted clip.
    Distorted,
    /// Different sizes are an error.
    Never,
    /// This one.
    Size {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
}

/// What a worker may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Memory of the worker and, each on its own, of its decoders.
    pub memory_bytes: u64,
    /// CPU time of each of its processes; 0 is no limit.
    pub cpu_seconds: u64,
    /// Size of a file it writes; 0 is no limit.
    pub file_bytes: u64,
    /// Its private directory: the only place it may write to.
    pub scratch: PathBuf,
}

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Message {
    /// How it is confined: said once, at its start.
    Confined(Vec<String>),
    /// How far it is.
    Progress {
        /// Frame pairs scored.
        done: u64,
        /// 0: not known.
        total: u64,
    },
    /// The end.
    Done(Result<Box<Score>, Failure>),
}
