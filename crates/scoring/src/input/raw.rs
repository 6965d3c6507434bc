//! Raw planar YUV: nothing but samples, so only the size of the file can contradict a wrong description.

use std::path::Path;

use vmafx_job::{BitDepth, PixelFormat};

use super::RawFormat;
use super::error::InputError;
use super::probe::{Probe, SampleStorage};
use crate::picture::PictureFormat;

/// Checks the description against the size of the file, which must not be empty.
pub(super) fn probe(path: &Path, description: RawFormat, size: u64) -> Result<Probe, InputError> {
    let format = description.format;
    let allowed = 1..=u32::from(u16::MAX);
    if !allowed.contains(&format.width) || !allowed.contains(&format.height) {
        return Err(InputError::Geometry { path: path.to_owned(), format });
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
        frame_rate: description.frame_rate,
        frames: Some(size / frame_bytes),
        frames_estimate: Some(size / frame_bytes),
        transfer: None,
        matrix: None,
        full_range: None,
        converted_from: None,
        storage: SampleStorage::Raw,
    })
}

/// Names another bit depth or pixel format that fits the size, or else suspects a wrong size or a cut file.
fn advice(format: PictureFormat, size: u64) -> String {
    let depths = [BitDepth::Eight, BitDepth::Ten].map(|depth| PictureFormat { depth, ..format });
    let chromas = [PixelFormat::Yuv420p, PixelFormat::Yuv422p, PixelFormat::Yuv444p]
        .map(|chroma| PictureFormat { chroma, ..format });
    let both =
        [PixelFormat::Yuv420p, PixelFormat::Yuv422p, PixelFormat::Yuv444p].into_iter().flat_map(|chroma| {
            [BitDepth::Eight, BitDepth::Ten].map(|depth| PictureFormat { chroma, depth, ..format })
        });
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
