//! `vmafx models inspect`.

use rstest::rstest;
use vmafx_testkit::registry::RegistryLayer;

use crate::stage::{Stage, lines, model, run_in};

#[tokio::test]
async fn a_checkpoint_tells_where_it_comes_from() {
    let stage = Stage::trained("sports", 4).await;
    let ran = stage.run(&["inspect", &stage.reference("sports-stable")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = lines(&ran.stdout);
    let has = |line: &str| assert!(lines.iter().any(|seen| seen == line), "{line}\n{}", ran.stdout);
    has("Version sports-v000003, stable");
    has("Training sports in video, seed 7, EMA 0.99");
    has("Features 6: adm2, motion2, vif_scale0, vif_scale1, vif_scale2, vif_scale3");
    has("Machine 211 support vectors, gamma 0.04, scores from 0 to 100");
    has("Samples 300 accepted, 3 refused, cursor \"s300\"");
    has("Gate passed: better than its base");
    has("held out 300 16.64 19.64 0.8434 0.8374 0.8534 0.8474");
    has("vmaf_v0.6.1 (base) 0 19.64 0.8474");
    let lineage = lines.iter().filter(|line| line.starts_with("sports-v00000")).count();
    assert_eq!(lineage, 3, "{}", ran.stdout);
    assert!(ran.stdout.contains("application/vnd.vmafx.trainer-state.v1"), "{}", ran.stdout);

    let document = stage.json(&["inspect", &stage.reference("sports-v000004")]);
    assert_eq!(document["lineage"].as_array().unwrap().len(), 3);
    assert_eq!(document["checkpoint"]["gate"]["passed"], false);
    assert_eq!(document["machine"]["supportVectors"], 211);
    let pinned = format!("oci://{}@{}", stage.models, document["manifestDigest"].as_str().unwrap());
    assert_eq!(stage.json(&["inspect", &pinned])["modelDigest"], document["modelDigest"]);
}

#[tokio::test]
async fn a_model_that_another_tool_pushed_is_shown_without_a_training() {
    let stage = Stage::trained("sports", 1).await;
    let layers = [RegistryLayer { media_type: "application/json", content: &model(1) }];
    stage.registry.push("video/models", "mine", &layers).unwrap();
    let ran = stage.run(&["inspect", &stage.reference("mine")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Training   unknown, it is not a checkpoint"), "{}", ran.stdout);
}

#[test]
fn built_in_models_and_files_are_shown_too() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("mine.json"), model(1)).unwrap();
    for name in ["vmaf_v0.6.1", "./mine.json"] {
        let ran = run_in(home.path(), &["inspect", name]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains("211 support vectors") && ran.stdout.contains("sha256:"),
            "{}",
            ran.stdout
        );
    }
    let ran = run_in(home.path(), &["inspect", "vmaf_b_v0.6.3"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("is a collection"), "{ran:?}");
}

#[rstest]
#[case("vmaf_v0.6.2", "did you mean")]
#[case("./none.json", "cannot read the model file")]
#[case("oci://host", "the repository is missing")]
#[case("oci://127.0.0.1:1/models:a", "caused by: it cannot be reached")]
fn what_cannot_be_found_is_told(#[case] name: &str, #[case] expected: &str) {
    let home = tempfile::tempdir().unwrap();
    let ran = run_in(home.path(), &["inspect", name]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}
