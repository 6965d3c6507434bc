//! Work that is slow and alive, and work that hangs.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use vmafx_job::{FailureReason, ScoreResult};
use vmafx_node::launch::{Launcher, Unscored};
use vmafx_node::task::Task;

use crate::fixture::{Fixture, LONG, failure_of, ffmpeg, node};

/// Far below the time that the slow decoder takes, and far above its pauses.
const STALL: Duration = Duration::from_secs(2);

const FRAMES: u32 = 30;

/// A comparison whose decoder is a script around the real one, `$real`, that only scores the first frame.
fn task(fixture: &Fixture, decode: &str) -> Task {
    let clip = fixture.encode("clip.mkv", "160x90", FRAMES, &["-pix_fmt", "yuv420p", "-c:v", "ffv1"]);
    let mut task = fixture.task(&clip, &clip);
    task.options.frame_step = Some(10_000.try_into().unwrap());
    task.ffmpeg = Some(decoder(fixture, decode));
    task
}

/// Probes are passed on to the real program.
pub(crate) fn decoder(fixture: &Fixture, decode: &str) -> PathBuf {
    // A worker may use the libraries beside its decoder, and nothing else of that directory.
    let real = fixture.path("real.so");
    std::fs::copy(ffmpeg(), &real).unwrap();
    let probe = r#"case " $* " in *" -frames:v 0 "*) exec "$real" "$@";; esac"#;
    fixture.script("ffmpeg", &format!("set -o pipefail; real={}; {probe}; {decode}", real.display()))
}

async fn run(task: &Task) -> Result<ScoreResult, Unscored> {
    Launcher::new(node()).run(task, |_, _| {}, &CancellationToken::new(), STALL, Some(LONG)).await
}

#[tokio::test]
async fn a_slow_decoder_is_alive_although_no_frame_is_scored() {
    let fixture = Fixture::new();
    let slowly = r#""$real" "$@" | { for _ in $(seq 60); do head -c 5000; sleep 0.1; done; cat; }"#;
    let result = run(&task(&fixture, slowly)).await.unwrap();
    assert_eq!(result.details.unwrap().frames, 1);
    fixture.wait_until_empty().await;
}

#[tokio::test]
async fn a_decoder_that_hangs_between_two_frames_is_killed() {
    let fixture = Fixture::new();
    let hangs = r#""$real" "$@" | { head -c 200000; sleep 1000; }"#;
    let failure = failure_of(&fixture, run(&task(&fixture, hangs)).await);
    assert_eq!(failure.reason, FailureReason::WorkerStalled, "{}", failure.message);
    fixture.wait_until_empty().await;
}
