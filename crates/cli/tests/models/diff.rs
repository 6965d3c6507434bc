//! `vmafx models diff`.

use rstest::rstest;

use crate::stage::{Stage, model, run_in};

#[tokio::test]
async fn what_training_has_changed_is_counted() {
    let stage = Stage::trained("sports", 3).await;
    let ran = stage.run(&["diff", "vmaf_v0.6.1", &stage.reference("sports-v000003")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("10 of 211 weights differ, by 0.0300 at most"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("Over 422 points (the support vectors of both) the second scores +"),
        "{}",
        ran.stdout
    );

    let two = [stage.reference("sports-v000001"), stage.reference("sports-v000003")];
    let document = stage.json(&["diff", &two[0], &two[1]]);
    assert_eq!((&document["weights"]["changed"], &document["identical"]), (&10.into(), &false.into()));
    assert_eq!(document["second"]["checkpoint"]["samples"], 300);
    let same = stage.run(&["diff", &two[0], &two[0]]);
    assert!(same.stdout.contains("They are the same, to the last byte."), "{}", same.stdout);
}

#[test]
fn own_clips_are_taken_by_the_names_of_their_columns() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("mine.json"), model(5)).unwrap();
    let clips = "clip,vif_scale3,adm2,integer_motion2,vif_scale0,vif_scale1,Integer_VIF_scale2\n\
                 a,0.93,0.91,9.8,0.5,0.8,0.88\nb,0.5,0.6,3.0,0.1,0.3,0.4\n";
    std::fs::write(home.path().join("clips.csv"), clips).unwrap();
    let ran = run_in(home.path(), &["diff", "vmaf_v0.6.1", "mine.json", "--csv", "clips.csv"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Over 2 clips the second scores +"), "{}", ran.stdout);
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
fn clips_that_are_none_are_told(#[case] clips: &str, #[case] expected: &str) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("clips.csv"), clips).unwrap();
    let ran = run_in(home.path(), &["diff", "vmaf_v0.6.1", "vmaf_v0.6.1neg", "--csv", "clips.csv"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn models_of_different_kinds_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let ran = run_in(home.path(), &["diff", "vmaf_v0.6.1", "vmaf_v1.0.16_3d0h"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("they look at different features"), "{}", ran.stdout);
    let ran = run_in(home.path(), &["diff", "vmaf_v0.6.1", "vmaf_b_v0.6.3"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("vmaf_b_v0.6.3 is a collection with a confidence interval"),
        "{}",
        ran.stderr
    );
}
