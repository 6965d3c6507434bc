//! A node, and what it should have come to.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_testkit::kube::proxy::RecordedRequest;
use vmafx_testkit::wait;

use super::World;

/// For an end that may need several pauses of the operator, of a quarter minute after a refusal.
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

    pub(crate) async fn set_of(&self, name: &str) -> Option<StatefulSet> {
        self.sets().get_opt(&format!("vmafx-node-{name}")).await.unwrap()
    }

    /// The UID of its StatefulSet.
    pub(crate) async fn uid_of(&self, name: &str) -> Option<String> {
        self.set_of(name).await.and_then(|set| set.uid())
    }

    /// Waits until the node and all that belongs to it are as wanted.
    pub(crate) async fn settled(&self, name: &str, wanted: Wanted) {
        self.settled_on_another(name, wanted, None).await;
    }

    /// The same, on a StatefulSet that is not this one.
    pub(crate) async fn settled_on_another(&self, name: &str, wanted: Wanted, than: Option<&str>) {
        let what = format!("{name} to be {wanted:?}");
        let settled = async || {
            let seen = self.look().await?;
            seen.is_settled(name, wanted)?;
            let uid = seen.sets[&format!("vmafx-node-{name}")].uid();
            if than.is_some() && uid.as_deref() == than {
                Err("the same StatefulSet".to_owned())
            } else {
                Ok(())
            }
        };
        if let Err(error) = wait::until(SLOW, &what, settled).await {
            let writes: Vec<_> = self.written_for(name, 0).iter().map(said).collect();
            panic!("{error}\nwrites of the operator: {writes:#?}");
        }
    }
}

/// A write in one line.
pub(crate) fn said(record: &RecordedRequest) -> String {
    format!("{} → {:?}, told {:?}", record.request, record.server, record.client)
}
