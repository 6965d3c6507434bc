//! `vmafx models list`.

use vmafx_testkit::registry::{PASSWORD, RegistryAuth, RegistryLayer, USER};

use crate::stage::{Stage, lines, run_in};

#[test]
fn without_a_place_the_built_in_models_are_listed() {
    let home = tempfile::tempdir().unwrap();
    let ran = run_in(home.path(), &["list"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("vmaf_v0.6.1neg"), "{}", ran.stdout);
    let ran = run_in(home.path(), &["list", "-o", "json"]);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["models"][0]["name"], "vmaf_v0.6.1");
}

#[tokio::test]
async fn checkpoints_come_newest_first_with_what_they_are_worth() {
    let stage = Stage::trained("sports", 3).await;
    let ran = stage.run(&["list", &stage.models.to_string()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = lines(&ran.stdout);
    assert!(lines[2].starts_with("sports-v000003 held back "), "{lines:#?}");
    assert!(lines[2].ends_with("300 16.64 -15.3 % 0.8534 +0.0060"), "{lines:#?}");
    assert!(lines[3].starts_with("sports-v000002 stable passed "), "{lines:#?}");
    assert!(lines[4].starts_with("sports-v000001 passed "), "{lines:#?}");
    assert_eq!(lines[6], "sports-v000003 was held back: SROCC 0.81 is below 0.84");

    let document = stage.json(&["list", &format!("oci://{}", stage.models)]);
    let all = document["checkpoints"].as_array().unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!((&all[1]["version"], &all[1]["stable"]), (&"sports-v000002".into(), &true.into()));
    assert_eq!(all[0]["parent"], all[1]["digest"]);
    assert_eq!(all[0]["all"]["model"]["rmse"].as_f64(), Some(19.64 - 3.0), "to the last bit");
}

#[tokio::test]
async fn a_plot_goes_to_the_terminal_and_a_page_to_a_file() {
    let stage = Stage::trained("sports", 4).await;
    let ran = stage.run(&["list", &stage.models.to_string(), "--plot", "--html", "page.html"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("RMSE, distance from what viewers said"), "{}", ran.stdout);
    assert!(ran.stdout.contains("SROCC, agreement with"), "{}", ran.stdout);
    assert!(ran.stdout.chars().any(|sign| ('\u{2801}'..='\u{28ff}').contains(&sign)), "{}", ran.stdout);
    let page = std::fs::read_to_string(stage.path("page.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("sports-v000003 <span class=\"stable\">stable</span>"), "{page}");
}

#[tokio::test]
async fn one_of_several_trainings_is_chosen_by_its_name() {
    let stage = Stage::trained("sports", 2).await;
    stage.train("news", 1).await;
    let place = stage.models.to_string();
    let all = stage.json(&["list", &place]);
    assert_eq!(all["checkpoints"].as_array().unwrap().len(), 3);
    let one = stage.json(&["list", &place, "--name", "news"]);
    assert_eq!(one["checkpoints"].as_array().unwrap().len(), 1);
    let ran = stage.run(&["list", &place, "--plot"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("choose one with --name news or --name sports"), "{}", ran.stderr);
    for arguments in [&["--limit", "1"][..], &["--limit", "1", "--name", "sports"]] {
        let ran = stage.run(&[&["list", &place], arguments].concat());
        assert!(ran.stderr.contains("there are more"), "{ran:?}");
    }
    let ran = stage.run(&["list", &place, "--name", "cartoons"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("has no checkpoints of a training \"cartoons\""), "{}", ran.stderr);
}

#[tokio::test]
async fn what_only_looks_like_a_version_is_left_out_and_named() {
    let stage = Stage::trained("sports", 2).await;
    let layers = [RegistryLayer { media_type: "application/json", content: b"{}" }];
    stage.registry.push("video/models", "sports-v000009", &layers).unwrap();
    let ran = stage.run(&["list", &stage.models.to_string()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("left out: sports-v000009: it is not a checkpoint"), "{}", ran.stderr);
}

#[tokio::test]
async fn whoever_is_not_let_in_is_told_what_to_do() {
    let stage = Stage::set(RegistryAuth::Password).await;
    let place = stage.models.to_string();
    let ran = stage.run(&["list", &place]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.starts_with(&format!("error: {place} cannot be read\n  caused by: access is denied (401"))
    );
    assert!(ran.stderr.contains("DOCKER_CONFIG") && !ran.stderr.contains("backtrace"), "{}", ran.stderr);

    let config =
        serde_json::json!({"auths": {stage.registry.address(): {"username": USER, "password": PASSWORD}}});
    std::fs::create_dir(stage.path(".docker")).unwrap();
    std::fs::write(stage.path(".docker/config.json"), config.to_string()).unwrap();
    let ran = stage.run(&["list", &place]);
    assert!(ran.stderr.contains("nothing is there (404 Not Found, NAME_UNKNOWN)"), "{}", ran.stderr);
}

#[test]
fn a_place_that_is_none_is_wrong_usage() {
    let home = tempfile::tempdir().unwrap();
    let ran = run_in(home.path(), &["list", "https://registry.example/Models"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("use registry/repository"), "{}", ran.stderr);
}
