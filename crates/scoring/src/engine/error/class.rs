//! The reason of an engine error as one word, and whether another attempt may succeed.

use super::{EngineError, NativeError};

impl EngineError {
    /// One stable word for conditions, events, metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Model(error) => error.reason(),
            Self::TooSmall { .. } => "PictureTooSmall",
            Self::FeatureTooSmall { .. } => "PictureTooSmallForFeature",
            Self::Clash { .. } => "ModelsClash",
            Self::TooMany { .. } => "TooManyModels",
            Self::Nothing => "NothingToCompute",
            Self::Setup { .. } | Self::NativeSetup { .. } => "EngineSetupFailed",
            Self::Frame { .. } | Self::NativeFrame { .. } => "FrameNotMeasured",
            Self::Finish { .. } | Self::NativeFinish { .. } => "EngineFinishFailed",
            Self::Missing { .. } => "ScoreMissing",
            Self::NotFinite { .. } => "ScoreNotFinite",
            Self::TooLong { .. } => "ClipTooLong",
        }
    }

    /// Whether another attempt may succeed: memory was short.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Model(error) => error.is_retryable(),
            Self::Setup { source, .. } | Self::Frame { source, .. } | Self::Finish { source, .. } => {
                source.is_out_of_memory()
            }
            // A thread that cannot be started lacks memory or process numbers at that moment.
            Self::NativeSetup { source, .. } => matches!(source, NativeError::Thread(_)),
            Self::TooSmall { .. }
            | Self::NativeFrame { .. }
            | Self::NativeFinish { .. }
            | Self::FeatureTooSmall { .. }
            | Self::Clash { .. }
            | Self::TooMany { .. }
            | Self::Nothing
            | Self::Missing { .. }
            | Self::NotFinite { .. }
            | Self::TooLong { .. } => false,
        }
    }
}
