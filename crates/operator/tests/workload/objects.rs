//! Objects that tests start from.

use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::{Value, json};
use vmafx_api::VmafxNode;
use vmafx_operator::key::ObjectKey;
use vmafx_operator::workload::{DesiredStatefulSet, DesiredWorkload, ResourceOwner};

pub(crate) const NAMESPACE: &str = "video";
pub(crate) const NAME: &str = "gpu";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DesiredSet {
    pub(crate) replicas: i32,
    pub(crate) policy: &'static str,
}

impl Default for DesiredSet {
    fn default() -> Self {
        Self { replicas: 1, policy: "Parallel" }
    }
}

impl DesiredSet {
    /// As a resource's reconciler would render it.
    pub(crate) fn rendered(self, namespace: &str) -> StatefulSet {
        serde_json::from_value(self.manifest(namespace)).unwrap()
    }

    /// The same without Service and disruption budget, as it is planned for.
    pub(crate) fn workload(self, owner: &ResourceOwner) -> DesiredWorkload {
        let set = self.rendered(&owner.key.namespace);
        let stateful_set = DesiredStatefulSet::of(&set, owner).unwrap();
        DesiredWorkload { account: None, stateful_set, service: None, budget: None }
    }

    pub(crate) fn manifest(self, namespace: &str) -> Value {
        let labels = json!({ "vmafx.dev/workload": NAME });
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": { "namespace": namespace, "name": NAME, "labels": labels },
            "spec": {
                "replicas": self.replicas,
                "serviceName": NAME,
                "podManagementPolicy": self.policy,
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": {
                        "containers": [{ "name": "agent", "image": "example.com/agent:1",
                                         "volumeMounts": [{ "name": "scratch", "mountPath": "/scratch" }] }],
                        "volumes": [{ "name": "scratch", "emptyDir": {} }],
                    },
                },
            },
        })
    }
}

pub(crate) fn node(name: &str) -> VmafxNode {
    let node = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode",
                       "metadata": { "name": name }, "spec": { "gpuVendor": "cpu" } });
    serde_json::from_value(node).unwrap()
}

pub(crate) fn owner() -> ResourceOwner {
    ResourceOwner {
        key: ObjectKey::new(NAMESPACE, NAME),
        uid: "owner".to_owned(),
        api_version: "vmafx.dev/v1".to_owned(),
        kind: "VmafxNode".to_owned(),
        deleting: false,
        adopts: false,
    }
}

/// The owner reference of a controller.
pub(crate) fn controller(kind: &str, name: &str, uid: &str) -> Value {
    json!({ "apiVersion": "vmafx.dev/v1", "kind": kind, "name": name, "uid": uid,
            "controller": true, "blockOwnerDeletion": true })
}
