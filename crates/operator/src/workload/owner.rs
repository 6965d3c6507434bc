//! The owner of an object and its controller reference.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource, ResourceExt};

use super::ADOPT;
use crate::key::ObjectKey;

/// A resource as the owner of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceOwner {
    pub key: ObjectKey,
    pub uid: String,
    pub api_version: String,
    pub kind: String,
    /// Whether the resource is being deleted; then garbage collection removes its objects.
    pub deleting: bool,
    /// Whether the resource is annotated to take back a StatefulSet without owner reference.
    pub adopts: bool,
}

impl ResourceOwner {
    pub fn of<K: Resource<DynamicType = ()>>(object: &K) -> Self {
        Self {
            key: ObjectKey::of(object),
            uid: object.uid().unwrap_or_default(),
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            deleting: object.meta().deletion_timestamp.is_some(),
            adopts: object.annotations().get(ADOPT).is_some_and(|value| value == "true"),
        }
    }

    /// The owner reference of its objects. A foreground deletion of the resource waits for theirs.
    pub fn reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            name: self.key.name.clone(),
            uid: self.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}

/// The controller of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerRef {
    pub kind: String,
    pub name: String,
    /// Only the UID identifies the controller: another resource may have its name by now.
    pub uid: String,
}

impl ControllerRef {
    /// The owner reference that is marked as controller.
    pub fn of(metadata: &ObjectMeta) -> Option<Self> {
        let owners = metadata.owner_references.iter().flatten();
        let controller = owners.into_iter().find(|owner| owner.controller == Some(true))?;
        Some(Self {
            kind: controller.kind.clone(),
            name: controller.name.clone(),
            uid: controller.uid.clone(),
        })
    }
}
