//! Raw planar YUV: nothing but samples, so that only the size of the file can contradict a wrong description.

use std::path::Path;

use vmafx_job::{BitDepth, PixelFormat};

use super::RawFormat;
use super::error::InputError;
use super::probe::{Probe, Storage};
use crate::picture::Format;

/// What the description and the size of the file say.
pub(super) fn probe(path: &Path, described: RawFormat, size: u64) -> Result<Probe, InputError> {
    let format = described.format;
    let allowed = 1..=u32::from(u16::MAX);
    if !allowed.contains(&format.width) || !allowed.contains(&format.height) {
        return Err(InputError::Geometry { path: path.to_owned(), format });
    }
    if size == 0 {
        return Err(InputError::NoFrames { path: path.to_owned() });
    }
    let frame_bytes = format.bytes() as u64;
    if !size.is_multiple_of(frame_bytes) {
        return Err(InputError::PartialFrame {
            path: path.to_owned(),
            size,
            format,
            frame_bytes,
            remainder: size % frame_bytes,
            advice: advice(format, size),
        });
    }
    Ok(Probe {
        codec: "yuv".to_owned(),
        format,
        frame_rate: described.frame_rate,
        frames: Some(size / frame_bytes),
        frames_estimate: Some(size / frame_bytes),
        transfer: None,
        full_range: None,
        converted_from: None,
        storage: Storage::Raw,
    })
}

/// The likely mistake: the same size in another depth or sampling that fits, or else a cut file.
fn advice(format: Format, size: u64) -> String {
    let depths = [BitDepth::Eight, BitDepth::Ten].map(|depth| Format { depth, ..format });
    let chromas = [PixelFormat::Yuv420p, PixelFormat::Yuv422p, PixelFormat::Yuv444p]
        .map(|chroma| Format { chroma, ..format });
    let both = [PixelFormat::Yuv420p, PixelFormat::Yuv422p, PixelFormat::Yuv444p]
        .into_iter()
        .flat_map(|chroma| [BitDepth::Eight, BitDepth::Ten].map(|depth| Format { chroma, depth, ..format }));
    let fits = depths
        .into_iter()
        .chain(chromas)
        .chain(both)
        .find(|other| other.bytes() != format.bytes() && size.is_multiple_of(other.bytes() as u64));
    match fits {
        Some(other) => format!("check the pixel format: the size would fit {other}"),
        None => "check width, height and pixel format, or whether the file is cut off".to_owned(),
    }
}
