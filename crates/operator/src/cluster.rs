//! The name of this cluster at the controller.
//!
//! One controller may serve several clusters, and an operator cancels jobs whose resource is gone. So it must tell the jobs
//! of its own cluster from those of others, even if the cluster was given no name.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use vmafx_kit::causes::chain;

use crate::error::call;

/// The UID of this namespace identifies the cluster: the namespace is as old as the cluster and is never deleted.
pub const NAMESPACE: &str = "kube-system";

/// The configured name, or the UID of the namespace `kube-system`, which is read until the API server answers.
pub async fn name(client: &Client, configured: &str) -> String {
    if !configured.is_empty() {
        return configured.to_owned();
    }
    let api: Api<Namespace> = Api::all(client.clone());
    loop {
        let problem = match call("read the namespace kube-system", api.get(NAMESPACE)).await {
            Ok(namespace) => match namespace.metadata.uid {
                Some(uid) => return uid,
                None => "it has no UID".to_owned(),
            },
            Err(error) => chain(&error),
        };
        tracing::warn!(
            problem,
            "cannot read the UID of the cluster; retrying; set VMAFX_CLUSTER to name the cluster without it"
        );
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}
