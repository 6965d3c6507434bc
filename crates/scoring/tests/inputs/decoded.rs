//! Clips that `ffmpeg` decodes: every frame is delivered, with the samples that `ffmpeg` itself writes.

use rstest::rstest;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::input::{Clip, ScaleFilter, probe};

use crate::support::{TestDirectory, format, read, read_whole, tools};

#[rstest]
#[case::h264("a.mp4", "h264", BitDepth::Eight, &["-c:v", "libx264", "-pix_fmt", "yuv420p"])]
#[case::h264_deep("a.mkv", "h264", BitDepth::Ten, &["-c:v", "libx264", "-pix_fmt", "yuv420p10le"])]
#[case::hevc("a.mp4", "hevc", BitDepth::Eight, &["-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p"])]
#[case::hevc_deep("a.mp4", "hevc", BitDepth::Ten, &["-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"])]
#[case::vp9("a.webm", "vp9", BitDepth::Eight, &["-c:v", "libvpx-vp9", "-deadline", "realtime", "-pix_fmt", "yuv420p"])]
#[case::ffv1("a.mkv", "ffv1", BitDepth::Sixteen, &["-c:v", "ffv1", "-pix_fmt", "yuv420p16le"])]
#[case::elementary_stream("a.264", "h264", BitDepth::Eight, &["-c:v", "libx264", "-pix_fmt", "yuv420p"])]
fn every_codec_delivers_what_it_decodes(
    #[case] name: &str,
    #[case] codec: &str,
    #[case] depth: BitDepth,
    #[case] arguments: &[&str],
) {
    let directory = TestDirectory::new();
    let path = directory.encode(name, 12, arguments);
    let found = probe(&Clip::new(&path), &tools()).unwrap();
    assert_eq!((found.codec.as_str(), found.format), (codec, format(160, 120, PixelFormat::Yuv420p, depth)));
    assert_eq!((found.frame_rate, found.frames, found.converted_from), (Some(25.0), None, None));
    if name != "a.264" {
        assert_eq!(found.frames_estimate, Some(12));
    }
    let delivered = read_whole(&path, &tools());
    assert_eq!(delivered.frames.len(), 12);
    assert_eq!(delivered.samples(), directory.samples(&path, &[]));
}

#[rstest]
#[case::deeper(BitDepth::Ten, "yuv420p10le")]
#[case::much_deeper(BitDepth::Sixteen, "yuv420p16le")]
fn a_higher_bit_depth_has_the_samples_that_ffmpeg_converts_to(#[case] depth: BitDepth, #[case] name: &str) {
    let directory = TestDirectory::new();
    let path = directory.encode("a.mkv", 3, &["-c:v", "ffv1", "-pix_fmt", "yuv420p"]);
    let delivered = read(&Clip::new(&path), &tools(), |options| options.format.depth = depth);
    let shift = depth.bits() - 8;
    let shifted: Vec<u8> = directory
        .samples(&path, &[])
        .iter()
        .flat_map(|&sample| (u16::from(sample) << shift).to_le_bytes())
        .collect();
    let samples = delivered.samples();
    assert_eq!(samples, shifted);
    if depth == BitDepth::Ten {
        assert_eq!(samples, directory.samples(&path, &["-pix_fmt", name]));
    }
}

#[test]
fn pictures_are_scaled_with_the_requested_filter() {
    let directory = TestDirectory::new();
    let path = directory.encode("a.mkv", 3, &["-c:v", "ffv1", "-pix_fmt", "yuv420p"]);
    let scaled = |filter| {
        read(&Clip::new(&path), &tools(), |options| {
            options.format = format(240, 136, PixelFormat::Yuv420p, BitDepth::Eight);
            options.scale_filter = filter;
        })
        .samples()
    };
    let bicubic = scaled(ScaleFilter::default());
    assert_eq!(bicubic, directory.samples(&path, &["-vf", "scale=240:136:flags=bicubic"]));
    assert_eq!(
        scaled(ScaleFilter::Lanczos),
        directory.samples(&path, &["-vf", "scale=240:136:flags=lanczos"])
    );
    assert_ne!(bicubic, scaled(ScaleFilter::Bilinear));
}

#[rstest]
#[case::h264_full_range("a.mp4", &["-c:v", "libx264", "-pix_fmt", "yuvj420p"], "yuv420p")]
#[case::deep_full_range("a.mkv", &["-c:v", "ffv1", "-pix_fmt", "yuv420p10le", "-color_range", "pc"], "yuv420p10le")]
fn full_range_keeps_its_samples_also_when_scaled(
    #[case] name: &str,
    #[case] arguments: &[&str],
    #[case] plain: &str,
) {
    let directory = TestDirectory::new();
    let path = directory.encode(name, 3, arguments);
    let found = probe(&Clip::new(&path), &tools()).unwrap();
    assert_eq!((found.full_range, &found.converted_from), (Some(true), &None));
    // The same samples without a declared range, so that scaling cannot convert it.
    let bare = directory.write("bare.yuv", &directory.samples(&path, &[]));
    assert_eq!(read_whole(&path, &tools()).samples(), std::fs::read(&bare).unwrap());
    let raw = directory.path("scaled.yuv");
    let output = std::process::Command::new(tools().ffmpeg().unwrap())
        .args(["-v", "error", "-f", "rawvideo", "-video_size", "160x120", "-pixel_format", plain, "-i"])
        .arg(&bare)
        .args(["-vf", "scale=80:60:flags=bicubic", "-f", "rawvideo"])
        .arg(&raw)
        .status()
        .unwrap();
    assert!(output.success());
    let scaled =
        read(&Clip::new(&path), &tools(), |options| (options.format.width, options.format.height) = (80, 60));
    assert!(scaled.samples() == std::fs::read(&raw).unwrap(), "the range was changed");
}

#[rstest]
#[case::rgb("gbrp", PixelFormat::Yuv444p, BitDepth::Eight)]
#[case::grey("gray", PixelFormat::Yuv420p, BitDepth::Eight)]
#[case::grey_deep("gray10le", PixelFormat::Yuv420p, BitDepth::Ten)]
#[case::alpha("yuva420p", PixelFormat::Yuv420p, BitDepth::Eight)]
#[case::nine_bits("yuv420p9le", PixelFormat::Yuv420p, BitDepth::Ten)]
fn other_pixel_formats_are_delivered_as_the_nearest_planar_one(
    #[case] name: &str,
    #[case] chroma: PixelFormat,
    #[case] depth: BitDepth,
) {
    let directory = TestDirectory::new();
    let path = directory.encode("a.mkv", 3, &["-c:v", "ffv1", "-pix_fmt", name]);
    let found = probe(&Clip::new(&path), &tools()).unwrap();
    assert_eq!(found.format, format(160, 120, chroma, depth));
    assert!(found.converted_from.is_some());
    let delivered = read_whole(&path, &tools());
    delivered.end.unwrap();
    assert_eq!(delivered.frames.len(), 3);
    if name.starts_with("gray") {
        let luma = directory.samples(&path, &["-frames:v", "1"]);
        assert!(delivered.frames[0][..luma.len()] == luma[..], "grey values were changed");
    }
}

#[test]
fn the_transfer_function_is_found() {
    let directory = TestDirectory::new();
    let colours = ["-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace", "bt2020nc"];
    let path = directory.encode(
        "a.mp4",
        2,
        &[&["-c:v", "libx264", "-pix_fmt", "yuv420p10le"], &colours[..]].concat(),
    );
    let found = probe(&Clip::new(&path), &tools()).unwrap();
    assert_eq!(found.transfer.as_deref(), Some("smpte2084"));
}

#[test]
fn frames_are_skipped_and_limited_by_index() {
    let directory = TestDirectory::new();
    let path = directory.encode("a.mp4", 12, &["-c:v", "libx264", "-pix_fmt", "yuv420p"]);
    let all = read_whole(&path, &tools()).frames;
    let part = |skip, take| {
        let delivered =
            read(&Clip::new(&path), &tools(), |options| (options.skip, options.take) = (skip, take));
        delivered.end.unwrap();
        delivered.frames
    };
    assert_eq!(part(3, Some(4)), all[3..7]);
    assert_eq!(part(10, None), all[10..]);
    assert_eq!(part(10, Some(9)), all[10..]);
    assert!(part(12, None).is_empty());
    assert!(part(99, Some(1)).is_empty());
    assert!(part(0, Some(0)).is_empty());
}

#[test]
fn a_single_decoder_thread_delivers_the_same() {
    let directory = TestDirectory::new();
    let path = directory.encode("a.mp4", 6, &["-c:v", "libx264", "-pix_fmt", "yuv420p"]);
    let single = read(&Clip::new(&path), &tools(), |options| options.decoder_threads = Some(1));
    assert_eq!(single.samples(), read_whole(&path, &tools()).samples());
}

#[test]
fn the_pixel_format_may_be_converted_on_request() {
    let directory = TestDirectory::new();
    let path = directory.encode("a.mkv", 2, &["-c:v", "ffv1", "-pix_fmt", "yuv420p"]);
    let delivered = read(&Clip::new(&path), &tools(), |options| options.format.chroma = PixelFormat::Yuv444p);
    assert_eq!(delivered.samples(), directory.samples(&path, &["-vf", "scale=flags=bicubic,format=yuv444p"]));
}
