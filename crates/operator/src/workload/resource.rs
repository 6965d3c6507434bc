//! The resources that have a workload.

use std::fmt::Debug;

use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use vmafx_api::conditions::{NodeCondition, TrainingCondition};
use vmafx_api::workload::StatefulSetRef;
use vmafx_api::{Condition, VmafxModelTraining, VmafxNode};

use super::owner::ResourceOwner;
use crate::error::{ApiError, call};
use crate::key::ObjectKey;

/// A resource whose status records a StatefulSet.
pub trait TracksWorkload:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned
{
    /// Type of the condition that says whether the workload is as desired.
    const SYNCED: &'static str;

    /// The StatefulSet that its status records.
    fn tracked(&self) -> Option<&StatefulSetRef>;

    fn conditions(&self) -> &[Condition];
}

impl TracksWorkload for VmafxNode {
    const SYNCED: &'static str = NodeCondition::WorkloadSynced.as_str();

    fn tracked(&self) -> Option<&StatefulSetRef> {
        self.status.as_ref()?.stateful_set.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}

impl TracksWorkload for VmafxModelTraining {
    const SYNCED: &'static str = TrainingCondition::WorkloadSynced.as_str();

    fn tracked(&self) -> Option<&StatefulSetRef> {
        self.status.as_ref()?.stateful_set.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}

/// What the lifecycle of a workload needs of its resource, cached or read live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedResource {
    pub owner: ResourceOwner,
    /// The StatefulSet that the status records.
    pub tracked: Option<StatefulSetRef>,
    /// The reason that the condition `WorkloadSynced` has, which is not published as an event again.
    pub synced_reason: Option<String>,
}

impl TrackedResource {
    pub fn of<K: TracksWorkload>(resource: &K) -> Self {
        let synced = resource.conditions().iter().find(|condition| condition.type_ == K::SYNCED);
        Self {
            owner: ResourceOwner::of(resource),
            tracked: resource.tracked().cloned(),
            synced_reason: synced.map(|condition| condition.reason.clone()),
        }
    }

    /// Reads the resource from the API server, past every cache; `None` if it is gone.
    pub async fn read<K: TracksWorkload>(client: &Client, key: &ObjectKey) -> Result<Option<Self>, ApiError> {
        let api: Api<K> = Api::namespaced(client.clone(), &key.namespace);
        let live = call("read the resource", api.get_opt(&key.name)).await?;
        Ok(live.as_ref().map(Self::of))
    }
}
