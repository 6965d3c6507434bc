//! Errors of inputs in one word, and whether the same may go well another time.

use std::io;

use super::InputError;

impl InputError {
    /// One stable word for conditions, events and metrics.
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
            Self::PixelFormat { .. } => "PixelFormatUnsupported",
            Self::Delivered { .. } => "ClipChangesShape",
            Self::Decoder { .. } => "DecodingFailed",
            Self::Stopped { .. } => "Stopped",
            Self::Room { .. } => "PictureMismatch",
        }
    }

    /// Whether the same may go well another time: the cause is the machine and not the clip.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Open { source, .. }
            | Self::Read { source, .. }
            | Self::Digest { source, .. }
            | Self::FfmpegStart { source, .. } => may_pass(source),
            Self::ProbeTimeout { .. } => true,
            Self::Decoder { signal, .. } => signal.is_some_and(|signal| FROM_OUTSIDE.contains(&signal)),
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
            | Self::PixelFormat { .. }
            | Self::Delivered { .. }
            | Self::Stopped { .. }
            | Self::Room { .. } => false,
        }
    }
}

/// `SIGKILL`, with which the kernel ends a process when memory is short, and `SIGTERM`. Other signals mean that a
/// decoder fell over this very clip.
const FROM_OUTSIDE: [i32; 2] = [9, 15];

/// Whether an error of the system may be gone the next time. That a file is not there, or not ours to read, is no
/// accident.
pub(crate) fn may_pass(error: &io::Error) -> bool {
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
