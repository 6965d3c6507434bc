//! `schemathesis` with the served `OpenAPI` document: requests that the document allows, and many that it does not.
//!
//! Excluded are `GET /v1/events`, whose response never ends (see `events.rs`), and the check that a request which the document
//! allows is never refused with 400: in the document a page token is any string, but the controller accepts only its own.

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

/// Scores every job, so that no request waits until its timeout.
async fn work(node: TestNode) {
    loop {
        // On a busy machine the test takes longer than a session without heartbeats lasts.
        node.beat(&[]).await;
        if let Ok(Some(job)) = node.pull_for(Duration::from_secs(5)).await {
            // Fails if the job was cancelled meanwhile.
            let _ = node.report(node.report_request(&job, 50.0)).await;
        }
    }
}

/// Most requests have the id of an existing job and clips inside the scoring roots. Otherwise nearly all would get 403 or 404.
fn config(ids: &[Value]) -> String {
    let mostly = |field: &str, dictionary: &str| {
        format!("\"{field}\" = {{ dictionary = \"{dictionary}\", probability = 0.8 }}\n")
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
async fn it_finds_no_server_error_and_no_undocumented_response() {
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
        .arg(format!("http://{}/openapi.json", controller.http()))
        .args(["--header", &format!("Authorization: Bearer {ALL}")])
        .args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"])
        .args(["--exclude-path", "/v1/events"])
        .args(["--max-examples", "50", "--seed", "1", "--workers", "1"])
        .args(["--request-timeout", "20", "--continue-on-failure", "--no-color"]);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(report.contains("13 selected / 14 total"), "every operation is tested: {report}");
    http.get("/healthz").await.expect(200);
}
