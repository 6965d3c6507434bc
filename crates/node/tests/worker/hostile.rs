//! Hostile and damaged inputs.

use std::fs;

use rstest::rstest;
use tokio_util::sync::CancellationToken;
use vmafx_job::{FailureReason, FrameSize, ScaleTo};
use vmafx_node::confine::ConfinementPolicy;
use vmafx_node::launch::Launcher;
use vmafx_testkit::old_kernel::MissingCall;

use crate::activity::decoder;
use crate::fixture::{Fixture, LONG, failure, failure_of, node, raw, run_with};
use crate::unconfined::node_without;

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

/// Text that ffmpeg would follow to other files: HLS, and DASH behind a comment.
fn playlists(target: &str) -> [(&'static str, String); 2] {
    let hls = format!("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile://{target}\n#EXT-X-ENDLIST\n");
    let dash = format!(
        r#"<!-- --><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"
        type="static" mediaPresentationDuration="PT1S"><Period><AdaptationSet mimeType="video/mp4">
        <Representation id="1" bandwidth="1"><BaseURL>file://{target}</BaseURL></Representation>
        </AdaptationSet></Period></MPD>"#
    );
    [("hls.mp4", hls), ("dash.mp4", dash)]
}

/// The playlists name a file that every process can read, and a clip of somebody else that would get a score.
#[rstest]
#[case::with_landlock(None)]
#[case::without_landlock(Some(MissingCall::Landlock))]
#[tokio::test]
async fn a_playlist_reads_no_other_file_with_and_without_landlock(#[case] missing: Option<MissingCall>) {
    let fixture = Fixture::new();
    let coded = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-movflags"];
    let fragmented = [&coded[..], &["frag_keyframe+empty_moov+default_base_moof"]].concat();
    let others = fixture.encode("others.mp4", "320x240", 5, &fragmented);
    let launcher = Launcher::new(missing.map_or_else(node, |missing| node_without(&fixture, missing)));
    for target in ["/etc/passwd", others.to_str().unwrap()] {
        for (name, text) in playlists(target) {
            let playlist = fixture.write(name, text);
            let mut task = fixture.task(&others, &playlist);
            task.confinement = ConfinementPolicy::BestEffort;
            let failure = failure_of(&fixture, run_with(&launcher, &task).await);
            assert_eq!(failure.reason, FailureReason::InputInvalid, "{name} {target}: {failure}");
            let says = ["is a playlist", "has the format dash"];
            assert!(says.iter().any(|part| failure.message.contains(part)), "{name} {target}: {failure}");
            assert!(!failure.message.contains("root:"), "{failure}");
        }
    }
}

/// A decoder that never runs out of frames: there is progress all the time.
#[tokio::test]
async fn a_file_with_endless_frames_ends_with_the_time_limit() {
    let fixture = Fixture::new();
    let clip = fixture.encode("clip.mkv", "64x64", 5, &["-pix_fmt", "yuv420p", "-c:v", "ffv1"]);
    let endless =
        r#"exec "$real" -v error -f lavfi -i testsrc2=size=64x64 -pix_fmt yuv420p -f yuv4mpegpipe -"#;
    let mut task = fixture.task(&clip, &clip);
    task.ffmpeg = Some(decoder(&fixture, endless));
    let limit = Some(std::time::Duration::from_secs(3));
    let never = CancellationToken::new();
    let launcher = Launcher::new(node());
    let failure = failure_of(&fixture, launcher.run(&task, |_, _| {}, &never, LONG, limit).await);
    assert_eq!(failure.reason, FailureReason::InputTooLarge, "{failure}");
    assert!(
        failure.message.contains("after 3 s") && failure.message.contains("VMAFX_WORKER_TIMEOUT"),
        "{failure}"
    );
    fixture.wait_until_empty().await;
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
