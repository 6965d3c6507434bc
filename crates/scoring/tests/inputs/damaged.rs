//! A damaged clip ends in an error that names the file and the frame, never silently.

use std::path::{Path, PathBuf};

use rstest::rstest;

use crate::support::{TestDirectory, read, read_whole, tools};
use vmafx_scoring::input::{Clip, InputError, probe};

const FRAMES: u32 = 50;

/// Cuts a file.
fn cut(directory: &TestDirectory, path: &Path, part: fn(usize) -> usize) -> PathBuf {
    let bytes = std::fs::read(path).unwrap();
    directory
        .write(&format!("cut-{}", path.file_name().unwrap().to_str().unwrap()), &bytes[..part(bytes.len())])
}

/// Flips one bit in the middle of a file.
fn flip(directory: &TestDirectory, path: &Path) -> PathBuf {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    directory.write(&format!("flip-{}", path.file_name().unwrap().to_str().unwrap()), &bytes)
}

/// Damages a file in many places of its second third, because damage in one place may by chance decode without an error.
fn damage(directory: &TestDirectory, path: &Path) -> PathBuf {
    let mut bytes = std::fs::read(path).unwrap();
    let third = bytes.len() / 3;
    for hole in bytes[third..2 * third].chunks_mut(1000) {
        hole.iter_mut().take(100).zip(1..).for_each(|(byte, noise)| *byte ^= noise);
    }
    directory.write(&format!("damaged-{}", path.file_name().unwrap().to_str().unwrap()), &bytes)
}

/// Reads a damaged clip, which must end in an error of the decoder; returns the number of frames before it.
fn frames_before_the_error(path: &Path) -> u64 {
    let delivered = read_whole(path, &tools());
    let count = delivered.frames.len() as u64;
    match delivered.end {
        Err(InputError::Decoder { frame, path: named, stderr, .. }) => {
            assert_eq!((frame, named.as_path()), (count, path));
            assert!(!stderr.is_empty() && !stderr.contains(" @ 0x"), "{stderr}");
        }
        other => panic!("{count} frames of {}, then {other:?}", path.display()),
    }
    count
}

#[rstest]
#[case::h264_mp4("a.mp4", &["-c:v", "libx264", "-movflags", "+faststart"])]
#[case::h264_stream("a.264", &["-c:v", "libx264"])]
#[case::hevc_mp4("a.mp4", &["-c:v", "libx265", "-x265-params", "log-level=none", "-movflags", "+faststart"])]
#[case::vp9_webm("a.webm", &["-c:v", "libvpx-vp9", "-deadline", "realtime"])]
#[case::ffv1_mkv("a.mkv", &["-c:v", "ffv1"])]
fn a_file_that_is_cut_off_is_an_error(#[case] name: &str, #[case] arguments: &[&str]) {
    let directory = TestDirectory::new();
    let whole = directory.encode(name, FRAMES, &[arguments, &["-pix_fmt", "yuv420p"]].concat());
    frames_before_the_error(&cut(&directory, &whole, |bytes| bytes * 6 / 10));
}

#[rstest]
#[case::h264_mp4("a.mp4", &["-c:v", "libx264"])]
#[case::h264_mkv("a.mkv", &["-c:v", "libx264", "-preset", "veryfast"])]
#[case::mpeg4("a.mp4", &["-c:v", "mpeg4", "-q:v", "4"])]
fn damage_in_the_middle_is_an_error_at_once(#[case] name: &str, #[case] arguments: &[&str]) {
    let directory = TestDirectory::new();
    let whole = directory.encode(name, FRAMES, &[arguments, &["-pix_fmt", "yuv420p"]].concat());
    let frames = frames_before_the_error(&damage(&directory, &whole));
    assert!(frames < 40, "the rest was decoded in vain: {frames}");
}

#[rstest]
#[case::ffv1("a.mkv", &["-c:v", "ffv1", "-level", "3", "-slicecrc", "1"])]
#[case::hevc("a.mp4", &["-c:v", "libx265", "-x265-params", "log-level=none:hash=1"])]
fn a_single_flipped_bit_is_detected_if_a_stream_has_checksums(
    #[case] name: &str,
    #[case] arguments: &[&str],
) {
    let directory = TestDirectory::new();
    let whole = directory.encode(name, FRAMES, &[arguments, &["-pix_fmt", "yuv420p"]].concat());
    frames_before_the_error(&flip(&directory, &whole));
}

#[test]
fn a_container_without_its_index_is_not_a_video() {
    let directory = TestDirectory::new();
    let whole = directory.encode("a.mp4", FRAMES, &["-c:v", "libx264", "-pix_fmt", "yuv420p"]);
    let path = cut(&directory, &whole, |bytes| bytes / 2);
    let error = probe(&Clip::new(path), &tools()).unwrap_err().to_string();
    assert!(error.contains("moov atom not found"), "{error}");
}

#[test]
fn a_cut_y4m_file_that_is_scaled_is_an_error_too() {
    let directory = TestDirectory::new();
    let whole = directory.encode("a.y4m", 10, &["-pix_fmt", "yuv420p"]);
    for part in [|bytes: usize| bytes - 5, |bytes: usize| bytes - 28_800, |bytes: usize| bytes - 28_806 + 3] {
        let path = cut(&directory, &whole, part);
        let delivered = read(&Clip::new(&path), &tools(), |options| options.format.width = 80);
        let (_, error) = delivered.failure();
        assert!(error.contains("frame 9 "), "{error}");
    }
}
