//! The HTML page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use vmafx_job::ReportFormat;
use vmafx_scoring::moments::{JpegPicture, WorstMoment};
use vmafx_scoring::outcome::{ScoringOutcome, Warning};

use crate::example::{comparison, written};

/// The data for the script.
fn data(page: &str) -> serde_json::Value {
    serde_json::from_str(element(page, "id=\"data\">", "</script>")).unwrap()
}

fn with_pictures(mut outcome: ScoringOutcome) -> ScoringOutcome {
    let picture = |bytes: &[u8]| JpegPicture { width: 16, height: 9, bytes: bytes.to_vec() };
    outcome.worst_moments = vec![WorstMoment {
        frame: 0,
        score: 80.0,
        reference: picture(b"reference"),
        distorted: picture(b"distorted"),
        difference: picture(b"difference"),
    }];
    outcome
}

#[test]
fn pictures_are_in_the_page_itself() {
    let outcome = with_pictures(comparison("a.mp4", &[90.0, 80.0]));
    let page = written(std::slice::from_ref(&outcome), ReportFormat::Html);
    assert_eq!(page.matches("<img ").count(), 3);
    let policy = element(&page, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none';") && policy.contains("; img-src data:;"), "{policy}");
    let without = page.replace(" src=\"data:image/jpeg;base64,", "");
    assert_makes_no_request(&without);
    for format in ReportFormat::ALL.into_iter().filter(|format| *format != ReportFormat::Html) {
        let plain = ScoringOutcome { worst_moments: vec![], ..outcome.clone() };
        assert_eq!(written(std::slice::from_ref(&outcome), format), written(&[plain], format), "{format}");
    }
}

#[test]
fn the_page_makes_no_request() {
    let page = written(&[comparison("a.mp4", &[90.0, 80.0])], ReportFormat::Html);
    assert_makes_no_request(&page);
    assert!(!page.contains("img-src"));
}

fn assert_makes_no_request(page: &str) {
    for request in ["src=", "href=", "@import", "url(http", "fetch(", "XMLHttpRequest", "//cdn", "https://"] {
        assert!(!page.contains(request), "{request}");
    }
    assert!(page.contains("default-src 'none'"));
    // The only address is the XML namespace of SVG, which is never requested.
    assert_eq!(page.matches("http://").count(), 1);
    assert!(page.contains("\"http://www.w3.org/2000/svg\""));
}

/// The content of the first element that begins with `open`.
fn element<'a>(page: &'a str, open: &str, close: &str) -> &'a str {
    page.split_once(open).unwrap().1.split_once(close).unwrap().0
}

#[test]
fn only_the_pages_own_style_and_script_may_run() {
    let page = written(&[comparison("a.mp4", &[90.0])], ReportFormat::Html);
    // Computed as in a browser: one additional space in the page would block the style or script.
    for (source, open, close) in
        [("script-src", "<script>", "</script>"), ("style-src", "<style>", "</style>")]
    {
        let digest = STANDARD.encode(Sha256::digest(element(&page, open, close).as_bytes()));
        assert!(page.contains(&format!("{source} 'sha256-{digest}'")), "{source}");
    }
    assert!(!page.contains("unsafe-inline"));
    // The policy would block these.
    assert!(!page.contains(" style=\"") && !page.contains(" onclick="));
}

#[test]
fn a_hostile_file_name_stays_text() {
    let name = "</script><script>alert(1)</script><img onerror='alert(2)' x=\".mp4";
    let mut outcome = comparison(name, &[90.0, 80.0]);
    outcome.models[0].name = "</title><b>".to_owned();
    outcome.warnings.push(Warning::Scaled { from: "<i>".to_owned(), to: "{{data}}".to_owned() });
    let page = written(&[outcome.clone(), outcome], ReportFormat::Html);
    assert_eq!(page.matches("<script").count(), 2, "data and script, and no other");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<i>") && !page.contains("<b>"));
    assert!(page.contains("to {{data}} before"), "a hole in a text is not filled");
    assert_eq!(data(&page)["clips"][0]["name"], name);
}

#[test]
fn scores_worst_frames_details_and_warnings_are_there_without_a_script() {
    let mut outcome = comparison("a.mp4", &[90.0, 12.345, 80.0]);
    outcome.warnings.push(Warning::EvenStep { step: 2 });
    let page = written(&[outcome], ReportFormat::Html);
    let (before_script, _) = page.split_once("<script").unwrap();
    for fact in [
        "60.78",
        "data-frame=\"2\"",
        "12.35",
        "prefer an odd one",
        "sha256:d5d5",
        "blake3:c4c4",
        "libvmaf 3.2.0",
        "640x360 yuv420p 10 bit, every second frame",
    ] {
        assert!(before_script.contains(fact), "{fact}");
    }
}

#[test]
fn a_ladder_is_compared_in_one_table_for_each_model() {
    let outcomes = [comparison("a.mp4", &[90.0]), comparison("b.mp4", &[80.0])];
    let page = written(&outcomes, ReportFormat::Html);
    assert_eq!(page.matches("<table class=\"comparison\">").count(), 2);
    assert_eq!(data(&page)["clips"].as_array().unwrap().len(), 2);
}

#[test]
fn the_same_comparison_gives_the_same_page() {
    let outcome = [comparison("a.mp4", &[90.0, 80.0])];
    assert_eq!(written(&outcome, ReportFormat::Html), written(&outcome, ReportFormat::Html));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_name_adds_an_element(name in ".{0,40}") {
        let page = |name: &str| written(&[comparison(name, &[90.0])], ReportFormat::Html);
        // A slash would shorten the displayed name; elements are counted by `<`.
        let (plain, odd) = (page("x"), page(&format!("x{}", name.replace(['/', '\0'], "_"))));
        prop_assert_eq!(plain.matches('<').count(), odd.matches('<').count());
    }
}
