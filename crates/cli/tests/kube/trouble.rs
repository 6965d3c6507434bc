//! Clusters that are not there, not ready, or do not know us.

use serde_json::json;
use vmafx_testkit::kube::account::TestServiceAccount;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions};

use crate::stage::{Ran, Stage};

fn bare(stage: &Stage, words: &[&str]) -> Ran {
    Ran::of(stage.bare(env!("CARGO_BIN_EXE_vmafx")).arg("kube").args(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_not_configured_is_said_to_be_so() {
    let stage = Stage::set().await;
    let said = bare(&stage, &["get"]).refused();
    assert!(
        said.starts_with("error: no cluster is configured: give --kubeconfig FILE, set KUBECONFIG"),
        "{said}"
    );
    let said = bare(&stage, &["get", "--kubeconfig", "nowhere"]).refused();
    assert!(said.contains("the kubeconfig cannot be used") && said.contains("nowhere"), "{said}");
    let broken = stage.write("broken", "{");
    let said = bare(&stage, &["get", "--kubeconfig", &broken]).refused();
    assert!(said.contains("the kubeconfig cannot be used"), "{said}");
    let config = stage.kubeconfig().display().to_string();
    let said = bare(&stage, &["get", "--kubeconfig", &config, "--context", "prod"]).refused();
    assert!(
        said.contains("there is no context \"prod\" in the kubeconfig; there is vmafx-testkit"),
        "{said}"
    );
    bare(&stage, &["get", "--kubeconfig", &config, "--context", "vmafx-testkit", "-n", stage.ns.name()]).ok();
}

/// A kubeconfig whose user signs in by a command.
fn signing(stage: &Stage, script: &str) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }],
        "clusters": [{ "name": "x", "cluster": { "server": "https://127.0.0.1:1" } }],
        "users": [{ "name": "x", "user": { "exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": stage.write("login", script), "interactiveMode": "Never",
        } } }],
    });
    stage.write("signing", &config.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_sign_in_is_quoted() {
    let stage = Stage::set().await;
    let text = "#!/bin/sh\necho 'Your session has expired' >&2\nexit 3\n";
    let config = signing(&stage, text);
    let said = bare(&stage, &["get", "--kubeconfig", &config]).refused();
    assert!(said.contains("cannot be started: Permission denied"), "{said}");
    vmafx_testkit::script::write(stage.path("login").as_ref(), text).unwrap();
    let said = bare(&stage, &["get", "--kubeconfig", &config]).refused();
    assert!(said.contains("ended with exit status: 3: Your session has expired"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_kubeconfigs_are_one_and_may_be_missing() {
    let stage = Stage::set().await;
    let extra =
        stage.write("extra", r#"{"apiVersion":"v1","kind":"Config","contexts":[],"clusters":[],"users":[]}"#);
    let paths = format!("{}/nowhere:{extra}:{}", stage.path("").display(), stage.kubeconfig().display());
    let mut command = stage.bare(env!("CARGO_BIN_EXE_vmafx"));
    let ran = Ran::of(command.env("KUBECONFIG", paths).args(["kube", "get", "-n", stage.ns.name()]));
    assert!(ran.stderr.starts_with("no jobs in namespace"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_does_not_answer_is_named() {
    let stage = Stage::set().await;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [],
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }],
        "clusters": [{ "name": "x", "cluster": { "server": "https://127.0.0.1:1" } }],
    });
    let config = stage.write("config", &config.to_string());
    for words in
        [&["get"][..], &["get", "-w"], &["wait", "a"], &["submit", "s3://b/r", "s3://b/d"], &["logs", "a"]]
    {
        let said = bare(&stage, &[words, &["--kubeconfig", &config]].concat()).refused();
        assert!(
            said.contains("the cluster at https://127.0.0.1:1 cannot be reached: ")
                && said.contains("refused"),
            "{said}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forbidden_is_said_in_the_servers_words() {
    let stage = Stage::set().await;
    let nobody =
        TestServiceAccount::create(stage.ns.cluster(), stage.ns.name(), "nobody", &[]).await.unwrap();
    let server = stage.ns.cluster().config().cluster_url.to_string();
    let config = stage.path("nobody");
    nobody.write_kubeconfig(&config, &server).unwrap();
    let config = config.display().to_string();
    let with =
        |words: &[&str]| bare(&stage, &[words, &["--kubeconfig", &config, "-n", stage.ns.name()]].concat());
    for words in [&["get"][..], &["get", "-w"], &["cancel", "a"], &["submit", "s3://b/r", "s3://b/d"]] {
        let said = with(words).refused();
        assert!(said.contains("is forbidden: User \"system:serviceaccount:"), "{said}");
        assert!(said.contains("Ask for the permission"), "{said}");
    }
    let text = std::fs::read_to_string(&config).unwrap().replace(nobody.token(), "stale");
    std::fs::write(&config, text).unwrap();
    let said = with(&["get"]).refused();
    assert!(said.contains("does not know who you are"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_our_resources_says_how_to_get_them() {
    let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    let stage = Stage::set().await;
    let config = plane.kubeconfig_path().display().to_string();
    for words in [
        &["get"][..],
        &["get", "a"],
        &["explain", "a"],
        &["wait", "--all"],
        &["submit", "s3://b/r", "s3://b/d"],
    ] {
        let said = bare(&stage, &[words, &["--kubeconfig", &config]].concat()).refused();
        assert!(said.contains("does not have the VMAFX resources: apply the chart"), "{words:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_does_not_exist_is_named() {
    let stage = Stage::set().await;
    let config = stage.kubeconfig().display().to_string();
    let said =
        bare(&stage, &["submit", "s3://b/r", "s3://b/d", "--kubeconfig", &config, "-n", "nowhere"]).refused();
    assert!(said.contains("there is no namespace \"nowhere\""), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_outlives_a_restart_of_the_api_server() {
    let mut plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    vmafx_testkit::kube::install_crds(&plane.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
    let stage = Stage::on(plane.namespace("restart").await.unwrap());
    stage.job("a", json!({})).await;
    let waiting = crate::stage::Started::start(&stage, stage.command(&["wait", "a", "--timeout=10m"]));
    let shown = crate::stage::Started::start(&stage, stage.command(&["get", "-w"]));
    waiting.until("waiting for 1 job").await;
    shown.until("\na ").await;
    plane.restart_api_server().await.unwrap();
    stage.says("a", &crate::stage::scored(93.0, None)).await;
    let ran = waiting.end().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    shown.until("Succeeded").await;
}
