//! A whole Kubernetes node with operator and controller.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::node::Launcher;
use vmafx_testkit::kube::probe::{Verdict, probe};
use vmafx_testkit::kube::{WholeNode, install_crds};

use crate::images::{self, IMAGE, TRAINER, program};

pub(crate) const NAMESPACE: &str = "vmafx-system";

/// Where a registry is, if a test has one.
pub(crate) const REGISTRY: &str = "registry.vmafx-system.svc.cluster.local:5000";

/// Images are unpacked, programs without optimisation start, probes have their periods.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// One test at a time, or two cores would start ten servers each; `None`, said aloud, where a node cannot run.
pub(crate) async fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::const_new(());
    match probe() {
        Verdict::Possible => Some(TURN.lock().await),
        Verdict::Impossible(why) => {
            let _ = writeln!(std::io::stderr(), "skipped: {why}");
            None
        }
    }
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

pub(crate) struct Stage {
    cluster: WholeNode,
    pub(crate) client: Client,
    pub(crate) nodes: Api<VmafxNode>,
    pub(crate) jobs: Api<VmafxJob>,
    pub(crate) pods: Api<Pod>,
    pub(crate) trainings: Api<VmafxModelTraining>,
}

impl Stage {
    pub(crate) async fn set(base: &Path) -> Self {
        let launcher = Launcher::new(program("testkit-helper"), &["role"]);
        let cluster = WholeNode::start(base, &launcher).await.unwrap();
        let client = cluster.client().unwrap();
        install_crds(&client, &vmafx_api::crd::all()).await.unwrap();
        images::scoring(&base.join("image.tar"));
        cluster.load_image(&base.join("image.tar")).unwrap();
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE,
            "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
        let namespaces = Api::<Namespace>::all(client.clone());
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
        let stage = Self {
            nodes: Api::namespaced(client.clone(), NAMESPACE),
            jobs: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            trainings: Api::namespaced(client.clone(), NAMESPACE),
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
            { "name": "VMAFX_SCORING_ROOTS", "value": "/media" },
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
            { "name": "VMAFX_OPERATOR_SCORING_ROOTS", "value": "/media" },
            { "name": "VMAFX_OPERATOR_TRAINER_IMAGE", "value": TRAINER },
            { "name": "VMAFX_OPERATOR_TRAINER_POLL", "value": "1s" },
            { "name": "VMAFX_OCI_PLAIN_HTTP", "value": REGISTRY },
        ]);
        apply(client, daemon("vmafx-operator", 8082, &operator)).await;
    }

    /// What trainers run, and a registry.
    pub(crate) async fn registry(&self, base: &Path) {
        images::trainer(&base.join("trainer.tar"));
        self.cluster.load_image(&base.join("trainer.tar")).unwrap();
        account(&self.client, "registry", &[]).await;
        let mut pod = daemon("registry", 5000, &json!([{ "name": "OTEL_TRACES_EXPORTER", "value": "none" }]));
        let container = &mut pod["spec"]["containers"][0];
        container["image"] = TRAINER.into();
        container["command"] = json!(["/bin/registry", "serve", "/etc/registry.yml"]);
        container["readinessProbe"]["httpGet"]["path"] = "/v2/".into();
        apply(&self.client, pod).await;
        let ports = json!([{ "name": "http", "port": 5000 }]);
        apply(
            &self.client,
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "registry" },
                "spec": { "selector": { "app": "registry" }, "ports": ports } }),
        )
        .await;
        self.kubectl(&["wait", "--for=condition=Ready", "pod/registry", "--timeout=180s"]);
    }

    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
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
    pub(crate) async fn explain(&self) -> String {
        let mut text = self.kubectl(&["get", "pods,statefulsets,jobs,events", "-o", "wide"]);
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
