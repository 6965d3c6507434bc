//! The fault proxy, accounts, the audit log and the API server's request counts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod access;
mod faults;
mod passing;
mod streams;

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use vmafx_testkit::kube::proxy::ApiProxy;
use vmafx_testkit::kube::{ControlPlane, TestNamespace};

pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A proxy, and a namespace that can also be accessed directly.
pub(crate) struct ProxyFixture {
    pub(crate) proxy: ApiProxy,
    pub(crate) namespace: TestNamespace,
}

impl ProxyFixture {
    pub(crate) async fn start() -> Self {
        let cluster = ControlPlane::shared().await.unwrap();
        let namespace = cluster.namespace("proxy").await.unwrap();
        Self { proxy: ApiProxy::start(cluster).await.unwrap(), namespace }
    }

    /// Through the proxy.
    pub(crate) fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.proxy.client().unwrap(), self.namespace.name())
    }

    /// Around the proxy.
    pub(crate) fn direct(&self) -> Api<ConfigMap> {
        Api::namespaced(self.namespace.client(), self.namespace.name())
    }

    pub(crate) async fn create(&self, name: &str) -> Result<ConfigMap, kube::Error> {
        create(&self.maps(), name).await
    }

    pub(crate) async fn exists(&self, name: &str) -> bool {
        self.direct().get_opt(name).await.unwrap().is_some()
    }
}

pub(crate) async fn create(maps: &Api<ConfigMap>, name: &str) -> Result<ConfigMap, kube::Error> {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    maps.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await
}

/// The status of an error response.
pub(crate) fn code<T: std::fmt::Debug>(answer: Result<T, kube::Error>) -> u16 {
    match answer.unwrap_err() {
        kube::Error::Api(status) => status.code,
        other => panic!("not a response of an API server: {other:?}"),
    }
}
