//! A confined worker cannot signal its decoders; the agent does it, and signals nothing else.

use std::process::{Command, Stdio};

use vmafx_job::{FailureReason, LengthMismatch};
use vmafx_node::launch::Launcher;

use crate::activity::decoder;
use crate::fixture::{Fixture, failure_of, run, run_with};

/// The decoder of the longer clip hangs after its last frame, when nobody needs it any more. The worker waits for its end, so
/// it would stall if nobody killed it.
#[tokio::test]
async fn a_decoder_that_is_not_needed_any_more_is_killed() {
    let fixture = Fixture::new();
    let coded = ["-pix_fmt", "yuv420p", "-c:v", "ffv1"];
    let reference = fixture.encode("reference.mkv", "64x64", 9, &coded);
    let distorted = fixture.encode("distorted.mkv", "64x64", 3, &coded);
    let mut task = fixture.task(&reference, &distorted);
    task.options.length_mismatch = Some(LengthMismatch::Shortest);
    let script = r#""$real" "$@"; case "$*" in *reference.mkv*) exec sleep 1000;; esac"#;
    task.ffmpeg = Some(decoder(&fixture, script));
    let scored = run(&task).await.unwrap();
    assert_eq!(scored.details.unwrap().frames, 3);
    fixture.wait_until_empty().await;
}

#[tokio::test]
async fn a_worker_cannot_have_another_process_killed() {
    let fixture = Fixture::new();
    let mut other =
        Command::new("sleep").arg("1000").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let script = format!(
        r#"read -r task; echo '{{"kill":{{"process":{}}}}}'; echo '{{"kill":{{"process":1}}}}'; echo '{{"kill":{{"process":4294967295}}}}'; exit 9"#,
        other.id()
    );
    let launcher = Launcher::new(fixture.script("worker", &script));
    let failure = failure_of(&fixture, run_with(&launcher, &fixture.golden_task()).await);
    assert_eq!(failure.reason, FailureReason::WorkerCrashed);
    assert!(failure.message.contains("exit code 9"), "the messages were understood: {failure}");
    assert!(other.try_wait().unwrap().is_none(), "the other process lives");
    other.kill().unwrap();
    other.wait().unwrap();
}
