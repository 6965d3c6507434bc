//! The control plane: it starts, isolates tests, and leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, ObjectMeta, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use vmafx_testkit::kube::{AuditLevel, ControlPlane, ControlPlaneOptions, install_crds};
use vmafx_testkit::wait;

const SOON: Duration = Duration::from_secs(30);

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn it_reports_a_release_version() {
    let cluster = ControlPlane::shared().await.unwrap();
    let version = cluster.client().unwrap().apiserver_version().await.unwrap();
    // KUBEBUILDER_ASSETS may contain another release than the pinned one.
    assert!(version.git_version.starts_with("v1."), "{version:?}");
}

#[tokio::test]
async fn each_test_has_a_namespace_to_itself() {
    let cluster = ControlPlane::shared().await.unwrap();
    let (one, other) = (cluster.namespace("apart").await.unwrap(), cluster.namespace("apart").await.unwrap());
    assert_ne!(one.name(), other.name());
    let mine = Api::<ConfigMap>::namespaced(one.client(), one.name());
    mine.create(&PostParams::default(), &config_map("mine")).await.unwrap();
    let theirs = Api::<ConfigMap>::namespaced(other.client(), other.name());
    assert_eq!(theirs.get_opt("mine").await.unwrap(), None);
}

#[tokio::test]
async fn a_pod_is_accepted_although_no_controller_creates_service_accounts() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("pod").await.unwrap();
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "idle"},
        "spec": {"containers": [{"name": "idle", "image": "localhost/none:1"}]},
    }))
    .unwrap();
    let pods = Api::<Pod>::namespaced(namespace.client(), namespace.name());
    let made = pods.create(&PostParams::default(), &pod).await.unwrap();
    assert_eq!(made.spec.unwrap().service_account_name.as_deref(), Some("default"));
}

fn definition(plural: &str, kind: &str) -> CustomResourceDefinition {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    serde_json::from_value(json!({
        "metadata": {"name": format!("{plural}.testkit.vmafx.dev")},
        "spec": {
            "group": "testkit.vmafx.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn many_tests_may_install_the_same_definitions_at_once() {
    let cluster = ControlPlane::shared().await.unwrap();
    let definitions = [definition("widgets", "Widget"), definition("gadgets", "Gadget")];
    let install = async || {
        let client = cluster.client().unwrap();
        install_crds(&client, &definitions).await.unwrap();
        list(&client, "widgets", "Widget").await
    };
    let (a, b, c, d) = tokio::join!(install(), install(), install(), install());
    assert_eq!([a, b, c, d], [0; 4]);
}

/// Lists once: `install_crds` guarantees that no retry is needed.
async fn list(client: &Client, plural: &str, kind: &str) -> usize {
    let kind = kube::api::GroupVersionKind::gvk("testkit.vmafx.dev", "v1beta1", kind);
    let resource = kube::api::ApiResource::from_gvk_with_plural(&kind, plural);
    let objects = Api::<DynamicObject>::all_with(client.clone(), &resource);
    objects.list(&ListParams::default()).await.unwrap().items.len()
}

#[tokio::test]
async fn an_invalid_definition_is_refused_with_the_servers_message() {
    let cluster = ControlPlane::shared().await.unwrap();
    let mut wrong = definition("gizmos", "Gizmo");
    wrong.spec.versions[1].storage = true;
    let error = install_crds(&cluster.client().unwrap(), &[wrong]).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(error.to_string(), "the API server refused the definition gizmos.testkit.vmafx.dev");
    assert!(cause.contains("exactly one version"), "{cause}");
}

#[tokio::test]
async fn the_audit_log_has_a_request_before_its_answer_arrives() {
    let control_plane = ControlPlane::start(ControlPlaneOptions {
        audit: AuditLevel::Metadata,
        ..ControlPlaneOptions::default()
    })
    .await
    .unwrap();
    let namespace = control_plane.namespace("audited").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(namespace.client(), namespace.name());
    maps.create(&PostParams::default(), &config_map("seen")).await.unwrap();
    let log = std::fs::read_to_string(control_plane.audit_log().unwrap()).unwrap();
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mine = events.filter(|event| event["verb"] == "create" && event["objectRef"]["name"] == "seen");
    assert_eq!(mine.count(), 1);
}

#[tokio::test]
async fn controllers_run_on_request_and_delete_what_a_deleted_namespace_holds() {
    let options = ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() };
    let control_plane = ControlPlane::start(options).await.unwrap();
    let namespace = control_plane.namespace("doomed").await.unwrap();
    let namespaces = Api::<Namespace>::all(namespace.client());
    namespaces.delete(namespace.name(), &DeleteParams::default()).await.unwrap();
    let gone = async || matches!(namespaces.get_opt(namespace.name()).await, Ok(None));
    wait::until(SOON, "the namespace to be gone", gone).await.unwrap();
}

#[tokio::test]
async fn an_api_server_that_was_killed_comes_back_with_its_data() {
    let mut control_plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    let name = control_plane.namespace("kept").await.unwrap().name().to_owned();
    let client = control_plane.client().unwrap();
    control_plane.kill_api_server().unwrap();
    assert!(client.apiserver_version().await.is_err());
    control_plane.restart_api_server().await.unwrap();
    let namespaces = Api::<Namespace>::all(control_plane.client().unwrap());
    assert!(namespaces.get_opt(&name).await.unwrap().is_some());
}

#[tokio::test]
async fn a_frozen_etcd_leaves_writes_unanswered_until_it_resumes() {
    let mut control_plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    let namespace = control_plane.namespace("frozen").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(namespace.client(), namespace.name());
    control_plane.freeze_etcd().unwrap();
    let (params, map) = (PostParams::default(), config_map("late"));
    let mut write = std::pin::pin!(maps.create(&params, &map));
    let early = tokio::time::timeout(Duration::from_millis(500), &mut write).await;
    assert!(early.is_err(), "answered although etcd is frozen");
    control_plane.resume_etcd().unwrap();
    write.await.unwrap();
}

/// A zombie does not count: in a container it may never be reaped, and it does no harm.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_killed_owner_leaves_no_process_and_no_directory() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_testkit-helper"))
        .arg("control-plane")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let report: Value = serde_json::from_str(&line).unwrap();
    let directory = PathBuf::from(report["directory"].as_str().unwrap());
    let processes: Vec<_> = report["pids"].as_array().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(processes.len(), 3, "etcd, API server, controllers");
    assert!(directory.join("kubeconfig").exists());
    assert!(processes.iter().all(|pid| runs(pid)));

    // SIGKILL: no destructor and no signal handler runs.
    owner.kill().unwrap();
    owner.wait().unwrap();

    let left = || {
        let running = processes.iter().filter(|pid| runs(pid)).cloned();
        running.chain(directory.exists().then(|| directory.display().to_string())).collect::<Vec<_>>()
    };
    let gone = async || if left().is_empty() { Ok(()) } else { Err(format!("{:?}", left())) };
    wait::until(SOON, "everything to be gone", gone).await.unwrap();
}

#[tokio::test]
async fn a_dropped_control_plane_is_gone_when_drop_returns() {
    let started = Instant::now();
    let control_plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    eprintln!("control plane ready in {:.1} s", started.elapsed().as_secs_f64());
    let processes: Vec<_> = control_plane.pids().iter().map(|pid| format!("/proc/{pid}")).collect();
    let directory = control_plane.kubeconfig_path().parent().unwrap().to_owned();
    drop(control_plane);
    assert!(!processes.iter().any(|process| Path::new(process).exists()));
    assert!(!directory.exists());
}
