//! The JSON report, read by a program that knows only libvmaf's fields.

#![allow(clippy::float_cmp)] // Numbers must have the same bits.

use std::collections::HashMap;

use serde::Deserialize;
use vmafx_job::ReportFormat;
use vmafx_scoring::outcome::Warning;
use vmafx_scoring::shots::Shot;

use crate::example::{comparison, written};

/// The fields that libvmaf writes, all of which must be there.
#[derive(Deserialize)]
struct Libvmaf {
    version: String,
    fps: f64,
    frames: Vec<Frame>,
    pooled_metrics: HashMap<String, Pooled>,
    aggregate_metrics: HashMap<String, f64>,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "frameNum")]
    number: u32,
    metrics: HashMap<String, f64>,
}

#[derive(Deserialize)]
struct Pooled {
    min: f64,
    max: f64,
    mean: f64,
    harmonic_mean: f64,
}

#[test]
fn a_reader_of_libvmafs_json_accepts_ours() {
    let scores = [95.123_456_789_012_34, 1.0 / 3.0, 80.0];
    let read: Libvmaf =
        serde_json::from_str(&written(&[comparison("a.mp4", &scores)], ReportFormat::Json)).unwrap();

    assert_eq!((read.version.as_str(), read.fps), ("3.2.0", 24.57));
    assert_eq!(read.frames.iter().map(|frame| frame.number).collect::<Vec<_>>(), [0, 2, 4]);
    let vmaf: Vec<u64> = read.frames.iter().map(|frame| frame.metrics["vmaf"].to_bits()).collect();
    assert_eq!(vmaf, scores.map(f64::to_bits), "numbers must have the same bits");
    assert!(read.frames.iter().all(|frame| frame.metrics.contains_key("integer_adm2")));
    assert!(read.frames.iter().all(|frame| frame.metrics.contains_key("vmaf_v0.6.1neg")));

    let pooled = &read.pooled_metrics["vmaf"];
    let mean = (scores[0] + scores[1] + scores[2]) / 3.0;
    assert_eq!((pooled.min, pooled.max, pooled.mean), (scores[1], scores[0], mean));
    assert!(pooled.harmonic_mean < pooled.mean);
    assert!(read.aggregate_metrics.is_empty());
}

#[test]
fn additional_fields_are_below_one_key() {
    let mut outcome = comparison("a.mp4", &[90.0, 80.0]);
    outcome.warnings.push(Warning::EvenStep { step: 2 });
    outcome.shots = [0, 2].map(|first_frame| Shot { first_frame, frames: 2 }).into();
    let json: serde_json::Value = serde_json::from_str(&written(&[outcome], ReportFormat::Json)).unwrap();

    assert_eq!(json["pooled_metrics"]["vmaf"]["p50"], 85.0);
    let facts = &json["vmafx"];
    assert_eq!(facts["distorted"]["path"], "a.mp4");
    assert!(facts["distorted"]["digest"].as_str().unwrap().starts_with("blake3:"));
    assert_eq!(facts["distorted"]["frameRate"], 50.0);
    assert_eq!(facts["alignment"]["step"], 2);
    assert_eq!(facts["models"][1]["name"], "vmaf_v0.6.1neg");
    assert_eq!(facts["models"][0]["min"], serde_json::json!({ "value": 80.0, "frame": 2 }));
    let shot = serde_json::json!({
        "firstFrame": 2,
        "frames": 2,
        "startSeconds": 0.04,
        "endSeconds": 0.08,
        "models": [
            { "name": "vmaf_v0.6.1", "mean": 80.0, "min": { "value": 80.0, "frame": 2 } },
            { "name": "vmaf_v0.6.1neg", "mean": 79.0, "min": { "value": 79.0, "frame": 2 } },
        ],
    });
    assert_eq!((facts["shots"].as_array().unwrap().len(), &facts["shots"][1]), (2, &shot));
    assert_eq!(facts["warnings"][0]["kind"], "evenStep");
    assert!(facts["warnings"][0]["message"].as_str().unwrap().contains("odd"));
}

#[test]
fn an_infinite_feature_is_null_as_libvmaf_writes_it() {
    let mut outcome = comparison("a.mp4", &[90.0]);
    outcome.features.insert("ciede2000".to_owned(), vec![f64::INFINITY]);
    let json: serde_json::Value = serde_json::from_str(&written(&[outcome], ReportFormat::Json)).unwrap();
    assert!(json["frames"][0]["metrics"]["ciede2000"].is_null());
    assert!(json["pooled_metrics"]["ciede2000"]["mean"].is_null());
}

#[test]
fn a_ladder_is_a_list_of_single_reports() {
    let (a, b) = (comparison("a.mp4", &[90.0]), comparison("b.mp4", &[80.0]));
    let ladder: Vec<serde_json::Value> =
        serde_json::from_str(&written(&[a.clone(), b.clone()], ReportFormat::Json)).unwrap();
    let single = |outcome| {
        serde_json::from_str::<serde_json::Value>(&written(&[outcome], ReportFormat::Json)).unwrap()
    };
    assert_eq!(ladder, [single(a), single(b)]);
}

#[test]
fn a_score_that_is_not_finite_is_never_written() {
    let outcomes = [comparison("a.mp4", &[90.0, f64::NAN])];
    for format in ReportFormat::ALL {
        let mut out = vec![];
        let report = vmafx_scoring::report::ScoringReport { outcomes: &outcomes, speed: None };
        assert!(report.write(format, &mut out).is_err(), "{format}");
    }
}
