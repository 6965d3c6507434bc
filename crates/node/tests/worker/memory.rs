//! A worker or a decoder that wants more memory than it has.

use vmafx_node::failure::Reason;
use vmafx_node::launch::Launcher;

use crate::stage::{Stage, failure, failure_of, node, run, run_with};

const BARE: [&str; 4] = ["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe"];

#[tokio::test]
async fn fewer_threads_are_used_where_memory_is_short() {
    let stage = Stage::new();
    let clip = stage.encode("clip.y4m", "1920x1080", 3, &BARE);
    let mut task = stage.task(&clip, &clip);
    task.threads = 64;
    task.limits.memory_bytes = 400_000_000;
    assert_eq!(run(&task).await.unwrap().frames, 3);
}

#[tokio::test]
async fn what_cannot_fit_is_refused_with_numbers() {
    let stage = Stage::new();
    let clip = stage.encode("clip.y4m", "1920x1080", 3, &BARE);
    let mut task = stage.task(&clip, &clip);
    task.limits.memory_bytes = 100_000_000;
    let failure = failure(&stage, &task).await;
    assert_eq!(failure.reason, Reason::OutOfMemory);
    assert!(failure.message.contains("and a job has 100 MB here"), "{}", failure.message);
}

/// The limit holds where the estimate does not: here the worker believes to have more than it has.
#[tokio::test]
async fn a_worker_that_takes_more_than_it_has_fails_alone() {
    let stage = Stage::new();
    let clip = stage.encode("clip.y4m", "1920x1080", 12, &BARE);
    let script = format!("ulimit -d 60000; exec {} worker", node().display());
    let launcher = Launcher::new(stage.script("worker", &script));
    let failure = failure_of(&stage, run_with(&launcher, &stage.task(&clip, &clip)).await);
    assert_eq!(failure.reason, Reason::OutOfMemory, "{}", failure.message);
    stage.wait_until_empty().await;
}

#[tokio::test]
async fn a_decoder_that_allocates_without_end_fails_the_job() {
    let stage = Stage::new();
    let file = stage.write("clip.mp4", [7; 1000]);
    let mut task = stage.task(&file, &file);
    task.limits.memory_bytes = 200_000_000;
    let script = r#"awk 'BEGIN { x = "x"; while (1) x = x x }' 2>/dev/null && exit; echo "Cannot allocate memory" >&2; exit 1"#;
    task.ffmpeg = Some(stage.script("ffmpeg", script));
    let failure = failure(&stage, &task).await;
    assert_eq!(failure.reason, Reason::OutOfMemory, "{}", failure.message);
    stage.wait_until_empty().await;
}
