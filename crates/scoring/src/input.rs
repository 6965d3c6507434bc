//! Reads video: finds out what a clip is, and delivers its frames one after the other as planar YUV.
//!
//! This process reads Y4M and raw planar YUV itself. Everything else, and every clip that must be scaled or whose chroma
//! must be converted, goes through an `ffmpeg` subprocess that writes Y4M to a pipe: decoders are large programs that are
//! often attacked, so they run in a process of their own.
//!
//! Three invariants hold, because the score of a wrong picture looks exactly like the score of the right one:
//!
//! - A frame is whole or there is an error: no short read, dead decoder or damaged packet ends a clip silently
//!   (`tests/inputs/damaged.rs`).
//! - Samples arrive as they are stored. They are shifted up to a higher bit depth and never down to a lower one; the range
//!   of the samples (limited or full) is not changed (`tests/inputs/{local,decoded}.rs`).
//! - No decoder outlives its source: dropping a source, or stopping it from another thread, kills and reaps the decoder
//!   (`tests/inputs/process.rs`).

mod activity;
mod digest;
mod digest_table;
mod error;
mod ffmpeg;
mod hashing;
mod local;
mod pixel_format;
mod planes;
mod probe;
mod raw;
mod signature;
mod stop;
mod tools;
mod y4m;

use std::path::PathBuf;

use vmafx_job::RawVideo;

pub use activity::ReadActivity;
pub use digest::{digest, digest_until};
pub use digest_table::DigestTable;
pub use error::InputError;
pub(crate) use error::is_transient;
pub use probe::{Probe, probe, probe_stoppable};
pub use stop::StopHandle;
pub use tools::{ProcessKiller, Tools};

use crate::picture::{PictureFormat, PictureMut};

#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    pub path: PathBuf,
    /// Used only if the content of the file is neither Y4M nor a container, whatever the file is called.
    pub description: Option<RawFormat>,
}

impl Clip {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), description: None }
    }

    pub fn described(path: impl Into<PathBuf>, description: RawFormat) -> Self {
        Self { path: path.into(), description: Some(description) }
    }
}

/// Describes raw video, which has no header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawFormat {
    pub format: PictureFormat,
    /// Frames per second, if known.
    pub frame_rate: Option<f64>,
}

impl From<RawVideo> for RawFormat {
    fn from(raw: RawVideo) -> Self {
        Self { format: raw.into(), frame_rate: None }
    }
}

#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format of the delivered pictures. If its size or chroma differs from the clip's, `ffmpeg` converts the clip.
    pub format: PictureFormat,
    /// Frames to leave out at the start.
    pub skip: u64,
    /// Maximum number of frames to read after that.
    pub take: Option<u64>,
    /// Threads of the decoder; `None` leaves the choice to `ffmpeg`.
    pub decoder_threads: Option<u32>,
    pub scale_filter: ScaleFilter,
    /// A source that reads all of a Y4M or raw file, from its first frame to its end, inserts the digest of the file here.
    /// Such a source also reads the frames that it skips.
    pub digests: Option<DigestTable>,
    /// Counts what the source reads.
    pub activity: ReadActivity,
}

impl ReadOptions {
    /// Reads the whole clip.
    pub fn whole(format: PictureFormat) -> Self {
        Self {
            format,
            skip: 0,
            take: None,
            decoder_threads: None,
            scale_filter: ScaleFilter::default(),
            digests: None,
            activity: ReadActivity::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleFilter {
    /// The filter that the VMAF models were trained with.
    #[default]
    Bicubic,
    Bilinear,
    Lanczos,
}

impl ScaleFilter {
    /// As `ffmpeg` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bicubic => "bicubic",
            Self::Bilinear => "bilinear",
            Self::Lanczos => "lanczos",
        }
    }
}

/// Frames of a clip, one after the other.
pub trait FrameSource: Send {
    /// The format of the delivered pictures: [`ReadOptions::format`].
    fn format(&self) -> PictureFormat;

    /// Fills the picture with the next frame; `false` at the end of the clip. After an error the content of the picture is
    /// undefined and the source delivers nothing more.
    fn read(&mut self, picture: &mut PictureMut<'_>) -> Result<bool, InputError>;

    /// Skips the next frame, without reading it where possible; `false` at the end of the clip.
    fn skip(&mut self) -> Result<bool, InputError>;

    /// A handle that stops this source from another thread: a blocked `read` returns [`InputError::Stopped`] at once.
    fn stop_handle(&self) -> StopHandle;
}

/// Opens a clip that [`probe()`] has looked at.
pub fn open(
    clip: &Clip,
    probe: &Probe,
    options: &ReadOptions,
    tools: &Tools,
) -> Result<Box<dyn FrameSource>, InputError> {
    let (found, wanted) = (probe.format, options.format);
    if wanted.depth < found.depth {
        return Err(InputError::Narrowing { path: clip.path.clone(), found, wanted });
    }
    if reads_without_ffmpeg(probe, wanted) {
        return Ok(Box::new(local::FileSource::open(clip, probe, options)?));
    }
    Ok(Box::new(ffmpeg::DecoderSource::open(clip, probe, options, tools)?))
}

/// The number of frames that the file itself tells, without decoding: `None` for coded video. A file that is cut off within a
/// frame is an error.
pub(crate) fn frames_without_decoding(clip: &Clip, probe: &Probe) -> Result<Option<u64>, InputError> {
    match (probe.frames, probe.storage.is_local()) {
        (Some(frames), _) => Ok(Some(frames)),
        (None, true) => {
            local::FileSource::open(clip, probe, &ReadOptions::whole(probe.format))?.count().map(Some)
        }
        (None, false) => Ok(None),
    }
}

/// Whether this process reads the clip itself and delivers this format without `ffmpeg`.
pub fn reads_without_ffmpeg(probe: &Probe, wanted: PictureFormat) -> bool {
    let found = probe.format;
    probe.storage.is_local()
        && (found.width, found.height, found.chroma) == (wanted.width, wanted.height, wanted.chroma)
}
