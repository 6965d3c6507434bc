//! What can be wrong with an input, and what to do about it.

mod class;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use class::is_transient;

use crate::picture::PictureFormat;

/// Why a clip cannot be read. Every text names the file and, where there is one, the remedy. Frames are counted from the
/// start of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    #[error("cannot open {}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error(
        "{} is not a regular file; a clip is read more than once (probe, frames, digest), so write it to a file first",
        path.display()
    )]
    NotAFile { path: PathBuf },
    #[error("cannot read frame {frame} of {}", path.display())]
    Read { path: PathBuf, frame: u64, source: io::Error },
    #[error("cannot read {} to compute its digest", path.display())]
    Digest { path: PathBuf, source: io::Error },
    /// The file ends within a frame.
    #[error(
        "{} is cut off: frame {frame} has {found} of {expected} bytes; copy or encode the file again",
        path.display()
    )]
    Truncated { path: PathBuf, frame: u64, found: u64, expected: u64 },
    #[error("{} has no frame in it", path.display())]
    NoFrames { path: PathBuf },
    /// The Y4M header cannot be used. The problem includes the remedy.
    #[error("the Y4M header of {} is not usable: {problem}", path.display())]
    Header { path: PathBuf, problem: String },
    #[error("frame {frame} of {} does not begin with FRAME: {problem}; the file is damaged", path.display())]
    FrameHeader { path: PathBuf, frame: u64, problem: String },
    /// Raw video, or content of a format that nothing recognises, without a description.
    #[error(
        "the format of {} is not recognised; if it is raw video, give its size and pixel format, for example \
         --size 1920x1080 --pixel-format yuv420p10le",
        path.display()
    )]
    GeometryMissing { path: PathBuf },
    /// The description of raw video has a size that no picture can have.
    #[error("a picture of {} cannot be {format}: width and height must be between 1 and 65535", path.display())]
    Geometry { path: PathBuf, format: PictureFormat },
    /// The size of a file of raw video does not fit its description.
    #[error(
        "{} has {size} bytes, which is not a whole number of frames of {format} ({frame_bytes} bytes each): {remainder} \
         bytes are left over; {advice}",
        path.display()
    )]
    PartialFrame {
        path: PathBuf,
        size: u64,
        format: PictureFormat,
        frame_bytes: u64,
        remainder: u64,
        /// Names the likely mistake.
        advice: String,
    },
    /// A sample has more bits than its format allows.
    #[error(
        "frame {frame} of {} has a sample of {sample}, more than {format} can hold; check its pixel format: the file may \
         have a higher bit depth, its bits at the upper end (as P010 does) or its bytes in the other order",
        path.display()
    )]
    TooDeep { path: PathBuf, frame: u64, sample: u16, format: PictureFormat },
    #[error(
        "{} is {found} and would lose precision as {wanted}; compare in the format with the higher bit depth",
        path.display()
    )]
    Narrowing { path: PathBuf, found: PictureFormat, wanted: PictureFormat },
    #[error(
        "ffmpeg is needed {purpose} {}, and {missing}; install ffmpeg 5.1 or newer, or set VMAFX_FFMPEG_BIN to its path",
        path.display()
    )]
    FfmpegMissing {
        path: PathBuf,
        purpose: &'static str,
        /// Where `ffmpeg` was searched.
        missing: String,
    },
    #[error("cannot start {} {purpose} {}; set VMAFX_FFMPEG_BIN to a working ffmpeg", program.display(), path.display())]
    FfmpegStart { path: PathBuf, purpose: &'static str, program: PathBuf, source: io::Error },
    #[error("{} is not a video that ffmpeg can read: {stderr}", path.display())]
    NotVideo {
        path: PathBuf,
        /// The last lines that `ffmpeg` wrote.
        stderr: String,
    },
    #[error(
        "ffmpeg did not find out within {} s what {} is; check whether ffmpeg reads other files, and whether the disk or \
         network responds",
        deadline.as_secs_f64(),
        path.display()
    )]
    ProbeTimeout { path: PathBuf, deadline: Duration },
    #[error(
        "{} is a playlist and not a video itself; give the video, or join its parts into one file first",
        path.display()
    )]
    Playlist { path: PathBuf },
    #[error(
        "{} has the format {demuxer}, which is not one of the video formats that are read; give the video itself, in a \
         container such as MP4, Matroska, MPEG-TS or MXF",
        path.display()
    )]
    FormatNotAllowed { path: PathBuf, demuxer: String },
    /// The decoder's pixel format has no planar YUV format that holds it without loss.
    #[error(
        "{} has the pixel format {pixel_format}, which cannot be scored; convert it to a planar YUV format such as \
         yuv420p10le first",
        path.display()
    )]
    PixelFormat { path: PathBuf, pixel_format: String },
    /// `ffmpeg` delivers another format than it was asked for.
    #[error(
        "ffmpeg decodes {} as {found} instead of {wanted}; its size or pixel format changes within the clip, so encode or \
         convert it to one format first",
        path.display()
    )]
    Delivered { path: PathBuf, found: PictureFormat, wanted: PictureFormat },
    #[error(
        "decoding {} failed at frame {frame} ({ended}); a damaged file gets no score, so repair or encode it again: \
         {stderr}",
        path.display()
    )]
    Decoder {
        path: PathBuf,
        /// The first frame that is missing.
        frame: u64,
        ended: String,
        /// The signal that killed the decoder, if one did.
        signal: Option<i32>,
        /// The last lines that `ffmpeg` wrote.
        stderr: String,
    },
    #[error("reading {} was stopped", path.display())]
    Stopped { path: PathBuf },
    /// The buffers to be filled do not have the format of the source.
    #[error("the picture for {} does not have the format {format}", path.display())]
    PictureMismatch { path: PathBuf, format: PictureFormat },
}
