//! What tells objects apart.

use kube::{Resource, ResourceExt as _};

use crate::key::ObjectKey;

/// What every projection needs of an object's metadata, taken once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectIdentity {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The UID.
    pub uid: String,
    /// The resource version.
    pub version: String,
}

impl ObjectIdentity {
    /// Of an object as the API server sent it.
    pub fn of(object: &impl Resource) -> Self {
        Self {
            key: ObjectKey::of(object),
            uid: object.uid().unwrap_or_default(),
            version: object.resource_version().unwrap_or_default(),
        }
    }
}
