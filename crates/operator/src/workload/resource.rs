//! The resources that a workload is made for.

use std::fmt::Debug;

use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use vmafx_api::conditions::{NodeCondition, TrainingCondition};
use vmafx_api::workload::StatefulSetRef;
use vmafx_api::{Condition, VmafxModelTraining, VmafxNode};

use super::owner::Owner;
use super::sync::Seen;
use crate::error::{ApiError, call};
use crate::key::ObjectKey;

/// A resource whose status records a StatefulSet.
pub trait Tracks:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned
{
    /// The condition that says whether the workload is as wanted.
    const SYNCED: &'static str;

    /// The StatefulSet that its status records.
    fn tracked(&self) -> Option<&StatefulSetRef>;

    /// What its status says.
    fn conditions(&self) -> &[Condition];
}

impl Tracks for VmafxNode {
    const SYNCED: &'static str = NodeCondition::WorkloadSynced.as_str();

    fn tracked(&self) -> Option<&StatefulSetRef> {
        self.status.as_ref()?.stateful_set.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}

impl Tracks for VmafxModelTraining {
    const SYNCED: &'static str = TrainingCondition::WorkloadSynced.as_str();

    fn tracked(&self) -> Option<&StatefulSetRef> {
        self.status.as_ref()?.stateful_set.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}

impl Seen {
    /// What the lifecycle needs of a resource.
    pub fn of<K: Tracks>(resource: &K) -> Self {
        let synced = resource.conditions().iter().find(|one| one.type_ == K::SYNCED);
        Self {
            owner: Owner::of(resource),
            tracked: resource.tracked().cloned(),
            said: synced.map(|condition| condition.reason.clone()),
        }
    }

    /// The same, read past every cache; `None` if it is gone.
    pub async fn fresh<K: Tracks>(client: &Client, key: &ObjectKey) -> Result<Option<Self>, ApiError> {
        let api: Api<K> = Api::namespaced(client.clone(), &key.namespace);
        let live = call("read the resource", api.get_opt(&key.name)).await?;
        Ok(live.as_ref().map(Self::of))
    }
}
