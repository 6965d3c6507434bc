//! Finds out from the content of a file, without decoding it, what a clip is. The name of the file does not count.
//!
//! | content                                           | description       | decision                                             |
//! |---------------------------------------------------|-------------------|------------------------------------------------------|
//! | begins with `YUV4MPEG2 `                          | ignored           | Y4M                                                  |
//! | begins like a container, `ffmpeg` finds video     | ignored           | decoded by `ffmpeg`                                  |
//! | begins like a container, `ffmpeg` finds no video  | fits the size     | raw video                                            |
//! |                                                   | does not, or none | refused with the message of `ffmpeg`                 |
//! | has no known signature                            | fits the size     | raw video; `ffmpeg` is not started                   |
//! |                                                   | does not fit      | decoded if `ffmpeg` finds video, else refused for its size |
//! |                                                   | none              | decoded if `ffmpeg` finds video, else a description is demanded |
//!
//! `ffmpeg` finds video if a demuxer recognises the content with more than a low score and the stream can be decoded.
//! `tests/inputs/content.rs` checks every row of the table, `tests/scoring/mixed.rs` the scores.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use super::error::InputError;
use super::ffmpeg::DetectedContent;
use super::pixel_format::ColourModel;
use super::signature::{START_BYTES, looks_like_container};
use super::stop::StopHandle;
use super::tools::Tools;
use super::{Clip, ffmpeg, raw, y4m};
use crate::picture::PictureFormat;

#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Probe {
    /// `y4m`, `yuv` for raw video, or the name that `ffmpeg` has for the codec, such as `h264`.
    pub codec: String,
    /// The format in which frames are delivered if no other is asked for.
    pub format: PictureFormat,
    /// Frames per second, if the file says it.
    pub frame_rate: Option<f64>,
    /// The number of frames, if it is certain.
    pub frames: Option<u64>,
    /// The number of frames by duration and frame rate: precise enough for a progress bar, not for a decision.
    pub frames_estimate: Option<u64>,
    /// The transfer function, such as `bt709`, `smpte2084` (PQ) or `arib-std-b67` (HLG), if the file says it.
    pub transfer: Option<String>,
    /// The matrix between RGB and the delivered samples, as `ffmpeg` calls it, such as `bt709`, if the file says it.
    pub matrix: Option<String>,
    /// Whether the delivered samples have full range (`yuvj420p`, `pc`), if the file says it. Samples are compared as they
    /// are, so both clips should agree.
    pub full_range: Option<bool>,
    /// The decoder's pixel format, if it cannot be scored and is converted to [`Self::format`].
    pub converted_from: Option<String>,
    pub(super) storage: SampleStorage,
}

/// Where the samples are in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SampleStorage {
    /// Frames of equal size one after the other.
    Raw,
    /// Frames with headers, from the byte `start` on.
    Y4m {
        start: u64,
    },
    Coded {
        samples: ColourModel,
        demuxer: String,
        decoder: String,
    },
}

impl SampleStorage {
    /// Whether this process can read the samples itself.
    pub(super) fn is_local(&self) -> bool {
        !matches!(self, Self::Coded { .. })
    }
}

/// Finds out what a clip is. Only the start of the file is read; if that does not tell, `ffmpeg` is asked.
pub fn probe(clip: &Clip, tools: &Tools) -> Result<Probe, InputError> {
    probe_stoppable(clip, tools, &|_| {})
}

/// The same. When `ffmpeg` is asked, `started` is called with a handle that stops it from another thread; the error is
/// [`InputError::Stopped`] then.
pub fn probe_stoppable(
    clip: &Clip,
    tools: &Tools,
    started: &dyn Fn(StopHandle),
) -> Result<Probe, InputError> {
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
        // ffmpeg has nothing to add, or there is none.
        Some(raw) if !has_signature && (raw.is_ok() || !can_ask) => return raw,
        None if !has_signature && !can_ask => return undescribed(),
        _ => {}
    }
    match (ffmpeg::probe(path, tools, started)?, raw) {
        (DetectedContent::Video(probe), _) => Ok(*probe),
        (DetectedContent::NoVideo { .. } | DetectedContent::Refused { .. }, Some(Ok(raw))) => Ok(raw),
        (DetectedContent::Refused { demuxer }, _) => {
            Err(InputError::FormatNotAllowed { path: path.clone(), demuxer })
        }
        (DetectedContent::NoVideo { stderr }, raw) if has_signature => {
            let misfit = raw.and_then(Result::err).map(|misfit| format!("; nor is it raw video: {misfit}"));
            Err(InputError::NotVideo { path: path.clone(), stderr: stderr + &misfit.unwrap_or_default() })
        }
        (DetectedContent::NoVideo { .. }, Some(misfit)) => misfit,
        (DetectedContent::NoVideo { .. }, None) => undescribed(),
    }
}

/// Whether this is a list of other files: HLS, `ffconcat`, or XML as in DASH and IMF. `ffmpeg` would read every file that it
/// names and wait forever for the rest of a live one, and the digest would not cover the video.
fn names_other_files(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    [b"#EXTM3U".as_slice(), b"ffconcat", b"<?xml", b"<MPD"].iter().any(|magic| text.starts_with(magic))
}

/// Opens a file whose content can be read several times.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata), InputError> {
    let error = |source| InputError::Open { path: path.to_owned(), source };
    // Checked before opening, because opening a pipe without a writer waits forever.
    if !path.metadata().map_err(error)?.is_file() {
        return Err(InputError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(error)?;
    let metadata = file.metadata().map_err(error)?;
    Ok((file, metadata))
}
