//! What identifies one version of one object.

use kube::{Resource, ResourceExt as _};

use crate::key::ObjectKey;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectIdentity {
    pub key: ObjectKey,
    pub uid: String,
    /// Resource version.
    pub version: String,
}

impl ObjectIdentity {
    pub fn of(object: &impl Resource) -> Self {
        Self {
            key: ObjectKey::of(object),
            uid: object.uid().unwrap_or_default(),
            version: object.resource_version().unwrap_or_default(),
        }
    }
}
