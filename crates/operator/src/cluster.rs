//! What this cluster is called at the controller.
//!
//! One controller may serve several clusters, and jobs whose resource is gone are ended: so each cluster must know its own
//! jobs from those of others, also where nobody gave it a name.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use vmafx_kit::causes::chain;

use crate::error::call;

/// The namespace whose UID is taken for that of the cluster: it is as old as the cluster, and nobody deletes it.
pub const NAMESPACE: &str = "kube-system";

/// The name that was given, or the UID of the namespace `kube-system`. Asks until there is an answer.
pub async fn name(client: &Client, given: &str) -> String {
    if !given.is_empty() {
        return given.to_owned();
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
        tracing::warn!(problem, "cannot tell which cluster this is; set VMAFX_CLUSTER or wait: trying again");
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}
