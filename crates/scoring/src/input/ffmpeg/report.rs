//! Parses the report that `ffmpeg` writes about a file before it decodes. Pure.
//!
//! The text is meant for people, but has hardly changed in fifteen years. Three parts of it are used: the line of each input
//! stream, the mapping that names the chosen stream, and the line of the output stream, which has the size after rotation.

/// The stream that is decoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StreamReport {
    pub(super) demuxer: String,
    pub(super) codec: String,
    /// `None` if the decoder has the name of the codec.
    pub(super) decoder: Option<String>,
    /// As the decoder calls it.
    pub(super) pixel_format: String,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Frames per second.
    pub(super) frame_rate: Option<f64>,
    /// Seconds.
    pub(super) duration: Option<f64>,
    pub(super) colours: Colours,
}

impl StreamReport {
    /// Whether there is a decoder, and the pictures have a size that libvmaf can hold.
    pub(super) fn is_decodable(&self) -> bool {
        let largest = u32::from(u16::MAX);
        self.pixel_format != "none" && self.width <= largest && self.height <= largest
    }
}

/// What a stream says about its colours.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Colours {
    pub(super) matrix: Option<String>,
    pub(super) transfer: Option<String>,
    pub(super) full_range: Option<bool>,
}

/// The line of a video stream.
#[derive(Debug)]
struct Stream<'a> {
    index: u32,
    attached: bool,
    fields: Vec<&'a str>,
    rotation: f64,
}

/// Parses a report; `None` if there is no video stream in it.
pub(super) fn parse(text: &str) -> Option<StreamReport> {
    let (mut demuxer, mut duration, mut mapped, mut output) = (None, None, None, None);
    let mut streams: Vec<Stream<'_>> = Vec::new();
    let mut in_output = false;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Input #0, ") {
            demuxer = rest.split_once(", from ").map(|(name, _)| name);
        } else if line.starts_with("Output #") {
            in_output = true;
        } else if let Some(rest) = line.strip_prefix("Duration: ") {
            duration = duration.or_else(|| seconds(rest.split(',').next().unwrap_or_default()));
        } else if let Some(stream) = video_stream(line) {
            if in_output {
                output = output.or(Some(stream));
            } else {
                streams.push(stream);
            }
        } else if let Some((from, to)) =
            line.strip_prefix("Stream #0:").and_then(|rest| rest.split_once(" -> "))
        {
            mapped = mapped.or_else(|| Some((from.parse::<u32>().ok()?, decoder(to))));
        } else if let (Some(rest), Some(stream)) =
            (line.strip_prefix("displaymatrix: rotation of "), streams.last_mut())
            && !in_output
        {
            stream.rotation = rest.split(' ').next().and_then(|degrees| degrees.parse().ok()).unwrap_or(0.0);
        }
    }
    let chosen = match &mapped {
        Some((index, _)) => streams.iter().find(|stream| stream.index == *index),
        None => streams.iter().find(|stream| !stream.attached),
    }?;
    let (width, height, pixel_format, _) = match output.as_ref().and_then(dimensions) {
        Some(dimensions) => dimensions,
        None => rotated(dimensions(chosen)?, chosen.rotation),
    };
    let details = dimensions(chosen).map(|(_, _, _, details)| details).unwrap_or_default();
    Some(StreamReport {
        demuxer: demuxer.unwrap_or_default().to_owned(),
        codec: chosen.fields.first()?.split(' ').next()?.to_owned(),
        decoder: mapped.and_then(|(_, decoder)| decoder),
        pixel_format: pixel_format.to_owned(),
        width,
        height,
        frame_rate: rate(&chosen.fields, " fps").or_else(|| rate(&chosen.fields, " tbr")),
        duration,
        colours: colours(details),
    })
}

/// The demuxer that recognised a file and is not permitted to read it, from a line such as
/// `[hls @ 0x5600] Format not on whitelist 'mov,…'`.
pub(super) fn refused_demuxer(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.contains("] Format not on whitelist "))?;
    line.trim().strip_prefix('[')?.split([' ', ']']).next()
}

/// A line such as `Stream #0:0[0x1](und): Video: h264 (High), yuv420p(tv), 160x120, 25 fps`.
fn video_stream(line: &str) -> Option<Stream<'_>> {
    let rest = line.strip_prefix("Stream #0:")?;
    let (name, description) = rest.split_once(": Video: ")?;
    let digits = name.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(name.len());
    Some(Stream {
        index: name[..digits].parse().ok()?,
        attached: description.contains("(attached pic)"),
        fields: fields(description),
        rotation: 0.0,
    })
}

/// Splits at the commas outside of brackets.
fn fields(text: &str) -> Vec<&str> {
    let (mut fields, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth <= 0 => {
                fields.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    fields.push(text[start..].trim());
    fields
}

/// Width, height, pixel format and the details in brackets after it. The pixel format is the field before the size.
fn dimensions<'a>(stream: &Stream<'a>) -> Option<(u32, u32, &'a str, &'a str)> {
    let at = stream.fields.iter().position(|field| size(field).is_some())?;
    let (width, height) = size(stream.fields[at])?;
    let format = stream.fields[..at].last().filter(|_| at > 1).copied().unwrap_or_default();
    let (name, details) = format.split_once('(').unwrap_or((format, ""));
    Some((width, height, name.trim(), details.trim_end_matches(')')))
}

/// `1920x1080 [SAR 1:1 DAR 16:9]`.
fn size(field: &str) -> Option<(u32, u32)> {
    let (width, height) = field.split(' ').next()?.split_once('x')?;
    Some((width.parse().ok().filter(|&width| width > 0)?, height.parse().ok().filter(|&height| height > 0)?))
}

/// Swaps width and height if the picture is rotated by a right angle.
fn rotated<'a>(
    (width, height, format, details): (u32, u32, &'a str, &'a str),
    degrees: f64,
) -> (u32, u32, &'a str, &'a str) {
    let quarter = (degrees.abs() - 90.0).abs() < 1.0 || (degrees.abs() - 270.0).abs() < 1.0;
    if quarter { (height, width, format, details) } else { (width, height, format, details) }
}

/// Matrix, transfer function and range from `tv, bt2020nc/bt2020/smpte2084, progressive`. If matrix, primaries and transfer function
/// have the same name, it is written once.
fn colours(details: &str) -> Colours {
    let mut colours = Colours::default();
    let known = |name: Option<&str>| name.filter(|&name| name != "unknown").map(str::to_owned);
    for word in details.split(',').map(str::trim) {
        match word {
            "tv" => colours.full_range = Some(false),
            "pc" => colours.full_range = Some(true),
            "" | "progressive" | "unspecified" | "left" | "center" | "topleft" | "top" | "bottomleft"
            | "bottom" => {}
            word if word.contains(' ') => {}
            word => {
                colours.matrix = known(word.split('/').next());
                colours.transfer = known(word.rsplit('/').next());
            }
        }
    }
    colours
}

/// The decoder from `#0:0 (av1 (libdav1d) -> wrapped_avframe (native))`.
fn decoder(to: &str) -> Option<String> {
    let (_, name) = to.split_once('(')?.1.split_once('(')?;
    let name = name.split(')').next()?;
    (name != "native").then(|| name.to_owned())
}

/// The number before a unit: `25 fps`, `90k tbr`. The report rounds to two digits, hence the way back to the exact
/// rates of television.
fn rate(fields: &[&str], unit: &str) -> Option<f64> {
    let number = fields.iter().find_map(|field| field.strip_suffix(unit))?;
    let (digits, factor) = number.strip_suffix('k').map_or((number, 1.0), |digits| (digits, 1000.0));
    let rate = digits.parse::<f64>().ok()? * factor;
    let exact = [24.0, 30.0, 48.0, 60.0, 120.0, 240.0].map(|nominal: f64| nominal * 1000.0 / 1001.0);
    let rate = exact.into_iter().find(|exact| (exact - rate).abs() < 0.006).unwrap_or(rate);
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// `00:01:02.50`; nothing from `N/A`.
fn seconds(text: &str) -> Option<f64> {
    let mut parts = text.trim().split(':').map(|part| part.parse::<f64>().ok().filter(|part| *part >= 0.0));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    Some(hours * 3600.0 + minutes * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("[hls @ 0x555a] Format not on whitelist 'mov,avi'\nfile:a: Invalid argument\n", Some("hls"))]
    #[case("[in#0 @ 0x1] Error opening input: Invalid argument\n", None)]
    fn a_refused_demuxer_is_named(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(refused_demuxer(text), expected);
    }

    /// A report with this line about the only stream.
    fn report_of(line: &str) -> Option<StreamReport> {
        parse(&format!(
            "Input #0, mov,mp4,m4a,3gp,3g2,mj2, from 'a':\n  Duration: 00:00:10.01, start: 0.0\n  {line}\n"
        ))
    }

    #[rstest]
    #[case::mp4(
        "Stream #0:0[0x1](und): Video: h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709, progressive), 1920x1080 \
         [SAR 1:1 DAR 16:9], 1205 kb/s, 23.98 fps, 23.98 tbr, 24k tbn (default)",
        "h264", "yuv420p", (1920, 1080), Some(24000.0 / 1001.0), (Some("bt709"), Some("bt709")), Some(false)
    )]
    #[case::mkv_hdr(
        "Stream #0:0: Video: hevc (Main 10), yuv420p10le(tv, bt2020nc/bt2020/smpte2084, progressive), 3840x2160, \
         SAR 1:1 DAR 16:9, 59.94 fps, 59.94 tbr, 1k tbn",
        "hevc", "yuv420p10le", (3840, 2160), Some(60000.0 / 1001.0), (Some("bt2020nc"), Some("smpte2084")), Some(false)
    )]
    #[case::hybrid_log_gamma(
        "Stream #0:1[0x2](eng): Video: hevc (Main 10) (hvc1 / 0x31637668), yuv420p10le(tv, \
         bt2020nc/bt2020/arib-std-b67), 1920x1080, 9000 kb/s, 50 fps, 50 tbr, 600 tbn (default)",
        "hevc", "yuv420p10le", (1920, 1080), Some(50.0), (Some("bt2020nc"), Some("arib-std-b67")), Some(false)
    )]
    #[case::transport_stream(
        "Stream #0:0[0x100]: Video: h264 (High) ([27][0][0][0] / 0x001B), yuv420p(progressive), 160x120 [SAR 1:1 DAR \
         4:3], 25 fps, 25 tbr, 90k tbn",
        "h264", "yuv420p", (160, 120), Some(25.0), (None, None), None
    )]
    #[case::motion_jpeg(
        "Stream #0:0: Video: mjpeg (Baseline) (MJPG / 0x47504A4D), yuvj420p(pc, bt470bg/unknown/unknown), 160x120 [SAR \
         1:1 DAR 4:3], 1425 kb/s, 25 fps, 25 tbr, 25 tbn",
        "mjpeg", "yuvj420p", (160, 120), Some(25.0), (Some("bt470bg"), None), Some(true)
    )]
    #[case::interlaced(
        "Stream #0:0[0x1e0]: Video: mpeg2video (Main), yuv420p(tv, smpte170m, top first), 720x480 [SAR 8:9 DAR 4:3], \
         29.97 fps, 29.97 tbr, 90k tbn",
        "mpeg2video", "yuv420p", (720, 480), Some(30000.0 / 1001.0), (Some("smpte170m"), Some("smpte170m")), Some(false)
    )]
    #[case::no_rate_but_a_guess(
        "Stream #0:0(eng): Video: vp9 (Profile 2), yuv420p12le(tv, gbr/unknown/bt709), 640x360, 1k tbr, 1k tbn",
        "vp9", "yuv420p12le", (640, 360), Some(1000.0), (Some("gbr"), Some("bt709")), Some(false)
    )]
    #[case::fewer_bits_than_stored(
        "Stream #0:0[0x1]: Video: prores (HQ) (apch / 0x68637061), yuv422p10le(10 bpc, pc, left), 64x64, 5 fps, 5 tbr",
        "prores", "yuv422p10le", (64, 64), Some(5.0), (None, None), Some(true)
    )]
    #[case::without_pixel_format(
        "Stream #0:0: Video: av1, none, 64x64, 25 fps, 25 tbr, 1k tbn",
        "av1", "none", (64, 64), Some(25.0), (None, None), None
    )]
    fn real_lines_are_parsed(
        #[case] line: &str,
        #[case] codec: &str,
        #[case] pixel_format: &str,
        #[case] (width, height): (u32, u32),
        #[case] frame_rate: Option<f64>,
        #[case] (matrix, transfer): (Option<&str>, Option<&str>),
        #[case] full_range: Option<bool>,
    ) {
        let expected = StreamReport {
            demuxer: "mov,mp4,m4a,3gp,3g2,mj2".to_owned(),
            codec: codec.to_owned(),
            decoder: None,
            pixel_format: pixel_format.to_owned(),
            width,
            height,
            frame_rate,
            duration: Some(10.01),
            colours: Colours {
                matrix: matrix.map(str::to_owned),
                transfer: transfer.map(str::to_owned),
                full_range,
            },
        };
        assert_eq!(report_of(line), Some(expected));
    }

    const COVER: &str = "Stream #0:0[0x0]: Video: png, rgb24(pc), 64x64, 90k tbr, 90k tbn (attached pic)";
    const VIDEO: &str = "Stream #0:1[0x2](und): Video: av1 (Main), yuv420p(tv), 160x120, 25 fps, 25 tbr";

    #[test]
    fn the_mapping_names_the_stream_and_the_decoder() {
        let mapping = "Stream mapping:\n  Stream #0:1 -> #0:0 (av1 (libdav1d) -> wrapped_avframe (native))";
        let report = parse(&format!("{COVER}\n{VIDEO}\n{mapping}")).unwrap();
        assert_eq!((report.codec.as_str(), report.decoder.as_deref()), ("av1", Some("libdav1d")));
    }

    #[test]
    fn without_a_mapping_a_cover_picture_is_ignored() {
        assert_eq!(parse(&format!("{COVER}\n{VIDEO}")).unwrap().codec, "av1");
        assert_eq!(parse(COVER), None);
    }

    #[rstest]
    #[case("90.00", (120, 160))]
    #[case("-90.00", (120, 160))]
    #[case("180.00", (160, 120))]
    #[case("-0.00", (160, 120))]
    fn rotation_swaps_width_and_height(#[case] degrees: &str, #[case] expected: (u32, u32)) {
        let text = format!("{VIDEO}\n    Side data:\n      displaymatrix: rotation of {degrees} degrees\n");
        let report = parse(&text).unwrap();
        assert_eq!((report.width, report.height), expected);
    }

    #[test]
    fn size_and_pixel_format_are_those_of_the_output() {
        let output = "Output #0, null, to 'pipe:':\n  Stream #0:0(und): Video: wrapped_avframe, yuv420p, 120x160 [SAR \
                      1:1 DAR 3:4], q=2-31, 200 kb/s, 25 fps, 25 tbn (default)";
        let report = parse(&format!("{VIDEO}\n{output}")).unwrap();
        assert_eq!((report.codec.as_str(), report.width, report.height), ("av1", 120, 160));
        assert_eq!(report.colours.full_range, Some(false));
    }

    #[test]
    fn sound_and_malformed_lines_are_not_video() {
        assert_eq!(report_of("Stream #0:0[0x101]: Audio: mp2, 44100 Hz, mono, fltp, 384 kb/s"), None);
        assert_eq!(report_of("Stream #0:0: Video: h264 (High), yuv420p(tv"), None);
        assert_eq!(parse(""), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(Stream #0:|: Video: |, |\\(|\\)|[0-9]{1,12}x[0-9]{1,12}|[0-9.k]{1,6} fps|\n|\\PC){0,40}") {
            _ = parse(&text);
        }
    }
}
