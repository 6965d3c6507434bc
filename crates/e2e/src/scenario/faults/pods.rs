//! The Pods of a release.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use vmafx_testkit::wait;

use super::plan::Role;
use crate::platform::{Platform, STEP_TIMEOUT};

pub(super) struct ReleasePods<'a> {
    pub(super) platform: &'a Platform,
    pub(super) api: Api<Pod>,
}

impl<'a> ReleasePods<'a> {
    pub(super) fn new(platform: &'a Platform, namespace: &str) -> Self {
        Self { platform, api: Api::namespaced(platform.client(), namespace) }
    }

    /// Pods of a role that are not being deleted, sorted by name.
    pub(super) async fn live(&self, role: Role) -> Result<Vec<Pod>> {
        let mut pods = self.all(role).await?;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        pods.sort_by_key(kube::ResourceExt::name_any);
        Ok(pods)
    }

    async fn all(&self, role: Role) -> Result<Vec<Pod>> {
        let labels =
            format!("app.kubernetes.io/part-of=vmafx,app.kubernetes.io/component={}", role.component());
        Ok(self.api.list(&ListParams::default().labels(&labels)).await?.items)
    }

    /// Waits until no Pod of a role exists.
    pub(super) async fn until_gone(&self, role: Role) -> Result<()> {
        let none = async || match self.all(role).await.map_err(|error| format!("{error:#}"))?.len() {
            0 => Ok(()),
            left => Err(format!("{left} are left")),
        };
        let what = format!("the Pods of role {} to be gone", role.component());
        Ok(wait::until(STEP_TIMEOUT, &what, none).await?)
    }

    pub(super) async fn until_ready(&self, role: Role, count: usize) -> Result<()> {
        let all_ready = async || {
            let pods = self.live(role).await.map_err(|error| format!("{error:#}"))?;
            let ready = pods.iter().filter(|pod| is_ready(pod)).count();
            if ready == count { Ok(()) } else { Err(format!("{ready} are ready")) }
        };
        let what = format!("{count} Pods of role {} to be ready", role.component());
        Ok(wait::until(STEP_TIMEOUT, &what, all_ready).await?)
    }

    /// The address of a Pod of a role, as soon as one has any; `which` is taken modulo their number.
    pub(super) async fn address(&self, role: Role, which: usize) -> Result<String> {
        let address = async || {
            let pods = self.live(role).await.ok()?;
            let mut addresses: Vec<_> =
                pods.into_iter().filter_map(|pod| pod.status.and_then(|status| status.pod_ip)).collect();
            which.checked_rem(addresses.len()).map(|index| addresses.swap_remove(index))
        };
        let what = format!("a Pod of role {} to have an address", role.component());
        Ok(wait::until(STEP_TIMEOUT, &what, address).await?)
    }

    /// The logs of all Pods of a role.
    pub(super) async fn logs(&self, role: Role) -> Result<String> {
        let mut logs = String::new();
        for pod in self.live(role).await? {
            // A container that has not started has no log.
            let log = self.api.logs(&pod.name_any(), &kube::api::LogParams::default()).await;
            logs.push_str(&log.unwrap_or_default());
        }
        Ok(logs)
    }
}

pub(super) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}
