//! Converts YUV to RGB. Pure.
//!
//! Samples are taken as what the clip says: matrix BT.601, BT.709 or BT.2020, limited or full range. If a clip does not say
//! it, the other clip of the comparison does, because both are compared sample by sample. If neither does, the range is limited,
//! and the matrix is BT.709 from 1280 columns or 577 rows on and BT.601 below, as players assume. Transfer functions and
//! primaries are not converted, so that HDR pictures look dull.

use super::scale::{self, PictureSize};
use crate::input::Probe;
use crate::picture::{PictureBuffer, PictureFormat};

/// The weights of red and blue in luma.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Matrix {
    red: f32,
    blue: f32,
}

const BT601: Matrix = Matrix { red: 0.299, blue: 0.114 };
const BT709: Matrix = Matrix { red: 0.2126, blue: 0.0722 };
const BT2020: Matrix = Matrix { red: 0.2627, blue: 0.0593 };

impl Matrix {
    /// By the name that `ffmpeg` has for it.
    fn named(name: &str) -> Option<Self> {
        match name {
            "bt709" => Some(BT709),
            "smpte170m" | "bt470bg" | "fcc" => Some(BT601),
            "bt2020nc" | "bt2020c" => Some(BT2020),
            _ => None,
        }
    }

    fn usual_for(format: PictureFormat) -> Self {
        if format.width >= 1280 || format.height > 576 { BT709 } else { BT601 }
    }
}

/// What is known of the meaning of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ColourTags {
    matrix: Option<Matrix>,
    full_range: Option<bool>,
}

impl ColourTags {
    #[cfg(test)]
    pub(super) const UNKNOWN: Self = Self { matrix: None, full_range: None };

    pub(crate) fn of(probe: &Probe) -> Self {
        Self { matrix: probe.matrix.as_deref().and_then(Matrix::named), full_range: probe.full_range }
    }

    /// Those of the other clip where there are none.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self { matrix: self.matrix.or(other.matrix), full_range: self.full_range.or(other.full_range) }
    }
}

/// The bytes R, G and B of each pixel.
pub(super) fn rgb(picture: &PictureBuffer, tags: ColourTags, size: PictureSize) -> Vec<u8> {
    let [luma, blue, red] = [0, 1, 2].map(|plane| scale::plane(picture, plane, size));
    let matrix = tags.matrix.unwrap_or_else(|| Matrix::usual_for(picture.format()));
    let full_range = tags.full_range.unwrap_or(false);
    let pixels = luma.into_iter().zip(blue.into_iter().zip(red));
    pixels.flat_map(|(luma, (blue, red))| pixel([luma, blue, red], matrix, full_range)).collect()
}

/// Samples in levels of eight bits, with chroma around 128.
fn pixel([luma, blue, red]: [f32; 3], matrix: Matrix, full_range: bool) -> [u8; 3] {
    let (black, luma_range, chroma_range) =
        if full_range { (0.0, 255.0, 255.0) } else { (16.0, 219.0, 224.0) };
    let luma = (luma - black) / luma_range;
    let [blue, red] = [blue, red].map(|chroma| (chroma - 128.0) / chroma_range);
    let r = luma + 2.0 * (1.0 - matrix.red) * red;
    let b = luma + 2.0 * (1.0 - matrix.blue) * blue;
    let g = (luma - matrix.red * r - matrix.blue * b) / (1.0 - matrix.red - matrix.blue);
    [r, g, b].map(|value| level(value * 255.0))
}

/// The nearest level of eight bits.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is clamped")]
pub(super) fn level(value: f32) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_job::{BitDepth, PixelFormat};

    use super::*;

    /// Samples that other programs have for these colours.
    #[rstest]
    #[case::white([235.0, 128.0, 128.0], BT709, false, [255, 255, 255])]
    #[case::black([16.0, 128.0, 128.0], BT2020, false, [0, 0, 0])]
    #[case::full_white([255.0, 128.0, 128.0], BT601, true, [255, 255, 255])]
    #[case::red_601([81.0, 90.0, 240.0], BT601, false, [254, 0, 0])]
    #[case::red_709([63.0, 102.0, 240.0], BT709, false, [255, 1, 0])]
    #[case::green_709([173.0, 42.0, 26.0], BT709, false, [0, 255, 1])]
    #[case::blue_2020([29.0, 240.0, 119.0], BT2020, false, [0, 0, 255])]
    #[case::full_red_601([76.0, 85.0, 255.0], BT601, true, [254, 0, 0])]
    #[case::below_black([0.0, 128.0, 128.0], BT709, false, [0, 0, 0])]
    fn known_colours_are_converted(
        #[case] samples: [f32; 3],
        #[case] matrix: Matrix,
        #[case] full_range: bool,
        #[case] expected: [u8; 3],
    ) {
        let found = pixel(samples, matrix, full_range);
        let near = found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) <= 1);
        assert!(near, "{found:?} instead of {expected:?}");
    }

    #[rstest]
    #[case::high_definition((1280, 720), BT709)]
    #[case::tall((720, 1280), BT709)]
    #[case::standard_definition((720, 576), BT601)]
    fn an_unknown_matrix_depends_on_the_size(#[case] (width, height): (u32, u32), #[case] expected: Matrix) {
        let format = PictureFormat { width, height, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
        assert_eq!(Matrix::usual_for(format), expected);
    }

    #[test]
    fn tags_that_are_missing_are_those_of_the_other_clip() {
        let of = |matrix, full_range| ColourTags { matrix, full_range };
        assert_eq!(of(None, Some(true)).or(of(Some(BT709), Some(false))), of(Some(BT709), Some(true)));
        assert_eq!(of(Some(BT601), None).or(of(Some(BT709), Some(false))), of(Some(BT601), Some(false)));
    }

    #[test]
    fn every_name_of_a_matrix_is_known() {
        let named = ["bt709", "smpte170m", "bt470bg", "bt2020nc", "ycgco"].map(Matrix::named);
        assert_eq!(named, [Some(BT709), Some(BT601), Some(BT601), Some(BT2020), None]);
    }
}
