//! The plain objects beside a workload.

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
use vmafx_operator::workload::{Children, Ensured, Owner, Plain};
use vmafx_testkit::kube::TestNamespace;

use crate::driver::{Requests, namespace};
use crate::objects::{NAME, controller};

struct Services {
    ns: TestNamespace,
    requests: Requests,
    cache: Cache<Plain>,
    children: Children<Service>,
    owner: Owner,
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
        let node = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode",
                           "metadata": { "name": NAME }, "spec": { "gpuVendor": "cpu" } });
        let nodes = Api::<VmafxNode>::namespaced(ns.client(), ns.name());
        let node =
            nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
        let (requests, cache) = (Requests::default(), Cache::default());
        let children = Children::new(requests.client(&ns), cache.clone());
        Self { ns, requests, cache, children, owner: Owner::of(&node) }
    }

    fn api(&self) -> Api<Service> {
        Api::namespaced(self.ns.client(), self.ns.name())
    }

    /// The watch catches up, then one look.
    async fn pass(&self, port: u16) -> Ensured {
        match self.api().get_opt(NAME).await.unwrap() {
            Some(live) => drop(self.cache.take(Event::Apply(Plain::of(live)))),
            None => self.cache.all().iter().for_each(|gone| {
                self.cache.take(Event::Delete((**gone).clone()));
            }),
        }
        let wanted = serde_json::from_value(service(port)).unwrap();
        self.children.ensure(&self.owner, &wanted).await.unwrap()
    }

    async fn make(&self, manifest: Value) -> Service {
        let service = serde_json::from_value(manifest).unwrap();
        self.api().create(&PostParams::default(), &service).await.unwrap()
    }

    /// It stays as it is, and the statement names it.
    async fn refused(&self, made: &Service, word: &str) {
        let Ensured::Not(statement) = self.pass(9090).await else { panic!("it was taken") };
        assert_eq!(statement.reason, Reason::ForeignOwner);
        assert!(
            statement.message.contains(NAME) && statement.message.contains(word),
            "{}",
            statement.message
        );
        assert_eq!(self.requests.taken(), [Method::GET]);
        assert_eq!(self.api().get(NAME).await.unwrap().resource_version(), made.resource_version());
    }
}

#[tokio::test]
async fn a_child_is_made_kept_without_requests_changed_and_made_again() {
    let services = Services::start("child").await;
    assert_eq!(services.pass(9090).await, Ensured::AsWanted);
    assert_eq!(services.requests.taken(), [Method::GET, Method::PATCH]);
    let made = services.api().get(NAME).await.unwrap();
    assert_eq!(made.owner_references(), [services.owner.reference()]);
    for _ in 0..5 {
        assert_eq!(services.pass(9090).await, Ensured::AsWanted);
    }
    assert_eq!(services.requests.taken(), Vec::<Method>::new());

    assert_eq!(services.pass(9091).await, Ensured::AsWanted);
    assert_eq!(services.requests.taken(), [Method::PATCH]);
    let changed = services.api().get(NAME).await.unwrap();
    let ports: Vec<i32> =
        changed.spec.iter().flat_map(|spec| spec.ports.iter().flatten()).map(|port| port.port).collect();
    assert_eq!(ports, [9091]);

    services.api().delete(NAME, &DeleteParams::default()).await.unwrap();
    assert_eq!(services.pass(9091).await, Ensured::AsWanted);
    assert_ne!(services.api().get(NAME).await.unwrap().uid(), made.uid());
}

#[tokio::test]
async fn what_somebody_changes_in_a_child_is_changed_back() {
    let services = Services::start("child-changed").await;
    services.pass(9090).await;
    let change = json!({ "spec": { "selector": { "vmafx.dev/workload": "theirs" } } });
    services.api().patch(NAME, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    services.requests.taken();
    assert_eq!(services.pass(9090).await, Ensured::AsWanted);
    assert_eq!(services.requests.taken(), [Method::PATCH]);
    let selector = services.api().get(NAME).await.unwrap().spec.unwrap().selector.unwrap();
    assert_eq!(selector["vmafx.dev/workload"], NAME);
}

#[tokio::test]
async fn a_child_that_nobody_controls_is_refused_even_with_our_label() {
    let services = Services::start("child-unowned").await;
    let made = services.make(service(1)).await;
    services.refused(&made, "not made by the operator").await;
    let ours = made.managed_fields().iter().any(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER));
    assert!(!ours);
}

#[tokio::test]
async fn a_child_of_somebody_else_is_refused() {
    let services = Services::start("child-foreign").await;
    // Another resource of the same kind; it exists, or garbage collection would come.
    let nodes = Api::<VmafxNode>::namespaced(services.ns.client(), services.ns.name());
    let other = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode",
                        "metadata": { "name": "other" }, "spec": { "gpuVendor": "cpu" } });
    let other = nodes.create(&PostParams::default(), &serde_json::from_value(other).unwrap()).await.unwrap();
    let mut theirs = service(1);
    theirs["metadata"]["ownerReferences"] = json!([controller("VmafxNode", "other", &other.uid().unwrap())]);
    let made = services.make(theirs).await;
    services.refused(&made, "VmafxNode other").await;
}

#[tokio::test]
async fn the_children_of_a_resource_that_is_deleted_are_left() {
    let mut services = Services::start("child-left").await;
    services.owner.deleting = true;
    assert_eq!(services.pass(9090).await, Ensured::Left);
    assert_eq!(services.requests.taken(), Vec::<Method>::new());
}
