//! Progress and cancellation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use vmafx_scoring::input::Tools;
use vmafx_scoring::score::{self, Request, ScoreError};

use crate::clips::{Clips, format, named, score_every};

fn request(clips: &Clips, frames: u64) -> Request {
    let mut request = clips.request(frames);
    request.models = named("vmaf_v0.6.1");
    request
}

fn run(request: &Request, cancel_at: u64) -> (Result<usize, ScoreError>, u64) {
    let token = CancellationToken::new();
    let last = AtomicU64::new(0);
    let progress = |done: u64, total: Option<u64>| {
        assert!(total.is_none_or(|total| done <= total));
        last.store(done, Ordering::SeqCst);
        if done == cancel_at {
            token.cancel();
        }
    };
    let result = score::run(request, &Tools::from_process_env(), &progress, &token);
    (result.map(|outcomes| outcomes.len()), last.into_inner())
}

#[test]
fn progress_counts_every_pair() {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips, 9);
    let (result, done) = run(&request, u64::MAX);
    assert_eq!((result.unwrap(), done), (1, 9));
    request.distorted.push(request.distorted[0].clone());
    score_every(&mut request, 2);
    let (result, done) = run(&request, u64::MAX);
    assert_eq!((result.unwrap(), done), (2, 10));
}

#[test]
fn a_comparison_that_is_cancelled_ends_at_once() {
    let clips = Clips::new(format(160, 90));
    for threads in [1, 3, 8] {
        let mut request = request(&clips, 60);
        request.threads = threads;
        let (result, done) = run(&request, 5);
        assert!(matches!(result, Err(ScoreError::Cancelled)), "{result:?}");
        assert_eq!(done, 5, "with {threads} threads");
    }
}

#[test]
fn a_comparison_that_is_cancelled_before_does_not_start() {
    let clips = Clips::new(format(160, 90));
    let (result, done) = run(&request(&clips, 5), 0);
    assert!(matches!(result, Err(ScoreError::Cancelled)), "{result:?}");
    assert_eq!(done, 0);
}

/// Processes that have a file of this test in their command line.
fn decoders(of: &Clips) -> usize {
    let directory = of.directory.path().to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let commands = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    commands.filter(|command| String::from_utf8_lossy(command).contains(&directory)).count()
}

#[test]
fn cancelling_leaves_no_decoder_behind() {
    if Tools::from_process_env().ffmpeg().is_none() {
        vmafx_testkit::prerequisite::skip("there is no ffmpeg; `make test` provides one");
        return;
    }
    let clips = Clips::new(format(320, 180));
    let small = Clips::new(format(160, 90));
    let mut request = request(&clips, 200);
    // Another size makes ffmpeg scale the distorted clip.
    request.distorted = vec![small.clip("distorted.yuv", 200, 3)];
    let began = Instant::now();
    let (result, done) = run(&request, 5);
    assert!(matches!(result, Err(ScoreError::Cancelled)), "{result:?}");
    assert_eq!(done, 5);
    assert_eq!(decoders(&small), 0);
    assert!(began.elapsed() < Duration::from_secs(20));
}
