//! What can go wrong with a comparison.

mod class;

use std::path::PathBuf;

use super::chunk::MergeError;
use super::lengths::FrameCount;
use crate::engine::{EngineError, LibvmafError};
use crate::input::InputError;
use crate::picture::PictureFormat;

/// Why there is no score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("there is no distorted clip to compare with {}", reference.display())]
    NothingDistorted { reference: PathBuf },
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    #[error(
        "{} is {reference_format} and {} is {distorted_format}: sizes differ and scaling is off; allow scaling to the \
         reference, or give clips of one size",
        reference.display(),
        distorted.display()
    )]
    SizesDiffer {
        reference: PathBuf,
        reference_format: PictureFormat,
        distorted: PathBuf,
        distorted_format: PictureFormat,
    },
    #[error(
        "{} has {reference_frames} frames and {} has {distorted_frames} (after the offsets): frames are paired by \
         number, so one of them lost or gained frames; ask for the shortest to compare the common part, or set an offset",
        reference.display(),
        distorted.display()
    )]
    LengthsDiffer {
        reference: PathBuf,
        reference_frames: FrameCount,
        distorted: PathBuf,
        distorted_frames: FrameCount,
    },
    #[error("{} has no frame to compare after leaving out {offset} at its start", path.display())]
    NoFrames { path: PathBuf, offset: u64 },
    #[error("cannot allocate pictures of {format}")]
    Memory { format: PictureFormat, source: LibvmafError },
    #[error("the chunks of {} do not fit together", path.display())]
    Merge { path: PathBuf, source: MergeError },
    #[error("cannot start a thread to read {}", path.display())]
    Thread { path: PathBuf, source: std::io::Error },
    /// The thread that reads a clip panicked.
    #[error("the thread that reads {} ended without an error", path.display())]
    ReaderGone { path: PathBuf },
    #[error("the comparison was cancelled")]
    Cancelled,
}
