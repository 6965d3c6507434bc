//! What is kept of a StatefulSet.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use kube::ResourceExt as _;
use vmafx_api::workload::StatefulSetRef;

use super::SUCCEEDS;
use super::fingerprint::Fingerprint;
use super::immutables::Immutables;
use super::owner::ControllerRef;
use crate::key::ObjectKey;
use crate::reserved::CONTAINER;
use crate::runtime::{Cached, Identity};

/// As much of a StatefulSet as decisions and status need.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Name, UID and version.
    pub identity: Identity,
    /// Counts the changes of its spec.
    pub generation: i64,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Who controls it.
    pub controller: Option<ControllerRef>,
    /// What cannot be changed in place.
    pub immutables: Immutables,
    /// The UID of the one that it was made in place of.
    pub succeeds: Option<String>,
    /// How many Pods it is to have.
    pub replicas: i32,
    /// How far it is.
    pub numbers: Numbers,
    /// The image of the container that does the work.
    pub image: Option<String>,
    /// Changes with everything that somebody may write.
    pub fingerprint: Fingerprint,
}

/// What the StatefulSet controller says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The generation that the rest speaks of.
    pub observed_generation: i64,
    /// Pods that exist.
    pub replicas: i32,
    /// Pods that are ready.
    pub ready: i32,
    /// Pods made from the latest template.
    pub updated: i32,
    /// The template of the Pods that are not updated.
    pub current_revision: Option<String>,
    /// The latest template.
    pub update_revision: Option<String>,
}

impl Facts {
    /// What a status records of it.
    pub fn reference(&self) -> StatefulSetRef {
        StatefulSetRef { name: self.identity.key.name.clone(), uid: self.identity.uid.clone() }
    }
}

impl From<StatefulSet> for Facts {
    fn from(set: StatefulSet) -> Self {
        let status = set.status.clone().unwrap_or_default();
        Self {
            identity: Identity::of(&set),
            generation: set.metadata.generation.unwrap_or_default(),
            terminating: set.metadata.deletion_timestamp.is_some(),
            controller: ControllerRef::of(&set.metadata),
            immutables: Immutables::of(set.spec.as_ref()),
            succeeds: set.annotations().get(SUCCEEDS).cloned(),
            replicas: set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1),
            numbers: Numbers {
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
    containers.iter().find(|container| container.name == CONTAINER)?.image.clone()
}

impl Cached for Facts {
    fn key(&self) -> ObjectKey {
        self.identity.key.clone()
    }

    fn uid(&self) -> &str {
        &self.identity.uid
    }

    fn version(&self) -> &str {
        &self.identity.version
    }
}
