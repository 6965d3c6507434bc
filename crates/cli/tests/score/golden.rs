//! The golden pair of Netflix: scores, forms of output, and the bar.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rstest::rstest;
use serde_json::Value;

use crate::command::{RAW, clip, golden_pair, names, ran, score, score_with};

const GOLDEN: f64 = 92.520_958_880_423_86;
const MODEL: [&str; 2] = ["--model", "vmaf_v0.6.1"];

fn mean(json: &Value) -> f64 {
    json["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap()
}

#[test]
fn a_table_shows_the_golden_score_and_nothing_else_is_said() {
    let ran = golden_pair(&MODEL);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.contains("vmaf_v0.6.1  92.52"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "no colour in a pipe: {}", ran.stdout);
}

#[test]
fn auto_says_what_it_picked_and_why() {
    let ran = golden_pair(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("vmaf_v0.6.1 was picked because 160x90 is too small"), "{}", ran.stdout);
}

#[test]
fn json_has_the_golden_score_and_every_frame() {
    let ran = golden_pair(&["--model", "vmaf_v0.6.1", "-o", "json", "--feature", "psnr"]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
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
    let ran = golden_pair(&["--model", "vmaf_v0.6.1", "-o", "csv", "--subsample", "5"]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("Frame,") && lines[0].ends_with(",vmaf"), "{}", lines[0]);
    assert_eq!(lines.len(), 1 + 10);
    assert!(lines[2].starts_with("5,"), "{}", lines[2]);
}

#[test]
fn reports_are_written_by_their_endings_and_readable_by_all_who_may() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["r.html", "r.json", "r.csv"].map(|name| directory.path().join(name));
    let mut command = score();
    command.arg(clip("ref_160x90.yuv")).arg(clip("dis_160x90.yuv")).args(RAW).args(MODEL);
    for path in &paths {
        command.arg("--report").arg(path);
    }
    assert_eq!(ran(&mut command).code, Some(0));
    let [html, json, csv] = paths.map(|path| fs::read_to_string(path).unwrap());
    assert!(html.starts_with("<!doctype html>") && html.contains("92.52"));
    assert!((mean(&serde_json::from_str(&json).unwrap()) - GOLDEN).abs() < 5e-3);
    assert_eq!(csv.lines().count(), 49);
    assert_eq!(names(directory.path()).len(), 3);
    // As any file a user makes, and not private like the temporary file it was.
    fs::write(directory.path().join("other"), "").unwrap();
    let mode = |name: &str| fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode("r.html"), mode("other"));
}

#[test]
fn a_ladder_gives_each_clip_the_score_it_has_alone() {
    let (reference, distorted) = (clip("ref_160x90.yuv"), clip("dis_160x90.yuv"));
    let options = RAW.into_iter().chain(MODEL).chain(["-o", "json"]).map(Into::into);
    let run = |distorted: &[_]| {
        let inputs = [vec![reference.clone()], distorted.to_vec()].concat();
        let ran = score_with(inputs.into_iter().chain(options.clone()));
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let ladder = run(&[distorted.clone(), reference.clone()]);
    assert_eq!(ladder[0]["frames"], run(&[distorted])["frames"]);
    assert_eq!(ladder[1]["frames"], run(std::slice::from_ref(&reference))["frames"]);
}

#[test]
fn named_inputs_in_any_order_are_the_same_as_placed_ones() {
    let (reference, distorted) = (clip("ref_160x90.yuv"), clip("dis_160x90.yuv"));
    let mut command = score();
    command.arg("--distorted").arg(distorted).arg("--reference").arg(reference).args(RAW).args(MODEL);
    assert_eq!(ran(&mut command).stdout, golden_pair(&MODEL).stdout);
}

#[rstest]
#[case::reached("92.5", 0)]
#[case::missed("92.53", 1)]
fn the_bar_decides_the_exit_code(#[case] bar: &str, #[case] code: i32) {
    let ran = golden_pair(&["--model", "vmaf_v0.6.1", "--min-score", bar]);
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert_eq!(ran.stderr.contains("below --min-score 92.53: "), code == 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("92.52"), "the score is shown either way");
}

#[test]
fn an_even_step_is_warned_of() {
    let ran = golden_pair(&["--model", "vmaf_v0.6.1", "--subsample", "2"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.starts_with("warning: ") && ran.stderr.contains("odd"), "{}", ran.stderr);
}

#[test]
fn models_are_listed_without_any_clip() {
    let ran = score_with(["--list-models"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    for model in ["vmaf_v0.6.1", "vmaf_b_v0.6.3", "vmaf_v1.0.16_hfr_3d0h"] {
        assert!(ran.stdout.contains(model), "{}", ran.stdout);
    }
}

#[test]
fn help_teaches_by_examples() {
    let ran = score_with(["--help"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("Examples:") && ran.stdout.contains("--min-score 93"), "{}", ran.stdout);
}
