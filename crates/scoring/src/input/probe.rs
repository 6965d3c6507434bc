//! What a clip is, found without decoding it.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use super::error::InputError;
use super::pixel_format::Samples;
use super::stop::Stopper;
use super::tools::Tools;
use super::{Clip, ffmpeg, raw, y4m};
use crate::picture::Format;

/// What a clip is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Probe {
    /// How it is stored: `y4m`, `yuv`, or the decoder's word for it such as `h264`.
    pub codec: String,
    /// The shape in which its frames arrive when nothing has to be converted.
    pub format: Format,
    /// Frames per second, where the file says it.
    pub frame_rate: Option<f64>,
    /// The number of frames, where it is known for certain.
    pub frames: Option<u64>,
    /// The number of frames by duration and frame rate: good for a progress bar, not for a decision.
    pub frames_estimate: Option<u64>,
    /// The transfer function, such as `bt709`, `smpte2084` (PQ) or `arib-std-b67` (HLG), where the file says it.
    pub transfer: Option<String>,
    /// Whether samples use all values (`yuvj420p`, `pc`) when they arrive; they are compared as they are, so both clips should agree.
    /// Nothing where the file does not say it.
    pub full_range: Option<bool>,
    /// The decoder's own pixel format, where it is none that can be scored and is converted to [`Self::format`].
    pub converted_from: Option<String>,
    /// Where the samples are, for the one that reads them.
    pub(super) storage: Storage,
}

/// How the samples are reached.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Storage {
    /// Frames of equal size one after the other.
    Raw,
    /// Frames with headers, after a header of this many bytes.
    Y4m {
        /// Where the first frame begins.
        start: u64,
    },
    /// By a decoder.
    Coded {
        /// What it has.
        samples: Samples,
        /// The name of the container's reader.
        demuxer: String,
        /// Its own name.
        decoder: String,
    },
}

impl Storage {
    /// Whether this process reads it itself.
    pub(super) fn is_local(&self) -> bool {
        !matches!(self, Self::Coded { .. })
    }
}

/// Bytes at the start of a file that are looked at.
const START: usize = 64;

/// Finds out what a clip is. Only the start of the file is read; `ffmpeg` is asked where we cannot tell ourselves.
pub fn probe(clip: &Clip, tools: &Tools) -> Result<Probe, InputError> {
    probe_stoppable(clip, tools, &|_| {})
}

/// The same; `started` is handed what ends it from another thread, if it may take long. Then the error is
/// [`InputError::Stopped`].
pub fn probe_stoppable(clip: &Clip, tools: &Tools, started: &dyn Fn(Stopper)) -> Result<Probe, InputError> {
    let path = &clip.path;
    let (mut file, metadata) = open_regular(path)?;
    if let Some(described) = clip.raw {
        return raw::probe(path, described, metadata.len());
    }
    let mut start = Vec::with_capacity(START);
    (&mut file).take(START as u64).read_to_end(&mut start).map_err(|source| InputError::Read {
        path: path.clone(),
        frame: 0,
        source,
    })?;
    // By content first: a Y4M file may have any name. By name where there is no content to tell.
    if start.starts_with(y4m::MAGIC) {
        return y4m::probe(path, file, metadata.len());
    }
    if names_other_files(&start) {
        return Err(InputError::Playlist { path: path.clone() });
    }
    match path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("yuv" | "raw" | "rgb" | "i420") => Err(InputError::GeometryMissing { path: path.clone() }),
        Some("y4m") => Err(InputError::Header {
            path: path.clone(),
            problem: if start.is_empty() {
                "the file is empty".to_owned()
            } else {
                "it does not begin with YUV4MPEG2, so this is no Y4M file".to_owned()
            },
        }),
        _ if start.is_empty() => Err(InputError::NoFrames { path: path.clone() }),
        _ => ffmpeg::probe(path, tools, started),
    }
}

/// Whether this is a list of other files: HLS, `ffconcat`, or XML as in DASH and IMF. `ffmpeg` would read whatever such a
/// file names, wait for the rest of a live one for ever, and the digest would not be one of the video.
fn names_other_files(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    [b"#EXTM3U".as_slice(), b"ffconcat", b"<?xml", b"<MPD"].iter().any(|magic| text.starts_with(magic))
}

/// Opens a file of which the whole content can be read again and again.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata), InputError> {
    let error = |source| InputError::Open { path: path.to_owned(), source };
    // Asked before opening: opening a pipe that nobody writes to would wait for ever.
    if !path.metadata().map_err(error)?.is_file() {
        return Err(InputError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(error)?;
    let metadata = file.metadata().map_err(error)?;
    Ok((file, metadata))
}
