//! Unusual files that are not damaged.

use std::path::Path;

use rstest::rstest;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::input::{Clip, InputError, probe};

use crate::support::{TestDirectory, format, no_tools, read_whole, small, tools};

const H264: [&str; 4] = ["-c:v", "libx264", "-pix_fmt", "yuv420p"];

#[test]
fn a_variable_frame_rate_neither_doubles_nor_drops_frames() {
    let directory = TestDirectory::new();
    let pace = [
        "-vf",
        "setpts=(N*2+mod(N\\,7))/400/TB",
        "-fps_mode",
        "passthrough",
        "-enc_time_base",
        "1:400",
        "-bf",
        "0",
    ];
    let path = directory.encode("a.mp4", 20, &[&pace[..], &H264].concat());
    let delivered = read_whole(&path, &tools());
    delivered.end.unwrap();
    assert_eq!(delivered.frames.len(), 20);
}

#[test]
fn frames_of_the_same_time_are_all_delivered() {
    let directory = TestDirectory::new();
    let pace = [
        "-vf",
        "setpts=floor(N/3)*2/25/TB",
        "-fps_mode",
        "passthrough",
        "-c:v",
        "ffv1",
        "-pix_fmt",
        "yuv420p",
    ];
    let path = directory.encode("a.mkv", 12, &pace);
    let delivered = read_whole(&path, &tools());
    delivered.end.unwrap();
    assert_eq!(delivered.frames.len(), 12);
}

#[test]
fn a_cover_picture_is_not_the_video() {
    let directory = TestDirectory::new();
    let video = directory.encode("video.mp4", 4, &H264);
    let cover = directory.encode("cover.png", 1, &["-vf", "scale=64:64"]);
    let cover = cover.to_str().unwrap();
    let arguments = ["-i", cover, "-map", "1", "-map", "0", "-c", "copy", "-disposition:v:0", "attached_pic"];
    let path = directory.convert(&video, "a.mp4", &arguments);
    let found = probe(&Clip::new(&path), &tools()).unwrap();
    assert_eq!((found.codec.as_str(), found.format), ("h264", small()));
    assert_eq!(read_whole(&path, &tools()).frames.len(), 4);
}

#[test]
fn a_rotated_clip_is_delivered_as_it_is_shown() {
    let directory = TestDirectory::new();
    let video = directory.encode("video.mp4", 3, &H264);
    // The matrix of the only track: the nine numbers after the fixed part of its header.
    let mut bytes = std::fs::read(video).unwrap();
    let track = bytes.windows(4).position(|window| window == b"tkhd").unwrap();
    let matrix: [u32; 9] = [0, 0x1_0000, 0, 0xFFFF_0000, 0, 0, 120 << 16, 0, 0x4000_0000];
    for (index, value) in matrix.iter().enumerate() {
        bytes[track + 44 + index * 4..][..4].copy_from_slice(&value.to_be_bytes());
    }
    let path = directory.write("a.mp4", &bytes);
    let found = probe(&Clip::new(&path), &tools()).unwrap();
    assert_eq!(found.format, format(120, 160, PixelFormat::Yuv420p, BitDepth::Eight));
    let delivered = read_whole(&path, &tools());
    delivered.end.unwrap();
    assert_eq!(delivered.frames.len(), 3);
}

#[test]
fn pictures_that_change_their_size_within_a_clip_are_an_error() {
    let directory = TestDirectory::new();
    let mut both = std::fs::read(directory.encode("a.264", 5, &H264)).unwrap();
    let smaller = [&["-vf", "scale=128:96"], &H264[..]].concat();
    both.extend(std::fs::read(directory.encode("b.264", 5, &smaller)).unwrap());
    let path = directory.write("ab.264", &both);
    let (frames, error) = read_whole(&path, &tools()).failure();
    assert!(frames <= 5, "{frames}");
    assert!(error.contains("the size or the pixel format of its pictures changes here"), "{error}");
}

#[rstest]
#[case("-i.mp4")]
#[case("a:b.mp4")]
#[case("100%d.mp4")]
#[case("pipe:0.mp4")]
#[case("concat:a|b.mp4")]
#[case("with space 'and\" quotes.mp4")]
fn any_file_name_is_safe(#[case] name: &str) {
    let directory = TestDirectory::new();
    let plain = directory.encode("plain.mp4", 2, &H264);
    let path = directory.path(name);
    std::fs::rename(plain, &path).unwrap();
    let delivered = read_whole(&path, &tools());
    delivered.end.unwrap();
    assert_eq!(delivered.frames.len(), 2);
}

#[test]
fn a_name_that_looks_like_a_pattern_names_one_picture() {
    let directory = TestDirectory::new();
    let named = directory.encode("named.png", 1, &[]);
    let expected = read_whole(&named, &tools()).samples();
    let path = directory.path("shot%04d.png");
    std::fs::rename(named, &path).unwrap();
    // Files that the pattern would match.
    for name in ["shot0000.png", "shot0001.png"] {
        directory.encode(name, 1, &["-vf", "negate"]);
    }
    assert_eq!(read_whole(&path, &tools()).samples(), expected);
}

#[rstest]
#[case::hls("a.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nhttp://127.0.0.1:9/x.ts\n")]
#[case::disguised("a.mp4", "\n #EXTM3U\n#EXTINF:10,\nother.ts\n")]
#[case::concat("a.txt", "ffconcat version 1.0\nfile other.mp4\n")]
#[case::dash("a.mpd", "<?xml version=\"1.0\"?><MPD></MPD>")]
fn a_playlist_is_refused_without_reading_what_it_names(#[case] name: &str, #[case] content: &str) {
    let directory = TestDirectory::new();
    let path = directory.write(name, content.as_bytes());
    assert!(matches!(probe(&Clip::new(&path), &no_tools()), Err(InputError::Playlist { .. })));
}

/// ffmpeg recognises a DASH manifest behind anything, so the start of the file does not tell.
#[test]
fn a_manifest_that_names_another_clip_is_refused() {
    let directory = TestDirectory::new();
    let fragmented = ["-movflags", "frag_keyframe+empty_moov+default_base_moof"];
    let other = directory.encode("other.mp4", 4, &[&H264[..], &fragmented].concat());
    let manifest = format!(
        r#"<!-- --><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"
        type="static" mediaPresentationDuration="PT1S"><Period><AdaptationSet mimeType="video/mp4">
        <Representation id="1" bandwidth="1"><BaseURL>file://{}</BaseURL></Representation>
        </AdaptationSet></Period></MPD>"#,
        other.display()
    );
    let path = directory.write("a.mp4", manifest.as_bytes());
    let error = probe(&Clip::new(&path), &tools()).unwrap_err();
    assert!(
        matches!(&error, InputError::FormatNotAllowed { demuxer, .. } if demuxer == "dash"),
        "{error} {error:?}"
    );
}

#[rstest]
#[case("a.txt", "It was a dark and stormy night.\n")]
#[case("a.mp4", "It was a dark and stormy night.\n")]
#[case("a.nfo", "\x1b[31mred\x1b[0m\r\n")]
#[case("noise", "\x00\x01\x02\x03")]
fn a_file_of_unknown_format_is_named_with_what_to_give(#[case] name: &str, #[case] content: &str) {
    let directory = TestDirectory::new();
    let path = directory.write(name, &content.as_bytes().repeat(40));
    let error = probe(&Clip::new(&path), &tools()).unwrap_err();
    assert!(matches!(error, InputError::GeometryMissing { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(name) && text.contains("if it is raw video, give its size"), "{text}");
}

#[test]
fn sound_alone_is_not_a_video() {
    let directory = TestDirectory::new();
    let video = directory.encode("video.mp4", 1, &H264);
    let path = directory.convert(
        &video,
        "a.wav",
        &["-f", "lavfi", "-i", "sine=duration=0.2", "-map", "1", "-t", "0.2"],
    );
    let error = probe(&Clip::new(&path), &tools()).unwrap_err();
    assert!(matches!(&error, InputError::FormatNotAllowed { demuxer, .. } if demuxer == "wav"), "{error}");
}

#[test]
fn sound_with_a_cover_picture_is_not_a_video() {
    let directory = TestDirectory::new();
    let cover = directory.encode("cover.png", 1, &["-vf", "scale=64:64"]);
    let sound = [
        "-f",
        "lavfi",
        "-i",
        "sine=duration=0.2",
        "-map",
        "1",
        "-map",
        "0",
        "-c:v",
        "png",
        "-disposition:v:0",
        "attached_pic",
    ];
    let path = directory.convert(&cover, "a.m4a", &sound);
    assert!(matches!(probe(&Clip::new(&path), &tools()), Err(InputError::NotVideo { .. })));
}

#[test]
fn a_directory_a_device_a_missing_and_an_empty_file_have_errors_of_their_own() {
    let directory = TestDirectory::new();
    let probe = |path: &Path| probe(&Clip::new(path), &no_tools()).unwrap_err();
    assert!(matches!(probe(&directory.path("")), InputError::NotAFile { .. }));
    assert!(matches!(probe(Path::new("/dev/null")), InputError::NotAFile { .. }));
    assert!(matches!(probe(&directory.path("missing.y4m")), InputError::Open { .. }));
    assert!(matches!(probe(&directory.write("empty.mp4", b"")), InputError::NoFrames { .. }));
}

#[test]
fn without_ffmpeg_the_error_names_the_file_and_the_remedy() {
    let directory = TestDirectory::new();
    let path = directory.encode("a.mp4", 1, &H264);
    let text = probe(&Clip::new(&path), &no_tools()).unwrap_err().to_string();
    for part in ["to find out what is in", "a.mp4", "install ffmpeg", "VMAFX_FFMPEG_BIN"] {
        assert!(text.contains(part), "{text}");
    }
}
