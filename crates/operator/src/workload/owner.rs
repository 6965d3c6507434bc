//! Whose a workload is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource, ResourceExt};

use super::ADOPT;
use crate::key::ObjectKey;

/// A resource that a workload is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceOwner {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Tells it from another of its name.
    pub uid: String,
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Whether it is being deleted. Then its workload is left to garbage collection.
    pub deleting: bool,
    /// Whether it asks to take back a StatefulSet that was taken out of its hands.
    pub adopts: bool,
}

impl ResourceOwner {
    /// Of a resource as the API server sent it.
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

    /// What every object that it owns carries. Its deletion waits for theirs if that is asked for.
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

/// Who controls an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerRef {
    /// Of what kind it is.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its UID, which alone counts: the name may have been given to another.
    pub uid: String,
}

impl ControllerRef {
    /// The one owner that is marked as controller, if any is.
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
