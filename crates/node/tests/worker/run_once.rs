//! `run-once`: one job from arguments.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rstest::rstest;
use serde_json::Value;
use vmafx_testkit::wait::until;

use crate::stage::{LONG, Stage, ffmpeg, golden, node, run};

/// The command about these clips.
fn command(stage: &Stage, reference: &Path, distorted: &Path) -> Command {
    let mut command = Command::new(node());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("VMAFX_FFMPEG_BIN", ffmpeg())
        .env("VMAFX_SCRATCH_DIR", stage.scratch())
        .arg("run-once")
        .arg("--reference")
        .arg(reference)
        .arg("--distorted")
        .arg(distorted)
        .arg("--result")
        .arg(stage.path("result.json"));
    command
}

/// The golden pair, in the directory of a stage.
fn golden_command(stage: &Stage) -> Command {
    let copy = |name: &str| {
        fs::copy(golden(name), stage.path(name)).unwrap();
        stage.path(name)
    };
    let (reference, distorted) = (copy("ref_160x90.yuv"), copy("dis_160x90.yuv"));
    let mut command = command(stage, &reference, &distorted);
    command.args(["--width", "160", "--height", "90", "--model", "vmaf_v0.6.1"]);
    command.arg("--scoring-roots").arg(stage.path(""));
    command
}

fn ran(command: &mut Command) -> (Option<i32>, Output) {
    let output = command.output().unwrap();
    (output.status.code(), output)
}

fn result(stage: &Stage) -> Value {
    serde_json::from_str(&fs::read_to_string(stage.path("result.json")).unwrap()).unwrap()
}

#[tokio::test]
async fn the_golden_pair_has_its_score_and_report() {
    let stage = Stage::new();
    let mut command = golden_command(&stage);
    command.arg("--report-uri").arg(stage.path("report.csv")).args(["--feature", "psnr"]);
    let (code, output) = ran(&mut command);
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found = result(&stage);
    assert_eq!(found["outcome"], "Scored");
    let mut task = stage.golden_task();
    task.features = vec!["psnr".to_owned()];
    let expected = run(&task).await.unwrap();
    assert_eq!(found["score"].as_f64().unwrap().to_bits(), expected.score.to_bits());
    assert_eq!(found["features"]["psnr_y"].as_f64(), expected.features.get("psnr_y").copied());
    assert_eq!(fs::read_to_string(stage.path("report.csv")).unwrap().lines().count(), 49);
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("workers are confined"));
    let left: Vec<_> = walk(&stage.scratch());
    assert_eq!(left, Vec::<String>::new(), "the scratch directory is clean");
}

/// Files below a directory, but for the lock that stays.
fn walk(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(walk(&path)),
            path if path.ends_with(".lock") => {}
            path => found.push(path.display().to_string()),
        }
    }
    found
}

#[rstest]
#[case::outside_the_roots("/etc/passwd", "InputDenied", 2)]
#[case::missing("missing.mp4", "InputNotFound", 2)]
#[case::no_video("broken.mp4", "InputInvalid", 2)]
#[case::unknown_format("text.mp4", "OptionsInvalid", 2)]
#[case::unreachable("http://127.0.0.1:1/clip.mp4", "SourceUnreachable", 3)]
fn the_exit_code_tells_a_bad_input_from_a_broken_machine(
    #[case] clip: &str,
    #[case] reason: &str,
    #[case] expected: i32,
) {
    let stage = Stage::new();
    stage.write("text.mp4", "hello ".repeat(1000));
    stage.write("broken.mp4", "\0\0\0\x18ftypmp42");
    let clip = if clip.contains('/') { clip.into() } else { stage.path(clip) };
    let mut command = command(&stage, &clip, &clip);
    command.args(["--fetch-timeout", "3s", "--scoring-roots"]);
    command.arg(format!("{},http://127.0.0.1:1/", stage.path("").display()));
    let (code, output) = ran(&mut command);
    let found = result(&stage);
    assert_eq!(found["reason"], reason, "{found} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((code, found["outcome"].as_str()), (Some(expected), Some("Failed")));
    assert!(found["number"].is_i64() && found["message"].as_str().unwrap().len() > 10, "{found}");
}

#[rstest]
#[case::unknown_option(&["--what"])]
#[case::half_a_shape(&["--width", "160"])]
fn wrong_usage_tries_nothing(#[case] arguments: &[&str]) {
    let stage = Stage::new();
    let mut command = command(&stage, &stage.path("a"), &stage.path("b"));
    let (code, output) = ran(command.args(arguments));
    assert_eq!(code, Some(64), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!stage.path("result.json").exists());
}

#[test]
fn help_is_no_error() {
    let (code, output) = ran(Command::new(node()).args(["run-once", "--help"]));
    assert_eq!(code, Some(0));
    let help = String::from_utf8_lossy(&output.stdout);
    for option in ["--reference", "--length-mismatch", "--report-uri", "--result", "--scoring-roots"] {
        assert!(help.contains(option), "{option}: {help}");
    }
}

#[tokio::test]
async fn a_request_to_end_ends_the_job_and_says_so() {
    let stage = Stage::new();
    let clip = stage.write("clip.mp4", [7; 1000]);
    let mut command = command(&stage, &clip, &clip);
    let decoder = stage.script("ffmpeg", "touch $TMPDIR/started; exec sleep 1000");
    command.env("VMAFX_FFMPEG_BIN", decoder).arg("--scoring-roots").arg(stage.path(""));
    let mut child = tokio::process::Command::from(command)
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    until(LONG, "the decoder runs", async || {
        if walk(&stage.scratch()).iter().any(|file| file.ends_with("/started")) {
            Ok(())
        } else {
            Err("not yet".to_owned())
        }
    })
    .await
    .unwrap();
    let id = rustix::process::Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(3));
    let found = result(&stage);
    assert_eq!(found["message"], "the job was interrupted: the process was asked to end");
    assert_eq!(walk(&stage.scratch()), Vec::<String>::new());
}
