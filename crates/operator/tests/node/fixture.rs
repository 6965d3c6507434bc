//! The cluster with its operator that all tests share, and the namespace of one test with one VmafxNode.

use std::path::Path;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use vmafx_api::VmafxNode;
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestNamespace, install_crds};
use vmafx_testkit::wait;

use crate::resources::{self, TIMEOUT};

/// The StatefulSet of every test's node.
pub(crate) const SET: &str = "vmafx-node-pool";

/// Held by a `static` and so never dropped: its processes end with this one.
struct SharedCluster {
    cluster: ControlPlane,
    _controller: HttpServer,
    _operator: ChildProcess,
    _directory: tempfile::TempDir,
}

async fn shared_cluster() -> &'static SharedCluster {
    static SHARED: OnceCell<SharedCluster> = OnceCell::const_new();
    SHARED
        .get_or_init(async || {
            let options = ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() };
            let cluster = ControlPlane::start(options).await.unwrap();
            install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
            let controller = HttpServer::start(|_| Reply::file(b"ok"));
            let directory = tempfile::tempdir().unwrap();
            let operator = operator(directory.path(), cluster.kubeconfig_path(), &controller.url(""));
            SharedCluster { cluster, _controller: controller, _operator: operator, _directory: directory }
        })
        .await
}

fn operator(directory: &Path, kubeconfig: &Path, controller: &str) -> ChildProcess {
    let launch = ChildCommand::new(
        "vmafx-operator",
        env!("CARGO_BIN_EXE_vmafx-operator"),
        directory.join("operator.log"),
    )
    .env("KUBECONFIG", kubeconfig)
    .env("POD_NAMESPACE", "default")
    .env("VMAFX_OPERATOR_METRICS_ADDR", "0")
    .env("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "0")
    .env("VMAFX_OPERATOR_NODE_IMAGE", "vmafx-node:1")
    .env("VMAFX_CONTROLLER_HTTP_ADDR", controller);
    ChildProcess::start(&launch).unwrap()
}

/// The namespace of one test.
pub(crate) struct NodeFixture {
    pub(crate) namespace: TestNamespace,
    pub(crate) nodes: Api<VmafxNode>,
    pub(crate) sets: Api<StatefulSet>,
}

impl NodeFixture {
    pub(crate) async fn new() -> Self {
        let shared = shared_cluster().await;
        let namespace = shared.cluster.namespace("node").await.unwrap();
        let (client, name) = (namespace.client(), namespace.name().to_owned());
        Self {
            nodes: Api::namespaced(client.clone(), &name),
            sets: Api::namespaced(client, &name),
            namespace,
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.namespace.client()
    }

    pub(crate) fn all<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client(), self.namespace.name())
    }

    /// Creates the node `pool`.
    pub(crate) async fn node(&self, spec: Value) -> VmafxNode {
        let node = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" }, "spec": spec,
        });
        self.nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap()
    }

    pub(crate) async fn change(&self, patch: Value) {
        self.nodes.patch("pool", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn delete_set(&self) {
        self.sets.delete(SET, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&VmafxNode) -> bool) -> VmafxNode {
        resources::until(&self.nodes, "pool", what, holds).await
    }

    /// Waits until a condition has a reason.
    pub(crate) async fn until_reason(&self, type_: &str, reason: &str) -> VmafxNode {
        self.until(&format!("{type_} to be {reason}"), |node| resources::reason(node, type_) == reason).await
    }

    /// Waits until a StatefulSet is tracked and returns its UID.
    pub(crate) async fn tracked(&self) -> String {
        let node = self.until("a tracked StatefulSet", |node| tracked(node).is_some()).await;
        tracked(&node).unwrap()
    }

    /// Waits until a StatefulSet other than this one is live and tracked, and returns its UID.
    pub(crate) async fn tracked_other_than(&self, uid: &str) -> String {
        let node = self
            .until("another tracked StatefulSet", |node| tracked(node).is_some_and(|tracked| tracked != uid))
            .await;
        let live = self.sets.get(SET).await.unwrap().uid();
        assert_eq!(tracked(&node), live);
        live.unwrap()
    }

    /// Waits until the StatefulSet has this number of desired replicas.
    pub(crate) async fn wait_for_replicas(&self, replicas: i32) -> StatefulSet {
        wait::until(TIMEOUT, &format!("{replicas} desired replicas"), || async {
            let set = self.sets.get(SET).await.map_err(|error| error.to_string())?;
            let desired = set.spec.as_ref().and_then(|spec| spec.replicas);
            if desired == Some(replicas) { Ok(set) } else { Err(format!("{desired:?}")) }
        })
        .await
        .unwrap()
    }

    /// Waits until there is an event with this reason, and returns the reasons of all events so far.
    pub(crate) async fn until_event(&self, reason: &str) -> Vec<String> {
        wait::until(TIMEOUT, &format!("the event {reason}"), || async {
            let events = self.events().await;
            if events.iter().any(|event| event == reason) { Ok(events) } else { Err(events.join(", ")) }
        })
        .await
        .unwrap()
    }

    /// The reasons of all events so far, oldest first.
    pub(crate) async fn events(&self) -> Vec<String> {
        resources::events(&self.namespace).await.into_iter().filter_map(|event| event.reason).collect()
    }
}

pub(crate) fn tracked(node: &VmafxNode) -> Option<String> {
    node.status.as_ref()?.stateful_set.as_ref().map(|set| set.uid.clone())
}
