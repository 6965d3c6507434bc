//! Which planar YUV format stands for each pixel format of a decoder. Pure.
//!
//! What is planar YUV already arrives as it is. The rest is converted by `ffmpeg` to the nearest format that loses
//! nothing: other memory layouts to planes, odd depths to the next larger one, sparser chroma to the next denser one, RGB
//! to 4:4:4, grey to 4:2:0 with neutral chroma.

use vmafx_job::{BitDepth, PixelFormat};

/// How a decoder's pixel format is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    /// Chroma sampling that arrives.
    pub(super) chroma: PixelFormat,
    /// Bit depth that arrives.
    pub(super) depth: BitDepth,
    /// What kind of samples the decoder has.
    pub(super) samples: Samples,
    /// Whether `ffmpeg` has to convert.
    pub(super) converted: bool,
}

/// What the samples of a decoder are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Samples {
    /// YUV or grey, of limited or full range.
    Yuv,
    /// Red, green and blue.
    Rgb,
}

/// How this pixel format of a decoder arrives; nothing for one that we do not know.
pub(super) fn delivery(pixel_format: &str) -> Option<Delivery> {
    let plain = pixel_format.strip_suffix("le").or_else(|| pixel_format.strip_suffix("be"));
    let big_endian = pixel_format.ends_with("be");
    let of = |chroma, depth, samples, converted| {
        Some(Delivery { chroma, depth, samples, converted: converted || big_endian })
    };
    let base = plain.unwrap_or(pixel_format);
    if let Some(((chroma, same), alpha, bits)) = planar_yuv(base) {
        let depth = at_least(bits)?;
        return of(chroma, depth, Samples::Yuv, alpha || !same || depth.bits() != bits);
    }
    if let Some(bits) = base.strip_prefix("gray") {
        let bits = if bits.is_empty() { 8 } else { bits.parse().ok()? };
        return of(PixelFormat::Yuv420p, at_least(bits)?, Samples::Yuv, true);
    }
    if let Some(bits) = base.strip_prefix("gbrap").or_else(|| base.strip_prefix("gbrp")) {
        // Floating point has no exact counterpart; sixteen bits come closest.
        let bits = match bits {
            "" => 8,
            "f32" | "f16" => 16,
            bits => bits.parse().ok()?,
        };
        return of(PixelFormat::Yuv444p, at_least(bits)?, Samples::Rgb, true);
    }
    let (chroma, depth, samples) = packed(base)?;
    of(chroma, depth, samples, true)
}

/// The parts of a name such as `yuva422p10`: sampling (and whether it is one of ours), alpha, bits. A `j` says that the
/// range is full, which changes nothing about the samples.
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

/// The smallest depth of ours with so many bits.
fn at_least(bits: u32) -> Option<BitDepth> {
    (bits >= 8).then(|| BitDepth::ALL.into_iter().find(|depth| depth.bits() >= bits)).flatten()
}

/// Formats that do not keep Y, U and V apart, without the order of their bytes.
fn packed(base: &str) -> Option<(PixelFormat, BitDepth, Samples)> {
    use BitDepth::{Eight, Sixteen, Ten, Twelve};
    use PixelFormat::{Yuv420p, Yuv422p, Yuv444p};
    Some(match base {
        "nv12" | "nv21" | "monow" | "monob" | "ya8" => (Yuv420p, Eight, Samples::Yuv),
        "nv16" | "yuyv422" | "uyvy422" | "yvyu422" | "uyyvyy411" => (Yuv422p, Eight, Samples::Yuv),
        "nv24" | "nv42" | "vuya" | "vuyx" | "ayuv" | "uyva" | "vyu444" => (Yuv444p, Eight, Samples::Yuv),
        "p010" => (Yuv420p, Ten, Samples::Yuv),
        "p012" => (Yuv420p, Twelve, Samples::Yuv),
        "p016" | "ya16" => (Yuv420p, Sixteen, Samples::Yuv),
        "nv20" | "p210" | "y210" => (Yuv422p, Ten, Samples::Yuv),
        "p212" | "y212" => (Yuv422p, Twelve, Samples::Yuv),
        "p216" | "y216" => (Yuv422p, Sixteen, Samples::Yuv),
        "p410" | "xv30" | "v30x" => (Yuv444p, Ten, Samples::Yuv),
        "p412" | "xv36" => (Yuv444p, Twelve, Samples::Yuv),
        "p416" | "xv48" | "ayuv64" => (Yuv444p, Sixteen, Samples::Yuv),
        "rgb24" | "bgr24" | "argb" | "rgba" | "abgr" | "bgra" | "0rgb" | "rgb0" | "0bgr" | "bgr0"
        | "pal8" | "rgb8" | "bgr8" | "rgb4_byte" | "bgr4_byte" | "rgb444" | "bgr444" | "rgb555"
        | "bgr555" | "rgb565" | "bgr565" => (Yuv444p, Eight, Samples::Rgb),
        "x2rgb10" | "x2bgr10" => (Yuv444p, Ten, Samples::Rgb),
        "xyz12" => (Yuv444p, Twelve, Samples::Rgb),
        "rgb48" | "bgr48" | "rgba64" | "bgra64" | "rgb96" | "rgbf32" | "rgbaf32" | "rgbf16" | "rgbaf16" => {
            (Yuv444p, Sixteen, Samples::Rgb)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use BitDepth::{Eight, Sixteen, Ten, Twelve};
    use PixelFormat::{Yuv420p, Yuv422p, Yuv444p};
    use Samples::{Rgb, Yuv};

    #[rstest]
    fn what_is_planar_already_arrives_as_it_is(
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
        let expected = Delivery { chroma, depth, samples: Yuv, converted: false };
        assert_eq!(delivery(&format), Some(expected));
        if depth == Eight {
            assert_eq!(delivery(&format!("yuvj{sampling}p")), Some(expected));
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
    fn the_rest_becomes_the_nearest_that_loses_nothing(
        #[case] format: &str,
        #[case] chroma: PixelFormat,
        #[case] depth: BitDepth,
        #[case] samples: Samples,
    ) {
        assert_eq!(delivery(format), Some(Delivery { chroma, depth, samples, converted: true }));
    }

    #[rstest]
    #[case("none")]
    #[case("")]
    #[case("yuv420p32le")]
    #[case("yuv420p99999999999")]
    #[case("vaapi")]
    #[case("bayer_rggb8")]
    fn an_unknown_format_is_not_guessed(#[case] format: &str) {
        assert_eq!(delivery(format), None);
    }
}
