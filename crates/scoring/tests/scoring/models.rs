//! Which models are accepted, and which are refused.

use rstest::rstest;
use vmafx_job::Feature;
use vmafx_scoring::engine::EngineError;
use vmafx_scoring::engine::models::{ModelChoice, ModelError, built_in};
use vmafx_scoring::score::{Request, ScoreError};

use crate::clips::{Clips, bits, format, named, outcome, run};

/// From libvmaf's sources.
const CLASSIC: &str = include_str!("../data/vmaf_v0.6.1.json");

fn request(clips: &Clips) -> Request {
    let mut request = clips.request(3);
    request.models = named("vmaf_v0.6.1");
    request
}

fn model_error(request: &Request) -> ModelError {
    match run(request) {
        Err(ScoreError::Engine(EngineError::Model(error))) => error,
        other => panic!("not refused: {other:?}"),
    }
}

/// The error and its causes.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[test]
fn an_unknown_model_is_refused_with_the_nearest_names() {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips);
    request.models = named("vmaf_v0.61");
    let error = model_error(&request).to_string();
    assert!(error.contains("did you mean vmaf_v0.6.1"), "{error}");
}

#[test]
fn v1_refuses_pictures_that_are_too_small_before_it_reads_them() {
    let clips = Clips::new(format(176, 144));
    for model in built_in().filter(|model| model.name.starts_with("vmaf_v1")) {
        let mut request = request(&clips);
        request.models = named(model.name);
        let error = model_error(&request);
        assert!(matches!(error, ModelError::TooSmall { .. }), "{error}");
        assert!(error.to_string().contains("216 pixels"), "{error}");
    }
}

#[rstest]
#[case::minimum_width(216, 96)]
#[case::minimum_height(96, 216)]
#[case::prescaled(310, 310)]
fn v1_refuses_pictures_whose_chroma_is_too_small(#[case] width: u32, #[case] height: u32) {
    let clips = Clips::new(format(width, height));
    let mut request = request(&clips);
    request.models = named("vmaf_v1.0.16_3d0h_2160");
    let error = model_error(&request);
    assert!(error.to_string().contains("chroma samples"), "{error}");
}

#[test]
fn the_smallest_pictures_that_v1_accepts_are_scored() {
    let clips = Clips::new(format(216, 160));
    let mut request = request(&clips);
    request.models = named("vmaf_v1.0.16_3d0h");
    assert_eq!(outcome(&request).models[0].scores.len(), 3);
}

#[test]
fn auto_says_what_it_picked_and_why() {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips);
    request.models.clear();
    let model = &outcome(&request).models[0];
    assert_eq!(model.name, "vmaf_v0.6.1");
    let because = model.picked_because.as_deref().unwrap();
    assert!(because.contains("160x90 is too small for VMAF v1"), "{because}");
}

#[test]
fn a_model_file_scores_like_the_built_in_model_of_the_same_content() {
    let clips = Clips::new(format(160, 90));
    let path = clips.path("mine.json");
    std::fs::write(&path, CLASSIC).unwrap();
    let mut request = request(&clips);
    let built_in = outcome(&request);
    request.models = vec![ModelChoice::File(path)];
    let file = outcome(&request);
    assert_eq!(file.models[0].name, "mine");
    assert_eq!(file.models[0].scores, built_in.models[0].scores);
    assert_eq!(file.models[0].digest, built_in.models[0].digest);
}

#[rstest]
#[case::nan_in_a_support_vector("1:0.65734273", "1:nan", "support vector 1")]
#[case::nan_in_the_header("rho -1.33133", "rho nan", "rho")]
#[case::nan_among_the_slopes("0.012020766332648465", "NaN", "not a VMAF model in JSON")]
#[case::infinity_among_the_intercepts("-0.3092981927591963", "1e999", "not a VMAF model in JSON")]
#[case::zero_slope("0.012020766332648465", "0", "slopes is zero")]
#[case::vectors_missing("total_sv 211", "total_sv 212", "announces 212")]
#[case::negative_index("2:0.34681232", "-1:0.34681232", "support vector 1")]
#[case::floating_point_feature(
    "VMAF_integer_feature_adm2_score",
    "VMAF_feature_adm2_score",
    "does not compute"
)]
#[case::cut_off("\"norm_type\"", "", "not a VMAF model in JSON")]
#[case::garbage(CLASSIC, "\u{0}\u{1}garbage", "not a VMAF model in JSON")]
fn a_damaged_model_file_is_refused_and_gives_no_score(
    #[case] good: &str,
    #[case] bad: &str,
    #[case] expected: &str,
) {
    let clips = Clips::new(format(160, 90));
    let path = clips.path("mine.json");
    assert!(CLASSIC.contains(good));
    std::fs::write(&path, CLASSIC.replacen(good, bad, 1)).unwrap();
    let mut request = request(&clips);
    request.models = vec![ModelChoice::File(path)];
    let error = text(&model_error(&request));
    assert!(error.contains(expected) && error.contains("mine"), "{error}");
}

#[rstest]
#[case::writes_files("heatmaps_path", "\"heatmaps\"")]
#[case::unknown("adm_enhn_gain_limt", "1.0")]
#[case::not_a_number("adm_enhn_gain_limit", "\"much\"")]
fn an_option_that_a_model_must_not_set_is_refused(#[case] option: &str, #[case] value: &str) {
    let clips = Clips::new(format(160, 90));
    let path = clips.path("mine.json");
    let options = format!("\"feature_opts_dicts\": [{{\"{option}\": {value}}},{{}},{{}},{{}},{{}},{{}}],");
    let damaged = CLASSIC.replacen("\"model_dict\": {", &format!("\"model_dict\": {{{options}"), 1);
    assert_ne!(damaged, CLASSIC);
    std::fs::write(&path, damaged).unwrap();
    let mut request = request(&clips);
    request.models = vec![ModelChoice::File(path)];
    let error = model_error(&request);
    assert!(matches!(&error, ModelError::Option { .. }), "{error}");
}

#[test]
fn bootstrap_models_have_a_confidence_interval() {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips);
    request.models = named("vmaf_b_v0.6.3");
    let model = outcome(&request).models.remove(0);
    let intervals = model.intervals.unwrap();
    assert_eq!(intervals.len(), model.scores.len());
    assert!(intervals.iter().all(|interval| interval.low <= interval.high));
}

#[test]
fn a_model_asked_for_twice_is_scored_once() {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips);
    let once = bits(&outcome(&request));
    request.models = [named("vmaf_v0.6.1"), vec![ModelChoice::Auto]].concat();
    assert_eq!(bits(&outcome(&request)), once);
}

#[rstest]
#[case(Feature::MsSsim, "176")]
#[case(Feature::Cambi, "216")]
fn a_feature_that_needs_larger_pictures_is_refused(#[case] feature: Feature, #[case] expected: &str) {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips);
    request.options.features = vec![feature];
    let error = run(&request).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn extra_features_are_reported_under_libvmafs_names() {
    let clips = Clips::new(format(224, 192));
    let mut request = request(&clips);
    request.options.features = Feature::ALL.to_vec();
    let features = outcome(&request).features;
    for name in
        ["psnr_y", "psnr_cb", "psnr_cr", "float_ssim", "float_ms_ssim", "cambi", "ciede2000", "psnr_hvs"]
    {
        assert_eq!(features.get(name).map(Vec::len), Some(3), "{name}");
    }
}
