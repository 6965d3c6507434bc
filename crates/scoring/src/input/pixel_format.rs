//! Which planar YUV format stands for each pixel format of a decoder. Pure.
//!
//! What is planar YUV already arrives as it is. The rest is converted by `ffmpeg` to the nearest format that loses
//! nothing: other memory layouts to planes, odd depths to the next larger one, sparser chroma to the next denser one, RGB
//! to 4:4:4, grey to 4:2:0 with neutral chroma.

use crate::picture::{Chroma, Depth, Format};

/// How a decoder's pixel format is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    /// Chroma sampling that arrives.
    pub(super) chroma: Chroma,
    /// Depth that arrives.
    pub(super) depth: Depth,
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

/// The name by which `ffmpeg` delivers such pictures.
pub(super) const fn name(format: Format) -> &'static str {
    match (format.chroma, format.depth) {
        (Chroma::C420, Depth::Eight) => "yuv420p",
        (Chroma::C422, Depth::Eight) => "yuv422p",
        (Chroma::C444, Depth::Eight) => "yuv444p",
        (Chroma::C420, Depth::Ten) => "yuv420p10le",
        (Chroma::C422, Depth::Ten) => "yuv422p10le",
        (Chroma::C444, Depth::Ten) => "yuv444p10le",
        (Chroma::C420, Depth::Twelve) => "yuv420p12le",
        (Chroma::C422, Depth::Twelve) => "yuv422p12le",
        (Chroma::C444, Depth::Twelve) => "yuv444p12le",
        (Chroma::C420, Depth::Sixteen) => "yuv420p16le",
        (Chroma::C422, Depth::Sixteen) => "yuv422p16le",
        (Chroma::C444, Depth::Sixteen) => "yuv444p16le",
    }
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
        return of(Chroma::C420, at_least(bits)?, Samples::Yuv, true);
    }
    if let Some(bits) = base.strip_prefix("gbrap").or_else(|| base.strip_prefix("gbrp")) {
        // Floating point has no exact counterpart; sixteen bits come closest.
        let bits = match bits {
            "" => 8,
            "f32" | "f16" => 16,
            bits => bits.parse().ok()?,
        };
        return of(Chroma::C444, at_least(bits)?, Samples::Rgb, true);
    }
    let (chroma, depth, samples) = packed(base)?;
    of(chroma, depth, samples, true)
}

/// The parts of a name such as `yuva422p10`: sampling (and whether it is one of ours), alpha, bits. A `j` says that the
/// range is full, which changes nothing about the samples.
fn planar_yuv(base: &str) -> Option<((Chroma, bool), bool, u32)> {
    let rest = base.strip_prefix("yuvj").or_else(|| base.strip_prefix("yuv"))?;
    let (alpha, rest) = rest.strip_prefix('a').map_or((false, rest), |rest| (true, rest));
    let (sampling, bits) = rest.split_once('p')?;
    let chroma = match sampling {
        "420" => (Chroma::C420, true),
        "422" => (Chroma::C422, true),
        "444" => (Chroma::C444, true),
        "410" => (Chroma::C420, false),
        "411" => (Chroma::C422, false),
        "440" => (Chroma::C444, false),
        _ => return None,
    };
    Some((chroma, alpha, if bits.is_empty() { 8 } else { bits.parse().ok()? }))
}

/// The smallest depth of ours with so many bits.
fn at_least(bits: u32) -> Option<Depth> {
    (bits >= 8).then(|| Depth::ALL.into_iter().find(|depth| depth.bits() >= bits)).flatten()
}

/// Formats that do not keep Y, U and V apart, without the order of their bytes.
fn packed(base: &str) -> Option<(Chroma, Depth, Samples)> {
    use Chroma::{C420, C422, C444};
    use Depth::{Eight, Sixteen, Ten, Twelve};
    Some(match base {
        "nv12" | "nv21" | "monow" | "monob" | "ya8" => (C420, Eight, Samples::Yuv),
        "nv16" | "yuyv422" | "uyvy422" | "yvyu422" | "uyyvyy411" => (C422, Eight, Samples::Yuv),
        "nv24" | "nv42" | "vuya" | "vuyx" | "ayuv" | "uyva" | "vyu444" => (C444, Eight, Samples::Yuv),
        "p010" => (C420, Ten, Samples::Yuv),
        "p012" => (C420, Twelve, Samples::Yuv),
        "p016" | "ya16" => (C420, Sixteen, Samples::Yuv),
        "nv20" | "p210" | "y210" => (C422, Ten, Samples::Yuv),
        "p212" | "y212" => (C422, Twelve, Samples::Yuv),
        "p216" | "y216" => (C422, Sixteen, Samples::Yuv),
        "p410" | "xv30" | "v30x" => (C444, Ten, Samples::Yuv),
        "p412" | "xv36" => (C444, Twelve, Samples::Yuv),
        "p416" | "xv48" | "ayuv64" => (C444, Sixteen, Samples::Yuv),
        "rgb24" | "bgr24" | "argb" | "rgba" | "abgr" | "bgra" | "0rgb" | "rgb0" | "0bgr" | "bgr0"
        | "pal8" | "rgb8" | "bgr8" | "rgb4_byte" | "bgr4_byte" | "rgb444" | "bgr444" | "rgb555"
        | "bgr555" | "rgb565" | "bgr565" => (C444, Eight, Samples::Rgb),
        "x2rgb10" | "x2bgr10" => (C444, Ten, Samples::Rgb),
        "xyz12" => (C444, Twelve, Samples::Rgb),
        "rgb48" | "bgr48" | "rgba64" | "bgra64" | "rgb96" | "rgbf32" | "rgbaf32" | "rgbf16" | "rgbaf16" => {
            (C444, Sixteen, Samples::Rgb)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use Chroma::{C420, C422, C444};
    use Depth::{Eight, Sixteen, Ten, Twelve};
    use Samples::{Rgb, Yuv};

    #[rstest]
    fn what_is_planar_already_arrives_as_it_is(
        #[values((C420, "420"), (C422, "422"), (C444, "444"))] (chroma, sampling): (Chroma, &str),
        #[values((Eight, "p"), (Ten, "p10le"), (Twelve, "p12le"), (Sixteen, "p16le"))] (depth, bits): (
            Depth,
            &str,
        ),
    ) {
        let format = format!("yuv{sampling}{bits}");
        let expected = Delivery { chroma, depth, samples: Yuv, converted: false };
        assert_eq!(delivery(&format), Some(expected));
        assert_eq!(name(Format { width: 2, height: 2, chroma, depth }), format);
        if depth == Eight {
            assert_eq!(delivery(&format!("yuvj{sampling}p")), Some(expected));
        }
    }

    #[rstest]
    #[case("nv12", C420, Eight, Yuv)]
    #[case("p010le", C420, Ten, Yuv)]
    #[case("yuv420p10be", C420, Ten, Yuv)]
    #[case("yuva420p", C420, Eight, Yuv)]
    #[case("yuva444p12le", C444, Twelve, Yuv)]
    #[case("yuv420p9le", C420, Ten, Yuv)]
    #[case("yuv422p14le", C422, Sixteen, Yuv)]
    #[case("yuv411p", C422, Eight, Yuv)]
    #[case("yuv440p", C444, Eight, Yuv)]
    #[case("yuyv422", C422, Eight, Yuv)]
    #[case("gray", C420, Eight, Yuv)]
    #[case("gray10le", C420, Ten, Yuv)]
    #[case("gbrp", C444, Eight, Rgb)]
    #[case("gbrp10le", C444, Ten, Rgb)]
    #[case("gbrapf32le", C444, Sixteen, Rgb)]
    #[case("rgb48le", C444, Sixteen, Rgb)]
    #[case("bgr0", C444, Eight, Rgb)]
    #[case("pal8", C444, Eight, Rgb)]
    fn the_rest_becomes_the_nearest_that_loses_nothing(
        #[case] format: &str,
        #[case] chroma: Chroma,
        #[case] depth: Depth,
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
