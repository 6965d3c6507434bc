//! What a clip is, found out from its content without decoding it. Its name plays no part.
//!
//! | content                                             | description      | decision                                      |
//! |-----------------------------------------------------|------------------|-----------------------------------------------|
//! | begins with `YUV4MPEG2 `                            | ignored          | Y4M                                           |
//! | begins like a container, and `ffmpeg` finds video   | ignored          | decoded by `ffmpeg`                           |
//! | begins like a container, and `ffmpeg` finds none    | fits the size    | raw video                                     |
//! |                                                     | does not, or none | refused with the words of `ffmpeg`           |
//! | begins like none                                    | fits the size    | raw video; `ffmpeg` is not started            |
//! |                                                     | does not fit     | decoded if `ffmpeg` finds video, else refused for its size |
//! |                                                     | none             | decoded if `ffmpeg` finds video, else a description is asked for |
//!
//! `ffmpeg` finds video if a demuxer recognises the content with more than a low score and the stream can be decoded.
//! `tests/inputs/content.rs` has every row of the table, `tests/scoring/mixed.rs` the scores.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use super::error::InputError;
use super::ffmpeg::Content;
use super::pixel_format::Samples;
use super::signature::{START_BYTES, looks_like_container};
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

/// Finds out what a clip is. Only the start of the file is read; `ffmpeg` is asked where that does not tell.
pub fn probe(clip: &Clip, tools: &Tools) -> Result<Probe, InputError> {
    probe_stoppable(clip, tools, &|_| {})
}

/// The same. As long as `ffmpeg` may take, `started` has a handle that stops it from another thread; the error is
/// [`InputError::Stopped`] then.
pub fn probe_stoppable(clip: &Clip, tools: &Tools, started: &dyn Fn(Stopper)) -> Result<Probe, InputError> {
    let path = &clip.path;
    let (mut file, metadata) = open_regular(path)?;
    let mut start = Vec::with_capacity(START_BYTES);
    (&mut file).take(START_BYTES as u64).read_to_end(&mut start).map_err(|source| InputError::Read {
        path: path.clone(),
        frame: 0,
        source,
    })?;
    if start.is_empty() {
        return Err(InputError::NoFrames { path: path.clone() });
    }
    if start.starts_with(y4m::MAGIC) {
        return y4m::probe(path, file, metadata.len());
    }
    if names_other_files(&start) {
        return Err(InputError::Playlist { path: path.clone() });
    }
    let has_signature = looks_like_container(&start);
    let raw = clip.description.map(|description| raw::probe(path, description, metadata.len()));
    let can_ask = tools.ffmpeg().is_some();
    let undescribed = || Err(InputError::GeometryMissing { path: path.clone() });
    match raw {
        // There is nothing to ask about, or nobody to ask.
        Some(raw) if !has_signature && (raw.is_ok() || !can_ask) => return raw,
        None if !has_signature && !can_ask => return undescribed(),
        _ => {}
    }
    match (ffmpeg::probe(path, tools, started)?, raw) {
        (Content::Video(probe), _) => Ok(*probe),
        (Content::NoVideo { .. }, Some(Ok(raw))) => Ok(raw),
        (Content::NoVideo { stderr }, raw) if has_signature => {
            let misfit = raw.and_then(Result::err).map(|misfit| format!("; nor is it raw video: {misfit}"));
            Err(InputError::NotVideo { path: path.clone(), stderr: stderr + &misfit.unwrap_or_default() })
        }
        (Content::NoVideo { .. }, Some(misfit)) => misfit,
        (Content::NoVideo { .. }, None) => undescribed(),
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
