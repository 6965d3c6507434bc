//! The worst moments of a clip as pictures: the reference, the distorted clip, and a map of their difference.
//!
//! Scores are known when the last frame was read, so the frames are chosen then (`select`) and read a second time
//! (`score::worst_moments`). They are scaled to at most 640 pixels on the longer side (`scale`), converted to RGB (`colour`),
//! and written as JPEG with the highest quality that keeps the pictures of all clips within one mebibyte (`encode`).
//!
//! The map of the difference is the absolute difference of luma, averaged over the samples of each pixel and multiplied by 8:
//! black where the pictures are equal, white from 32 of 255 levels on.

mod colour;
mod encode;
mod scale;
mod select;

pub(crate) use colour::ColourTags;
pub(crate) use encode::{PictureBudget, PictureError};
pub(crate) use select::{MomentChoice, frames_of_a_second, worst_rows};

use crate::picture::PictureBuffer;
use scale::PictureSize;

/// The maximum number of moments of all clips of a comparison, except that each clip has at least one.
pub const MAX_MOMENTS: usize = 10;
/// The maximum number of bytes of all pictures of a comparison.
pub const MAX_BYTES: usize = 1 << 20;
/// The maximum width and height of a picture.
pub const MAX_SIDE: u32 = 640;
/// By how much the difference of luma is multiplied in a map.
const DIFFERENCE_GAIN: f32 = 8.0;

/// A frame with one of the lowest scores of its clip.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstMoment {
    /// The number of the pair.
    pub frame: u64,
    /// By the first model.
    pub score: f64,
    pub reference: JpegPicture,
    pub distorted: JpegPicture,
    /// A map of the difference, in grey.
    pub difference: JpegPicture,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JpegPicture {
    pub width: u32,
    pub height: u32,
    /// A whole JPEG file.
    pub bytes: Vec<u8>,
}

/// A picture and the meaning of its samples.
#[derive(Clone, Copy)]
pub(crate) struct TaggedPicture<'a> {
    pub(crate) picture: &'a PictureBuffer,
    pub(crate) tags: ColourTags,
}

impl WorstMoment {
    /// Encodes a pair of pictures of the same format. If they do not fit into `max_bytes` each, they are made smaller.
    pub(crate) fn encode(
        (frame, score): (u64, f64),
        reference: TaggedPicture<'_>,
        distorted: TaggedPicture<'_>,
        max_bytes: usize,
    ) -> Result<Self, PictureError> {
        let format = reference.picture.format();
        let mut longest = MAX_SIDE;
        while longest > 0 {
            let size = PictureSize::within(format, longest);
            let coloured = |tagged: TaggedPicture<'_>| {
                encode::rgb(&colour::rgb(tagged.picture, tagged.tags, size), size, max_bytes)
            };
            let difference = scale::luma_difference(reference.picture, distorted.picture, size);
            let map: Vec<u8> =
                difference.into_iter().map(|level| colour::level(level * DIFFERENCE_GAIN)).collect();
            let pictures = (coloured(reference)?, coloured(distorted)?, encode::grey(&map, size, max_bytes)?);
            if let (Some(reference), Some(distorted), Some(difference)) = pictures {
                return Ok(Self { frame, score, reference, distorted, difference });
            }
            longest /= 2;
        }
        Err(PictureError::TooLarge { max_bytes })
    }
}

#[cfg(test)]
mod tests;
