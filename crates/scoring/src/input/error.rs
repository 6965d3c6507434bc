//! What can be wrong with an input, and what to do about it.

mod class;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use class::may_pass;

use crate::picture::Format;

/// Why a clip cannot be read. Every text names the file and, where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A directory, a pipe or a device.
    #[error(
        "{} is not a regular file; a clip is read more than once (probe, frames, digest), so write it to a file first",
        path.display()
    )]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// Reading failed in the middle.
    #[error("cannot read frame {frame} of {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The frame, counted from the start of the file.
        frame: u64,
        /// Why.
        source: io::Error,
    },
    /// The digest of the file could not be computed.
    #[error("cannot read {} to compute its digest", path.display())]
    Digest {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file ends within a frame.
    #[error(
        "{} is cut off: frame {frame} has {found} of {expected} bytes; copy or encode the file again",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The frame, counted from the start of the file.
        frame: u64,
        /// Bytes of it that are there.
        found: u64,
        /// Bytes that it should have.
        expected: u64,
    },
    /// The file has no picture.
    #[error("{} has no frame in it", path.display())]
    NoFrames {
        /// The file.
        path: PathBuf,
    },
    /// The Y4M header cannot be used.
    #[error("the Y4M header of {} is not usable: {problem}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with a remedy.
        problem: String,
    },
    /// Where a frame should begin there is something else.
    #[error("frame {frame} of {} does not begin with FRAME: {problem}; the file is damaged", path.display())]
    FrameHeader {
        /// The file.
        path: PathBuf,
        /// The frame, counted from the start of the file.
        frame: u64,
        /// What is there instead.
        problem: String,
    },
    /// Raw video, or something else that nobody recognises, without a description.
    #[error(
        "the format of {} is not recognised; if it is raw video, give its size and pixel format, for example \
         --size 1920x1080 --pixel-format yuv420p10le",
        path.display()
    )]
    GeometryMissing {
        /// The file.
        path: PathBuf,
    },
    /// The size in the description of a raw file cannot be.
    #[error("a picture of {} cannot be {format}: width and height go from 1 to 65535", path.display())]
    Geometry {
        /// The file.
        path: PathBuf,
        /// What was said.
        format: Format,
    },
    /// The size of a raw file does not fit its description.
    #[error(
        "{} has {size} bytes, which is no whole number of frames of {format} ({frame_bytes} bytes each): {remainder} \
         bytes are left over; {advice}",
        path.display()
    )]
    PartialFrame {
        /// The file.
        path: PathBuf,
        /// Bytes of the file.
        size: u64,
        /// The shape it was said to have.
        format: Format,
        /// Bytes of one frame of that shape.
        frame_bytes: u64,
        /// Bytes after the last whole frame.
        remainder: u64,
        /// The likely mistake.
        advice: String,
    },
    /// A sample has more bits than its format allows.
    #[error(
        "frame {frame} of {} has a sample of {sample}, more than {format} can hold; check its pixel format: the file may \
         be deeper, have its bits at the upper end (as P010 does) or its bytes the other way round",
        path.display()
    )]
    TooDeep {
        /// The file.
        path: PathBuf,
        /// The frame, counted from the start of the file.
        frame: u64,
        /// The sample.
        sample: u16,
        /// The shape that the file is said to have.
        format: Format,
    },
    /// The wanted depth is smaller than that of the clip.
    #[error(
        "{} is {found} and would lose precision as {wanted}; compare in the deeper of the two formats",
        path.display()
    )]
    Narrowing {
        /// The file.
        path: PathBuf,
        /// Its shape.
        found: Format,
        /// The shape wanted.
        wanted: Format,
    },
    /// There is no `ffmpeg`.
    #[error(
        "ffmpeg is needed {purpose} {}, and {missing}; install ffmpeg 5.1 or newer, or set VMAFX_FFMPEG_BIN to its path",
        path.display()
    )]
    FfmpegMissing {
        /// The file.
        path: PathBuf,
        /// What for.
        purpose: &'static str,
        /// Where it was looked for.
        missing: String,
    },
    /// `ffmpeg` is there but does not start.
    #[error("cannot start {} {purpose} {}; set VMAFX_FFMPEG_BIN to a working ffmpeg", program.display(), path.display())]
    FfmpegStart {
        /// The file.
        path: PathBuf,
        /// What for.
        purpose: &'static str,
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `ffmpeg` finds no video in the file.
    #[error("{} is not a video that ffmpeg can read: {stderr}", path.display())]
    NotVideo {
        /// The file.
        path: PathBuf,
        /// The end of what `ffmpeg` said.
        stderr: String,
    },
    /// `ffmpeg` does not come to an end with a file.
    #[error(
        "ffmpeg could not tell within {} s what {} is; check whether it reads other files, or a disk that does not answer",
        deadline.as_secs_f64(),
        path.display()
    )]
    ProbeTimeout {
        /// The file.
        path: PathBuf,
        /// How long it had.
        deadline: Duration,
    },
    /// A list of other files.
    #[error("{} is a playlist and not a video itself; name the video, or join its parts into one file first", path.display())]
    Playlist {
        /// The file.
        path: PathBuf,
    },
    /// A pixel format that has no counterpart here.
    #[error(
        "{} has the pixel format {pixel_format}, which cannot be scored; convert it to a planar YUV format such as \
         yuv420p10le first",
        path.display()
    )]
    PixelFormat {
        /// The file.
        path: PathBuf,
        /// The format by the decoder's name for it.
        pixel_format: String,
    },
    /// `ffmpeg` delivers another shape than it was asked for.
    #[error(
        "ffmpeg decodes {} as {found} instead of {wanted}; its size or pixel format changes on the way, so encode or \
         convert it to one shape first",
        path.display()
    )]
    Delivered {
        /// The file.
        path: PathBuf,
        /// What came.
        found: Format,
        /// What was asked for.
        wanted: Format,
    },
    /// The decoder failed or gave up.
    #[error(
        "decoding {} failed at frame {frame} ({ended}); a damaged file gives no score, so repair or encode it again: \
         {stderr}",
        path.display()
    )]
    Decoder {
        /// The file.
        path: PathBuf,
        /// The first frame that is missing, counted from the start of the file.
        frame: u64,
        /// How it ended.
        ended: String,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
        /// The end of what it said.
        stderr: String,
    },
    /// Somebody asked the source to stop.
    #[error("reading {} was stopped", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
    /// The picture to be filled does not have the shape of the source.
    #[error("the picture for {} does not have the shape {format}", path.display())]
    Room {
        /// The file.
        path: PathBuf,
        /// The shape of the source.
        format: Format,
    },
}
