//! A custom resource as it is cached: without managed fields and kubectl's last applied configuration.

use kube::{Resource, ResourceExt as _};

use super::cache::Cached;
use super::identity::ObjectIdentity;

#[derive(Clone, Debug, PartialEq)]
pub struct CachedResource<K> {
    identity: ObjectIdentity,
    pub resource: K,
}

impl<K: Resource> From<K> for CachedResource<K> {
    fn from(mut resource: K) -> Self {
        resource.managed_fields_mut().clear();
        resource.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
        Self { identity: ObjectIdentity::of(&resource), resource }
    }
}

impl<K: Resource + Send + Sync + 'static> Cached for CachedResource<K> {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }
}
