//! The cluster with its operator that all tests share, and the namespace of one test.

use std::sync::LazyLock;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;
use vmafx_api::VmafxJob;
use vmafx_api::job::Phase;
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::kube::proxy::{ApiProxy, RecordedRequest};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestNamespace, install_crds};
use vmafx_testkit::wait;

use crate::control_plane::{SYSTEM, account};
use crate::resources::{self, TIMEOUT};

/// The Kubernetes Job of the VmafxJob `intro`.
pub(crate) const JOB: &str = "vmafx-job-intro";

/// Held by a `static` and so never dropped: its processes end with this one.
pub(crate) struct SharedCluster {
    cluster: ControlPlane,
    pub(crate) proxy: ApiProxy,
    _controller: HttpServer,
    _operator: ChildProcess,
    _directory: tempfile::TempDir,
}

pub(crate) async fn cluster() -> &'static SharedCluster {
    static CLUSTER: OnceCell<SharedCluster> = OnceCell::const_new();
    // The proxy must outlive the test that happens to be the first, and with it that test's runtime.
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    CLUSTER.get_or_init(async || RUNTIME.spawn(start()).await.unwrap()).await
}

async fn start() -> SharedCluster {
    let options = ControlPlaneOptions {
        controller_manager: true,
        api_server_args: vec!["--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned()],
        ..ControlPlaneOptions::default()
    };
    let cluster = ControlPlane::start(options).await.unwrap();
    install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
    let account = account(&cluster).await;
    let proxy = ApiProxy::start(&cluster).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    account.write_kubeconfig(&kubeconfig, &proxy.url()).unwrap();
    let controller = HttpServer::start(|_| Reply::file(b"ok"));
    let log = directory.path().join("operator.log");
    let launch = ChildCommand::new("vmafx-operator", env!("CARGO_BIN_EXE_vmafx-operator"), log)
        .env("KUBECONFIG", &kubeconfig)
        .env("POD_NAMESPACE", SYSTEM)
        .env("VMAFX_OPERATOR_METRICS_ADDR", "0")
        .env("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "0")
        .env("VMAFX_OPERATOR_NODE_IMAGE", "vmafx-node:1")
        .env("VMAFX_OPERATOR_SCORING_ROOTS", "s3://clips/{namespace}")
        // Nothing listens there: jobs in a Pod never reach the controller.
        .env("VMAFX_CONTROLLER_GRPC_ADDR", "127.0.0.1:1")
        .env("VMAFX_CONTROLLER_HTTP_ADDR", controller.url(""));
    let operator = ChildProcess::start(&launch).unwrap();
    SharedCluster { cluster, proxy, _controller: controller, _operator: operator, _directory: directory }
}

/// The namespace of one test.
pub(crate) struct Fixture {
    pub(crate) namespace: TestNamespace,
    pub(crate) resources: Api<VmafxJob>,
    pub(crate) jobs: Api<Job>,
    pub(crate) pods: Api<Pod>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let namespace = cluster().await.cluster.namespace("job").await.unwrap();
        let (client, name) = (namespace.client(), namespace.name().to_owned());
        Self {
            resources: Api::namespaced(client.clone(), &name),
            jobs: Api::namespaced(client.clone(), &name),
            pods: Api::namespaced(client, &name),
            namespace,
        }
    }

    /// Creates the job `intro` and waits for its Kubernetes Job.
    pub(crate) async fn with(spec: Value) -> Self {
        let fixture = Self::new().await;
        fixture.create("intro", spec, json!({})).await;
        fixture.until_reason("Accepted", "JobCreated").await;
        fixture
    }

    pub(crate) async fn create(&self, name: &str, spec: Value, labels: Value) -> VmafxJob {
        let [reference, distorted] = ["r.y4m", "d.y4m"].map(|clip| self.inside_roots(clip));
        let mut whole = json!({ "reference": reference, "distorted": distorted, "execution": "Pod" });
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name, "labels": labels }, "spec": whole,
        });
        self.resources.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap()
    }

    /// An address that the operator's scoring roots permit in this namespace.
    pub(crate) fn inside_roots(&self, name: &str) -> String {
        format!("s3://clips/{}/{name}", self.namespace.name())
    }

    pub(crate) async fn change(&self, patch: Value) {
        self.resources.patch("intro", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Changes the Kubernetes Job as another client.
    pub(crate) async fn change_job(&self, patch: Value) {
        self.jobs.patch(JOB, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&VmafxJob) -> bool) -> VmafxJob {
        resources::until(&self.resources, "intro", what, holds).await
    }

    pub(crate) async fn until_reason(&self, type_: &str, reason: &str) -> VmafxJob {
        self.until(&format!("{type_} to be {reason}"), |job| resources::reason(job, type_) == reason).await
    }

    pub(crate) async fn until_phase(&self, phase: Phase) -> VmafxJob {
        let has = |job: &VmafxJob| job.status.as_ref().and_then(|status| status.phase) == Some(phase);
        self.until(&format!("phase {phase:?}"), has).await
    }

    pub(crate) async fn until_job(&self, what: &str, holds: impl Fn(&Job) -> bool) -> Job {
        resources::until(&self.jobs, JOB, what, holds).await
    }

    /// Waits until there is no Kubernetes Job, or another one than this.
    pub(crate) async fn until_job_is_not(&self, uid: &str) {
        wait::until(TIMEOUT, "the Kubernetes Job to be gone", || async {
            let live = self.jobs.get_opt(JOB).await.unwrap();
            live.is_none_or(|live| live.uid().as_deref() != Some(uid))
        })
        .await
        .unwrap();
    }

    /// Waits until there are `count` Pods and returns the newest.
    pub(crate) async fn pod(&self, count: usize) -> Pod {
        wait::until(TIMEOUT, &format!("Pod number {count}"), || async {
            let mut pods = self.pods.list(&ListParams::default()).await.unwrap().items;
            pods.sort_by_key(|pod| {
                (pod.metadata.creation_timestamp.clone().map(|time| time.0), pod.name_any())
            });
            if pods.len() == count { Ok(pods.pop().unwrap()) } else { Err(format!("{} Pods", pods.len())) }
        })
        .await
        .unwrap()
    }

    pub(crate) async fn until_no_pods(&self) {
        wait::until(TIMEOUT, "no Pods", || async {
            self.pods.list(&ListParams::default()).await.unwrap().items.is_empty()
        })
        .await
        .unwrap();
    }

    /// What the operator wrote here after the first `mark` requests.
    pub(crate) async fn writes_since(&self, mark: usize) -> Vec<RecordedRequest> {
        let mut writes = cluster().await.proxy.writes_since(mark);
        writes.retain(|record| record.request.namespace == self.namespace.name());
        writes
    }
}
