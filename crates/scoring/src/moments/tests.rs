//! Pictures within their bounds.

use image::ImageReader;
use vmafx_job::{BitDepth, PixelFormat};

use super::*;
use crate::picture::PictureFormat;

const TAGS: ColourTags = ColourTags::UNKNOWN;

fn format(width: u32, height: u32) -> PictureFormat {
    PictureFormat { width, height, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight }
}

/// A picture whose luma has these samples and whose chroma is neutral.
fn grey(format: PictureFormat, sample: impl Fn(usize) -> u8) -> PictureBuffer {
    let luma: Vec<u8> = (0..format.plane_bytes(0)).map(sample).collect();
    let neutral = vec![128; format.plane_bytes(1)];
    PictureBuffer::of(format, [&luma, &neutral, &neutral])
}

fn noise(at: usize) -> u8 {
    (u32::try_from(at).unwrap().wrapping_mul(2_654_435_761) >> 24) as u8
}

fn moment(
    reference: &PictureBuffer,
    distorted: &PictureBuffer,
    max_bytes: usize,
) -> Result<WorstMoment, PictureError> {
    let tagged = |picture| TaggedPicture { picture, tags: TAGS };
    WorstMoment::encode((7, 42.5), tagged(reference), tagged(distorted), max_bytes)
}

/// Width, height and the red of each pixel, as another program reads the picture.
fn decoded(picture: &JpegPicture) -> (u32, u32, Vec<u8>) {
    let reader = ImageReader::new(std::io::Cursor::new(&picture.bytes)).with_guessed_format().unwrap();
    let image = reader.decode().unwrap().to_rgb8();
    assert_eq!((picture.width, picture.height), image.dimensions());
    (image.width(), image.height(), image.pixels().map(|pixel| pixel.0[0]).collect())
}

fn assert_all_near(values: &[u8], expected: u8) {
    assert!(values.iter().all(|value| value.abs_diff(expected) <= 3), "{values:?} instead of {expected}");
}

#[test]
fn a_moment_has_both_pictures_and_their_difference() {
    let format = format(32, 16);
    // Limited range: 16 is black and 235 is white.
    let moment = moment(&grey(format, |_| 235), &grey(format, |_| 225), 10_000).unwrap();
    assert_eq!((moment.frame, moment.score), (7, 42.5));
    let [reference, distorted, difference] =
        [&moment.reference, &moment.distorted, &moment.difference].map(decoded);
    assert_eq!((reference.0, reference.1), (32, 16));
    assert_all_near(&reference.2, 255);
    assert_all_near(&distorted.2, 243);
    assert_all_near(&difference.2, 80);
}

#[test]
fn the_map_of_equal_pictures_is_black() {
    let picture = grey(format(64, 48), noise);
    let moment = moment(&picture, &picture, 100_000).unwrap();
    assert_all_near(&decoded(&moment.difference).2, 0);
}

#[test]
fn large_pictures_are_scaled_and_fit() {
    let picture = grey(format(1280, 1440), noise);
    let moment = moment(&picture, &picture, 200_000).unwrap();
    assert_eq!((moment.reference.width, moment.reference.height), (569, 640));
    decoded(&moment.reference);
}

#[test]
fn quality_and_then_size_are_lowered_to_fit() {
    let format = format(640, 360);
    let (reference, distorted) = (grey(format, noise), grey(format, |at| noise(at + 1)));
    let mut widths = vec![];
    for max_bytes in [400_000, 100_000, 20_000, 5_000] {
        let moment = moment(&reference, &distorted, max_bytes).unwrap();
        for picture in [&moment.reference, &moment.distorted, &moment.difference] {
            assert!(picture.bytes.len() <= max_bytes, "{} of {max_bytes}", picture.bytes.len());
            assert_eq!(picture.width, moment.reference.width, "a wipe needs equal sizes");
        }
        widths.push(moment.reference.width);
    }
    assert_eq!(widths[..2], [640, 640]);
    assert!(widths[3] < widths[1], "{widths:?}");
}

#[test]
fn pictures_that_cannot_fit_are_an_error() {
    let picture = grey(format(64, 36), noise);
    let error = moment(&picture, &picture, 50).unwrap_err();
    assert_eq!(error.to_string(), "a picture does not fit into 50 bytes");
}
