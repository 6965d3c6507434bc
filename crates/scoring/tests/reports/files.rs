//! Report files.

use std::fs;
use std::path::Path;

use rstest::rstest;
use vmafx_scoring::report::{ReportError, ScoringReport};

use crate::example::comparison;

#[rstest]
#[case("a.html", "<!doctype html>")]
#[case("a.json", "{\n  \"version\": \"3.2.0\"")]
#[case("a.xml", "<VMAF version=\"3.2.0\">\n  <params qualityWidth=\"640\" qualityHeight=\"360\" />\n")]
#[case("without_an_ending", "{\n  \"version\": \"3.2.0\"")]
#[case("a.csv", "Frame,integer_adm2,vmaf,vmaf_v0.6.1neg\n0,0.9,90,89\n")]
fn the_ending_chooses_the_report(#[case] name: &str, #[case] start: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    ScoringReport { outcomes: &[comparison("a.mp4", &[90.0])], speed: None }.save(&path).unwrap();
    let text = fs::read_to_string(path).unwrap();
    assert!(text.starts_with(start), "{}", &text[..text.len().min(200)]);
}

#[test]
fn an_unknown_ending_is_refused_with_the_known_ones() {
    let error =
        ScoringReport { outcomes: &[comparison("a.mp4", &[90.0])], speed: None }.save(Path::new("x/a.pdf"));
    let expected = "x/a.pdf ends in .pdf, which is not a report format; use .json, .csv, .html or .xml";
    assert_eq!(error.unwrap_err().to_string(), expected);
}

#[test]
fn a_report_that_fails_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    let result = ScoringReport { outcomes: &[comparison("a.mp4", &[f64::NAN])], speed: None }.save(&path);
    assert!(matches!(result, Err(ReportError::Summary(_))));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
