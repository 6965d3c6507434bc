//! Errors of models in one word, and whether the same may go well another time.

use super::ModelError;
use crate::input::may_pass;

impl ModelError {
    /// One stable word for conditions, events and metrics.
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

    /// Whether the same may go well another time: reading failed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Read { source, .. } if may_pass(source))
    }
}
