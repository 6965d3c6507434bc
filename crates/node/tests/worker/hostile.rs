//! Inputs that are meant to do harm, or look like it.

use std::fs;

use rstest::rstest;
use vmafx_node::failure::Reason;
use vmafx_node::task::{RawVideo, ScaleTo};

use crate::stage::{Stage, failure};

fn y4m(width: u32, height: u32) -> Vec<u8> {
    let mut file = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg\nFRAME\n").into_bytes();
    file.resize(file.len() + 4096, 16);
    file
}

#[rstest]
#[case::beyond_any_format(y4m(100_000, 100_000), Reason::InputInvalid, "s3://bucket/reference")]
#[case::beyond_any_display(y4m(60_000, 60_000), Reason::InputTooLarge, "3600 megapixels; at most 268")]
#[case::text("hello, I am a video\n".repeat(100).into_bytes(), Reason::OptionsInvalid, "s3://bucket/reference has no header")]
#[case::broken(b"\0\0\0\x18ftypmp42".repeat(100), Reason::InputInvalid, "s3://bucket/reference is not a video")]
#[case::empty(Vec::new(), Reason::InputInvalid, "s3://bucket/reference has no frame")]
#[case::playlist(b"#EXTM3U\n#EXTINF:9,\nhttp://169.254.169.254/x.ts\n".to_vec(), Reason::InputInvalid, "playlist")]
#[case::truncated(y4m(160, 120), Reason::InputInvalid, "cut off")]
#[tokio::test]
async fn a_file_that_is_no_video_fails_by_itself(
    #[case] content: Vec<u8>,
    #[case] reason: Reason,
    #[case] part: &str,
) {
    let stage = Stage::new();
    let file = stage.write("input", content);
    let failure = failure(&stage, &stage.task(&file, &file)).await;
    assert_eq!(failure.reason, reason, "{}", failure.message);
    assert!(failure.message.contains(part), "{}", failure.message);
}

/// A file with holes has any size and costs nothing.
fn with_holes(stage: &Stage, bytes: u64) -> std::path::PathBuf {
    let path = stage.path("holes.yuv");
    fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}

fn raw(width: u32, height: u32) -> RawVideo {
    RawVideo { width, height, pixel_format: "yuv420p".to_owned(), bit_depth: 8 }
}

#[rstest]
#[case::on_any_machine((20_000, 20_000), Reason::InputTooLarge, "400 megapixels; at most 268 are scored")]
#[case::on_this_machine((16_000, 16_000), Reason::OutOfMemory, "MB to score, and a job has 1073 MB here")]
#[tokio::test]
async fn a_picture_that_does_not_fit_is_refused_before_it_is_read(
    #[case] (width, height): (u32, u32),
    #[case] reason: Reason,
    #[case] part: &str,
) {
    let stage = Stage::new();
    let file = with_holes(&stage, u64::from(width) * u64::from(height) * 3 / 2);
    let mut task = stage.task(&file, &file);
    task.reference.raw = Some(raw(width, height));
    task.distorted.raw = Some(raw(width, height));
    let failure = failure(&stage, &task).await;
    assert_eq!(failure.reason, reason, "{}", failure.message);
    assert!(failure.message.contains(part), "{}", failure.message);
}

#[tokio::test]
async fn a_small_clip_cannot_be_blown_up_beyond_the_memory() {
    let stage = Stage::new();
    let mut task = stage.golden_task();
    task.scale_to = ScaleTo::Size { width: 16_000, height: 16_000 };
    let failure = failure(&stage, &task).await;
    assert_eq!(failure.reason, Reason::OutOfMemory, "{}", failure.message);
}

#[tokio::test]
async fn a_pipe_is_not_waited_for() {
    let stage = Stage::new();
    let pipe = stage.path("pipe.y4m");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let failure = failure(&stage, &stage.task(&pipe, &pipe)).await;
    assert_eq!(failure.reason, Reason::InputInvalid);
    assert!(
        failure.message.starts_with("s3://bucket/reference is not a regular file"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn an_endless_device_is_not_read() {
    let stage = Stage::new();
    let failure = failure(&stage, &stage.task("/dev/zero".as_ref(), "/dev/zero".as_ref())).await;
    assert_eq!(failure.reason, Reason::InputInvalid);
    assert!(failure.message.contains("is not a regular file"), "{}", failure.message);
}

#[tokio::test]
async fn a_missing_file_is_called_by_its_address() {
    let stage = Stage::new();
    let missing = stage.path("missing.mp4");
    let failure = failure(&stage, &stage.task(&missing, &missing)).await;
    assert_eq!(failure.reason, Reason::InputNotFound);
    assert!(failure.message.starts_with("cannot open s3://bucket/reference"), "{}", failure.message);
}

#[tokio::test]
async fn a_damaged_video_gives_no_score() {
    let stage = Stage::new();
    let coded = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"];
    let whole = stage.encode("whole.mp4", "320x240", 30, &coded);
    let mut bytes = fs::read(&whole).unwrap();
    let (from, to) = (bytes.len() / 3, bytes.len() * 2 / 3);
    bytes[from..to].fill(0xA5);
    let damaged = stage.write("damaged.mp4", bytes);
    let failure = failure(&stage, &stage.task(&whole, &damaged)).await;
    assert_eq!(failure.reason, Reason::InputInvalid, "{}", failure.message);
    assert!(failure.message.contains("s3://bucket/distorted"), "{}", failure.message);
}

#[tokio::test]
async fn a_bare_file_without_a_shape_asks_for_one() {
    let stage = Stage::new();
    let file = stage.write("clip.yuv", [0; 100]);
    let failure = failure(&stage, &stage.task(&file, &file)).await;
    assert_eq!(failure.reason, Reason::OptionsInvalid);
    assert!(failure.message.contains("set width, height, pixel format and bit depth"), "{}", failure.message);
}
