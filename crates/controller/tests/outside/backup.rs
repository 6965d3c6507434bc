//! The commands of `docs/backup.md`, on a real controller.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use vmafx_testkit::markdown::MarkdownDocument;

use crate::controller::{Controller, PROGRAM, WRITER};
use crate::http::Http;

/// The blocks of the document that run beside a controller, in order.
fn documented_commands() -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/backup.md"));
    let blocks = MarkdownDocument::parse(&text.unwrap()).blocks;
    let ours = |block: &&vmafx_testkit::markdown::CodeBlock| block.attributes == ["controller"];
    blocks.iter().filter(ours).map(|block| block.text.clone()).collect()
}

/// Runs a block with the controller's program in the path: whether it succeeded, and its log.
fn run(script: &str, controller: &Controller) -> (bool, String) {
    let programs = Path::new(PROGRAM).parent().unwrap().display().to_string();
    let output = Command::new("sh")
        .args(["-euc", script])
        .current_dir(controller.directory())
        .env_clear()
        .env("PATH", format!("{programs}:/usr/bin:/bin"))
        .env("VMAFX_DB_PATH", controller.database())
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

async fn submit(http: &Http, key: &str) -> String {
    let scoring = json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" });
    let stored =
        http.post("/v1/jobs", &json!({ "scoring": scoring, "idempotencyKey": key })).await.expect(201);
    stored["id"].as_str().unwrap().to_owned()
}

async fn ids(http: &Http) -> Vec<Value> {
    let page = http.get("/v1/jobs").await.expect(200);
    page["jobs"].as_array().unwrap().iter().map(|job| job["id"].clone()).collect()
}

#[tokio::test]
async fn the_documented_backup_and_restore_bring_the_jobs_back() {
    let commands = documented_commands();
    let [backup, restore] = &commands[..] else { panic!("{commands:?}") };
    let mut controller = Controller::start(&[]).await;
    std::fs::create_dir(controller.directory().join("backup")).unwrap();
    let http = controller.http_with(WRITER);
    let kept = submit(&http, "before").await;
    let (done, log) = run(backup, &controller);
    assert!(done && log.contains("the backup is complete"), "{log}");
    let lost = submit(&http, "after").await;
    assert_eq!(ids(&http).await.len(), 2, "the controller goes on during a backup");

    let (done, log) = run(restore, &controller);
    assert!(!done && log.contains("stop the controller first"), "{log}");
    controller.terminate().unwrap();
    controller.exited().await.unwrap();
    let (done, log) = run(restore, &controller);
    assert!(done && log.contains("the backup is in place"), "{log}");
    controller.restart().await.unwrap();

    let http = controller.http_with(WRITER);
    assert_eq!(ids(&http).await, [json!(kept)]);
    assert_ne!(submit(&http, "after").await, lost, "the job of the lost future is submitted again");
}

#[test]
fn the_help_of_both_commands_teaches_their_use() {
    for (command, words) in [("backup", "must not exist"), ("restore", "must be stopped")] {
        let output = Command::new(PROGRAM).args([command, "--help"]).env_clear().output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains(words) && help.contains(&format!("vmafx-controller {command} --")), "{help}");
    }
}

#[test]
fn postgres_is_backed_up_by_its_own_tools() {
    let output = Command::new(PROGRAM)
        .args(["backup", "--to", "/tmp/never.db"])
        .env_clear()
        .envs([("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_DB_DSN", "postgres://h/d")])
        .output()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && log.contains("pg_dump"), "{log}");
}
