//! Values of options, parsed once and right from then on.

use std::str::FromStr;

use vmafx_job::{BitDepth as Depth, FrameSize, PixelFormat as Chroma, ScaleTo};

/// The size of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// How samples are stored in a raw file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelFormat {
    /// Chroma sampling.
    pub chroma: Chroma,
    /// Bits per sample.
    pub depth: Depth,
}

/// A value that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// No size.
    #[error("a size is written WIDTHxHEIGHT, such as 1920x1080")]
    Size,
    /// No pixel format that is known.
    #[error("known are yuv420p, yuv422p and yuv444p, each also with 10le, 12le or 16le behind it")]
    PixelFormat,
    /// No target for scaling.
    #[error("use reference, distorted, never, or a size such as 1920x1080")]
    ScaleTo,
    /// No number, or none that makes sense.
    #[error("a number {0} is needed")]
    Number(&'static str),
}

impl FromStr for Size {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (width, height) = text.split_once(['x', 'X']).ok_or(ValueError::Size)?;
        let side = |text: &str| text.parse().ok().filter(|side| *side > 0).ok_or(ValueError::Size);
        Ok(Self { width: side(width)?, height: side(height)? })
    }
}

impl FromStr for PixelFormat {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known =
            [("yuv420p", Chroma::Yuv420p), ("yuv422p", Chroma::Yuv422p), ("yuv444p", Chroma::Yuv444p)];
        known
            .into_iter()
            .find_map(|(name, chroma)| Some((chroma, text.strip_prefix(name)?)))
            .and_then(|(chroma, rest)| {
                let depth = match rest {
                    "" => Depth::Eight,
                    "10le" => Depth::Ten,
                    "12le" => Depth::Twelve,
                    "16le" => Depth::Sixteen,
                    _ => return None,
                };
                Some(Self { chroma, depth })
            })
            .ok_or(ValueError::PixelFormat)
    }
}

/// The size in which clips are compared, by a word or a size.
pub(crate) fn scale_to(text: &str) -> Result<ScaleTo, ValueError> {
    match text {
        "reference" => Ok(ScaleTo::Reference),
        "distorted" => Ok(ScaleTo::Distorted),
        "never" => Ok(ScaleTo::Never),
        size => match size.parse() {
            Ok(Size { width, height }) => Ok(ScaleTo::Size(FrameSize { width, height })),
            Err(_) => Err(ValueError::ScaleTo),
        },
    }
}

/// A frame rate: a number above zero, or a fraction such as 30000/1001.
pub(super) fn rate(text: &str) -> Result<f64, ValueError> {
    let parse = |text: &str| text.parse::<f64>().ok();
    let value = match text.split_once('/') {
        Some((top, bottom)) => parse(top).zip(parse(bottom)).map(|(top, bottom)| top / bottom),
        None => parse(text),
    };
    value
        .filter(|rate| rate.is_finite() && *rate > 0.0)
        .ok_or(ValueError::Number("above zero, or a fraction,"))
}

/// A score that can be compared with.
pub(crate) fn score(text: &str) -> Result<f64, ValueError> {
    // A bar that is not a number would let everything pass.
    text.parse().ok().filter(|score: &f64| score.is_finite()).ok_or(ValueError::Number("such as 93"))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // What was written is what must be read.
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn sizes_are_written_with_an_x() {
        assert_eq!("1920x1080".parse(), Ok(Size { width: 1920, height: 1080 }));
        assert_eq!(scale_to("640X360"), Ok(ScaleTo::Size(FrameSize { width: 640, height: 360 })));
    }

    #[rstest]
    #[case("")]
    #[case("1920")]
    #[case("1920x")]
    #[case("0x1080")]
    #[case("-1x5")]
    #[case("1920x1080x3")]
    #[case("99999999999x1")]
    fn what_is_no_size_is_refused(#[case] text: &str) {
        assert_eq!(text.parse::<Size>(), Err(ValueError::Size));
        assert_eq!(scale_to(text), Err(ValueError::ScaleTo));
    }

    #[rstest]
    #[case("yuv420p", Chroma::Yuv420p, Depth::Eight)]
    #[case("yuv422p10le", Chroma::Yuv422p, Depth::Ten)]
    #[case("yuv444p12le", Chroma::Yuv444p, Depth::Twelve)]
    #[case("yuv420p16le", Chroma::Yuv420p, Depth::Sixteen)]
    fn pixel_formats_have_the_names_of_ffmpeg(
        #[case] text: &str,
        #[case] chroma: Chroma,
        #[case] depth: Depth,
    ) {
        assert_eq!(text.parse(), Ok(PixelFormat { chroma, depth }));
    }

    #[rstest]
    #[case("yuv420p10be")]
    #[case("yuv420p9le")]
    #[case("nv12")]
    #[case("")]
    fn a_format_that_would_be_misread_is_refused(#[case] text: &str) {
        assert_eq!(text.parse::<PixelFormat>(), Err(ValueError::PixelFormat));
    }

    #[rstest]
    #[case("25", Some(25.0))]
    #[case("30000/1001", Some(30000.0 / 1001.0))]
    #[case("1/0", None)]
    #[case("0", None)]
    #[case("nan", None)]
    #[case("-25", None)]
    fn frame_rates_are_numbers_or_fractions(#[case] text: &str, #[case] expected: Option<f64>) {
        assert_eq!(rate(text).ok(), expected);
    }

    #[rstest]
    #[case("93.5", true)]
    #[case("nan", false)]
    #[case("inf", false)]
    #[case("high", false)]
    fn a_bar_is_a_number(#[case] text: &str, #[case] good: bool) {
        assert_eq!(score(text).is_ok(), good);
    }
}
