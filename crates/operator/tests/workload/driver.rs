//! A real API server with its controllers, and a reconciler reduced to the workload.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::client::{Body, ClientBuilder};
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tower::util::MapRequestLayer;
use vmafx_api::VmafxNode;
use vmafx_api::workload::StatefulSetRef;
use vmafx_operator::FIELD_MANAGER;
use vmafx_operator::error::ApiError;
use vmafx_operator::runtime::Cache;
use vmafx_operator::runtime::ReconcileError;
use vmafx_operator::workload::{StatefulSetSnapshot, TrackedResource, Workloads};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestNamespace, install_crds};
use vmafx_testkit::wait;

use crate::objects::{DesiredSet, NAME, node};
use crate::pass::{Pass, workloads};

pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// A namespace on a control plane with controllers, shared by all tests.
pub(crate) async fn namespace(prefix: &str) -> TestNamespace {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    let start = async || {
        let options = ControlPlaneOptions { controller_manager: true, ..ControlPlaneOptions::default() };
        let started = ControlPlane::start(options).await.unwrap();
        install_crds(&started.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        started
    };
    SHARED.get_or_init(start).await.namespace(prefix).await.unwrap()
}

/// Method and path of the requests that were sent.
#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<Vec<(Method, String)>>>);

impl Requests {
    /// The methods of all requests since the last call.
    pub(crate) fn taken(&self) -> Vec<Method> {
        self.taken_for("")
    }

    /// The same for requests about one resource only.
    pub(crate) fn taken_for(&self, resource: &str) -> Vec<Method> {
        let requests = std::mem::take(&mut *self.0.lock().unwrap()).into_iter();
        requests.filter(|(_, path)| path.contains(resource)).map(|(method, _)| method).collect()
    }

    /// A client whose requests are recorded.
    pub(crate) fn client(&self, ns: &TestNamespace) -> Client {
        let sent = self.clone();
        let layer = MapRequestLayer::new(move |request: Request<Body>| {
            let sent_to = (request.method().clone(), request.uri().path().to_owned());
            sent.0.lock().unwrap().push(sent_to);
            request
        });
        let builder = ClientBuilder::try_from(ns.cluster().config().clone()).unwrap();
        builder.with_layer(&layer).build()
    }
}

/// A resource, its reconciler and the caches of that.
pub(crate) struct Driver {
    pub(crate) ns: TestNamespace,
    pub(crate) requests: Requests,
    pub(crate) desired: DesiredSet,
    cache: Cache<StatefulSetSnapshot>,
    workloads: Workloads,
    node: VmafxNode,
}

impl Driver {
    pub(crate) async fn start(prefix: &str) -> Self {
        let ns = namespace(prefix).await;
        let nodes = Api::<VmafxNode>::namespaced(ns.client(), ns.name());
        let node = nodes.create(&PostParams::default(), &node(NAME)).await.unwrap();
        let requests = Requests::default();
        let (workloads, caches) = workloads(&requests.client(&ns));
        let cache = caches.stateful_sets;
        Self { ns, requests, desired: DesiredSet::default(), cache, workloads, node }
    }

    pub(crate) fn nodes(&self) -> Api<VmafxNode> {
        Api::namespaced(self.ns.client(), self.ns.name())
    }

    pub(crate) fn sets(&self) -> Api<StatefulSet> {
        Api::namespaced(self.ns.client(), self.ns.name())
    }

    pub(crate) async fn set(&self) -> StatefulSet {
        self.sets().get(NAME).await.unwrap()
    }

    pub(crate) async fn uid(&self) -> String {
        self.set().await.uid().unwrap()
    }

    /// Creates a StatefulSet as another client.
    pub(crate) async fn make(&self, manifest: Value) -> StatefulSet {
        let set = serde_json::from_value(manifest).unwrap();
        self.sets().create(&PostParams::default(), &set).await.unwrap()
    }

    /// Deletes the StatefulSet with its Pods, as another client.
    pub(crate) async fn delete(&self) {
        self.sets().delete(NAME, &DeleteParams::background()).await.unwrap();
        self.gone().await;
    }

    pub(crate) async fn gone(&self) {
        let gone = wait::until(TIMEOUT, "the StatefulSet to be deleted", || async {
            self.sets().get_opt(NAME).await.is_ok_and(|set| set.is_none())
        });
        gone.await.unwrap();
    }

    /// Changes the StatefulSet as another client.
    pub(crate) async fn patch(&self, patch: Value) {
        self.sets().patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// The operator restarts with empty caches.
    pub(crate) fn restart(&mut self) {
        let (workloads, caches) = workloads(&self.requests.client(&self.ns));
        (self.workloads, self.cache) = (workloads, caches.stateful_sets);
    }

    /// Waits until the StatefulSet controller has nothing to do, so that requests can be counted.
    pub(crate) async fn settled(&self) {
        let settled = wait::until(TIMEOUT, "the StatefulSet to settle", || async {
            let Some(set) = self.sets().get_opt(NAME).await.unwrap() else { return true };
            let (replicas, status) = (set.spec.unwrap().replicas.unwrap(), set.status.unwrap_or_default());
            set.metadata.deletion_timestamp.is_some()
                || (status.observed_generation == set.metadata.generation
                    && status.replicas == replicas
                    && status.updated_replicas.unwrap_or_default() == replicas)
        });
        settled.await.unwrap();
    }

    /// The watches catch up.
    pub(crate) async fn watch(&mut self) {
        self.settled().await;
        self.cache.handle(Event::Init);
        for set in self.sets().list(&ListParams::default()).await.unwrap() {
            self.cache.handle(Event::InitApply(StatefulSetSnapshot::from(set)));
        }
        self.cache.handle(Event::InitDone);
        self.node = self.nodes().get(NAME).await.unwrap();
    }

    /// The UID that the status records.
    pub(crate) async fn tracked(&self) -> Option<String> {
        tracked(&self.nodes().get(NAME).await.unwrap()).map(|tracked| tracked.uid)
    }

    /// One pass with caches that are up to date.
    pub(crate) async fn pass(&mut self) -> Pass {
        self.watch().await;
        self.stale_pass().await
    }

    /// One pass with the caches as they are.
    pub(crate) async fn stale_pass(&mut self) -> Pass {
        let pass = self.sync().await.unwrap();
        if pass.status.tracked != tracked(&self.node) {
            self.record(pass.status.tracked.as_ref()).await;
        }
        pass
    }

    /// One pass whose status is never written.
    pub(crate) async fn pass_without_status(&mut self) -> Pass {
        self.watch().await;
        self.sync().await.unwrap()
    }

    pub(crate) async fn sync(&mut self) -> Result<Pass, ReconcileError> {
        let last_read = Mutex::new(None);
        let (nodes, last_read_ref) = (self.nodes(), &last_read);
        let read = || {
            let nodes = nodes.clone();
            async move {
                let node = nodes.get(NAME).await.map_err(|error| ApiError::of("read the resource", error))?;
                let resource = tracked_resource(&node);
                *last_read_ref.lock().unwrap() = Some(node);
                Ok(Some(resource))
            }
        };
        let resource = tracked_resource(&self.node);
        let desired = self.desired.workload(&resource.owner);
        let pass = Pass::run(&self.workloads, &resource, desired, read).await;
        if let Some(node) = last_read.into_inner().unwrap() {
            self.node = node;
        }
        pass
    }

    /// Writes the status, if the resource is still as it was read.
    async fn record(&mut self, tracked: Option<&StatefulSetRef>) {
        // Never empty: the API server refuses an object whose last field is removed.
        let mut status = json!({ "observedGeneration": self.node.metadata.generation });
        if let Some(tracked) = tracked {
            status["statefulSet"] = json!(tracked);
        }
        let body = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "status": status,
            "metadata": { "name": NAME, "uid": self.node.uid(), "resourceVersion": self.node.resource_version() },
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        self.node = self.nodes().patch_status(NAME, &params, &Patch::Apply(body)).await.unwrap();
    }
}

fn tracked(node: &VmafxNode) -> Option<StatefulSetRef> {
    node.status.as_ref()?.stateful_set.clone()
}

fn tracked_resource(node: &VmafxNode) -> TrackedResource {
    TrackedResource { synced_reason: None, ..TrackedResource::of(node) }
}
