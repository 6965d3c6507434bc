//! The content of a file decides what a clip is. Its name does not count, and a description counts for raw video only.

use std::path::PathBuf;

use rstest::rstest;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::input::{Clip, InputError, Probe, RawFormat, Tools, probe};
use vmafx_scoring::picture::PictureFormat;

use crate::support::{TestDirectory, format, no_tools, read, read_whole, small, tools, tools_that};

const H264: [&str; 4] = ["-c:v", "libx264", "-pix_fmt", "yuv420p"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Content {
    Raw,
    Y4m,
    Mp4,
}

/// Writes four frames of 160x120 under this name.
fn write(directory: &TestDirectory, content: Content, name: &str) -> PathBuf {
    let made = match content {
        Content::Raw => directory.encode("made.yuv", 4, &["-pix_fmt", "yuv420p", "-f", "rawvideo"]),
        Content::Y4m => directory.encode("made.y4m", 4, &["-pix_fmt", "yuv420p"]),
        Content::Mp4 => directory.encode("made.mp4", 4, &H264),
    };
    let path = directory.path(name);
    std::fs::rename(made, &path).unwrap();
    path
}

fn described(path: impl Into<PathBuf>, format: PictureFormat) -> Clip {
    Clip::described(path, RawFormat { format, frame_rate: None })
}

fn tiny() -> PictureFormat {
    format(1, 1, PixelFormat::Yuv444p, BitDepth::Eight)
}

#[rstest]
fn the_content_decides_and_not_the_name(
    #[values(
        (Content::Raw, "a.yuv"),
        (Content::Raw, "a"),
        (Content::Raw, "a.mp4"),
        (Content::Y4m, "a.y4m"),
        (Content::Y4m, "a.yuv"),
        (Content::Mp4, "a.mp4"),
        (Content::Mp4, "a.yuv"),
        (Content::Mp4, "a"),
        (Content::Mp4, "a.y4m")
    )]
    (content, name): (Content, &str),
    #[values(true, false)] is_described: bool,
) {
    let directory = TestDirectory::new();
    let path = write(&directory, content, name);
    let clip = if is_described { described(&path, small()) } else { Clip::new(&path) };
    let found = probe(&clip, &tools());
    if content == Content::Raw && !is_described {
        let error = found.unwrap_err();
        assert!(matches!(error, InputError::GeometryMissing { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()), "{text}");
        assert!(text.contains("--size") && text.contains("--pixel-format"), "{text}");
        return;
    }
    let codec = match content {
        Content::Raw => "yuv",
        Content::Y4m => "y4m",
        Content::Mp4 => "h264",
    };
    let found = found.unwrap();
    assert_eq!((found.codec.as_str(), found.format), (codec, small()));
    let delivered = read(&clip, &tools(), |_| {});
    delivered.end.unwrap();
    assert_eq!(delivered.frames.len(), 4);
}

/// Appends zeros until the size is a whole number of tiny frames.
fn pad_to_tiny_frames(path: &PathBuf) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes.resize(bytes.len().next_multiple_of(tiny().bytes()), 0);
    std::fs::write(path, bytes).unwrap();
}

#[rstest]
#[case::mp4("a.mp4", &H264, "h264")]
#[case::mov("a.mov", &["-c:v", "mpeg4"], "mpeg4")]
#[case::fragmented_mp4("a.mp4", &["-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "frag_keyframe"], "h264")]
#[case::matroska("a.mkv", &H264, "h264")]
#[case::webm("a.webm", &["-c:v", "libvpx-vp9", "-deadline", "realtime", "-pix_fmt", "yuv420p"], "vp9")]
#[case::avi("a.avi", &["-c:v", "mpeg4"], "mpeg4")]
#[case::program_stream("a.mpg", &["-c:v", "mpeg2video"], "mpeg2video")]
#[case::mpeg2_stream("a.m2v", &["-c:v", "mpeg2video"], "mpeg2video")]
#[case::h264_stream("a.264", &H264, "h264")]
#[case::hevc_stream("a.265", &["-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p"], "hevc")]
#[case::ivf("a.ivf", &["-c:v", "libvpx", "-deadline", "realtime", "-pix_fmt", "yuv420p"], "vp8")]
#[case::flv("a.flv", &["-c:v", "flv"], "flv1")]
#[case::asf("a.wmv", &["-c:v", "wmv2"], "wmv2")]
#[case::mxf("a.mxf", &["-c:v", "mpeg2video"], "mpeg2video")]
#[case::nut("a.nut", &["-c:v", "ffv1"], "ffv1")]
#[case::gif("a.gif", &[], "gif")]
#[case::png("a.png", &["-frames:v", "1"], "png")]
#[case::dpx("a.dpx", &["-frames:v", "1"], "dpx")]
fn a_container_is_found_even_if_its_size_fits_the_description(
    #[case] name: &str,
    #[case] arguments: &[&str],
    #[case] codec: &str,
) {
    let directory = TestDirectory::new();
    let path = directory.encode(name, 6, arguments);
    pad_to_tiny_frames(&path);
    assert_eq!(probe(&described(&path, tiny()), &tools()).unwrap().codec, codec);
}

/// Without `ffmpeg`, because some builds of it crash on MPEG-TS.
#[test]
fn a_transport_stream_is_not_taken_for_raw_video() {
    let directory = TestDirectory::new();
    let path = directory.encode("a.ts", 6, &H264);
    pad_to_tiny_frames(&path);
    let error = probe(&described(&path, tiny()), &no_tools()).unwrap_err();
    assert!(matches!(error, InputError::FfmpegMissing { .. }), "{error}");
}

#[test]
fn a_container_without_a_known_signature_is_found_by_ffmpeg() {
    let directory = TestDirectory::new();
    let path = directory.encode("a.pgm", 1, &["-pix_fmt", "gray"]);
    let found = probe(&described(&path, small()), &tools()).unwrap();
    assert_eq!(found.codec, "pgm");
}

/// Three frames of raw video that begin with these bytes and continue with flat luma.
fn raw_beginning_with(start: &[u8], luma: u8) -> Vec<u8> {
    let mut bytes = vec![luma; small().bytes() * 3];
    bytes[..start.len()].copy_from_slice(start);
    bytes
}

#[rstest]
#[case::flat_luma_like_the_sync_byte_of_mpeg_ts(&[], 0x47)]
#[case::all_zero(&[], 0)]
#[case::mpeg_start_code(&[0, 0, 1], 0x10)]
#[case::mpeg_pack_header(&[0, 0, 1, 0xba], 0x44)]
#[case::annex_b_parameter_set(&[0, 0, 0, 1, 0x67], 0x10)]
#[case::ftyp_box(b"\0\0\0\x20ftypisom", 0x10)]
#[case::ebml(&[0x1a, 0x45, 0xdf, 0xa3], 0x10)]
#[case::jpeg(&[0xff, 0xd8, 0xff], 0x80)]
#[case::temporal_unit(&[0x12, 0, 0x0a], 0x10)]
#[case::like_sound_to_ffmpeg(&[], 0xd2)]
fn raw_video_that_begins_like_a_container_is_read_as_it_is_described(
    #[case] start: &[u8],
    #[case] luma: u8,
    #[values("a.yuv", "a.mp4")] name: &str,
) {
    let directory = TestDirectory::new();
    let bytes = raw_beginning_with(start, luma);
    let path = directory.write(name, &bytes);
    let clip = described(&path, small());
    assert_eq!(probe(&clip, &tools()).unwrap().frames, Some(3));
    assert_eq!(read(&clip, &tools(), |_| {}).samples(), bytes);
    assert!(probe(&Clip::new(&path), &tools()).is_err(), "it is not described");
}

#[test]
fn raw_video_that_is_described_needs_no_ffmpeg() {
    let directory = TestDirectory::new();
    let path = directory.write("a.mp4", &vec![60; small().bytes() * 2]);
    assert_eq!(probe(&described(&path, small()), &no_tools()).unwrap().frames, Some(2));
    // If there is an ffmpeg, it is not started: this one would create a file.
    let trace = directory.path("trace");
    let tools = tools_that(&directory, &format!(": > '{}'", trace.display()));
    probe(&described(&path, small()), &tools).unwrap();
    assert!(!trace.exists());
}

#[rstest]
#[case::with_ffmpeg(tools())]
#[case::without_ffmpeg(no_tools())]
fn raw_video_that_does_not_fit_its_description_is_refused_for_its_size(#[case] tools: Tools) {
    let directory = TestDirectory::new();
    let path = directory.write("a", &vec![60; small().bytes() * 2 + 7]);
    let error = probe(&described(&path, small()), &tools).unwrap_err();
    assert!(matches!(error, InputError::PartialFrame { remainder: 7, .. }), "{error}");
}

#[test]
fn a_broken_container_is_refused_with_the_message_of_ffmpeg_even_if_described() {
    let directory = TestDirectory::new();
    let whole = std::fs::read(directory.encode("a.mp4", 6, &H264)).unwrap();
    let path = directory.write("cut.mp4", &whole[..small().bytes() / 10 - 1]);
    let error = probe(&described(&path, small()), &tools()).unwrap_err();
    assert!(matches!(error, InputError::NotVideo { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("moov atom not found") && text.contains("160x120 yuv420p 8 bit"), "{text}");
    assert!(!text.contains("/dev/stdin"), "{text}");
}

#[rstest]
#[case::low_score("one.m1v", &["-c:v", "mpeg1video"])]
#[case::extension_only("one.tga", &[])]
fn a_guess_of_ffmpeg_is_not_enough(#[case] name: &str, #[case] arguments: &[&str]) {
    let directory = TestDirectory::new();
    let path = directory.encode(name, 1, arguments);
    let error = probe(&Clip::new(&path), &tools()).unwrap_err();
    assert!(matches!(error, InputError::NotVideo { .. } | InputError::GeometryMissing { .. }), "{error}");
    pad_to_tiny_frames(&path);
    assert_eq!(probe(&described(&path, tiny()), &tools()).unwrap().codec, "yuv");
}

/// If `ffmpeg` fails, nothing is known about the file.
#[rstest]
#[case::no_memory("echo 'Error opening input: Cannot allocate memory' >&2; exit 1")]
#[case::crash("kill -11 $$")]
fn a_failure_of_ffmpeg_does_not_make_a_clip_raw(
    #[case] script: &str,
    #[values(true, false)] is_described: bool,
) {
    let directory = TestDirectory::new();
    let path = directory.write("a", &raw_beginning_with(b"\0\0\0\x18ftypmp42", 0x10));
    let clip = if is_described { described(&path, small()) } else { Clip::new(&path) };
    let error = probe(&clip, &tools_that(&directory, script)).unwrap_err();
    assert!(matches!(error, InputError::NotVideo { .. }), "{error}");
}

#[test]
fn without_ffmpeg_a_clip_of_unknown_format_must_be_described() {
    let directory = TestDirectory::new();
    let path = directory.write("a", &vec![60; small().bytes()]);
    let missing = |found: Result<Probe, InputError>| matches!(found, Err(InputError::GeometryMissing { .. }));
    assert!(missing(probe(&Clip::new(&path), &no_tools())));
}

#[test]
fn a_y4m_file_needs_no_ffmpeg_under_any_name() {
    let directory = TestDirectory::new();
    for name in ["a.yuv", "a.mp4", "a"] {
        let path = write(&directory, Content::Y4m, name);
        assert_eq!(probe(&described(&path, tiny()), &no_tools()).unwrap().codec, "y4m");
        assert_eq!(read_whole(&path, &no_tools()).frames.len(), 4);
    }
}
