//! A resource of ours as it is kept: whole, without what nobody reads.

use kube::{Resource, ResourceExt as _};

use super::cache::Cached;
use crate::key::ObjectKey;

/// A resource that is needed as a whole: spec, status and metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole<K>(pub K);

impl<K: Resource> From<K> for Whole<K> {
    fn from(mut resource: K) -> Self {
        resource.managed_fields_mut().clear();
        resource.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
        Self(resource)
    }
}

impl<K: Resource + Send + Sync + 'static> Cached for Whole<K> {
    fn key(&self) -> ObjectKey {
        ObjectKey::of(&self.0)
    }

    fn uid(&self) -> &str {
        self.0.meta().uid.as_deref().unwrap_or_default()
    }

    fn version(&self) -> &str {
        self.0.meta().resource_version.as_deref().unwrap_or_default()
    }
}
