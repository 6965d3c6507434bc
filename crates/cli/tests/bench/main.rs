//! `vmafx bench`: the real program with both engines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rstest::rstest;
use serde_json::Value;
use vmafx_testkit::command::{CommandOutput, interrupt};
use vmafx_testkit::wait;

fn bench(arguments: &[&str]) -> CommandOutput {
    CommandOutput::of(&mut command(arguments))
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmafx"));
    command.arg("bench").args(arguments).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&bench(&[arguments, &["-o", "json"]].concat()).ok()).unwrap()
}

#[test]
fn the_table_ends_with_the_speed_of_both_engines() {
    let result = bench(&["--size", "480x270", "--model", "vmaf_v0.6.1", "--frames", "2"]);
    assert_eq!((result.code, result.stderr.as_str()), (Some(0), ""), "{result:?}");
    let last = result.stdout.lines().last().unwrap();
    for part in ["native-", " frames/s per core, libvmaf: ", " times as fast (vmaf_v0.6.1 at 480x270)"] {
        assert!(last.contains(part), "{}", result.stdout);
    }
    assert!(result.stdout.contains("Speed-up"), "{}", result.stdout);
}

#[test]
fn json_has_every_round_of_both_engines_for_each_model_and_size() {
    let document = json(&["--size", "480x270,448x252", "--frames", "3", "--threads", "2"]);
    assert_eq!(document["machine"]["threads"], 2);
    let results = document["results"].as_array().unwrap();
    let cases: Vec<_> = results.iter().map(|result| (&result["model"], &result["width"])).collect();
    let expected =
        [("vmaf_v1.0.16_3d0h", 480), ("vmaf_v1.0.16_3d0h", 448), ("vmaf_v0.6.1", 480), ("vmaf_v0.6.1", 448)];
    assert_eq!(cases.len(), expected.len(), "{document}");
    for ((model, width), expected) in cases.into_iter().zip(expected) {
        assert_eq!((model.as_str().unwrap(), width.as_u64().unwrap()), expected);
    }
    for result in results {
        for engine in [&result["native"], &result["libvmaf"]] {
            let rounds = engine["rounds"].as_array().unwrap();
            assert_eq!(rounds.len(), 3, "{result}");
            assert!(
                rounds.iter().all(|round| round["frames"] == 3 && round["cpuSeconds"].as_f64() > Some(0.0))
            );
            assert!(engine["framesPerCpuSecond"].as_f64() > Some(0.0), "{result}");
        }
        assert!((20.0..100.0).contains(&result["meanScore"].as_f64().unwrap()), "{result}");
        assert_eq!(result["native"]["engine"], document["machine"]["native"]);
    }
}

#[test]
fn deeper_samples_are_measured_too() {
    let document = json(&["--size", "480x270", "--frames", "2", "--pixel-format", "yuv422p10le"]);
    assert_eq!(document["machine"]["pixelFormat"], "yuv422p10le");
}

#[test]
fn frames_too_small_for_v1_are_measured_with_one_model() {
    let document = json(&["--size", "160x90", "--frames", "2"]);
    let models: Vec<_> =
        document["results"].as_array().unwrap().iter().map(|result| &result["model"]).collect();
    assert_eq!(models, ["vmaf_v0.6.1"]);
}

#[rstest]
#[case::no_size(&["--size", "1080p"], "WIDTHxHEIGHT")]
#[case::a_huge_size(&["--size", "100000x100000"], "9999")]
#[case::too_small(&["--size", "16x16"], "too small")]
#[case::unknown_model(&["--model", "vmaf_v0.6.2"], "vmaf_v0.6.1")]
#[case::no_time(&["--seconds", "0"], "above zero")]
#[case::both(&["--seconds", "1", "--frames", "2"], "--frames")]
#[case::no_thread(&["--threads", "0"], "--threads")]
fn wrong_usage(#[case] arguments: &[&str], #[case] part: &str) {
    let error = bench(arguments).only_error();
    assert!(error.contains(part), "{error}");
}

#[test]
fn the_help_says_what_is_measured() {
    let help = bench(&["--help"]).ok();
    for part in ["Examples:", "What is measured:", "per core", "Exit codes:"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

#[tokio::test]
async fn ctrl_c_stops_in_the_middle_of_a_round() {
    let mut command = command(&["--size", "480x270", "--seconds", "3600"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_handled = || async { handles_signals(&child) };
    wait::until(Duration::from_secs(30), "handlers of signals", is_handled).await.unwrap();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("stopped"), "{output:?}");
}

/// The thread that waits for signals starts after the handlers are installed.
fn handles_signals(child: &Child) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let mut names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.trim() == "signals")
}
