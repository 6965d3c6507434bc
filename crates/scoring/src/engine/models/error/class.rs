//! The reason of a model error as one word, and whether another attempt may succeed.

use super::ModelError;
use crate::input::is_transient;

impl ModelError {
    /// One stable word for conditions, events, metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "ModelUnknown",
            Self::Read { .. } => "ModelReadFailed",
            Self::Json { .. } => "ModelNotJson",
            Self::Damaged { .. } => "ModelDamaged",
            Self::Feature { .. } => "ModelFeatureUnsupported",
            Self::Option { .. } => "ModelOptionUnsupported",
            Self::TooSmall { .. } => "PictureTooSmallForModel",
        }
    }

    /// Whether another attempt may succeed: the file could not be read.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Read { source, .. } if is_transient(source))
    }
}
