//! The Service of a workload. A disruption budget is handled by the same code.

use http::Method;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use vmafx_api::VmafxNode;
use vmafx_api::conditions::Reason;
use vmafx_operator::FIELD_MANAGER;
use vmafx_operator::runtime::Cache;
use vmafx_operator::workload::{
    ChildDecision, ChildSnapshot, DesiredChild, DesiredWorkload, TrackedResource, Workloads,
};
use vmafx_testkit::kube::TestNamespace;

use crate::driver::{Requests, namespace};
use crate::objects::{DesiredSet, NAME, controller, node};
use crate::pass::{Pass, workloads};

struct Services {
    ns: TestNamespace,
    requests: Requests,
    cache: Cache<ChildSnapshot>,
    workloads: Workloads,
    resource: TrackedResource,
}

fn service(port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": NAME, "labels": { "vmafx.dev/workload": NAME } },
        "spec": { "clusterIP": "None", "selector": { "vmafx.dev/workload": NAME },
                  "ports": [{ "name": "metrics", "port": port }] },
    })
}

impl Services {
    async fn start(prefix: &str) -> Self {
        let ns = namespace(prefix).await;
        let nodes = Api::<VmafxNode>::namespaced(ns.client(), ns.name());
        let node = nodes.create(&PostParams::default(), &node(NAME)).await.unwrap();
        let requests = Requests::default();
        let (workloads, caches) = workloads(&requests.client(&ns));
        Self { ns, requests, cache: caches.services, workloads, resource: TrackedResource::of(&node) }
    }

    fn api(&self) -> Api<Service> {
        Api::namespaced(self.ns.client(), self.ns.name())
    }

    /// The watch catches up, then one pass.
    async fn pass(&self, port: u16) -> Pass {
        match self.api().get_opt(NAME).await.unwrap() {
            Some(live) => drop(self.cache.handle(Event::Apply(ChildSnapshot::of(live)))),
            None => self.cache.all().iter().for_each(|gone| {
                self.cache.handle(Event::Delete((**gone).clone()));
            }),
        }
        let owner = &self.resource.owner;
        let service: Service = serde_json::from_value(service(port)).unwrap();
        let service = Some(DesiredChild::of(&service, owner));
        let desired = DesiredWorkload { service, ..DesiredSet::default().workload(owner) };
        let read = || async { Ok(Some(self.resource.clone())) };
        Pass::run(&self.workloads, &self.resource, desired, read).await.unwrap()
    }

    /// The requests about Services since the last call.
    fn requests(&self) -> Vec<Method> {
        self.requests.taken_for("/services")
    }

    async fn create(&self, manifest: Value) -> Service {
        let service = serde_json::from_value(manifest).unwrap();
        self.api().create(&PostParams::default(), &service).await.unwrap()
    }

    /// The Service stays as it is, and the condition names it.
    async fn is_refused(&self, created: &Service, word: &str) {
        let pass = self.pass(9090).await;
        assert!(matches!(pass.service(), ChildDecision::Refuse { .. }), "{pass:?}");
        let synced = pass.status.synced;
        assert_eq!(synced.reason, Reason::ForeignOwner);
        assert!(synced.message.contains(NAME) && synced.message.contains(word), "{}", synced.message);
        assert_eq!(self.requests(), [Method::GET]);
        assert_eq!(self.api().get(NAME).await.unwrap().resource_version(), created.resource_version());
    }
}

#[tokio::test]
async fn a_child_is_created_kept_without_requests_changed_and_created_again() {
    let services = Services::start("child").await;
    assert_eq!(services.pass(9090).await.service(), ChildDecision::Create);
    assert_eq!(services.requests(), [Method::GET, Method::PATCH]);
    let created = services.api().get(NAME).await.unwrap();
    assert_eq!(created.owner_references(), [services.resource.owner.reference()]);
    for _ in 0..5 {
        assert_eq!(services.pass(9090).await.service(), ChildDecision::Keep);
    }
    assert_eq!(services.requests(), Vec::<Method>::new());

    assert_eq!(services.pass(9091).await.service(), ChildDecision::Keep);
    assert_eq!(services.requests(), [Method::PATCH]);
    let changed = services.api().get(NAME).await.unwrap();
    let ports: Vec<i32> =
        changed.spec.iter().flat_map(|spec| spec.ports.iter().flatten()).map(|port| port.port).collect();
    assert_eq!(ports, [9091]);

    services.api().delete(NAME, &DeleteParams::default()).await.unwrap();
    assert_eq!(services.pass(9091).await.service(), ChildDecision::Create);
    assert_ne!(services.api().get(NAME).await.unwrap().uid(), created.uid());
}

#[tokio::test]
async fn changes_of_a_child_by_another_client_are_reverted() {
    let services = Services::start("child-changed").await;
    services.pass(9090).await;
    let change = json!({ "spec": { "selector": { "vmafx.dev/workload": "theirs" } } });
    services.api().patch(NAME, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    services.requests();
    assert_eq!(services.pass(9090).await.service(), ChildDecision::Keep);
    assert_eq!(services.requests(), [Method::PATCH]);
    let selector = services.api().get(NAME).await.unwrap().spec.unwrap().selector.unwrap();
    assert_eq!(selector["vmafx.dev/workload"], NAME);
}

#[tokio::test]
async fn a_child_without_controller_is_refused_even_with_our_label() {
    let services = Services::start("child-unowned").await;
    let created = services.create(service(1)).await;
    services.is_refused(&created, "not created by the operator").await;
    let ours = created.managed_fields().iter().any(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER));
    assert!(!ours);
}

/// `kubectl delete vmnode --cascade=orphan` leaves a Service without owner references.
#[tokio::test]
async fn a_child_that_the_operator_applied_for_a_deleted_resource_is_adopted() {
    let services = Services::start("child-orphan").await;
    services.pass(9090).await;
    let orphan = json!({ "metadata": { "ownerReferences": null } });
    let orphan = services.api().patch(NAME, &PatchParams::default(), &Patch::Merge(orphan)).await.unwrap();
    assert_eq!(orphan.owner_references(), []);
    services.requests();

    assert_eq!(services.pass(9090).await.service(), ChildDecision::Adopt);
    assert_eq!(services.requests(), [Method::GET, Method::PATCH]);
    let adopted = services.api().get(NAME).await.unwrap();
    assert_eq!(adopted.owner_references(), [services.resource.owner.reference()]);
    assert_eq!(adopted.uid(), orphan.uid());
    assert_eq!(services.pass(9090).await.service(), ChildDecision::Keep);
    assert_eq!(services.requests(), Vec::<Method>::new());
}

#[tokio::test]
async fn a_child_of_another_owner_is_refused() {
    let services = Services::start("child-foreign").await;
    // The other owner must exist, or garbage collection would remove the Service.
    let nodes = Api::<VmafxNode>::namespaced(services.ns.client(), services.ns.name());
    let other = nodes.create(&PostParams::default(), &node("other")).await.unwrap();
    let mut theirs = service(1);
    theirs["metadata"]["ownerReferences"] = json!([controller("VmafxNode", "other", &other.uid().unwrap())]);
    let created = services.create(theirs).await;
    services.is_refused(&created, "VmafxNode other").await;
}

#[tokio::test]
async fn the_children_of_a_resource_that_is_deleted_are_left() {
    let mut services = Services::start("child-left").await;
    services.resource.owner.deleting = true;
    assert_eq!(services.pass(9090).await.service(), ChildDecision::Leave);
    assert_eq!(services.requests(), Vec::<Method>::new());
}
