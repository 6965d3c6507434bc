//! The same clips through ffmpeg's libvmaf filter: another version of the library, another decoder set-up, another way of
//! pairing frames. A hundredth of a point is what its older libvmaf differs by.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "test code")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use tokio_util::sync::CancellationToken;
use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::input::{Clip, Tools};
use vmafx_scoring::report::pooling::pool;
use vmafx_scoring::score::{self, Request};

const TOLERANCE: f64 = 0.01;

/// The ffmpeg of this machine, if it has the filter.
fn peer() -> Option<PathBuf> {
    let ffmpeg = Tools::from_process_env().ffmpeg()?.to_owned();
    let filters = Command::new(&ffmpeg).args(["-hide_banner", "-filters"]).output().ok()?;
    String::from_utf8_lossy(&filters.stdout).contains(" libvmaf ").then_some(ffmpeg)
}

fn ffmpeg(program: &Path, arguments: &[&str]) {
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"]).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The mean that the filter finds. Its first input is the distorted one.
fn filter_mean(program: &Path, reference: &str, distorted: &str, log: &str) -> f64 {
    let filter = format!(
        "[0:v]settb=1/30,setpts=N[d];[1:v]settb=1/30,setpts=N[r];[d][r]libvmaf=log_fmt=json:log_path={log}"
    );
    ffmpeg(program, &["-i", distorted, "-i", reference, "-lavfi", &filter, "-f", "null", "-"]);
    let log: serde_json::Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    log["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap()
}

#[rstest]
#[case::h264_8_bit("libx264", "yuv420p")]
#[case::h264_10_bit("libx264", "yuv420p10le")]
#[case::hevc_8_bit("libx265", "yuv420p")]
#[case::hevc_10_bit("libx265", "yuv420p10le")]
fn a_score_is_that_of_ffmpegs_filter(#[case] codec: &str, #[case] pixels: &str) {
    let Some(program) = peer() else {
        // Past the harness's capture: a skipped test must be seen.
        writeln!(std::io::stderr(), "skipped: no ffmpeg with libvmaf here; `make test` brings one").unwrap();
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (reference, distorted) = (path("reference.y4m"), path("distorted.mp4"));
    let source = "testsrc2=size=640x360:rate=30,noise=alls=6:allf=t:all_seed=3";
    ffmpeg(
        &program,
        &["-f", "lavfi", "-i", source, "-frames:v", "30", "-pix_fmt", pixels, "-strict", "-1", &reference],
    );
    ffmpeg(
        &program,
        &[
            "-i", &reference, "-c:v", codec, "-preset", "veryfast", "-crf", "36", "-pix_fmt", pixels,
            &distorted,
        ],
    );

    let clip = |path: &str| Clip::new(path);
    let mut request = Request::new(clip(&reference), vec![clip(&distorted)]);
    request.models = vec!["vmaf_v0.6.1".parse::<ModelChoice>().unwrap()];
    let tools = Tools::from_process_env();
    let outcomes = score::run(&request, &tools, &(), &CancellationToken::new()).unwrap();
    let ours = pool(&outcomes[0].frames, &outcomes[0].models[0].scores).unwrap().mean;

    let theirs = filter_mean(&program, &reference, &distorted, &path("log.json"));
    assert!((ours - theirs).abs() < TOLERANCE, "ours {ours}, ffmpeg's {theirs}");
    assert!((20.0..99.0).contains(&ours), "{ours} would not show a difference");
}
