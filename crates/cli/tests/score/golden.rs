//! The golden pair of Netflix: its scores, the output formats, and `--min-score`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rstest::rstest;
use serde_json::Value;
use vmafx_testkit::command::CommandOutput;

use crate::command::{RAW, clip, golden_pair, names, score, score_with};

const GOLDEN: f64 = 92.520_958_880_423_86;
const MODEL: [&str; 2] = ["--model", "vmaf_v0.6.1"];

fn mean(json: &Value) -> f64 {
    json["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap()
}

#[test]
fn the_table_has_the_golden_score_and_standard_error_is_empty() {
    let result = golden_pair(&MODEL);
    assert_eq!((result.code, result.stderr.as_str()), (Some(0), ""), "{result:?}");
    assert!(result.stdout.contains("vmaf_v0.6.1  92.52"), "{}", result.stdout);
    assert!(!result.stdout.contains('\u{1b}'), "no colour in a pipe: {}", result.stdout);
}

#[test]
fn auto_prints_the_selected_model_and_the_reason() {
    let result = golden_pair(&[]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(
        result.stdout.contains("vmaf_v0.6.1 was picked because 160x90 is too small"),
        "{}",
        result.stdout
    );
}

#[test]
fn json_has_the_golden_score_and_every_frame() {
    let result = golden_pair(&["--model", "vmaf_v0.6.1", "-o", "json", "--feature", "psnr"]);
    let json: Value = serde_json::from_str(&result.stdout).unwrap();
    assert!((mean(&json) - GOLDEN).abs() < 5e-3, "{}", mean(&json));
    assert_eq!(json["frames"].as_array().unwrap().len(), 48);
    assert_eq!(json["frames"][47]["frameNum"], 47);
    for key in ["integer_adm2", "integer_motion2", "integer_vif_scale0", "psnr_y", "vmaf"] {
        assert!(json["frames"][0]["metrics"][key].is_f64(), "{key}: {}", json["frames"][0]);
    }
    assert!(json["fps"].as_f64().unwrap() > 0.0);
}

#[test]
fn csv_has_a_row_for_each_frame_scored() {
    let result = golden_pair(&["--model", "vmaf_v0.6.1", "-o", "csv", "--subsample", "5"]);
    let lines: Vec<_> = result.stdout.lines().collect();
    assert!(lines[0].starts_with("Frame,") && lines[0].ends_with(",vmaf"), "{}", lines[0]);
    assert_eq!(lines.len(), 1 + 10);
    assert!(lines[2].starts_with("5,"), "{}", lines[2]);
}

#[test]
fn the_extension_selects_the_report_format_and_the_umask_its_mode() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["r.html", "r.json", "r.csv"].map(|name| directory.path().join(name));
    let mut command = score();
    command.arg(clip("ref_160x90.yuv")).arg(clip("dis_160x90.yuv")).args(RAW).args(MODEL);
    for path in &paths {
        command.arg("--report").arg(path);
    }
    assert_eq!(CommandOutput::of(&mut command).code, Some(0));
    let [html, json, csv] = paths.map(|path| fs::read_to_string(path).unwrap());
    assert!(html.starts_with("<!doctype html>") && html.contains("92.52"));
    assert!((mean(&serde_json::from_str(&json).unwrap()) - GOLDEN).abs() < 5e-3);
    assert_eq!(csv.lines().count(), 49);
    assert_eq!(names(directory.path()).len(), 3);
    // The mode is that of any new file, not that of the private temporary file that the report was written to.
    fs::write(directory.path().join("other"), "").unwrap();
    let mode = |name: &str| fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode("r.html"), mode("other"));
}

#[rstest]
#[case::by_default(&[], true)]
#[case::switched_off(&["--no-pictures"], false)]
fn an_html_report_has_pictures_of_the_worst_moments(#[case] options: &[&str], #[case] shown: bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.html");
    let options = [&MODEL[..], &["--report", path.to_str().unwrap()], options].concat();
    let result = golden_pair(&options);
    assert_eq!((result.code, result.stderr.as_str()), (Some(0), ""), "{result:?}");
    let html = fs::read_to_string(path).unwrap();
    // Two moments of a clip with one shot, of three pictures each.
    assert_eq!(html.matches("<img ").count(), if shown { 6 } else { 0 });
    assert_eq!(html.contains("Worst moments"), shown);
}

#[test]
fn a_ladder_gives_each_clip_the_score_it_has_alone() {
    let (reference, distorted) = (clip("ref_160x90.yuv"), clip("dis_160x90.yuv"));
    let options = RAW.into_iter().chain(MODEL).chain(["-o", "json"]).map(Into::into);
    let run = |distorted: &[_]| {
        let inputs = [vec![reference.clone()], distorted.to_vec()].concat();
        let result = score_with(inputs.into_iter().chain(options.clone()));
        serde_json::from_str::<Value>(&result.stdout).unwrap()
    };
    let ladder = run(&[distorted.clone(), reference.clone()]);
    assert_eq!(ladder[0]["frames"], run(&[distorted])["frames"]);
    assert_eq!(ladder[1]["frames"], run(std::slice::from_ref(&reference))["frames"]);
}

#[test]
fn named_inputs_give_the_same_result_as_positional_ones() {
    let (reference, distorted) = (clip("ref_160x90.yuv"), clip("dis_160x90.yuv"));
    let mut command = score();
    command.arg("--distorted").arg(distorted).arg("--reference").arg(reference).args(RAW).args(MODEL);
    assert_eq!(CommandOutput::of(&mut command).stdout, golden_pair(&MODEL).stdout);
}

#[rstest]
#[case::reached("92.5", 0)]
#[case::missed("92.53", 1)]
fn the_minimum_score_decides_the_exit_code(#[case] minimum: &str, #[case] code: i32) {
    let result = golden_pair(&["--model", "vmaf_v0.6.1", "--min-score", minimum]);
    assert_eq!(result.code, Some(code), "{result:?}");
    assert_eq!(result.stderr.contains("below --min-score 92.53: "), code == 1, "{}", result.stderr);
    assert!(result.stdout.contains("92.52"), "the score is shown in both cases");
}

#[test]
fn an_even_step_gives_a_warning() {
    let result = golden_pair(&["--model", "vmaf_v0.6.1", "--subsample", "2"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.stderr.starts_with("warning: ") && result.stderr.contains("odd"), "{}", result.stderr);
}

#[test]
fn models_are_listed_without_any_clip() {
    let result = score_with(["--list-models"]);
    assert_eq!((result.code, result.stderr.as_str()), (Some(0), ""));
    for model in ["vmaf_v0.6.1", "vmaf_b_v0.6.3", "vmaf_v1.0.16_hfr_3d0h"] {
        assert!(result.stdout.contains(model), "{}", result.stdout);
    }
}

#[test]
fn the_help_has_examples() {
    let result = score_with(["--help"]);
    assert_eq!(result.code, Some(0));
    assert!(
        result.stdout.contains("Examples:") && result.stdout.contains("--min-score 93"),
        "{}",
        result.stdout
    );
}
