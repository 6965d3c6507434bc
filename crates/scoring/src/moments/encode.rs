//! Writes pictures as JPEG within a number of bytes.

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageError};

use super::scale::PictureSize;
use super::{JpegPicture, MAX_BYTES, MAX_MOMENTS};

/// The qualities that are tried, from 1 to 100.
const QUALITIES: [u8; 7] = [88, 80, 70, 60, 45, 30, 15];

/// Pictures of a moment.
const PICTURES: usize = 3;

#[derive(Debug, thiserror::Error)]
pub(crate) enum PictureError {
    #[error("a picture cannot be written as JPEG")]
    Jpeg(#[from] ImageError),
    #[error("a picture does not fit into {max_bytes} bytes")]
    TooLarge { max_bytes: usize },
}

impl PictureError {
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Jpeg(_) => "PictureNotEncoded",
            Self::TooLarge { .. } => "PictureTooLarge",
        }
    }
}

/// What one of several clips may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PictureBudget {
    pub(crate) moments: usize,
    /// Of one picture.
    pub(crate) max_bytes: usize,
}

impl PictureBudget {
    /// An equal share of each clip.
    pub(crate) fn of_clips(clips: usize) -> Self {
        let clips = clips.max(1);
        let moments = (MAX_MOMENTS / clips).max(1);
        Self { moments, max_bytes: MAX_BYTES / (clips * moments * PICTURES) }
    }
}

/// `None` if the picture does not fit with any quality.
pub(super) fn rgb(
    pixels: &[u8],
    size: PictureSize,
    max_bytes: usize,
) -> Result<Option<JpegPicture>, PictureError> {
    encode(pixels, size, ExtendedColorType::Rgb8, max_bytes)
}

/// The same for one byte per pixel.
pub(super) fn grey(
    pixels: &[u8],
    size: PictureSize,
    max_bytes: usize,
) -> Result<Option<JpegPicture>, PictureError> {
    encode(pixels, size, ExtendedColorType::L8, max_bytes)
}

fn encode(
    pixels: &[u8],
    size: PictureSize,
    colours: ExtendedColorType,
    max_bytes: usize,
) -> Result<Option<JpegPicture>, PictureError> {
    let PictureSize { width, height } = size;
    for quality in QUALITIES {
        let mut bytes = Vec::new();
        JpegEncoder::new_with_quality(&mut bytes, quality).encode(pixels, width, height, colours)?;
        if bytes.len() <= max_bytes {
            return Ok(Some(JpegPicture { width, height, bytes }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clips_together_keep_the_bounds() {
        assert_eq!(PictureBudget::of_clips(1), PictureBudget { moments: 10, max_bytes: MAX_BYTES / 30 });
        for clips in 1..100 {
            let PictureBudget { moments, max_bytes } = PictureBudget::of_clips(clips);
            assert!(moments >= 1 && (moments * clips <= MAX_MOMENTS || moments == 1), "{clips} clips");
            assert!(max_bytes * PICTURES * moments * clips <= MAX_BYTES, "{clips} clips");
        }
    }
}
