//! A VmafxNode on a whole Kubernetes node: operator and controller run as Pods under the generated roles, and the workers
//! are real. Run by `make e2e`, which builds the programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_api::VmafxNode;
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::image::Image;
use vmafx_testkit::kube::node::Launcher;
use vmafx_testkit::kube::probe::{Verdict, probe};
use vmafx_testkit::kube::{WholeNode, install_crds};
use vmafx_testkit::wait;

const NAMESPACE: &str = "vmafx-system";
const IMAGE: &str = "localhost/vmafx:e2e";

/// Images are unpacked, programs without optimisation start, probes have their periods.
const PATIENCE: Duration = Duration::from_mins(3);

/// A program that was built beside this test's own.
fn program(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_vmafx-operator")).with_file_name(name);
    assert!(path.exists(), "{} is not there: run `make e2e`", path.display());
    path
}

/// The programs, and the libraries that they are linked with.
fn image(target: &Path) {
    let mut image = Image::new(IMAGE).directory("/tmp", 0o1777).user("65532:65532");
    for name in ["vmafx-operator", "vmafx-controller", "vmafx-node"] {
        let path = program(name);
        let listed = Command::new("ldd").arg(&path).output().unwrap();
        for library in
            String::from_utf8_lossy(&listed.stdout).split_whitespace().filter(|word| word.starts_with('/'))
        {
            image = image.file(library, std::fs::canonicalize(library).unwrap(), 0o755);
        }
        image = image.file(format!("/bin/{name}"), path, 0o755);
    }
    image.write(target).unwrap();
}

async fn apply(client: &Client, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let types = object.types.clone().unwrap();
    let (group, version) = types.api_version.split_once('/').unwrap_or(("", &types.api_version));
    let plural = format!("{}s", types.kind.to_lowercase());
    let gvk = kube::core::GroupVersionKind::gvk(group, version, &types.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &plural);
    let api: Api<DynamicObject> = match types.kind.as_str() {
        "ClusterRole" | "ClusterRoleBinding" => Api::all_with(client.clone(), &resource),
        _ => Api::namespaced_with(client.clone(), NAMESPACE, &resource),
    };
    let params = PatchParams::apply("e2e").force();
    api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await.unwrap();
}

/// An account with roles.
async fn account(client: &Client, name: &str, roles: &[Value]) {
    let meta = json!({ "name": name });
    apply(client, json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta })).await;
    for role in roles {
        apply(client, role.clone()).await;
        let kind = role["kind"].as_str().unwrap();
        apply(
            client,
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"),
                "metadata": role["metadata"],
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role["metadata"]["name"] },
                "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE }],
            }),
        )
        .await;
    }
}

/// What the controller needs to show heartbeats.
fn controller_role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "vmafx-controller" },
        "rules": [
            { "apiGroups": ["vmafx.dev"], "resources": ["vmafxnodes"], "verbs": ["get"] },
            { "apiGroups": ["vmafx.dev"], "resources": ["vmafxnodes/status"], "verbs": ["patch"] },
        ],
    })
}

/// A Pod of one of our daemons, as the strictest of the Pod security levels wants it.
fn daemon(name: &str, port: u16, env: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": {
            "serviceAccountName": name,
            "terminationGracePeriodSeconds": 5,
            "securityContext": { "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" } },
            "volumes": [{ "name": "tmp", "emptyDir": {} }],
            "containers": [{
                "name": name, "image": IMAGE, "imagePullPolicy": "Never", "command": [format!("/bin/{name}")], "env": env,
                "readinessProbe": { "httpGet": { "path": "/readyz", "port": port }, "periodSeconds": 1 },
                "volumeMounts": [{ "name": "tmp", "mountPath": "/tmp" }],
                "securityContext": {
                    "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
                },
            }],
        },
    })
}

struct Stage {
    cluster: WholeNode,
    client: Client,
    nodes: Api<VmafxNode>,
    pods: Api<Pod>,
}

impl Stage {
    async fn set(base: &Path) -> Self {
        let launcher = Launcher::new(program("testkit-helper"), &["role"]);
        let cluster = WholeNode::start(base, &launcher).await.unwrap();
        let client = cluster.client().unwrap();
        install_crds(&client, &vmafx_api::crd::all()).await.unwrap();
        image(&base.join("image.tar"));
        cluster.load_image(&base.join("image.tar")).unwrap();
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE,
            "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
        let namespaces = Api::<Namespace>::all(client.clone());
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
        let stage = Self {
            nodes: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            cluster,
            client,
        };
        stage.daemons().await;
        stage
    }

    async fn daemons(&self) {
        let (client, roles) = (&self.client, vmafx_operator::rbac::files());
        let whole = roles.into_iter().find(|file| file.name == "role.yaml").unwrap();
        account(client, "vmafx-operator", &whole.objects).await;
        account(client, "vmafx-controller", &[controller_role()]).await;
        let field = |path: &str| json!({ "fieldRef": { "fieldPath": path } });
        let controller = json!([
            { "name": "VMAFX_AUTH_DISABLED", "value": "true" },
            { "name": "VMAFX_DB_PATH", "value": "/tmp/queue.db" },
        ]);
        apply(client, daemon("vmafx-controller", 8080, &controller)).await;
        let ports = json!([{ "name": "http", "port": 8080 }, { "name": "grpc", "port": 9090 }]);
        apply(
            client,
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "vmafx-controller" },
                "spec": { "selector": { "app": "vmafx-controller" }, "ports": ports } }),
        )
        .await;
        let operator = json!([
            { "name": "POD_NAME", "valueFrom": field("metadata.name") },
            { "name": "POD_NAMESPACE", "valueFrom": field("metadata.namespace") },
            { "name": "VMAFX_OPERATOR_LEADER_ELECTION", "value": "true" },
            { "name": "VMAFX_OPERATOR_NODE_IMAGE", "value": IMAGE },
            { "name": "VMAFX_OPERATOR_NODE_DRAIN", "value": "5s" },
        ]);
        apply(client, daemon("vmafx-operator", 8082, &operator)).await;
    }

    /// Waits for a condition with that status.
    async fn until(&self, type_: &str, status: &str) -> VmafxNode {
        let seen = async || {
            let node = self.nodes.get("pool").await.map_err(|error| error.to_string())?;
            let node = serde_json::to_value(&node).unwrap();
            let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let holds = conditions.iter().any(|one| one["type"] == type_ && one["status"] == status);
            if holds { Ok(serde_json::from_value(node).unwrap()) } else { Err(node["status"].to_string()) }
        };
        match wait::until(PATIENCE, &format!("{type_} to be {status}"), seen).await {
            Ok(node) => node,
            Err(error) => panic!("{error}\n{}", self.explain().await),
        }
    }

    /// The workers' UIDs, by name.
    async fn workers(&self) -> Vec<(String, String)> {
        let labelled = ListParams::default().labels("vmafx.dev/workload=vmafx-node-pool");
        let mut pods = self.pods.list(&labelled).await.unwrap().items;
        pods.sort_by_key(kube::ResourceExt::name_any);
        pods.iter().map(|pod| (pod.name_any(), pod.uid().unwrap())).collect()
    }

    async fn change(&self, patch: Value) {
        self.nodes.patch("pool", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    fn kubectl(&self, words: &[&str]) -> String {
        let kubectl = ensure(&[Binary::Kubectl]).unwrap();
        let output = Command::new(kubectl.path(Binary::Kubectl))
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig_path())
            .args(["--namespace", NAMESPACE])
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What people would look at when something does not come.
    async fn explain(&self) -> String {
        let mut text = self.kubectl(&["get", "pods,statefulsets,events", "-o", "wide"]);
        for pod in self.pods.list(&ListParams::default()).await.unwrap().items {
            let log = self
                .pods
                .logs(&pod.name_any(), &LogParams { tail_lines: Some(15), ..LogParams::default() })
                .await;
            let log = log.unwrap_or_else(|error| error.to_string());
            text += &["---", &pod.name_any(), "\n", &log, "\n"].concat();
        }
        text
    }
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn workers_really_start_pause_scale_and_roll() {
    if let Verdict::Impossible(why) = probe() {
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let stage = Stage::set(base.path()).await;
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
        "spec": {
            "gpuVendor": "cpu", "capacity": 2,
            "podTemplate": { "spec": { "containers": [{ "name": "agent", "command": ["/bin/vmafx-node"] }] } },
        },
    });
    stage.nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();

    let status = stage.until("Ready", "True").await.status.unwrap();
    assert_eq!((status.healthy, status.ready_replicas), (Some(true), Some(1)));
    assert!(status.last_heartbeat.is_some() && status.detected_device.is_some(), "{status:?}");
    assert_eq!(status.current_image.as_deref(), Some(IMAGE));
    let listed = stage.kubectl(&["get", "vmnode", "pool", "--no-headers"]);
    assert!(listed.contains("cpu") && listed.contains("true"), "{listed}");

    stage.kubectl(&["scale", "vmnode", "pool", "--replicas=2"]);
    stage.kubectl(&["wait", "--for=jsonpath={.status.readyReplicas}=2", "vmnode/pool", "--timeout=180s"]);
    let before = stage.workers().await;
    assert_eq!(before.len(), 2);

    stage.change(json!({ "spec": { "paused": true } })).await;
    stage.kubectl(&["wait", "--for=condition=Paused", "vmnode/pool", "--timeout=180s"]);
    assert_eq!(stage.workers().await, []);
    stage.change(json!({ "spec": { "paused": false } })).await;
    stage.until("Ready", "True").await;
    let back = stage.workers().await;
    assert!(back.len() == 2 && back.iter().all(|worker| !before.contains(worker)), "{back:?}");

    let marked = json!({ "spec": { "podTemplate": { "metadata": { "annotations": { "release": "2" } } } } });
    stage.change(marked).await;
    stage.until("RolloutInProgress", "True").await;
    stage.until("RolloutInProgress", "False").await;
    let rolled = stage.workers().await;
    assert!(rolled.len() == 2 && rolled.iter().all(|worker| !back.contains(worker)), "{rolled:?}");
    stage.until("Ready", "True").await;

    stage.kubectl(&["delete", "vmnode", "pool"]);
    let gone = async || stage.workers().await.is_empty();
    wait::until(PATIENCE, "the workers to be gone", gone).await.unwrap();
}
