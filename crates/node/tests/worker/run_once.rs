//! `run-once`: one job from a JSON document.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rstest::rstest;
use serde_json::{Value, json};
use vmafx_job::Feature;
use vmafx_testkit::old_kernel::MissingCall;
use vmafx_testkit::wait::until;

use crate::fixture::{Fixture, LONG, ffmpeg, golden, node, run};
use crate::unconfined::node_without;

fn command(fixture: &Fixture, request: &Value) -> Command {
    command_of(&node(), fixture, request)
}

fn command_of(program: &Path, fixture: &Fixture, request: &Value) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("VMAFX_FFMPEG_BIN", ffmpeg())
        .env("VMAFX_SCRATCH_DIR", fixture.scratch())
        .args(["run-once", "--request", &request.to_string()])
        .arg("--scoring-roots")
        .arg(fixture.path(""))
        .arg("--result")
        .arg(fixture.path("result.json"));
    command
}

/// The golden pair, below the scoring root.
fn golden_request(fixture: &Fixture) -> Value {
    let copy = |name: &str| {
        fs::copy(golden(name), fixture.path(name)).unwrap();
        fixture.path(name)
    };
    json!({
        "reference": copy("ref_160x90.yuv"), "distorted": copy("dis_160x90.yuv"),
        "model": "vmaf_v0.6.1", "input": { "width": 160, "height": 90 },
    })
}

fn ran(command: &mut Command) -> (Option<i32>, Output) {
    let output = command.output().unwrap();
    (output.status.code(), output)
}

fn result(fixture: &Fixture) -> Value {
    serde_json::from_str(&fs::read_to_string(fixture.path("result.json")).unwrap()).unwrap()
}

#[tokio::test]
async fn the_golden_pair_has_its_score_and_report() {
    let fixture = Fixture::new();
    let mut request = golden_request(&fixture);
    request["features"] = json!(["psnr"]);
    request["reportURI"] = json!(fixture.path("report.csv"));
    let (code, output) = ran(&mut command(&fixture, &request));
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found = result(&fixture);
    assert_eq!(found["outcome"], "Scored");
    let mut task = fixture.golden_task();
    task.options.features = vec![Feature::Psnr];
    let expected = run(&task).await.unwrap();
    assert_eq!(found["score"].as_f64().unwrap().to_bits(), expected.score.to_bits());
    assert_eq!(found["features"]["psnr_y"].as_f64(), expected.features.get("psnr_y").copied());
    assert_eq!(fs::read_to_string(fixture.path("report.csv")).unwrap().lines().count(), 49);
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("workers are confined"));
    let left: Vec<_> = walk(&fixture.scratch());
    assert_eq!(left, Vec::<String>::new(), "the scratch directory is clean");
}

/// Files below a directory, except for lock files.
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

#[test]
fn a_machine_that_cannot_confine_is_at_fault_unless_best_effort_is_enough() {
    let fixture = Fixture::new();
    let request = golden_request(&fixture);
    let program = node_without(&fixture, MissingCall::Landlock);
    let (code, _) = ran(&mut command_of(&program, &fixture, &request));
    let found = result(&fixture);
    assert_eq!((code, &found["reason"], &found["number"]), (Some(3), &json!("NodeUnconfined"), &json!(30)));
    assert!(found["message"].as_str().unwrap().contains("landlock is not in force"), "{found}");

    let mut command = command_of(&program, &fixture, &request);
    let (code, output) = ran(command.env("VMAFX_CONFINEMENT", "best-effort"));
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found = result(&fixture);
    assert_eq!(found["confinement"]["landlockAbi"], 0, "{found}");
    assert_eq!(found["confinement"]["wallSeconds"], 86_400, "{found}");
}

#[rstest]
#[case::outside_the_roots("/etc/passwd", "InputDenied", 2)]
#[case::missing("missing.mp4", "InputMissingOnNode", 3)]
#[case::no_video("broken.mp4", "InputInvalid", 2)]
#[case::unknown_format("text.mp4", "OptionsInvalid", 2)]
#[case::unreachable("http://127.0.0.1:1/clip.mp4", "SourceUnreachable", 3)]
fn the_exit_code_tells_a_bad_input_from_a_broken_machine(
    #[case] clip: &str,
    #[case] reason: &str,
    #[case] expected: i32,
) {
    let fixture = Fixture::new();
    fixture.write("text.mp4", "hello ".repeat(1000));
    fixture.write("broken.mp4", "\0\0\0\x18ftypmp42");
    let clip = if clip.contains('/') { clip.into() } else { fixture.path(clip) };
    let mut command = command(&fixture, &json!({ "reference": &clip, "distorted": &clip }));
    command.args(["--fetch-timeout", "3s", "--scoring-roots", "http://127.0.0.1:1/"]);
    let (code, output) = ran(&mut command);
    let found = result(&fixture);
    assert_eq!(found["reason"], reason, "{found} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((code, found["outcome"].as_str()), (Some(expected), Some("Failed")));
    assert!(found["number"].is_i64() && found["message"].as_str().unwrap().len() > 10, "{found}");
}

#[rstest]
#[case::unknown_option(json!({ "reference": "/a", "distorted": "/b" }), &["--what"], "--what")]
#[case::two_documents(json!({ "reference": "/a", "distorted": "/b" }), &["--request-file", "-"], "--request-file")]
#[case::gpu_without_an_engine(json!({ "reference": "/a", "distorted": "/b" }), &["--backend", "cuda"], "VMAFX_VMAF_BINARY")]
#[case::half_a_description(
    json!({ "reference": "/a", "distorted": "/b", "input": { "width": 160 } }),
    &[],
    "error: --request: input: missing field `height`"
)]
#[case::unknown_field(
    json!({ "reference": "/a", "distorted": "/b", "frame_step": 2 }),
    &[],
    "error: --request: frame_step: unknown field"
)]
fn wrong_usage_tries_nothing(#[case] request: Value, #[case] arguments: &[&str], #[case] message: &str) {
    let fixture = Fixture::new();
    let (code, output) = ran(command(&fixture, &request).args(arguments));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code, Some(64), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
    assert!(!fixture.path("result.json").exists());
}

#[test]
fn a_document_comes_from_a_file_or_from_standard_input_too() {
    let fixture = Fixture::new();
    let file = fixture.write("request.json", golden_request(&fixture).to_string());
    for argument in [file.as_path(), Path::new("-")] {
        let mut command = Command::new(node());
        command.arg("run-once").arg("--request-file").arg(argument);
        command.arg("--scratch-dir").arg(fixture.scratch()).arg("--scoring-roots").arg(fixture.path(""));
        command.arg("--result").arg(fixture.path("result.json")).stdin(fs::File::open(&file).unwrap());
        let (code, output) = ran(&mut command);
        assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(result(&fixture)["outcome"], "Scored");
        fs::remove_file(fixture.path("result.json")).unwrap();
    }
}

#[test]
fn help_is_not_an_error() {
    let (code, output) = ran(Command::new(node()).args(["run-once", "--help"]));
    assert_eq!(code, Some(0));
    let help = String::from_utf8_lossy(&output.stdout);
    for option in ["--request", "--request-file", "--result", "--scoring-roots", "--worker-cpu"] {
        assert!(help.contains(option), "{option}: {help}");
    }
}

#[tokio::test]
async fn a_termination_signal_stops_the_job_and_the_result_says_so() {
    let fixture = Fixture::new();
    let clip = fixture.write("clip.mp4", [7; 1000]);
    let mut command = command(&fixture, &json!({ "reference": &clip, "distorted": &clip }));
    let decoder = fixture.script("ffmpeg", "touch $TMPDIR/started; exec sleep 1000");
    command.env("VMAFX_FFMPEG_BIN", decoder);
    let mut child = tokio::process::Command::from(command)
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    until(LONG, "the decoder runs", async || {
        if walk(&fixture.scratch()).iter().any(|file| file.ends_with("/started")) {
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
    let found = result(&fixture);
    assert_eq!(found["message"], "the job was interrupted: the process was asked to terminate");
    assert_eq!(walk(&fixture.scratch()), Vec::<String>::new());
}
