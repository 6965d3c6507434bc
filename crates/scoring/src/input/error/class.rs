//! The reason of an input error as one word, and whether another attempt may succeed.

use std::io;

use super::InputError;

impl InputError {
    /// One stable word for conditions, events, metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Open { .. } => "ClipNotOpened",
            Self::NotAFile { .. } => "ClipNotAFile",
            Self::Read { .. } => "ClipReadFailed",
            Self::Digest { .. } => "ClipDigestFailed",
            Self::Truncated { .. } => "ClipTruncated",
            Self::NoFrames { .. } => "ClipEmpty",
            Self::Header { .. } => "ClipHeaderInvalid",
            Self::FrameHeader { .. } => "FrameHeaderInvalid",
            Self::GeometryMissing { .. } => "GeometryMissing",
            Self::Geometry { .. } => "GeometryInvalid",
            Self::PartialFrame { .. } => "GeometryMismatch",
            Self::TooDeep { .. } => "SampleTooDeep",
            Self::Narrowing { .. } => "DepthWouldShrink",
            Self::FfmpegMissing { .. } => "DecoderMissing",
            Self::FfmpegStart { .. } => "DecoderNotStarted",
            Self::NotVideo { .. } => "ClipNotVideo",
            Self::ProbeTimeout { .. } => "ProbeTimedOut",
            Self::Playlist { .. } => "ClipIsPlaylist",
            Self::FormatNotAllowed { .. } => "ClipFormatNotAllowed",
            Self::PixelFormat { .. } => "PixelFormatUnsupported",
            Self::Delivered { .. } => "ClipChangesShape",
            Self::Decoder { .. } => "DecodingFailed",
            Self::Stopped { .. } => "Stopped",
            Self::PictureMismatch { .. } => "PictureMismatch",
        }
    }

    /// Whether another attempt may succeed: the cause is the machine and not the clip.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Open { source, .. }
            | Self::Read { source, .. }
            | Self::Digest { source, .. }
            | Self::FfmpegStart { source, .. } => is_transient(source),
            Self::ProbeTimeout { .. } => true,
            Self::Decoder { signal, .. } => {
                signal.is_some_and(|signal| KILLED_FROM_OUTSIDE.contains(&signal))
            }
            Self::NotAFile { .. }
            | Self::Truncated { .. }
            | Self::NoFrames { .. }
            | Self::Header { .. }
            | Self::FrameHeader { .. }
            | Self::GeometryMissing { .. }
            | Self::Geometry { .. }
            | Self::PartialFrame { .. }
            | Self::TooDeep { .. }
            | Self::Narrowing { .. }
            | Self::FfmpegMissing { .. }
            | Self::NotVideo { .. }
            | Self::Playlist { .. }
            | Self::FormatNotAllowed { .. }
            | Self::PixelFormat { .. }
            | Self::Delivered { .. }
            | Self::Stopped { .. }
            | Self::PictureMismatch { .. } => false,
        }
    }
}

/// `SIGKILL`, which the kernel sends when memory is short, and `SIGTERM`. Any other signal means that this clip crashed the
/// decoder.
const KILLED_FROM_OUTSIDE: [i32; 2] = [9, 15];

/// Whether a system error may be gone at the next attempt. A missing file or permission is not transient.
pub(crate) fn is_transient(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::Unsupported
    )
}
