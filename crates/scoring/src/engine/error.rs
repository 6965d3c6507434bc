//! What can go wrong in the engine.

mod class;

use super::ffi::LibvmafError;
use super::models::ModelError;
use super::native::NativeError;
use crate::picture::PictureFormat;

/// Why the engine cannot score. Frames are numbers of pairs, counted from the first pair.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error(transparent)]
    Model(#[from] ModelError),
    /// libvmaf would read memory that it has not written.
    #[error(
        "pictures of {format} are too small to be scored; compare at a size of at least 97x33, or at a width from 33 on \
         whose remainder after division by 16 is not 1 to 4"
    )]
    TooSmall { format: PictureFormat },
    #[error(
        "{feature} needs {needs}, and the pictures are {format}; leave it out, or compare at a larger size"
    )]
    FeatureTooSmall { feature: &'static str, needs: &'static str, format: PictureFormat },
    /// Two models need the same extractor with options that libvmaf cannot tell apart.
    #[error("two of the models need {extractor} with different options; score them in separate runs")]
    Clash { extractor: &'static str },
    #[error("there are too many models and features for one pass; score them in several runs")]
    TooMany { source: LibvmafError },
    #[error("there is nothing to compute: name at least one model or feature")]
    Nothing,
    #[error("libvmaf could not be set up for pictures of {format}")]
    Setup { format: PictureFormat, source: LibvmafError },
    #[error("libvmaf could not measure frame {frame}")]
    Frame { frame: u64, source: LibvmafError },
    #[error("the kernels could not be set up for pictures of {format}")]
    NativeSetup { format: PictureFormat, source: NativeError },
    #[error("the kernels could not measure frame {frame}")]
    NativeFrame { frame: u64, source: NativeError },
    #[error("the kernels could not finish after {frames} frames")]
    NativeFinish { frames: u64, source: NativeError },
    #[error("libvmaf could not finish after {frames} frames")]
    Finish { frames: u64, source: LibvmafError },
    /// A frame has no value of a model or a feature.
    #[error("frame {frame} has no {name}; libvmaf could not measure it")]
    Missing { frame: u64, name: String, source: LibvmafError },
    #[error("model {model} gives {score} for frame {frame}, which is not a score; the model file is damaged")]
    NotFinite { model: String, frame: u64, score: f64 },
    /// libvmaf counts frames in 32 bits.
    #[error("frame {frame} is beyond the limit of one pass; score the clip in chunks")]
    TooLong { frame: u64 },
}
