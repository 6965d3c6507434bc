//! Clusters that are not configured, not reachable, not ready, or reject the user.

use serde_json::json;
use vmafx_testkit::command::CommandOutput;
use vmafx_testkit::kube::account::TestServiceAccount;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions};

use crate::harness::{Harness, RunningCommand, scored};

fn kube(harness: &Harness, words: &[&str]) -> CommandOutput {
    CommandOutput::of(harness.program(env!("CARGO_BIN_EXE_vmafx")).arg("kube").args(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_wrong_kubeconfig_is_reported() {
    let harness = Harness::new().await;
    let error = kube(&harness, &["get"]).error();
    assert!(
        error.starts_with("error: no cluster is configured: give --kubeconfig FILE, set KUBECONFIG"),
        "{error}"
    );
    let error = kube(&harness, &["get", "--kubeconfig", "nowhere"]).error();
    assert!(error.contains("the kubeconfig cannot be used") && error.contains("nowhere"), "{error}");
    let broken = harness.write("broken", "{");
    let error = kube(&harness, &["get", "--kubeconfig", &broken]).error();
    assert!(error.contains("the kubeconfig cannot be used"), "{error}");
    let config = harness.kubeconfig().display().to_string();
    let error = kube(&harness, &["get", "--kubeconfig", &config, "--context", "prod"]).error();
    assert!(error.contains("the kubeconfig has no context \"prod\" (contexts: vmafx-testkit)"), "{error}");
    kube(&harness, &["get", "--kubeconfig", &config, "--context", "vmafx-testkit", "-n", harness.ns.name()])
        .ok();
}

/// A kubeconfig with a credential plugin.
fn with_credential_plugin(harness: &Harness, script: &str) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }],
        "clusters": [{ "name": "x", "cluster": { "server": "https://127.0.0.1:1" } }],
        "users": [{ "name": "x", "user": { "exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": harness.write("login", script), "interactiveMode": "Never",
        } } }],
    });
    harness.write("signing", &config.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_message_of_a_failing_credential_plugin_is_quoted() {
    let harness = Harness::new().await;
    let text = "#!/bin/sh\necho 'Your session has expired' >&2\nexit 3\n";
    let config = with_credential_plugin(&harness, text);
    let error = kube(&harness, &["get", "--kubeconfig", &config]).error();
    assert!(error.contains("cannot be started: Permission denied"), "{error}");
    vmafx_testkit::script::write(harness.path("login").as_ref(), text).unwrap();
    let error = kube(&harness, &["get", "--kubeconfig", &config]).error();
    assert!(error.contains("ended with exit status: 3: Your session has expired"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_kubeconfigs_are_merged_and_some_may_be_missing() {
    let harness = Harness::new().await;
    let extra = harness
        .write("extra", r#"{"apiVersion":"v1","kind":"Config","contexts":[],"clusters":[],"users":[]}"#);
    let paths = format!("{}/nowhere:{extra}:{}", harness.path("").display(), harness.kubeconfig().display());
    let mut command = harness.program(env!("CARGO_BIN_EXE_vmafx"));
    let ran =
        CommandOutput::of(command.env("KUBECONFIG", paths).args(["kube", "get", "-n", harness.ns.name()]));
    assert!(ran.stderr.starts_with("no jobs in namespace"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_does_not_answer_is_named() {
    let harness = Harness::new().await;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [],
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }],
        "clusters": [{ "name": "x", "cluster": { "server": "https://127.0.0.1:1" } }],
    });
    let config = harness.write("config", &config.to_string());
    for words in
        [&["get"][..], &["get", "-w"], &["wait", "a"], &["submit", "s3://b/r", "s3://b/d"], &["logs", "a"]]
    {
        let error = kube(&harness, &[words, &["--kubeconfig", &config]].concat()).error();
        assert!(
            error.contains("the cluster at https://127.0.0.1:1 cannot be reached: ")
                && error.contains("refused"),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_request_is_reported_with_the_servers_message() {
    let harness = Harness::new().await;
    let nobody =
        TestServiceAccount::create(harness.ns.cluster(), harness.ns.name(), "nobody", &[]).await.unwrap();
    let server = harness.ns.cluster().config().cluster_url.to_string();
    let config = harness.path("nobody");
    nobody.write_kubeconfig(&config, &server).unwrap();
    let config = config.display().to_string();
    let with = |words: &[&str]| {
        kube(&harness, &[words, &["--kubeconfig", &config, "-n", harness.ns.name()]].concat())
    };
    for words in [&["get"][..], &["get", "-w"], &["cancel", "a"], &["submit", "s3://b/r", "s3://b/d"]] {
        let error = with(words).error();
        assert!(error.contains("is forbidden: User \"system:serviceaccount:"), "{error}");
        assert!(error.contains("Ask for the permission"), "{error}");
    }
    let text = std::fs::read_to_string(&config).unwrap().replace(nobody.token(), "stale");
    std::fs::write(&config, text).unwrap();
    let error = with(&["get"]).error();
    assert!(error.contains("does not accept your credentials"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_the_crds_is_reported_with_how_to_install_them() {
    let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    let harness = Harness::new().await;
    let config = plane.kubeconfig_path().display().to_string();
    for words in [
        &["get"][..],
        &["get", "a"],
        &["explain", "a"],
        &["wait", "--all"],
        &["submit", "s3://b/r", "s3://b/d"],
    ] {
        let error = kube(&harness, &[words, &["--kubeconfig", &config]].concat()).error();
        assert!(error.contains("does not have the VMAFX resources: install the chart"), "{words:?}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_does_not_exist_is_named() {
    let harness = Harness::new().await;
    let config = harness.kubeconfig().display().to_string();
    let error =
        kube(&harness, &["submit", "s3://b/r", "s3://b/d", "--kubeconfig", &config, "-n", "nowhere"]).error();
    assert!(error.contains("there is no namespace \"nowhere\""), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_and_watch_survive_a_restart_of_the_api_server() {
    let mut plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    vmafx_testkit::kube::install_crds(&plane.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
    let harness = Harness::in_namespace(plane.namespace("restart").await.unwrap());
    harness.create_job("a", json!({})).await;
    let waiting = RunningCommand::start(&harness, harness.command(&["wait", "a", "--timeout=10m"]));
    let shown = RunningCommand::start(&harness, harness.command(&["get", "-w"]));
    waiting.until("waiting for 1 job").await;
    shown.until("\na ").await;
    plane.restart_api_server().await.unwrap();
    harness.set_job_status("a", &scored(93.0, None)).await;
    let ran = waiting.end().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    shown.until("Succeeded").await;
}
