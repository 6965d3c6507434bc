//! StatefulSets of other people, which nobody may touch.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_testkit::wait;

use super::World;
use crate::SOON;

/// One that somebody owns and that is named like one of ours, one that nobody owns, and their versions.
pub(crate) struct Bystanders(BTreeMap<String, Option<String>>);

impl Bystanders {
    pub(crate) async fn arrive(world: &World) -> Self {
        let maps = Api::<ConfigMap>::namespaced(world.client(), world.namespace.name());
        let metadata = ObjectMeta { name: Some("somebody".to_owned()), ..ObjectMeta::default() };
        let owner = ConfigMap { metadata, ..ConfigMap::default() };
        let owner = maps.create(&PostParams::default(), &owner).await.unwrap();
        let reference = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "somebody", "uid": owner.uid(), "controller": true,
        }]);
        for (name, owners) in [("vmafx-node-foreign", reference), ("postgres", Value::Null)] {
            let labels = json!({"app": name});
            let set = serde_json::from_value::<StatefulSet>(json!({
                "metadata": {"name": name, "ownerReferences": owners},
                "spec": {
                    "serviceName": name,
                    "replicas": 0,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [{"name": "main", "image": "registry.test/other:1"}]},
                    },
                },
            }));
            world.sets().create(&PostParams::default(), &set.unwrap()).await.unwrap();
        }
        let versions = wait::until(SOON, "the bystanders to be at rest", async || {
            let sets = look(world).await;
            let calm = |set: &StatefulSet| {
                let seen = set.status.as_ref().and_then(|status| status.observed_generation);
                seen.is_some() && seen == set.metadata.generation
            };
            sets.iter().all(calm).then(|| versions(&sets))
        });
        Self(versions.await.unwrap())
    }

    pub(crate) async fn are_untouched(&self, world: &World) {
        assert_eq!(versions(&look(world).await), self.0, "nobody else's object may be touched");
    }
}

async fn look(world: &World) -> Vec<StatefulSet> {
    let mut sets = Vec::new();
    for name in ["vmafx-node-foreign", "postgres"] {
        sets.push(world.sets().get(name).await.unwrap());
    }
    sets
}

fn versions(sets: &[StatefulSet]) -> BTreeMap<String, Option<String>> {
    sets.iter().map(|set| (set.name_any(), set.resource_version())).collect()
}
