//! The header line of a Y4M file. Pure.

use vmafx_job::{BitDepth, PixelFormat};

use crate::picture::PictureFormat;

pub(in crate::input) const MAGIC: &[u8] = b"YUV4MPEG2 ";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::input) struct Y4mHeader {
    pub(in crate::input) format: PictureFormat,
    /// Frames per second.
    pub(in crate::input) frame_rate: Option<f64>,
    pub(in crate::input) full_range: Option<bool>,
}

impl Y4mHeader {
    /// Parses the line without its line feed. The error says what is wrong and what to do.
    ///
    /// Interlaced content is accepted: both clips of a comparison have their fields in the same rows.
    pub(in crate::input) fn parse(line: &[u8]) -> Result<Self, String> {
        let line = std::str::from_utf8(line).map_err(|_| "it is not text".to_owned())?;
        let mut words = line.split(' ');
        if words.next() != Some("YUV4MPEG2") {
            return Err("it does not begin with YUV4MPEG2".to_owned());
        }
        let (mut width, mut height, mut sampling, mut frame_rate) = (None, None, None, None);
        let (mut extended_sampling, mut full_range) = (None, None);
        for word in words.filter(|word| !word.is_empty()) {
            let mut letters = word.chars();
            let tag = letters.next();
            let value = letters.as_str();
            match tag {
                Some('W') => once(&mut width, "width", size("width", value)?)?,
                Some('H') => once(&mut height, "height", size("height", value)?)?,
                Some('C') => once(&mut sampling, "colour space", value)?,
                Some('F') => frame_rate = ratio(value)?,
                Some('X') => match value.split_once('=') {
                    Some(("YSCSS", value)) => extended_sampling = Some(value),
                    Some(("COLORRANGE", "FULL")) => full_range = Some(true),
                    Some(("COLORRANGE", "LIMITED")) => full_range = Some(false),
                    _ => {}
                },
                // Interlacing, aspect ratio and unknown parameters do not affect the samples.
                _ => {}
            }
        }
        let (chroma, depth) = sampling_of(sampling.or(extended_sampling).unwrap_or("420"))?;
        Ok(Self {
            format: PictureFormat {
                width: width.ok_or("it has no width (W)")?,
                height: height.ok_or("it has no height (H)")?,
                chroma,
                depth,
            },
            frame_rate,
            full_range,
        })
    }
}

/// Stores a value that may be given only once: if there are two sizes, one is wrong, and it is unknown which.
fn once<T>(slot: &mut Option<T>, name: &str, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("it gives the {name} twice")),
    }
}

/// A width or height. The limit keeps a damaged header from requesting more memory than there is.
fn size(name: &str, value: &str) -> Result<u32, String> {
    match value.parse::<u16>() {
        Ok(size) if size > 0 && value.bytes().all(|byte| byte.is_ascii_digit()) => Ok(u32::from(size)),
        _ => Err(format!("the {name} is \"{}\", not a number from 1 to 65535", value.escape_debug())),
    }
}

/// Frames per second from `25:1`; `None` from `0:0`, which means unknown.
fn ratio(value: &str) -> Result<Option<f64>, String> {
    let parse = || {
        let (numerator, denominator) = value.split_once(':')?;
        Some((numerator.parse::<u32>().ok()?, denominator.parse::<u32>().ok()?))
    };
    let (numerator, denominator) = parse()
        .ok_or_else(|| format!("the frame rate is \"{}\", not a ratio such as 25:1", value.escape_debug()))?;
    Ok((numerator > 0 && denominator > 0).then(|| f64::from(numerator) / f64::from(denominator)))
}

/// Chroma format and bit depth by name. Where chroma samples are located does not matter, because samples are compared as
/// they are stored.
fn sampling_of(name: &str) -> Result<(PixelFormat, BitDepth), String> {
    let lower = name.to_ascii_lowercase();
    let (chroma, rest) = match lower.get(..3) {
        Some("420") => (PixelFormat::Yuv420p, &lower[3..]),
        Some("422") => (PixelFormat::Yuv422p, &lower[3..]),
        Some("444") => (PixelFormat::Yuv444p, &lower[3..]),
        _ => return Err(unsupported(name)),
    };
    let depth = match (chroma, rest) {
        (_, "") | (PixelFormat::Yuv420p, "jpeg" | "mpeg2" | "paldv") => BitDepth::Eight,
        (_, "p10") => BitDepth::Ten,
        (_, "p12") => BitDepth::Twelve,
        (_, "p16") => BitDepth::Sixteen,
        _ => return Err(unsupported(name)),
    };
    Ok((chroma, depth))
}

fn unsupported(name: &str) -> String {
    let what = if name.starts_with("mono") { "has no chroma" } else { "cannot be scored" };
    format!(
        "its colour space \"{}\" {what}; convert the file to 4:2:0, 4:2:2 or 4:4:4 with 8, 10, 12 or 16 bits, for \
         example with ffmpeg -i IN.y4m -pix_fmt yuv420p OUT.y4m",
        name.escape_debug()
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("YUV4MPEG2 W352 H288 F30000:1001 Ip A128:117 C420jpeg", PixelFormat::Yuv420p, BitDepth::Eight)]
    #[case(
        "YUV4MPEG2 W352 H288 F25:1 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2",
        PixelFormat::Yuv420p,
        BitDepth::Eight
    )]
    #[case("YUV4MPEG2 W352 H288 F25:1 Ib C420paldv XYSCSS=420PALDV", PixelFormat::Yuv420p, BitDepth::Eight)]
    #[case("YUV4MPEG2 W352 H288 F25:1", PixelFormat::Yuv420p, BitDepth::Eight)]
    #[case("YUV4MPEG2 W352 H288 F25:1 C422", PixelFormat::Yuv422p, BitDepth::Eight)]
    #[case("YUV4MPEG2 W352 H288 C444 XCOLORRANGE=LIMITED", PixelFormat::Yuv444p, BitDepth::Eight)]
    #[case("YUV4MPEG2 W352 H288 F25:1 Ip A0:0 C420p10 XYSCSS=420P10", PixelFormat::Yuv420p, BitDepth::Ten)]
    #[case("YUV4MPEG2 W352 H288 XYSCSS=422P12", PixelFormat::Yuv422p, BitDepth::Twelve)]
    #[case("YUV4MPEG2  H288 W352  C444p16 ", PixelFormat::Yuv444p, BitDepth::Sixteen)]
    fn headers_of_real_programs_are_parsed(
        #[case] line: &str,
        #[case] chroma: PixelFormat,
        #[case] depth: BitDepth,
    ) {
        let format = PictureFormat { width: 352, height: 288, chroma, depth };
        assert_eq!(Y4mHeader::parse(line.as_bytes()).unwrap().format, format);
    }

    #[rstest]
    #[case("", "YUV4MPEG2")]
    #[case("YUV4MPEG W1 H1", "YUV4MPEG2")]
    #[case("YUV4MPEG2 H288", "no width")]
    #[case("YUV4MPEG2 W352", "no height")]
    #[case("YUV4MPEG2 W0 H288", "the width is \"0\"")]
    #[case("YUV4MPEG2 W-1 H288", "the width is \"-1\"")]
    #[case("YUV4MPEG2 W+9 H288", "the width is \"+9\"")]
    #[case("YUV4MPEG2 W352 H65536", "the height is \"65536\"")]
    #[case("YUV4MPEG2 W352 H99999999999999999999", "the height is")]
    #[case("YUV4MPEG2 W352 W176 H288", "gives the width twice")]
    #[case("YUV4MPEG2 W352 H288 F25", "not a ratio such as 25:1")]
    #[case("YUV4MPEG2 W352 H288 Cmono", "has no chroma; convert")]
    #[case("YUV4MPEG2 W352 H288 Cmono10", "has no chroma; convert")]
    #[case("YUV4MPEG2 W352 H288 C411", "cannot be scored; convert")]
    #[case("YUV4MPEG2 W352 H288 C444alpha", "cannot be scored; convert")]
    #[case("YUV4MPEG2 W352 H288 C420p9", "cannot be scored; convert")]
    #[case("YUV4MPEG2 W352 H288 C422jpeg", "cannot be scored; convert")]
    #[case("YUV4MPEG2 W352 H288 C\u{fc}\u{fc}", "cannot be scored; convert")]
    fn an_unusable_header_is_refused_with_the_reason(#[case] line: &str, #[case] reason: &str) {
        let problem = Y4mHeader::parse(line.as_bytes()).unwrap_err();
        assert!(problem.contains(reason), "{problem}");
    }

    #[test]
    fn frame_rate_and_range_are_parsed() {
        let header = Y4mHeader::parse(b"YUV4MPEG2 W2 H2 F30000:1001 XCOLORRANGE=FULL").unwrap();
        assert_eq!((header.frame_rate, header.full_range), (Some(30_000.0 / 1001.0), Some(true)));
        for unknown in ["F0:0", "F25:0", "F0:1", ""] {
            let header = Y4mHeader::parse(format!("YUV4MPEG2 W2 H2 {unknown}").as_bytes()).unwrap();
            assert_eq!((header.frame_rate, header.full_range), (None, None), "{unknown}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_promise_an_absurd_size(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let line = [MAGIC, &line].concat();
            if let Ok(header) = Y4mHeader::parse(&line) {
                prop_assert!(header.format.width <= 65_535 && header.format.height <= 65_535);
            }
        }
    }
}
