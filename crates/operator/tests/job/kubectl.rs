//! What people type.

use std::process::Command;

use serde_json::json;
use vmafx_testkit::kube::assets::{Binary, ensure};

use crate::agent::Agent;
use crate::world::World;

/// Runs `kubectl` in the namespace of a test; what it printed, once it succeeded.
async fn kubectl(world: &World, arguments: &str) -> String {
    let program = ensure(&[Binary::Kubectl]).unwrap().path(Binary::Kubectl).to_owned();
    let mut command = Command::new(program);
    command.arg("--kubeconfig").arg(world.plane.kubeconfig_path());
    command.args(["--namespace", world.namespace.name()]).args(arguments.split(' '));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl {arguments}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn both_ends_can_be_waited_for_and_a_score_of_nothing_is_shown() {
    let world = World::start().await;
    let agent = Agent::register(&world.controller, "gpu-0").await;
    world.create("good", json!({})).await;
    let work = agent.pull().await;
    agent.score(&work, 0.0).await;
    kubectl(&world, "wait --for=condition=Complete vmjob/good --timeout=60s").await;
    let table = kubectl(&world, "get vmjob good --no-headers").await;
    let columns: Vec<_> = table.split_whitespace().collect();
    assert_eq!(columns[..4], ["good", "Succeeded", "0", "gpu-0"], "{table}");

    world.create("bad", json!({ "distorted": "file:///etc/passwd" })).await;
    kubectl(&world, "wait --for=condition=Failed vmjob/bad --timeout=60s").await;
}

#[tokio::test]
async fn a_deletion_does_not_wait_for_the_operator() {
    let mut world = World::start().await;
    world.create("gone", json!({})).await;
    world.until_open(1).await;
    world.operator.kill();
    kubectl(&world, "delete vmjob gone --wait=true --timeout=30s").await;
    world.restart_operator().await;
    world.until_open(0).await;
}
