//! What can go wrong with a comparison.

mod class;

use std::path::PathBuf;

use super::chunk::MergeError;
use crate::engine::{EngineError, Failure};
use crate::input::InputError;
use crate::picture::Format;

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// A clip cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The engine cannot score.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Nothing to judge.
    #[error("there is no distorted clip to compare with {}", reference.display())]
    NothingDistorted {
        /// The reference.
        reference: PathBuf,
    },
    /// A request that makes no sense.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// Clips of different size, and scaling was ruled out.
    #[error(
        "{} is {reference_format} and {} is {distorted_format}: sizes differ and scaling is off; allow scaling to the \
         reference, or give clips of one size",
        reference.display(),
        distorted.display()
    )]
    SizesDiffer {
        /// The reference.
        reference: PathBuf,
        /// Its shape.
        reference_format: Format,
        /// The distorted clip.
        distorted: PathBuf,
        /// Its shape.
        distorted_format: Format,
    },
    /// Clips of different length.
    #[error(
        "{} has {reference_frames} frames and {} has {distorted_frames} (after the offsets): frames are paired by \
         number, so one of them lost or gained frames; ask for the shortest to compare the common part, or set an offset",
        reference.display(),
        distorted.display()
    )]
    LengthsDiffer {
        /// The reference.
        reference: PathBuf,
        /// Its frames after the offset.
        reference_frames: u64,
        /// The distorted clip.
        distorted: PathBuf,
        /// Its frames after the offset.
        distorted_frames: u64,
    },
    /// A clip without a frame.
    #[error("{} has no frame to compare after leaving out {offset} at its start", path.display())]
    NoFrames {
        /// The clip.
        path: PathBuf,
        /// The offset.
        offset: u64,
    },
    /// Pictures could not be had.
    #[error("cannot allocate pictures of {format}")]
    Memory {
        /// The shape.
        format: Format,
        /// What libvmaf said.
        source: Failure,
    },
    /// Pieces that do not make a whole.
    #[error("the pieces of {} do not fit together", path.display())]
    Merge {
        /// The distorted clip.
        path: PathBuf,
        /// How.
        source: MergeError,
    },
    /// A thread could not be started.
    #[error("cannot start a thread to read {}", path.display())]
    Thread {
        /// The clip.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The thread that reads a clip has gone away without a word.
    #[error("the thread that reads {} ended without saying why", path.display())]
    ReaderGone {
        /// The clip.
        path: PathBuf,
    },
    /// It was asked to stop.
    #[error("the comparison was cancelled")]
    Cancelled,
}
