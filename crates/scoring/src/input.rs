//! Reads video: what a clip is, and its frames one after the other as planar YUV.
//!
//! Y4M and raw planar YUV are read in this process. Everything else, and whatever has to be scaled or whose chroma has
//! to be converted, goes through an `ffmpeg` subprocess that writes Y4M to a pipe; decoders are large, often attacked
//! programs and belong into a process of their own.
//!
//! Three promises, because a score of wrong pictures looks exactly like a score of the right ones:
//!
//! - A frame is whole or there is an error: no short read, dead decoder or damaged packet ends a clip quietly.
//! - Samples arrive as they are stored. A deeper format is reached by shifting, a shallower one never; the range of the
//!   samples (limited or full) is not touched.
//! - No decoder outlives its source: dropping a source, or stopping it from another thread, kills and reaps it.

mod book;
mod digest;
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

pub use book::DigestBook;
pub use digest::{digest, digest_until};
pub use error::InputError;
pub(crate) use error::may_pass;
pub use probe::{Probe, probe, probe_stoppable};
pub use stop::Stopper;
pub use tools::Tools;

use crate::picture::{Format, PictureMut};

/// An input as the user names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    /// A regular file.
    pub path: PathBuf,
    /// What is in the file if it is raw video. It is used only if the content is neither Y4M nor a container.
    pub description: Option<RawFormat>,
}

impl Clip {
    /// A file that says itself what it is.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), description: None }
    }

    /// A file that is read by this description if it is raw video.
    pub fn described(path: impl Into<PathBuf>, description: RawFormat) -> Self {
        Self { path: path.into(), description: Some(description) }
    }
}

/// What a file without a header cannot say itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawFormat {
    /// The shape of its pictures.
    pub format: Format,
    /// Frames per second, if known.
    pub frame_rate: Option<f64>,
}

impl From<RawVideo> for RawFormat {
    fn from(raw: RawVideo) -> Self {
        Self { format: raw.into(), frame_rate: None }
    }
}

/// How a clip is to be read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The shape of the pictures wanted. Another size or chroma than the clip's own makes `ffmpeg` convert it.
    pub format: Format,
    /// Frames to leave out at the start.
    pub skip: u64,
    /// Frames to read at most after that.
    pub take: Option<u64>,
    /// Threads of the decoder; its own choice when nothing is said.
    pub decoder_threads: Option<u32>,
    /// How pictures of another size are scaled.
    pub scale_filter: ScaleFilter,
    /// Where the digest of the file is entered by a source that comes to read all of it: a file of planes, from its
    /// first frame to its end. Such a source reads what it passes over too.
    pub digests: Option<DigestBook>,
}

impl Reading {
    /// The whole clip in this shape.
    pub fn whole(format: Format) -> Self {
        Self {
            format,
            skip: 0,
            take: None,
            decoder_threads: None,
            scale_filter: ScaleFilter::default(),
            digests: None,
        }
    }
}

/// How pictures are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleFilter {
    /// What the VMAF models were trained with.
    #[default]
    Bicubic,
    /// Softer.
    Bilinear,
    /// Sharper.
    Lanczos,
}

impl ScaleFilter {
    /// Its name, which is also the one `ffmpeg` uses.
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
    /// The shape of the pictures: what was asked for in [`Reading::format`].
    fn format(&self) -> Format;

    /// Fills the picture with the next frame; `false` at the proper end. After an error the picture holds nothing of use
    /// and the source is finished.
    fn read(&mut self, picture: &mut PictureMut<'_>) -> Result<bool, InputError>;

    /// Passes over the next frame, cheaply where possible; `false` at the proper end.
    fn skip(&mut self) -> Result<bool, InputError>;

    /// A handle that ends this source from another thread: a blocked `read` returns [`InputError::Stopped`] at once.
    fn stopper(&self) -> Stopper;
}

/// Opens a clip. `probe` is what [`probe()`] said about it.
pub fn open(
    clip: &Clip,
    probe: &Probe,
    reading: &Reading,
    tools: &Tools,
) -> Result<Box<dyn FrameSource>, InputError> {
    let (found, wanted) = (probe.format, reading.format);
    if wanted.depth < found.depth {
        return Err(InputError::Narrowing { path: clip.path.clone(), found, wanted });
    }
    if reads_itself(probe, wanted) {
        return Ok(Box::new(local::Source::open(clip, probe, reading)?));
    }
    Ok(Box::new(ffmpeg::Source::open(clip, probe, reading, tools)?))
}

/// Whether this process reads such a clip itself when it is wanted in this shape, and needs no `ffmpeg`.
pub fn reads_itself(probe: &Probe, wanted: Format) -> bool {
    let found = probe.format;
    probe.storage.is_local()
        && (found.width, found.height, found.chroma) == (wanted.width, wanted.height, wanted.chroma)
}
