//! Invalid input: the exit code is 2, the error names the file and the remedy, and there is no score.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rstest::rstest;
use vmafx_testkit::command::CommandOutput;

use crate::command::{RAW, clip, golden_pair, names, score, score_with};

fn assert_error(result: &CommandOutput, words: &[&str]) {
    assert_eq!((result.code, result.stdout.as_str()), (Some(2), ""), "{result:?}");
    assert!(result.stderr.starts_with("error: "), "{}", result.stderr);
    for word in words {
        assert!(result.stderr.contains(word), "{word} is missing: {}", result.stderr);
    }
    for noise in ["backtrace", "panicked", "RUST_BACKTRACE", "src/"] {
        assert!(!result.stderr.contains(noise), "{noise}: {}", result.stderr);
    }
}

/// Scores a file with this content against the golden reference.
fn score_content(directory: &Path, name: &str, content: &[u8], options: &[&str]) -> CommandOutput {
    let path = directory.join(name);
    fs::write(&path, content).unwrap();
    CommandOutput::of(score().arg(clip("ref_160x90.yuv")).arg(path).args(RAW).args(options))
}

#[test]
fn a_missing_file() {
    let mut command = score();
    command.arg(clip("ref_160x90.yuv")).arg("nowhere.yuv").args(RAW);
    assert_error(&CommandOutput::of(&mut command), &["nowhere.yuv", "No such file"]);
}

#[test]
fn a_file_that_ends_in_the_middle_of_a_frame() {
    let directory = tempfile::tempdir().unwrap();
    let whole = fs::read(clip("dis_160x90.yuv")).unwrap();
    let result = score_content(directory.path(), "cut.yuv", &whole[..whole.len() - 1], &[]);
    assert_error(&result, &["cut.yuv", "160x90"]);
}

#[test]
fn clips_of_different_length_unless_the_shortest_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let whole = fs::read(clip("dis_160x90.yuv")).unwrap();
    let forty = &whole[..160 * 90 * 3 / 2 * 40];
    assert_error(
        &score_content(directory.path(), "forty.yuv", forty, &[]),
        &["forty.yuv", "48", "40", "shortest"],
    );
    let result = score_content(directory.path(), "forty.yuv", forty, &["--shortest"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.stderr.contains("8 frames of the reference"), "{}", result.stderr);
}

#[test]
fn an_empty_file() {
    let directory = tempfile::tempdir().unwrap();
    assert_error(&score_content(directory.path(), "empty.yuv", b"", &[]), &["empty.yuv"]);
}

#[test]
fn a_model_that_does_not_exist_with_the_nearest_that_does() {
    assert_error(&golden_pair(&["--model", "vmaf_v0.6.2"]), &["vmaf_v0.6.2", "vmaf_v0.6.1"]);
}

#[test]
fn a_clip_too_small_for_the_model() {
    assert_error(&golden_pair(&["--model", "vmaf_v1.0.16_3d0h"]), &["160x90", "216"]);
}

#[test]
fn a_file_that_needs_ffmpeg_where_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.mp4");
    fs::write(&path, "\0\0\0\x18ftypmp42").unwrap();
    let mut command = score();
    command.arg(&path).arg(&path).env("PATH", directory.path());
    assert_error(&CommandOutput::of(&mut command), &["a.mp4", "ffmpeg", "VMAFX_FFMPEG_BIN"]);
}

#[test]
fn raw_video_without_a_description() {
    let result = score_with([clip("ref_160x90.yuv"), clip("dis_160x90.yuv")]);
    assert_error(&result, &["ref_160x90.yuv", "--size", "--pixel-format"]);
}

#[rstest]
#[case::one_clip(&["a.mp4"], "DIS")]
#[case::both_ways(&["a.mp4", "b.mp4", "--reference", "c.mp4"], "--reference")]
#[case::half_named(&["--reference", "c.mp4"], "--distorted")]
#[case::half_described(&["a.yuv", "b.yuv", "--size", "2x2"], "--pixel-format")]
#[case::unknown_feature(&["a.mp4", "b.mp4", "--feature", "vif2"], "psnr-hvs")]
#[case::zero_step(&["a.mp4", "b.mp4", "--subsample", "0"], "--subsample")]
#[case::unknown_ending(&["a.mp4", "b.mp4", "--report", "r.pdf"], ".json, .csv, .html or .xml")]
#[case::no_number(&["a.mp4", "b.mp4", "--min-score", "nan"], "--min-score")]
#[case::nothing(&[], "--help")]
fn wrong_usage(#[case] arguments: &[&str], #[case] word: &str) {
    assert_error(&score_with(arguments), &[word]);
}

#[test]
fn a_report_that_cannot_be_written_is_found_before_scoring() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing/r.html");
    // The error is about the report although the clips do not exist: the report is checked first.
    let result = CommandOutput::of(score().args(["a.mp4", "b.mp4", "--report"]).arg(&path));
    assert_error(&result, &["missing/r.html", "No such file or directory"]);
}

#[test]
fn a_failed_run_leaves_no_report() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("r.html");
    let result = golden_pair(&["--model", "none", "--report", report.to_str().unwrap()]);
    assert_eq!(result.code, Some(2));
    assert!(names(directory.path()).is_empty());
}

#[test]
fn a_closed_standard_output() {
    let mut command = score();
    command.arg(clip("ref_160x90.yuv")).arg(clip("dis_160x90.yuv")).args(RAW).args(["-o", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_error(
        &CommandOutput { code: output.status.code(), stdout: String::new(), stderr },
        &["standard output", "Broken pipe"],
    );
}
