//! Hostile and damaged inputs.

use std::fs;

use rstest::rstest;
use vmafx_job::{FailureReason, FrameSize, ScaleTo};

use crate::fixture::{Fixture, failure, raw};

fn y4m(width: u32, height: u32) -> Vec<u8> {
    let mut file = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg\nFRAME\n").into_bytes();
    file.resize(file.len() + 4096, 16);
    file
}

#[rstest]
#[case::beyond_any_format(y4m(100_000, 100_000), FailureReason::InputInvalid, "s3://bucket/reference")]
#[case::beyond_any_display(
    y4m(60_000, 60_000),
    FailureReason::InputTooLarge,
    "3600 megapixels; the maximum is 268"
)]
#[case::text("hello, I am a video\n".repeat(100).into_bytes(), FailureReason::OptionsInvalid, "s3://bucket/reference has no header")]
#[case::broken(b"\0\0\0\x18ftypmp42".repeat(100), FailureReason::InputInvalid, "s3://bucket/reference is not a video")]
#[case::empty(Vec::new(), FailureReason::InputInvalid, "s3://bucket/reference has no frame")]
#[case::playlist(b"#EXTM3U\n#EXTINF:9,\nhttp://169.254.169.254/x.ts\n".to_vec(), FailureReason::InputInvalid, "playlist")]
#[case::truncated(y4m(160, 120), FailureReason::InputInvalid, "cut off")]
#[tokio::test]
async fn a_file_that_is_no_video_fails_by_itself(
    #[case] content: Vec<u8>,
    #[case] reason: FailureReason,
    #[case] part: &str,
) {
    let fixture = Fixture::new();
    let file = fixture.write("input", content);
    let failure = failure(&fixture, &fixture.task(&file, &file)).await;
    assert_eq!(failure.reason, reason, "{}", failure.message);
    assert!(failure.message.contains(part), "{}", failure.message);
}

/// A sparse file has any size and needs no space.
fn sparse_file(fixture: &Fixture, bytes: u64) -> std::path::PathBuf {
    let path = fixture.path("sparse.yuv");
    fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}

#[rstest]
#[case::on_any_machine((20_000, 20_000), FailureReason::InputTooLarge, "400 megapixels; the maximum is 268")]
#[case::on_this_machine((16_000, 16_000), FailureReason::OutOfMemory, "MB to score, and a job on this node has 1073 MB")]
#[tokio::test]
async fn a_picture_that_does_not_fit_is_refused_before_it_is_read(
    #[case] (width, height): (u32, u32),
    #[case] reason: FailureReason,
    #[case] part: &str,
) {
    let fixture = Fixture::new();
    let file = sparse_file(&fixture, u64::from(width) * u64::from(height) * 3 / 2);
    let mut task = fixture.task(&file, &file);
    task.reference.raw = Some(raw(width, height));
    task.distorted.raw = Some(raw(width, height));
    let failure = failure(&fixture, &task).await;
    assert_eq!(failure.reason, reason, "{}", failure.message);
    assert!(failure.message.contains(part), "{}", failure.message);
}

#[tokio::test]
async fn a_small_clip_cannot_be_blown_up_beyond_the_memory() {
    let fixture = Fixture::new();
    let mut task = fixture.golden_task();
    task.options.scale_to = Some(ScaleTo::Size(FrameSize { width: 9_998, height: 9_998 }));
    let failure = failure(&fixture, &task).await;
    assert_eq!(failure.reason, FailureReason::OutOfMemory, "{}", failure.message);
}

#[tokio::test]
async fn a_pipe_is_not_waited_for() {
    let fixture = Fixture::new();
    let pipe = fixture.path("pipe.y4m");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let failure = failure(&fixture, &fixture.task(&pipe, &pipe)).await;
    assert_eq!(failure.reason, FailureReason::InputInvalid);
    assert!(
        failure.message.starts_with("s3://bucket/reference is not a regular file"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn an_endless_device_is_not_read() {
    let fixture = Fixture::new();
    let failure = failure(&fixture, &fixture.task("/dev/zero".as_ref(), "/dev/zero".as_ref())).await;
    assert_eq!(failure.reason, FailureReason::InputInvalid);
    assert!(failure.message.contains("is not a regular file"), "{}", failure.message);
}

#[tokio::test]
async fn a_missing_file_is_named_by_its_address() {
    let fixture = Fixture::new();
    let missing = fixture.path("missing.mp4");
    let failure = failure(&fixture, &fixture.task(&missing, &missing)).await;
    assert_eq!(failure.reason, FailureReason::InputMissingOnNode);
    assert!(failure.message.starts_with("cannot open s3://bucket/reference"), "{}", failure.message);
}

#[tokio::test]
async fn a_damaged_video_gives_no_score() {
    let fixture = Fixture::new();
    let coded = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"];
    let whole = fixture.encode("whole.mp4", "320x240", 30, &coded);
    let mut bytes = fs::read(&whole).unwrap();
    let (from, to) = (bytes.len() / 3, bytes.len() * 2 / 3);
    bytes[from..to].fill(0xA5);
    let damaged = fixture.write("damaged.mp4", bytes);
    let failure = failure(&fixture, &fixture.task(&whole, &damaged)).await;
    assert_eq!(failure.reason, FailureReason::InputInvalid, "{}", failure.message);
    assert!(failure.message.contains("s3://bucket/distorted"), "{}", failure.message);
}

#[tokio::test]
async fn a_headerless_clip_without_a_description_asks_for_one() {
    let fixture = Fixture::new();
    let file = fixture.write("clip.yuv", [0; 100]);
    let failure = failure(&fixture, &fixture.task(&file, &file)).await;
    assert_eq!(failure.reason, FailureReason::OptionsInvalid);
    assert!(failure.message.contains("set width, height, pixel format and bit depth"), "{}", failure.message);
}
