//! The planar YUV format in which each pixel format of a decoder is delivered. Pure.
//!
//! Planar YUV is delivered unchanged. `ffmpeg` converts the rest to the nearest format that loses nothing: other memory
//! layouts to planes, other bit depths to the next higher one, sparser chroma to the next denser one, RGB to 4:4:4, grey to
//! 4:2:0 with neutral chroma.

use vmafx_job::{BitDepth, PixelFormat};

/// The format in which a decoder's pictures are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecodedFormat {
    pub(super) chroma: PixelFormat,
    pub(super) depth: BitDepth,
    /// The colours before the conversion.
    pub(super) samples: ColourModel,
    /// Whether `ffmpeg` converts.
    pub(super) converted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColourModel {
    /// YUV or grey, of limited or full range.
    Yuv,
    Rgb,
}

/// The format in which this pixel format is delivered; `None` if it is unknown.
pub(super) fn decoded_format(pixel_format: &str) -> Option<DecodedFormat> {
    let stripped = pixel_format.strip_suffix("le").or_else(|| pixel_format.strip_suffix("be"));
    let big_endian = pixel_format.ends_with("be");
    let of = |chroma, depth, samples, converted| {
        Some(DecodedFormat { chroma, depth, samples, converted: converted || big_endian })
    };
    let base = stripped.unwrap_or(pixel_format);
    if let Some(((chroma, same), alpha, bits)) = planar_yuv(base) {
        let depth = at_least(bits)?;
        return of(chroma, depth, ColourModel::Yuv, alpha || !same || depth.bits() != bits);
    }
    if let Some(bits) = base.strip_prefix("gray") {
        let bits = if bits.is_empty() { 8 } else { bits.parse().ok()? };
        return of(PixelFormat::Yuv420p, at_least(bits)?, ColourModel::Yuv, true);
    }
    if let Some(bits) = base.strip_prefix("gbrap").or_else(|| base.strip_prefix("gbrp")) {
        // Floating point has no exact counterpart; sixteen bits come closest.
        let bits = match bits {
            "" => 8,
            "f32" | "f16" => 16,
            bits => bits.parse().ok()?,
        };
        return of(PixelFormat::Yuv444p, at_least(bits)?, ColourModel::Rgb, true);
    }
    let (chroma, depth, samples) = packed(base)?;
    of(chroma, depth, samples, true)
}

/// The parts of a name such as `yuva422p10`: chroma format (and whether it is the stored one), alpha, bits. A `j` says that
/// the range is full, which does not change the samples.
fn planar_yuv(base: &str) -> Option<((PixelFormat, bool), bool, u32)> {
    let rest = base.strip_prefix("yuvj").or_else(|| base.strip_prefix("yuv"))?;
    let (alpha, rest) = rest.strip_prefix('a').map_or((false, rest), |rest| (true, rest));
    let (sampling, bits) = rest.split_once('p')?;
    let chroma = match sampling {
        "420" => (PixelFormat::Yuv420p, true),
        "422" => (PixelFormat::Yuv422p, true),
        "444" => (PixelFormat::Yuv444p, true),
        "410" => (PixelFormat::Yuv420p, false),
        "411" => (PixelFormat::Yuv422p, false),
        "440" => (PixelFormat::Yuv444p, false),
        _ => return None,
    };
    Some((chroma, alpha, if bits.is_empty() { 8 } else { bits.parse().ok()? }))
}

/// The lowest supported bit depth with at least this many bits.
fn at_least(bits: u32) -> Option<BitDepth> {
    (bits >= 8).then(|| BitDepth::ALL.into_iter().find(|depth| depth.bits() >= bits)).flatten()
}

/// Formats that do not store Y, U and V in three planes, without the suffix for the byte order.
fn packed(base: &str) -> Option<(PixelFormat, BitDepth, ColourModel)> {
    use BitDepth::{Eight, Sixteen, Ten, Twelve};
    use PixelFormat::{Yuv420p, Yuv422p, Yuv444p};
    Some(match base {
        "nv12" | "nv21" | "monow" | "monob" | "ya8" => (Yuv420p, Eight, ColourModel::Yuv),
        "nv16" | "yuyv422" | "uyvy422" | "yvyu422" | "uyyvyy411" => (Yuv422p, Eight, ColourModel::Yuv),
        "nv24" | "nv42" | "vuya" | "vuyx" | "ayuv" | "uyva" | "vyu444" => (Yuv444p, Eight, ColourModel::Yuv),
        "p010" => (Yuv420p, Ten, ColourModel::Yuv),
        "p012" => (Yuv420p, Twelve, ColourModel::Yuv),
        "p016" | "ya16" => (Yuv420p, Sixteen, ColourModel::Yuv),
        "nv20" | "p210" | "y210" => (Yuv422p, Ten, ColourModel::Yuv),
        "p212" | "y212" => (Yuv422p, Twelve, ColourModel::Yuv),
        "p216" | "y216" => (Yuv422p, Sixteen, ColourModel::Yuv),
        "p410" | "xv30" | "v30x" => (Yuv444p, Ten, ColourModel::Yuv),
        "p412" | "xv36" => (Yuv444p, Twelve, ColourModel::Yuv),
        "p416" | "xv48" | "ayuv64" => (Yuv444p, Sixteen, ColourModel::Yuv),
        "rgb24" | "bgr24" | "argb" | "rgba" | "abgr" | "bgra" | "0rgb" | "rgb0" | "0bgr" | "bgr0"
        | "pal8" | "rgb8" | "bgr8" | "rgb4_byte" | "bgr4_byte" | "rgb444" | "bgr444" | "rgb555"
        | "bgr555" | "rgb565" | "bgr565" => (Yuv444p, Eight, ColourModel::Rgb),
        "x2rgb10" | "x2bgr10" => (Yuv444p, Ten, ColourModel::Rgb),
        "xyz12" => (Yuv444p, Twelve, ColourModel::Rgb),
        "rgb48" | "bgr48" | "rgba64" | "bgra64" | "rgb96" | "rgbf32" | "rgbaf32" | "rgbf16" | "rgbaf16" => {
            (Yuv444p, Sixteen, ColourModel::Rgb)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use BitDepth::{Eight, Sixteen, Ten, Twelve};
    use ColourModel::{Rgb, Yuv};
    use PixelFormat::{Yuv420p, Yuv422p, Yuv444p};

    #[rstest]
    fn planar_yuv_is_delivered_unchanged(
        #[values((Yuv420p, "420"), (Yuv422p, "422"), (Yuv444p, "444"))] (chroma, sampling): (
            PixelFormat,
            &str,
        ),
        #[values((Eight, "p"), (Ten, "p10le"), (Twelve, "p12le"), (Sixteen, "p16le"))] (depth, bits): (
            BitDepth,
            &str,
        ),
    ) {
        let format = format!("yuv{sampling}{bits}");
        let expected = DecodedFormat { chroma, depth, samples: Yuv, converted: false };
        assert_eq!(decoded_format(&format), Some(expected));
        if depth == Eight {
            assert_eq!(decoded_format(&format!("yuvj{sampling}p")), Some(expected));
        }
    }

    #[rstest]
    #[case("nv12", Yuv420p, Eight, Yuv)]
    #[case("p010le", Yuv420p, Ten, Yuv)]
    #[case("yuv420p10be", Yuv420p, Ten, Yuv)]
    #[case("yuva420p", Yuv420p, Eight, Yuv)]
    #[case("yuva444p12le", Yuv444p, Twelve, Yuv)]
    #[case("yuv420p9le", Yuv420p, Ten, Yuv)]
    #[case("yuv422p14le", Yuv422p, Sixteen, Yuv)]
    #[case("yuv411p", Yuv422p, Eight, Yuv)]
    #[case("yuv440p", Yuv444p, Eight, Yuv)]
    #[case("yuyv422", Yuv422p, Eight, Yuv)]
    #[case("gray", Yuv420p, Eight, Yuv)]
    #[case("gray10le", Yuv420p, Ten, Yuv)]
    #[case("gbrp", Yuv444p, Eight, Rgb)]
    #[case("gbrp10le", Yuv444p, Ten, Rgb)]
    #[case("gbrapf32le", Yuv444p, Sixteen, Rgb)]
    #[case("rgb48le", Yuv444p, Sixteen, Rgb)]
    #[case("bgr0", Yuv444p, Eight, Rgb)]
    #[case("pal8", Yuv444p, Eight, Rgb)]
    fn other_formats_are_converted_to_the_nearest_that_loses_nothing(
        #[case] format: &str,
        #[case] chroma: PixelFormat,
        #[case] depth: BitDepth,
        #[case] samples: ColourModel,
    ) {
        assert_eq!(decoded_format(format), Some(DecodedFormat { chroma, depth, samples, converted: true }));
    }

    #[rstest]
    #[case("none")]
    #[case("")]
    #[case("yuv420p32le")]
    #[case("yuv420p99999999999")]
    #[case("vaapi")]
    #[case("bayer_rggb8")]
    fn an_unknown_format_is_not_guessed(#[case] format: &str) {
        assert_eq!(decoded_format(format), None);
    }
}
