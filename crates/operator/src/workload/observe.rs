//! Observes the objects of a workload: from the caches where that is enough, else by live reads.
//!
//! The caches may be stale, and so may be the status that the caller has. Both are good enough to find that nothing has
//! changed, and to apply with a fence: an apply that carries UID and resource version can neither bring back what is
//! gone, nor hit another object, nor one that was handed to another owner. Every other decision is made on live reads of
//! the resource and the StatefulSet.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Client;
use tokio::time::Instant;
use vmafx_kit::causes::chain;

use super::accounts::ServiceAccounts;
use super::child::{ChildDecision, decide_child};
use super::decide::WorkloadDecision;
use super::desired::{DesiredChild, DesiredWorkload};
use super::metrics::WorkloadMetrics;
use super::objects::{AppliedObjects, ObservedObject};
use super::owner::ResourceOwner;
use super::plan::WorkloadAction;
use super::replacements::{RecentReplacements, Replacements};
use super::resource::TrackedResource;
use super::snapshot::{ChildSnapshot, StatefulSetSnapshot};
use crate::client::requests::Namespaced;
use crate::error::ApiError;
use crate::key::ObjectKey;
use crate::runtime::{Cache, ReconcileError};

/// Conflicts within one pass after which the pass fails and is retried by the queue. A new StatefulSet changes often,
/// by its controller's hand, and the operator's writes require the version that was read.
const MAX_CONFLICTS: u32 = 3;

/// How an observation is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// From the caches, as far as they are enough.
    Cached,
    /// By live reads only, because a write has conflicted: the caches are stale.
    Live { conflicts: u32 },
}

impl Freshness {
    /// How to observe once more within the pass, if a write has conflicted and may be tried again.
    pub fn after<T>(self, applied: &Result<T, ReconcileError>) -> Option<Self> {
        let conflicts = match self {
            Self::Cached => 1,
            Self::Live { conflicts } => conflicts + 1,
        };
        let conflict = applied.as_ref().is_err_and(ReconcileError::is_conflict);
        (conflict && conflicts <= MAX_CONFLICTS).then_some(Self::Live { conflicts })
    }
}

/// The workloads of all resources.
pub struct Workloads {
    pub(super) accounts: Arc<ServiceAccounts>,
    pub(super) stateful_sets: AppliedObjects<StatefulSet, StatefulSetSnapshot>,
    pub(super) services: AppliedObjects<Service, ChildSnapshot>,
    pub(super) budgets: AppliedObjects<PodDisruptionBudget, ChildSnapshot>,
    pub(super) replacements: Replacements,
    pub(super) metrics: WorkloadMetrics,
}

/// The caches that the watches of the kinds fill.
#[derive(Clone, Debug, Default)]
pub struct WorkloadCaches {
    pub accounts: Cache<ChildSnapshot>,
    pub stateful_sets: Cache<StatefulSetSnapshot>,
    pub services: Cache<ChildSnapshot>,
    pub budgets: Cache<ChildSnapshot>,
}

#[derive(Debug, Default, PartialEq)]
pub struct ObservedWorkload {
    pub resource: TrackedResource,
    pub stateful_set: ObservedObject<StatefulSetSnapshot>,
    pub service: ObservedObject<ChildSnapshot>,
    pub budget: ObservedObject<ChildSnapshot>,
    pub replacements: RecentReplacements,
    /// Why the live state could not be read; everything else is from the caches then.
    pub failure: Option<WorkloadAction>,
}

impl ObservedWorkload {
    /// Whether the StatefulSet or the Service belongs to another owner.
    pub fn is_foreign(&self) -> bool {
        let owner = &self.resource.owner;
        let set = self.stateful_set.live.as_ref().filter(|set| !set.terminating);
        let set = set.and_then(|set| set.controller.as_ref());
        set.is_some_and(|controller| controller.uid != owner.uid)
            || matches!(decide_child(owner, self.service.live.as_deref()), ChildDecision::Refuse { .. })
    }
}

impl Workloads {
    pub fn new(client: &Client, caches: WorkloadCaches, metrics: WorkloadMetrics) -> Self {
        Self {
            accounts: Arc::new(ServiceAccounts::new(client.clone(), caches.accounts)),
            stateful_sets: AppliedObjects::new(
                client.clone(),
                caches.stateful_sets,
                StatefulSetSnapshot::from,
            ),
            services: AppliedObjects::new(client.clone(), caches.services, ChildSnapshot::of),
            budgets: AppliedObjects::new(client.clone(), caches.budgets, ChildSnapshot::of),
            replacements: Replacements::default(),
            metrics,
        }
    }

    /// The accounts, which Pods of jobs have, too.
    pub fn accounts(&self) -> Arc<ServiceAccounts> {
        Arc::clone(&self.accounts)
    }

    /// What the caches have of the StatefulSet, and nothing else, for a workload of which nothing can be or is to be done.
    pub fn observe_cached(&self, resource: TrackedResource, stateful_set: &ObjectKey) -> ObservedWorkload {
        ObservedWorkload {
            replacements: self.replacements.recent(&resource.owner.uid, Instant::now()),
            resource,
            stateful_set: self.stateful_sets.cached(stateful_set),
            service: ObservedObject::default(),
            budget: ObservedObject::default(),
            failure: None,
        }
    }

    /// `read_resource` reads the resource past every cache; `None` if it is gone.
    pub async fn observe<F, R>(
        &self,
        resource: TrackedResource,
        desired: &DesiredWorkload,
        freshness: Freshness,
        read_resource: F,
    ) -> ObservedWorkload
    where
        F: FnOnce() -> R + Send,
        R: Future<Output = Result<Option<TrackedResource>, ApiError>> + Send,
    {
        let mut observed = self.observe_cached(resource, &desired.stateful_set.key);
        if let Err(error) = self.complete(&mut observed, desired, freshness, read_resource).await {
            observed.failure = Some(WorkloadAction::Blocked {
                reason: error.reason(),
                retry: error.retry(),
                message: chain(&error),
            });
        }
        observed
    }

    /// Adds the children, and replaces by live reads what the caches are not enough for.
    async fn complete<F, R>(
        &self,
        observed: &mut ObservedWorkload,
        desired: &DesiredWorkload,
        freshness: Freshness,
        read_resource: F,
    ) -> Result<(), ApiError>
    where
        F: FnOnce() -> R + Send,
        R: Future<Output = Result<Option<TrackedResource>, ApiError>> + Send,
    {
        let decision = observed.decide(&desired.stateful_set);
        let enough = freshness == Freshness::Cached && matches!(decision, WorkloadDecision::Keep { .. });
        if !enough && decision != WorkloadDecision::Leave {
            let uid = observed.resource.owner.uid.clone();
            match read_resource().await?.filter(|resource| resource.owner.uid == uid) {
                Some(resource) => observed.resource = resource,
                None => observed.resource.owner.deleting = true,
            }
        }
        let owner = &observed.resource.owner;
        if !enough && !owner.deleting {
            let key = &desired.stateful_set.key;
            observed.stateful_set = self.stateful_sets.read("read the StatefulSet", key).await?;
        }
        observed.service = child(&self.services, owner, desired.service.as_ref(), freshness).await?;
        observed.budget = child(&self.budgets, owner, desired.budget.as_ref(), freshness).await?;
        Ok(())
    }
}

async fn child<K: Namespaced>(
    objects: &AppliedObjects<K, ChildSnapshot>,
    owner: &ResourceOwner,
    desired: Option<&DesiredChild>,
    freshness: Freshness,
) -> Result<ObservedObject<ChildSnapshot>, ApiError> {
    let Some(desired) = desired else { return Ok(ObservedObject::default()) };
    let cached = objects.cached(&desired.key);
    match decide_child(owner, cached.live.as_deref()) {
        ChildDecision::Leave => Ok(cached),
        ChildDecision::Keep if freshness == Freshness::Cached => Ok(cached),
        _ => objects.read("read an object of the workload", &desired.key).await,
    }
}
