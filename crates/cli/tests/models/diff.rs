//! `vmafx models diff`.

use rstest::rstest;

use crate::fixture::{Fixture, model, run_in};

#[tokio::test]
async fn the_weights_that_training_changed_are_counted() {
    let fixture = Fixture::trained("sports", 3).await;
    let text = fixture.run(&["diff", "vmaf_v0.6.1", &fixture.reference("sports-v000003")]).ok();
    assert!(text.contains("10 of 211 weights differ, by at most 0.0300"), "{text}");
    let points =
        "Over 422 points (the support vectors of both models), the score of the second model differs by +";
    assert!(text.contains(points), "{text}");

    let two = [fixture.reference("sports-v000001"), fixture.reference("sports-v000003")];
    let document = fixture.json(&["diff", &two[0], &two[1]]);
    assert_eq!((&document["weights"]["changed"], &document["identical"]), (&10.into(), &false.into()));
    assert_eq!(document["second"]["checkpoint"]["samples"], 300);
    let same = fixture.run(&["diff", &two[0], &two[0]]);
    assert!(same.stdout.contains("The models are identical."), "{}", same.stdout);
}

#[test]
fn columns_of_the_csv_file_are_matched_by_name() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("mine.json"), model(5)).unwrap();
    let clips = "clip,vif_scale3,adm2,integer_motion2,vif_scale0,vif_scale1,Integer_VIF_scale2\n\
                 a,0.93,0.91,9.8,0.5,0.8,0.88\nb,0.5,0.6,3.0,0.1,0.3,0.4\n";
    std::fs::write(home.path().join("clips.csv"), clips).unwrap();
    let text = run_in(home.path(), &["diff", "vmaf_v0.6.1", "mine.json", "--csv", "clips.csv"]).ok();
    assert!(text.contains("Over 2 clips, the score of the second model differs by +"), "{text}");
}

#[rstest]
#[case("clip,adm2\na,1\n", "there is no column \"motion2\"")]
#[case("adm2,motion2,vif_scale0,vif_scale1,vif_scale2,vif_scale3\n", "there are no rows")]
#[case(
    "adm2,motion2,vif_scale0,vif_scale1,vif_scale2,vif_scale3\n1,2,x,1,1,1\n",
    "row 1: vif_scale0 is \"x\""
)]
#[case(
    "adm2,motion2,vif_scale0,vif_scale1,vif_scale2,vif_scale3\n1,2,nan,1,1,1\n",
    "row 1: vif_scale0 is \"nan\""
)]
fn an_invalid_csv_file_is_an_error_with_its_problem(#[case] clips: &str, #[case] expected: &str) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("clips.csv"), clips).unwrap();
    let arguments = ["diff", "vmaf_v0.6.1", "vmaf_v0.6.1neg", "--csv", "clips.csv"];
    let error = run_in(home.path(), &arguments).only_error();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn models_that_cannot_be_compared_say_why() {
    let home = tempfile::tempdir().unwrap();
    let text = run_in(home.path(), &["diff", "vmaf_v0.6.1", "vmaf_v1.0.16_3d0h"]).ok();
    assert!(text.contains("the models use different features"), "{text}");
    let error = run_in(home.path(), &["diff", "vmaf_v0.6.1", "vmaf_b_v0.6.3"]).error();
    assert!(error.contains("vmaf_b_v0.6.3 is a collection with a confidence interval"), "{error}");
}
