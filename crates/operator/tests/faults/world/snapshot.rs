//! All objects of a test at one time, so that many who wait do not ask each for itself.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use vmafx_api::VmafxNode;

use super::{Wanted, World};

/// How old what is seen may be.
const FRESH: Duration = Duration::from_millis(100);

/// A look that takes long is good for so many times as long: there is other work to do.
const LONGER: u32 = 4;

/// The last look, and until when it is good.
pub(crate) type Last = tokio::sync::Mutex<Option<(Instant, Arc<Snapshot>)>>;

/// Names, resource versions and generations.
pub(crate) type Versions = Vec<(String, Option<String>, Option<i64>)>;

/// By name.
type Named<K> = BTreeMap<String, K>;

/// What there is.
pub(crate) struct Snapshot {
    pub(crate) nodes: Named<VmafxNode>,
    pub(crate) sets: Named<StatefulSet>,
    pub(crate) services: Named<Service>,
    pub(crate) budgets: Named<PodDisruptionBudget>,
}

impl World {
    pub(crate) async fn look(&self) -> Result<Arc<Snapshot>, String> {
        let mut last = self.last.lock().await;
        let begun = Instant::now();
        if let Some((until, seen)) = &*last
            && begun < *until
        {
            return Ok(Arc::clone(seen));
        }
        let seen = Arc::new(Snapshot {
            nodes: list(self).await?,
            sets: list(self).await?,
            services: list(self).await?,
            budgets: list(self).await?,
        });
        let until = Instant::now() + FRESH.max(begun.elapsed() * LONGER);
        *last = Some((until, Arc::clone(&seen)));
        Ok(seen)
    }
}

/// Without those that make no sense, which one test is about.
async fn list<K>(world: &World) -> Result<Named<K>, String>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let objects = Api::<DeserializeGuard<K>>::namespaced(world.client(), world.namespace.name());
    let all = objects.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
    Ok(all.items.into_iter().filter_map(|one| one.0.ok()).map(|one| (one.name_any(), one)).collect())
}

impl Snapshot {
    /// The versions of everything.
    pub(crate) fn versions(&self) -> Versions {
        fn of<K: Resource>(
            objects: &Named<K>,
        ) -> impl Iterator<Item = (String, Option<String>, Option<i64>)> {
            objects
                .values()
                .map(|object| (object.name_any(), object.resource_version(), object.meta().generation))
        }
        of(&self.nodes).chain(of(&self.sets)).chain(of(&self.services)).chain(of(&self.budgets)).collect()
    }

    /// Whether nothing is left of a node.
    pub(crate) fn is_gone(&self, name: &str) -> Result<(), String> {
        let child = format!("vmafx-node-{name}");
        let left = [
            self.nodes.contains_key(name),
            self.sets.contains_key(&child),
            self.services.contains_key(&child),
            self.budgets.contains_key(&child),
        ];
        if left.contains(&true) { Err(format!("node, set, service, budget: {left:?}")) } else { Ok(()) }
    }

    /// Whether a node and all that belongs to it are as wanted.
    pub(crate) fn is_settled(&self, name: &str, wanted: Wanted) -> Result<(), String> {
        let child = format!("vmafx-node-{name}");
        let node = self.nodes.get(name).ok_or("no node")?;
        let set = self.sets.get(&child).ok_or("no StatefulSet")?;
        let service = self.services.get(&child).ok_or("no Service")?;
        let budget = self.budgets.get(&child).ok_or("no budget")?;
        is(&"owner of the StatefulSet", controller(set), node.uid())?;
        is(&"owner of the Service", controller(service), node.uid())?;
        is(&"owner of the budget", controller(budget), node.uid())?;
        let also = self.sets.values().filter(|set| controller(*set) == node.uid()).count();
        is(&"number of StatefulSets", also, 1)?;
        is_as_wanted(node, set, wanted)
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

fn controller(object: &impl Resource) -> Option<String> {
    let owners = object.owner_references();
    owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

#[expect(clippy::needless_pass_by_value, reason = "it reads better without borrows")]
fn is<T: PartialEq + std::fmt::Debug>(what: &dyn Display, seen: T, wanted: T) -> Result<(), String> {
    if seen == wanted { Ok(()) } else { Err(format!("{what}: {seen:?} instead of {wanted:?}")) }
}
