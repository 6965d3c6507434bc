//! The reason of an error as one word, and whether another attempt may succeed.

use super::ScoreError;

impl ScoreError {
    /// One stable word for conditions, events, metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Input(error) => error.reason(),
            Self::Engine(error) => error.reason(),
            Self::NothingDistorted { .. } => "NothingToCompare",
            Self::Zero(_) => "RequestInvalid",
            Self::SizesDiffer { .. } => "SizesDiffer",
            Self::LengthsDiffer { .. } => "LengthsDiffer",
            Self::NoFrames { .. } => "NoFramesAfterOffset",
            Self::Memory { .. } => "OutOfMemory",
            Self::Merge { .. } => "PiecesDoNotFit",
            Self::Thread { .. } => "ThreadNotStarted",
            Self::ReaderGone { .. } => "ReaderGone",
            Self::Cancelled => "Cancelled",
        }
    }

    /// Whether another attempt may succeed, here or elsewhere: the cause is the machine and not the request or a clip. A
    /// cancelled comparison is not to be repeated.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Input(error) => error.is_retryable(),
            Self::Engine(error) => error.is_retryable(),
            Self::Memory { .. } | Self::Thread { .. } | Self::ReaderGone { .. } => true,
            Self::NothingDistorted { .. }
            | Self::Zero(_)
            | Self::SizesDiffer { .. }
            | Self::LengthsDiffer { .. }
            | Self::NoFrames { .. }
            | Self::Merge { .. }
            | Self::Cancelled => false,
        }
    }
}

#[cfg(test)]
mod tests;
