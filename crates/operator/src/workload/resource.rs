//! The resources that have a workload.

use kube::{Client, Resource};
use vmafx_api::conditions::NodeCondition;
use vmafx_api::workload::StatefulSetRef;
use vmafx_api::{Condition, VmafxModelTraining, VmafxNode};

use super::owner::ResourceOwner;
use crate::client::requests::{self, Namespaced};
use crate::error::ApiError;
use crate::key::ObjectKey;

/// Type of the condition that says whether the workload is as desired, for all kinds with a workload.
const SYNCED: &str = NodeCondition::WorkloadSynced.as_str();

/// A resource whose status records a StatefulSet.
pub trait TracksWorkload: Resource<DynamicType = ()> {
    /// The StatefulSet that its status records.
    fn tracked(&self) -> Option<&StatefulSetRef>;

    fn conditions(&self) -> &[Condition];
}

impl TracksWorkload for VmafxNode {
    fn tracked(&self) -> Option<&StatefulSetRef> {
        self.status.as_ref()?.stateful_set.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}

impl TracksWorkload for VmafxModelTraining {
    fn tracked(&self) -> Option<&StatefulSetRef> {
        self.status.as_ref()?.stateful_set.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}

/// What the lifecycle of a workload needs of its resource, cached or read live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackedResource {
    pub owner: ResourceOwner,
    /// The StatefulSet that the status records.
    pub tracked: Option<StatefulSetRef>,
    /// The reason that the condition `WorkloadSynced` has, which is not published as an event again.
    pub synced_reason: Option<String>,
}

impl TrackedResource {
    pub fn of<K: TracksWorkload>(resource: &K) -> Self {
        let synced = resource.conditions().iter().find(|condition| condition.type_ == SYNCED);
        Self {
            owner: ResourceOwner::of(resource),
            tracked: resource.tracked().cloned(),
            synced_reason: synced.map(|condition| condition.reason.clone()),
        }
    }

    /// Reads the resource from the API server, past every cache; `None` if it is gone.
    pub(crate) async fn read<K: TracksWorkload + Namespaced>(
        client: &Client,
        key: &ObjectKey,
    ) -> Result<Option<Self>, ApiError> {
        let live = requests::read::<K>(client, "read the resource", key).await?;
        Ok(live.as_ref().map(Self::of))
    }
}
