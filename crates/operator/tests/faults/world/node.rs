//! A node, and what it should have come to.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::VmafxNode;
use vmafx_testkit::wait;

use super::World;

/// For an end that may need several pauses of the operator: after a refusal, the longest it takes is a quarter minute.
pub(crate) const SLOW: Duration = Duration::from_secs(90);

/// What a node should have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) replicas: i32,
    pub(crate) paused: bool,
    pub(crate) image: &'static str,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { replicas: 1, paused: false, image: "registry.test/vmafx-node:1" }
    }
}

impl World {
    pub(crate) async fn create(&self, name: &str) {
        // Heard of in an hour's time: the age of a heartbeat is not what is tested here.
        let node = serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1",
            "kind": "VmafxNode",
            "metadata": {"name": name},
            "spec": {"gpuVendor": "cpu"},
        }));
        self.nodes().create(&PostParams::default(), &node.unwrap()).await.unwrap();
    }

    pub(crate) async fn change(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.nodes().patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn set_of(&self, name: &str) -> Result<StatefulSet, String> {
        let found = self.sets().get_opt(&format!("vmafx-node-{name}")).await;
        found.map_err(|error| error.to_string())?.ok_or_else(|| "no StatefulSet".to_owned())
    }

    /// The UID of its StatefulSet.
    pub(crate) async fn uid_of(&self, name: &str) -> String {
        self.set_of(name).await.unwrap().uid().unwrap()
    }

    /// Waits until the node and all that belongs to it are as wanted.
    pub(crate) async fn settled(&self, name: &str, wanted: Wanted) {
        let what = format!("{name} to be {wanted:?}");
        if let Err(error) = wait::until(SLOW, &what, || self.is_settled(name, wanted)).await {
            let writes: Vec<_> = self.written_for(name, 0).iter().map(said).collect();
            panic!("{error}\nwrites of the operator: {writes:#?}");
        }
    }

    pub(crate) async fn is_settled(&self, name: &str, wanted: Wanted) -> Result<(), String> {
        let text = |error: kube::Error| error.to_string();
        let node = self.nodes().get(name).await.map_err(text)?;
        let set = self.set_of(name).await?;
        is(&"owner of the StatefulSet", controller(&set.metadata.owner_references), node.uid())?;
        let child = format!("vmafx-node-{name}");
        let service = self.services().get(&child).await.map_err(text)?;
        is(&"owner of the Service", controller(&service.metadata.owner_references), node.uid())?;
        let budget = self.budgets().get(&child).await.map_err(text)?;
        is(&"owner of the budget", controller(&budget.metadata.owner_references), node.uid())?;
        is_as_wanted(&node, &set, wanted)
    }
}

fn is_as_wanted(node: &VmafxNode, set: &StatefulSet, wanted: Wanted) -> Result<(), String> {
    let status = node.status.as_ref().ok_or("no status")?;
    is(&"observed generation", status.observed_generation, node.metadata.generation)?;
    is(&"tracked UID", status.stateful_set.as_ref().map(|set| set.uid.clone()), set.uid())?;
    let condition = |name: &str| {
        let found = status.conditions.iter().find(|condition| condition.type_ == name);
        found.map(|condition| (format!("{:?}", condition.status), condition.reason.clone()))
    };
    let synced = condition("WorkloadSynced").ok_or("no condition WorkloadSynced")?;
    is(&format!("WorkloadSynced ({})", synced.1), synced.0.as_str(), "True")?;
    let paused = condition("Paused").ok_or("no condition Paused")?;
    is(&format!("Paused ({})", paused.1), paused.0 == "True", wanted.paused)?;
    let spec = set.spec.as_ref().ok_or("no spec")?;
    is(&"replicas of the StatefulSet", spec.replicas, Some(wanted.replicas))?;
    let pod = spec.template.spec.as_ref().ok_or("no template")?;
    is(&"image", pod.containers[0].image.as_deref(), Some(wanted.image))?;
    let there = set.status.as_ref().ok_or("no status of the StatefulSet")?;
    is(&"generation of the StatefulSet", there.observed_generation, set.metadata.generation)?;
    is(&"workers", there.replicas, wanted.replicas)?;
    is(&"workers in the status", status.replicas, Some(there.replicas))
}

fn controller(
    references: &Option<Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference>>,
) -> Option<String> {
    let references = references.as_deref().unwrap_or_default();
    references.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

fn is<T: PartialEq + std::fmt::Debug>(
    what: &dyn std::fmt::Display,
    seen: T,
    wanted: T,
) -> Result<(), String> {
    if seen == wanted { Ok(()) } else { Err(format!("{what}: {seen:?} instead of {wanted:?}")) }
}

/// A write in one line.
pub(crate) fn said(record: &vmafx_testkit::kube::proxy::Record) -> String {
    format!("{} → {:?}, told {:?}", record.request, record.server, record.client)
}
