//! A cluster with an operator, and a namespace with one VmafxNode.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use vmafx_api::VmafxNode;
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestNamespace, install_crds};
use vmafx_testkit::wait;

/// Generous: the usual is less than a second.
pub(crate) const SOON: Duration = Duration::from_mins(1);

/// The StatefulSet of every test's node.
pub(crate) const SET: &str = "vmafx-node-pool";

/// What all tests share. Never dropped, as no `static` is: the processes die with this one.
struct Stage {
    cluster: ControlPlane,
    _controller: HttpServer,
    _operator: ChildProcess,
    _directory: tempfile::TempDir,
}

async fn stage() -> &'static Stage {
    static STAGE: OnceCell<Stage> = OnceCell::const_new();
    STAGE
        .get_or_init(async || {
            let options = ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() };
            let cluster = ControlPlane::start(options).await.unwrap();
            install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
            let controller = HttpServer::start(|_| Reply::file(b"ok"));
            let directory = tempfile::tempdir().unwrap();
            let operator = operator(directory.path(), cluster.kubeconfig_path(), &controller.url(""));
            Stage { cluster, _controller: controller, _operator: operator, _directory: directory }
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

/// One test's own.
pub(crate) struct Scene {
    pub(crate) namespace: TestNamespace,
    pub(crate) nodes: Api<VmafxNode>,
    pub(crate) sets: Api<StatefulSet>,
}

impl Scene {
    pub(crate) async fn set() -> Self {
        let stage = stage().await;
        let namespace = stage.cluster.namespace("node").await.unwrap();
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

    /// Makes the node `pool`.
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

    /// Waits until the node is as it should be; what it was instead is in the failure.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&VmafxNode) -> bool) -> VmafxNode {
        let holds = Arc::new(holds);
        wait::until(SOON, what, || {
            let (nodes, holds) = (self.nodes.clone(), Arc::clone(&holds));
            async move {
                let node = nodes.get("pool").await.map_err(|error| error.to_string())?;
                if holds(&node) { Ok(node) } else { Err(serde_json::to_string(&node.status).unwrap()) }
            }
        })
        .await
        .unwrap()
    }

    /// Waits until a condition has a reason.
    pub(crate) async fn until_reason(&self, type_: &str, reason: &str) -> VmafxNode {
        self.until(&format!("{type_} to be {reason}"), |node| self::reason(node, type_) == reason).await
    }

    /// Waits until the StatefulSet is there and tracked; its UID.
    pub(crate) async fn tracked(&self) -> String {
        let node = self.until("a tracked StatefulSet", |node| tracked(node).is_some()).await;
        tracked(&node).unwrap()
    }

    /// Waits until the StatefulSet that is there is the one that is tracked, and is not this one.
    pub(crate) async fn tracked_other_than(&self, uid: &str) -> String {
        let node = self
            .until("another tracked StatefulSet", |node| tracked(node).is_some_and(|tracked| tracked != uid))
            .await;
        let live = self.sets.get(SET).await.unwrap().uid();
        assert_eq!(tracked(&node), live);
        live.unwrap()
    }

    /// Waits until the StatefulSet wants so many workers.
    pub(crate) async fn wants(&self, replicas: i32) -> StatefulSet {
        wait::until(SOON, &format!("{replicas} replicas to be wanted"), || async {
            let set = self.sets.get(SET).await.map_err(|error| error.to_string())?;
            let wanted = set.spec.as_ref().and_then(|spec| spec.replicas);
            if wanted == Some(replicas) { Ok(set) } else { Err(format!("{wanted:?}")) }
        })
        .await
        .unwrap()
    }

    /// Waits until there is an event; the reasons of all so far.
    pub(crate) async fn until_event(&self, reason: &str) -> Vec<String> {
        wait::until(SOON, &format!("the event {reason}"), || async {
            let events = self.events().await;
            if events.iter().any(|event| event == reason) { Ok(events) } else { Err(events.join(", ")) }
        })
        .await
        .unwrap()
    }

    /// The reasons of all events so far, in order of their time.
    pub(crate) async fn events(&self) -> Vec<String> {
        let mut events = self.all::<Event>().list(&ListParams::default()).await.unwrap().items;
        events.retain(|event| event.reporting_controller.as_deref() == Some("vmafx.dev/vmafx-operator"));
        events.sort_by_key(|event| event.event_time.clone().map(|time| time.0));
        events.into_iter().filter_map(|event| event.reason).collect()
    }
}

pub(crate) fn tracked(node: &VmafxNode) -> Option<String> {
    node.status.as_ref()?.stateful_set.as_ref().map(|set| set.uid.clone())
}

pub(crate) fn reason(node: &VmafxNode, type_: &str) -> String {
    let conditions = node.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().find(|one| one.type_ == type_).map(|one| one.reason.clone()).unwrap_or_default()
}

pub(crate) fn message(node: &VmafxNode, type_: &str) -> String {
    let conditions = node.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().find(|one| one.type_ == type_).map(|one| one.message.clone()).unwrap_or_default()
}
