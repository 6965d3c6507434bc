//! The commands that people type.

use std::process::Command;

use serde_json::json;
use vmafx_proto::controller::v1::FailureReason;
use vmafx_testkit::kube::assets::{Binary, ensure};

use crate::agent::Agent;
use crate::harness::Harness;

/// Runs `kubectl` in the namespace of a test and returns its output; it must succeed.
async fn kubectl(harness: &Harness, arguments: &str) -> String {
    let program = ensure(&[Binary::Kubectl]).unwrap().path(Binary::Kubectl).to_owned();
    let mut command = Command::new(program);
    command.arg("--kubeconfig").arg(harness.plane.kubeconfig_path());
    command.args(["--namespace", harness.namespace.name()]).args(arguments.split(' '));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl {arguments}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn both_ends_can_be_waited_for_and_a_score_of_nothing_is_shown() {
    let harness = Harness::start().await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    harness.create("good", json!({})).await;
    let work = agent.pull().await;
    agent.score(&work, 0.0).await;
    kubectl(&harness, "wait --for=condition=Complete vmjob/good --timeout=60s").await;
    let table = kubectl(&harness, "get vmjob good --no-headers").await;
    let columns: Vec<_> = table.split_whitespace().collect();
    assert_eq!(columns[..4], ["good", "Succeeded", "0", "gpu-0"], "{table}");

    harness.create("bad", json!({})).await;
    let work = agent.pull().await;
    agent.fail(&work, FailureReason::InputInvalid, "no video stream").await;
    kubectl(&harness, "wait --for=condition=Failed vmjob/bad --timeout=60s").await;
}

#[tokio::test]
async fn a_deletion_does_not_wait_for_the_operator() {
    let mut harness = Harness::start().await;
    harness.create("gone", json!({})).await;
    harness.until_open(1).await;
    harness.operator.kill();
    kubectl(&harness, "delete vmjob gone --wait=true --timeout=30s").await;
    harness.restart_operator().await;
    harness.until_open(0).await;
}
