//! Scales planes down by averaging. Pure.

use crate::picture::{PictureBuffer, PictureFormat, cell};

/// Width and height of a picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PictureSize {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl PictureSize {
    /// The size of a picture that is scaled to at most `side` pixels on its longer side, and never up. Pixels are taken for
    /// squares.
    pub(super) fn within(format: PictureFormat, side: u32) -> Self {
        let longer = u64::from(format.width.max(format.height)).max(1);
        let scaled = |length: u32| {
            let scaled = (u64::from(length) * u64::from(side) + longer / 2) / longer;
            u32::try_from(scaled).unwrap_or(side).clamp(1, length.max(1))
        };
        Self { width: scaled(format.width), height: scaled(format.height) }
    }
}

/// The mean of the samples of a plane in each pixel, in levels of eight bits. Where chroma has fewer samples than there are
/// pixels, each pixel has the nearest one.
pub(super) fn plane(picture: &PictureBuffer, plane: usize, size: PictureSize) -> Vec<f32> {
    let samples = Samples::of(picture, plane);
    means(picture, plane, size, |row, column| samples.get(row, column))
}

/// The mean absolute difference of luma in each pixel, in levels of eight bits.
pub(super) fn luma_difference(a: &PictureBuffer, b: &PictureBuffer, size: PictureSize) -> Vec<f32> {
    let (of_a, of_b) = (Samples::of(a, 0), Samples::of(b, 0));
    means(a, 0, size, |row, column| of_a.get(row, column).abs_diff(of_b.get(row, column)))
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a mean of 16 bits")]
fn means(
    picture: &PictureBuffer,
    plane: usize,
    size: PictureSize,
    value: impl Fn(usize, usize) -> u16,
) -> Vec<f32> {
    let (width, height) = picture.format().plane(plane);
    let levels = f64::from(1_u32 << (picture.format().depth.bits() - 8));
    let (columns, rows) = (size.width as usize, size.height as usize);
    let mut means = Vec::with_capacity(columns * rows);
    for row in 0..rows {
        let lines = cell(row, rows, height);
        for column in 0..columns {
            let samples = cell(column, columns, width);
            let count = (lines.len() * samples.len()) as f64;
            let sum: u64 = lines
                .clone()
                .map(|line| samples.clone().map(|sample| u64::from(value(line, sample))).sum::<u64>())
                .sum();
            means.push((sum as f64 / count / levels) as f32);
        }
    }
    means
}

/// The samples of a plane, which are stored in one byte or two.
#[derive(Clone, Copy)]
struct Samples<'a> {
    bytes: &'a [u8],
    width: usize,
    is_wide: bool,
}

impl<'a> Samples<'a> {
    fn of(picture: &'a PictureBuffer, plane: usize) -> Self {
        let format = picture.format();
        Self { bytes: picture.plane(plane), width: format.plane(plane).0, is_wide: format.depth.bytes() == 2 }
    }

    fn get(self, row: usize, column: usize) -> u16 {
        let at = row * self.width + column;
        if self.is_wide {
            u16::from_le_bytes([self.bytes[2 * at], self.bytes[2 * at + 1]])
        } else {
            self.bytes[at].into()
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Values are exact.
mod tests {
    use rstest::rstest;
    use vmafx_job::{BitDepth, PixelFormat};

    use super::*;

    const FORMAT: PictureFormat =
        PictureFormat { width: 4, height: 2, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
    const HALF: PictureSize = PictureSize { width: 2, height: 1 };

    #[rstest]
    #[case::landscape((1920, 1080), (640, 360))]
    #[case::portrait((1080, 1920), (360, 640))]
    #[case::never_larger((320, 240), (320, 240))]
    #[case::a_line((4000, 2), (640, 1))]
    fn a_picture_fits_and_keeps_its_shape(#[case] (width, height): (u32, u32), #[case] expected: (u32, u32)) {
        let size = PictureSize::within(PictureFormat { width, height, ..FORMAT }, 640);
        assert_eq!((size.width, size.height), expected);
    }

    #[test]
    fn a_pixel_is_the_mean_of_its_samples() {
        let picture = PictureBuffer::of(FORMAT, [&[0, 2, 10, 10, 4, 6, 10, 14], &[1, 3], &[0, 0]]);
        assert_eq!(plane(&picture, 0, HALF), [3.0, 11.0]);
        assert_eq!(
            plane(&picture, 1, PictureSize { width: 4, height: 2 }),
            [1.0, 1.0, 3.0, 3.0, 1.0, 1.0, 3.0, 3.0]
        );
    }

    #[test]
    fn the_samples_of_other_depths_are_scaled_to_eight_bits() {
        let format = PictureFormat { depth: BitDepth::Ten, ..FORMAT };
        let luma: Vec<u8> =
            [0_u16, 8, 40, 40, 16, 24, 40, 56].into_iter().flat_map(u16::to_le_bytes).collect();
        let picture = PictureBuffer::of(format, [&luma, &[0; 4], &[0; 4]]);
        assert_eq!(plane(&picture, 0, HALF), [3.0, 11.0]);
    }

    #[test]
    fn differences_do_not_cancel_out() {
        let picture = |luma: [u8; 8]| PictureBuffer::of(FORMAT, [&luma, &[0; 2], &[0; 2]]);
        let (a, b) = (picture([10, 20, 0, 0, 10, 20, 0, 0]), picture([20, 10, 0, 0, 20, 10, 0, 4]));
        assert_eq!(luma_difference(&a, &b, HALF), [10.0, 1.0]);
    }
}
