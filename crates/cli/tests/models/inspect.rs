//! `vmafx models inspect`.

use rstest::rstest;
use vmafx_testkit::registry::RegistryLayer;

use crate::fixture::{Fixture, lines, model, run_in};

#[tokio::test]
async fn a_checkpoint_is_shown_with_its_lineage() {
    let fixture = Fixture::trained("sports", 4).await;
    let text = fixture.run(&["inspect", &fixture.reference("sports-stable")]).ok();
    let lines = lines(&text);
    let has = |line: &str| assert!(lines.iter().any(|other| other == line), "{line}\n{text}");
    has("Version sports-v000003, stable");
    has("Training sports in video, seed 7, EMA 0.99");
    has("Features 6: adm2, motion2, vif_scale0, vif_scale1, vif_scale2, vif_scale3");
    has("Machine 211 support vectors, gamma 0.04, scores from 0 to 100");
    has("Samples 300 accepted, 3 refused, cursor \"s300\"");
    has("Gate passed: better than its base");
    has("held out 300 16.64 19.64 0.8434 0.8374 0.8534 0.8474");
    has("vmaf_v0.6.1 (base) 0 19.64 0.8474");
    let lineage = lines.iter().filter(|line| line.starts_with("sports-v00000")).count();
    assert_eq!(lineage, 3, "{text}");
    assert!(text.contains("application/vnd.vmafx.trainer-state.v1"), "{text}");

    let document = fixture.json(&["inspect", &fixture.reference("sports-v000004")]);
    assert_eq!(document["lineage"].as_array().unwrap().len(), 3);
    assert_eq!(document["checkpoint"]["gate"]["passed"], false);
    assert_eq!(document["machine"]["supportVectors"], 211);
    let pinned = format!("oci://{}@{}", fixture.models, document["manifestDigest"].as_str().unwrap());
    assert_eq!(fixture.json(&["inspect", &pinned])["modelDigest"], document["modelDigest"]);
}

#[tokio::test]
async fn a_model_that_another_tool_pushed_is_shown_without_a_training() {
    let fixture = Fixture::trained("sports", 1).await;
    let layers = [RegistryLayer { media_type: "application/json", content: &model(1) }];
    fixture.registry.push("video/models", "mine", &layers).unwrap();
    let text = fixture.run(&["inspect", &fixture.reference("mine")]).ok();
    assert!(text.contains("Training   unknown, it is not a checkpoint"), "{text}");
}

#[test]
fn built_in_models_and_files_are_shown_too() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("mine.json"), model(1)).unwrap();
    for name in ["vmaf_v0.6.1", "./mine.json"] {
        let text = run_in(home.path(), &["inspect", name]).ok();
        assert!(text.contains("211 support vectors") && text.contains("sha256:"), "{text}");
    }
    let text = run_in(home.path(), &["inspect", "vmaf_b_v0.6.3"]).ok();
    assert!(text.contains("is a collection"), "{text}");
}

#[rstest]
#[case("vmaf_v0.6.2", "did you mean")]
#[case("./none.json", "cannot read the model file")]
#[case("oci://host", "the repository is missing")]
#[case("oci://127.0.0.1:1/models:a", "caused by: it cannot be reached")]
fn a_model_that_cannot_be_loaded_is_an_error(#[case] name: &str, #[case] expected: &str) {
    let home = tempfile::tempdir().unwrap();
    let error = run_in(home.path(), &["inspect", name]).only_error();
    assert!(error.contains(expected), "{error}");
}
