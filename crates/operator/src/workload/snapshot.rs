//! What is cached of the objects of a workload.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use vmafx_api::workload::StatefulSetRef;

use super::SUCCEEDS;
use super::fingerprint::Fingerprint;
use super::immutables::ImmutableFields;
use super::owner::ControllerRef;
use crate::FIELD_MANAGER;
use crate::reserved::AGENT_CONTAINER;
use crate::runtime::{Cached, ObjectIdentity};

/// A cached object that the operator applies.
pub trait Snapshot: Cached {
    fn controller(&self) -> Option<&ControllerRef>;

    /// Changes with everything that others may write.
    fn fingerprint(&self) -> Fingerprint;
}

/// As much of a StatefulSet as decisions and status need.
#[derive(Clone, Debug, PartialEq)]
pub struct StatefulSetSnapshot {
    pub identity: ObjectIdentity,
    pub generation: i64,
    pub terminating: bool,
    pub controller: Option<ControllerRef>,
    pub immutables: ImmutableFields,
    /// UID of the StatefulSet that this one was created in place of.
    pub succeeds: Option<String>,
    pub replicas: i32,
    pub progress: RolloutProgress,
    /// Image of the container that does the work.
    pub image: Option<String>,
    pub fingerprint: Fingerprint,
}

/// What the StatefulSet controller reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutProgress {
    /// The generation that the other fields describe.
    pub observed_generation: i64,
    pub replicas: i32,
    pub ready: i32,
    /// Pods of the latest revision of the template.
    pub updated: i32,
    pub current_revision: Option<String>,
    pub update_revision: Option<String>,
}

impl StatefulSetSnapshot {
    /// What the resource's status records of it.
    pub fn reference(&self) -> StatefulSetRef {
        StatefulSetRef { name: self.identity.key.name.clone(), uid: self.identity.uid.clone() }
    }
}

impl From<StatefulSet> for StatefulSetSnapshot {
    fn from(set: StatefulSet) -> Self {
        let status = set.status.clone().unwrap_or_default();
        Self {
            identity: ObjectIdentity::of(&set),
            generation: set.metadata.generation.unwrap_or_default(),
            terminating: set.metadata.deletion_timestamp.is_some(),
            controller: ControllerRef::of(&set.metadata),
            immutables: ImmutableFields::of(set.spec.as_ref()),
            succeeds: set.annotations().get(SUCCEEDS).cloned(),
            replicas: set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1),
            progress: RolloutProgress {
                observed_generation: status.observed_generation.unwrap_or_default(),
                replicas: status.replicas,
                ready: status.ready_replicas.unwrap_or_default(),
                updated: status.updated_replicas.unwrap_or_default(),
                current_revision: status.current_revision,
                update_revision: status.update_revision,
            },
            image: set.spec.as_ref().and_then(agent_image),
            fingerprint: Fingerprint::of(&set),
        }
    }
}

fn agent_image(spec: &StatefulSetSpec) -> Option<String> {
    let containers = &spec.template.spec.as_ref()?.containers;
    containers.iter().find(|container| container.name == AGENT_CONTAINER)?.image.clone()
}

impl Cached for StatefulSetSnapshot {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }
}

impl Snapshot for StatefulSetSnapshot {
    fn controller(&self) -> Option<&ControllerRef> {
        self.controller.as_ref()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// As much of a Service or disruption budget as decisions need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildSnapshot {
    pub identity: ObjectIdentity,
    pub controller: Option<ControllerRef>,
    pub terminating: bool,
    /// Whether its managed fields name the operator. Watches drop managed fields, so only a live read can say so.
    pub applied_by_operator: bool,
    pub fingerprint: Fingerprint,
}

impl ChildSnapshot {
    #[expect(clippy::needless_pass_by_value, reason = "a watch hands over the object that it has decoded")]
    pub fn of<K: Resource + Serialize>(object: K) -> Self {
        Self {
            identity: ObjectIdentity::of(&object),
            controller: ControllerRef::of(object.meta()),
            terminating: object.meta().deletion_timestamp.is_some(),
            applied_by_operator: applied_by_operator(object.meta()),
            fingerprint: Fingerprint::of(&object),
        }
    }
}

fn applied_by_operator(metadata: &ObjectMeta) -> bool {
    let mut entries = metadata.managed_fields.iter().flatten();
    entries.any(|entry| {
        entry.manager.as_deref() == Some(FIELD_MANAGER) && entry.operation.as_deref() == Some("Apply")
    })
}

impl Cached for ChildSnapshot {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }
}

impl Snapshot for ChildSnapshot {
    fn controller(&self) -> Option<&ControllerRef> {
        self.controller.as_ref()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}
