//! `schemathesis` against the document that is served: everything that it allows, and much that it does not.
//!
//! Left out: `GET /v1/events`, whose answer never ends (`events.rs` has it), and the check that what the document allows
//! is never refused with 400: a page token is any text to the document, and only our own to us.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use vmafx_testkit::kube::assets;

use crate::controller::{ALL, Controller};
use crate::node::TestNode;

const VERSION: &str = "4.32.5";

fn installed() -> PathBuf {
    let path = assets::cache().unwrap().join(format!("tools/schemathesis-{VERSION}"));
    assert!(path.is_dir(), "no schemathesis in {}: run `make setup`", path.display());
    path
}

/// Takes every job that comes and gives it a score, so that nobody waits in vain.
async fn work(node: TestNode) {
    loop {
        if let Ok(Some(job)) = node.pull_for(Duration::from_secs(5)).await {
            // It may have been cancelled meanwhile.
            let _ = node.report(node.report_request(&job, 50.0)).await;
        }
    }
}

/// Ids that exist and clips inside the roots, most of the time: otherwise every question would end at 403 or 404.
fn config(ids: &[Value]) -> String {
    let mostly = |field: &str, words: &str| {
        format!("\"{field}\" = {{ dictionary = \"{words}\", probability = 0.8 }}\n")
    };
    let clips = ["body.scoring.reference", "body.scoring.distorted", "body.reference", "body.distorted"];
    let clips: String = clips.iter().map(|field| mostly(field, "clips")).collect();
    format!(
        "[dictionaries.ids]\nvalues = {}\n[dictionaries.clips]\nvalues = [\"/clips/r.y4m\", \"/clips/d.y4m\"]\n\
         [parameters]\n{}{clips}",
        Value::from(ids),
        mostly("path.id", "ids"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn it_finds_no_server_error_and_no_answer_that_is_not_in_the_document() {
    let controller = Controller::start(&[("VMAFX_SCORE_WAIT", "10s")]).await;
    let mut nodes = JoinSet::new();
    nodes.spawn(work(TestNode::register(controller.client(ALL)).await));

    let http = controller.http_with(ALL);
    let mut ids = Vec::new();
    for backend in ["cpu", "cpu", "cuda", "cuda"] {
        let clips = json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m", "backend": backend });
        let job = http.post("/v1/jobs", &json!({ "scoring": clips })).await.expect(201);
        ids.push(job["id"].clone());
    }
    let file = controller.directory().join("schemathesis.toml");
    std::fs::write(&file, config(&ids)).unwrap();

    let mut command = Command::new("python3");
    command
        .env("PYTHONPATH", installed())
        .current_dir(controller.directory())
        .args(["-m", "schemathesis.cli", "--config-file"])
        .arg(&file)
        .arg("run")
        .arg(format!("http://{}/openapi.json", controller.http))
        .args(["--header", &format!("Authorization: Bearer {ALL}")])
        .args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"])
        .args(["--exclude-path", "/v1/events"])
        .args(["--max-examples", "50", "--seed", "1", "--workers", "1"])
        .args(["--request-timeout", "20", "--continue-on-failure", "--no-color"]);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("9 selected / 10 total"), "every operation is tried: {said}");
    http.get("/healthz").await.expect(200);
}
