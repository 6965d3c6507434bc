//! A worker or a decoder that needs more memory than it has.

use vmafx_job::FailureReason;
use vmafx_node::launch::Launcher;

use crate::fixture::{Fixture, failure, failure_of, node, run, run_with};

const Y4M: [&str; 4] = ["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe"];

#[tokio::test]
async fn fewer_threads_are_used_where_memory_is_short() {
    let fixture = Fixture::new();
    let clip = fixture.encode("clip.y4m", "1920x1080", 3, &Y4M);
    let mut task = fixture.task(&clip, &clip);
    task.threads = 64;
    task.limits.memory_bytes = 400_000_000;
    assert_eq!(run(&task).await.unwrap().details.unwrap().frames, 3);
}

#[tokio::test]
async fn a_picture_that_cannot_fit_is_refused_with_numbers() {
    let fixture = Fixture::new();
    let clip = fixture.encode("clip.y4m", "1920x1080", 3, &Y4M);
    let mut task = fixture.task(&clip, &clip);
    task.limits.memory_bytes = 100_000_000;
    let failure = failure(&fixture, &task).await;
    assert_eq!(failure.reason, FailureReason::OutOfMemory);
    assert!(failure.message.contains("and a job on this node has 100 MB"), "{}", failure.message);
}

/// The limit holds where the estimate does not: the worker has less memory than its task says.
#[tokio::test]
async fn a_worker_that_takes_more_than_it_has_fails_alone() {
    let fixture = Fixture::new();
    let clip = fixture.encode("clip.y4m", "1920x1080", 12, &Y4M);
    let script = format!("ulimit -d 30000; exec {} worker", node().display());
    let launcher = Launcher::new(fixture.script("worker", &script));
    let failure = failure_of(&fixture, run_with(&launcher, &fixture.task(&clip, &clip)).await);
    assert_eq!(failure.reason, FailureReason::OutOfMemory, "{}", failure.message);
    fixture.wait_until_empty().await;
}

#[tokio::test]
async fn a_decoder_that_allocates_without_end_fails_the_job() {
    let fixture = Fixture::new();
    let file = fixture.write("clip.mp4", [7; 1000]);
    let mut task = fixture.task(&file, &file);
    task.limits.memory_bytes = 200_000_000;
    let script = r#"awk 'BEGIN { x = "x"; while (1) x = x x }' 2>/dev/null && exit; echo "Cannot allocate memory" >&2; exit 1"#;
    task.ffmpeg = Some(fixture.script("ffmpeg", script));
    let failure = failure(&fixture, &task).await;
    assert_eq!(failure.reason, FailureReason::OutOfMemory, "{}", failure.message);
    fixture.wait_until_empty().await;
}
