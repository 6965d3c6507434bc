//! `vmafx models list`.

use vmafx_testkit::registry::{PASSWORD, RegistryAuth, RegistryLayer, USER};

use crate::fixture::{Fixture, lines, run_in};

#[test]
fn without_a_repository_the_built_in_models_are_listed() {
    let home = tempfile::tempdir().unwrap();
    let table = run_in(home.path(), &["list"]).ok();
    assert!(table.contains("vmaf_v0.6.1neg"), "{table}");
    let document = run_in(home.path(), &["list", "-o", "json"]).ok();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["models"][0]["name"], "vmaf_v0.6.1");
}

#[tokio::test]
async fn checkpoints_are_listed_newest_first_with_their_metrics() {
    let fixture = Fixture::trained("sports", 3).await;
    let lines = lines(&fixture.run(&["list", &fixture.models.to_string()]).ok());
    assert!(lines[2].starts_with("sports-v000003 held back "), "{lines:#?}");
    assert!(lines[2].ends_with("300 16.64 -15.3 % 0.8534 +0.0060"), "{lines:#?}");
    assert!(lines[3].starts_with("sports-v000002 stable passed "), "{lines:#?}");
    assert!(lines[4].starts_with("sports-v000001 passed "), "{lines:#?}");
    assert_eq!(lines[6], "sports-v000003 was held back: SROCC 0.81 is below 0.84");

    let document = fixture.json(&["list", &format!("oci://{}", fixture.models)]);
    let all = document["checkpoints"].as_array().unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!((&all[1]["version"], &all[1]["stable"]), (&"sports-v000002".into(), &true.into()));
    assert_eq!(all[0]["parent"], all[1]["digest"]);
    assert_eq!(all[0]["all"]["model"]["rmse"].as_f64(), Some(19.64 - 3.0), "to the last bit");
}

#[tokio::test]
async fn a_plot_goes_to_the_terminal_and_a_page_to_a_file() {
    let fixture = Fixture::trained("sports", 4).await;
    let plot = fixture.run(&["list", &fixture.models.to_string(), "--plot", "--html", "page.html"]).ok();
    assert!(plot.contains("RMSE, error against the opinion of viewers"), "{plot}");
    assert!(plot.contains("SROCC, rank correlation with"), "{plot}");
    assert!(plot.chars().any(|character| ('\u{2801}'..='\u{28ff}').contains(&character)), "{plot}");
    let page = std::fs::read_to_string(fixture.path("page.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("sports-v000003 <span class=\"stable\">stable</span>"), "{page}");
}

#[tokio::test]
async fn one_of_several_trainings_is_chosen_by_its_name() {
    let fixture = Fixture::trained("sports", 2).await;
    fixture.train("news", 1).await;
    let repository = fixture.models.to_string();
    let all = fixture.json(&["list", &repository]);
    assert_eq!(all["checkpoints"].as_array().unwrap().len(), 3);
    let one = fixture.json(&["list", &repository, "--name", "news"]);
    assert_eq!(one["checkpoints"].as_array().unwrap().len(), 1);
    let error = fixture.run(&["list", &repository, "--plot"]).error();
    assert!(error.contains("choose one with --name news or --name sports"), "{error}");
    for arguments in [&["--limit", "1"][..], &["--limit", "1", "--name", "sports"]] {
        let result = fixture.run(&[&["list", &repository], arguments].concat());
        assert!(result.stderr.contains("there are more"), "{result:?}");
    }
    let error = fixture.run(&["list", &repository, "--name", "cartoons"]).error();
    assert!(error.contains("has no checkpoints of a training \"cartoons\""), "{error}");
}

#[tokio::test]
async fn a_tag_that_is_not_a_checkpoint_is_skipped_and_named() {
    let fixture = Fixture::trained("sports", 2).await;
    let layers = [RegistryLayer { media_type: "application/json", content: b"{}" }];
    fixture.registry.push("video/models", "sports-v000009", &layers).unwrap();
    let result = fixture.run(&["list", &fixture.models.to_string()]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.stderr.contains("skipped: sports-v000009: it is not a checkpoint"), "{}", result.stderr);
}

#[tokio::test]
async fn without_credentials_the_error_says_what_to_do() {
    let fixture = Fixture::new(RegistryAuth::Password).await;
    let repository = fixture.models.to_string();
    let error = fixture.run(&["list", &repository]).only_error();
    let expected = format!("error: cannot read {repository}\n  caused by: access is denied (401");
    assert!(error.starts_with(&expected) && error.contains("DOCKER_CONFIG"), "{error}");

    let config =
        serde_json::json!({"auths": {fixture.registry.address(): {"username": USER, "password": PASSWORD}}});
    std::fs::create_dir(fixture.path(".docker")).unwrap();
    std::fs::write(fixture.path(".docker/config.json"), config.to_string()).unwrap();
    let result = fixture.run(&["list", &repository]);
    assert!(result.stderr.contains("nothing is there (404 Not Found, NAME_UNKNOWN)"), "{}", result.stderr);
}

#[test]
fn an_invalid_repository_is_wrong_usage() {
    let home = tempfile::tempdir().unwrap();
    let error = run_in(home.path(), &["list", "https://registry.example/Models"]).error();
    assert!(error.contains("use registry/repository"), "{error}");
}
