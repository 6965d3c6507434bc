//! The whole node: it runs real Pods, and leaves nothing behind however it ends. Run by `make e2e`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod policies;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use kube::api::{DeleteParams, LogParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::image::Image;
use vmafx_testkit::kube::node::{
    Footprint, NODE_NAME, NodeError, PAUSE_IMAGE, RoleLauncher, StateDirectory, stop,
};
use vmafx_testkit::kube::probe::{ProbeResult, probe};
use vmafx_testkit::kube::{TestCluster, WholeNode};
use vmafx_testkit::{prerequisite, wait};

const SOON: Duration = Duration::from_mins(1);

/// Serializes the tests, because each starts ten servers; `None` where a node cannot run.
async fn exclusive() -> Option<MutexGuard<'static, ()>> {
    static LOCK: Mutex<()> = Mutex::const_new(());
    match probe() {
        ProbeResult::Possible => Some(LOCK.lock().await),
        ProbeResult::Impossible(why) => {
            prerequisite::skip(&why);
            None
        }
    }
}

/// Writes past the harness's capture, which hides the output of passing tests.
fn print_uncaptured(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn launcher() -> RoleLauncher {
    RoleLauncher::new(env!("CARGO_BIN_EXE_testkit-helper"), &["role"])
}

async fn start(base: &Path) -> WholeNode {
    let started = Instant::now();
    let node = WholeNode::start(base, &launcher()).await.unwrap();
    print_uncaptured(&format!("node ready in {:.1} s", started.elapsed().as_secs_f64()));
    node
}

async fn wait_until_nothing_is_left(footprint: &Footprint) {
    let gone = async || {
        let remains = footprint.remains().unwrap();
        if remains.is_empty() { Ok(()) } else { Err(remains.join("\n")) }
    };
    wait::until(SOON, "nothing to be left", gone).await.unwrap();
}

/// Conforms to the Pod security level `restricted`.
fn pod(name: &str, image: &str, args: &[&str]) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "OnFailure",
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": name,
                "image": image,
                "imagePullPolicy": "Never",
                "args": args,
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    }))
    .unwrap()
}

async fn wait_for_phase(pods: &Api<Pod>, name: &str, phase: &str) {
    let in_phase = async || {
        let pod = pods.get(name).await.map_err(|error| error.to_string())?;
        let status = pod.status.unwrap_or_default();
        if status.phase.as_deref() == Some(phase) { Ok(()) } else { Err(format!("{status:?}")) }
    };
    wait::until(SOON, &format!("{name} to be {phase}"), in_phase).await.unwrap();
}

async fn enforce_restricted(client: &Client, namespace: &str) {
    let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    let namespaces = Api::<Namespace>::all(client.clone());
    namespaces.patch(namespace, &PatchParams::default(), &Patch::Merge(&labels)).await.unwrap();
}

/// The cluster's processes that have ended and are not reaped.
fn zombies(state: &StateDirectory) -> Vec<i32> {
    let footprint = Footprint::record(state).unwrap();
    let is_zombie = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    };
    footprint.pids().filter(is_zombie).collect()
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn a_cluster_runs_real_pods_and_is_gone_when_stopped() {
    let Some(_lock) = exclusive().await else { return };
    let base = tempfile::tempdir().unwrap();
    let node = start(base.path()).await;

    let tar = base.path().join("image.tar");
    let pause = ensure(&[Binary::Pause]).unwrap();
    let image = Image::new("localhost/server:1").file("/bin/server", pause.path(Binary::Pause), 0o755);
    image.entrypoint(["/bin/server"]).write(&tar).unwrap();
    node.load_image(&tar).unwrap();

    let namespace = node.namespace("real").await.unwrap();
    let client = namespace.client();
    enforce_restricted(&client, namespace.name()).await;
    let pods = Api::<Pod>::namespaced(client.clone(), namespace.name());
    let services = Api::<Service>::namespaced(client.clone(), namespace.name());
    let params = PostParams::default();
    let service = json!({"metadata": {"name": "greeter"}, "spec": {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8080}]}});
    services.create(&params, &serde_json::from_value(service).unwrap()).await.unwrap();
    let server = pod("server", "localhost/server:1", &["serve", ":8080", "hello from a pod"]);
    pods.create(&params, &server).await.unwrap();
    wait_for_phase(&pods, "server", "Running").await;
    // Tests DNS, the Service's address and the route between Pods.
    let name = format!("greeter.{}.svc.cluster.local:80", namespace.name());
    pods.create(&params, &pod("caller", PAUSE_IMAGE, &["fetch", &name])).await.unwrap();
    wait_for_phase(&pods, "caller", "Succeeded").await;
    let log = pods.logs("caller", &LogParams::default()).await.unwrap();
    assert!(log.ends_with("hello from a pod\n"), "{log}");

    pods.delete("caller", &DeleteParams::default()).await.unwrap();
    let deleted = async || matches!(pods.get_opt("caller").await, Ok(None));
    wait::until(SOON, "the caller to be gone", deleted).await.unwrap();
    let collected = async || zombies(node.state()).is_empty();
    wait::until(SOON, "the first process to reap orphans", collected).await.unwrap();

    let inside = node.run("ip", &["-brief", "address"]).unwrap();
    assert!(String::from_utf8_lossy(&inside.stdout).contains("10.88.0.1"), "{inside:?}");

    let footprint = Footprint::record(node.state()).unwrap();
    assert!(footprint.namespace_count("net") >= 2, "the cluster's and the server Pod's: {footprint:?}");
    let kinds = ["cgroup", "process", "directory"];
    let remains = footprint.remains().unwrap();
    assert!(kinds.iter().all(|kind| remains.iter().any(|line| line.starts_with(kind))), "{remains:?}");
    drop(node);
    assert_eq!(footprint.remains().unwrap(), Vec::<String>::new(), "drop returns when nothing is left");
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn a_killed_owner_leaves_nothing() {
    let Some(_lock) = exclusive().await else { return };
    let base = tempfile::tempdir().unwrap();
    let mut owner = Command::new(env!("CARGO_BIN_EXE_testkit-helper"))
        .arg("whole-node")
        .arg(base.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(serde_json::from_str::<Value>(&line).unwrap()["supervisor"].is_number(), "{line}");
    let state = StateDirectory::new(base.path()).unwrap();
    let footprint = Footprint::record(&state).unwrap();
    // Like a test's temporary directory that is removed first: the reaper must not need it.
    std::fs::remove_file(state.directory().join("cluster.json")).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until_nothing_is_left(&footprint).await;
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn a_killed_supervisor_leaves_nothing_and_does_not_touch_another_cluster() {
    let Some(_lock) = exclusive().await else { return };
    let (base, other_base) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (node, other) = (start(base.path()).await, start(other_base.path()).await);
    let pods = Api::<Pod>::default_namespaced(node.client().unwrap());
    pods.create(&PostParams::default(), &pod("idle", PAUSE_IMAGE, &[])).await.unwrap();
    wait_for_phase(&pods, "idle", "Running").await;
    let (footprint, other_footprint) =
        (Footprint::record(node.state()).unwrap(), Footprint::record(other.state()).unwrap());
    let cgroups = |footprint: &Footprint| {
        let remains = footprint.remains().unwrap();
        remains.into_iter().filter(|line| line.starts_with("cgroup")).collect::<Vec<_>>()
    };
    let others = cgroups(&other_footprint);
    assert!(!others.is_empty() && !others.iter().any(|cgroup| cgroups(&footprint).contains(cgroup)));

    kill(i32::try_from(node.supervisor()).unwrap());
    wait_until_nothing_is_left(&footprint).await;

    assert_eq!(cgroups(&other_footprint), others);
    let version = other.client().unwrap().apiserver_version().await;
    assert!(version.is_ok(), "{version:?}");
    drop(other);
    wait_until_nothing_is_left(&other_footprint).await;
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn a_server_that_ends_takes_the_cluster_with_it() {
    let Some(_lock) = exclusive().await else { return };
    let base = tempfile::tempdir().unwrap();
    let node = start(base.path()).await;
    let footprint = Footprint::record(node.state()).unwrap();
    kill(footprint.pids().find(|pid| is_called(*pid, "kube-scheduler")).unwrap());
    wait_until_nothing_is_left(&footprint).await;
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn a_cluster_that_cannot_start_says_why_and_leaves_nothing() {
    let Some(_lock) = exclusive().await else { return };
    let base = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/false", base.path().join("kube-scheduler")).unwrap();
    let owner = Command::new(env!("CARGO_BIN_EXE_testkit-helper"))
        .arg("whole-node")
        .arg(base.path())
        .env("KUBEBUILDER_ASSETS", base.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&owner.stderr);
    assert!(stderr.contains("the cluster ended before it was ready"), "{stderr}");
    assert!(stderr.contains("kube-scheduler ended early (exit status: 1)"), "{stderr}");
    assert!(!StateDirectory::new(base.path()).unwrap().directory().exists());
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn a_detached_cluster_outlives_its_owner_until_it_is_stopped() {
    let Some(_lock) = exclusive().await else { return };
    let base = tempfile::tempdir().unwrap();
    let state = StateDirectory::new(base.path()).unwrap();
    start(base.path()).await.detach().unwrap();
    assert!(state.is_running().unwrap());
    let footprint = Footprint::record(&state).unwrap();
    let cluster = TestCluster::from_kubeconfig(&state.kubeconfig()).await.unwrap();
    let nodes = Api::<k8s_openapi::api::core::v1::Node>::all(cluster.client().unwrap());
    nodes.get(NODE_NAME).await.unwrap();

    let second = WholeNode::start(base.path(), &launcher()).await;
    assert!(matches!(second, Err(NodeError::AlreadyRunning { .. })), "{second:?}");
    assert!(stop(&state).unwrap(), "there was one");
    assert_eq!(footprint.remains().unwrap(), Vec::<String>::new(), "stop returns when nothing is left");
    assert!(!stop(&state).unwrap(), "there is none any more");
}

/// The kernel stores the first fifteen characters of a name.
fn is_called(pid: i32, name: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .is_ok_and(|comm| comm.trim() == &name[..name.len().min(15)])
}

fn kill(pid: i32) {
    let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}
