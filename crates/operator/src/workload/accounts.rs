//! The ServiceAccounts of rendered Pods: one per namespace and role.
//!
//! An account is shared by all resources of its namespace, so no resource owns it, and it stays after the last one.
//! The operator applies a label and `automountServiceAccountToken: false`. Everything else, such as the annotation with a
//! cloud role or the pull Secrets, belongs to whoever sets it.

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use serde_json::{Map, Value, json};

use super::objects::{AppliedObjects, ObjectWrite, ObservedObject};
use super::snapshot::ChildSnapshot;
use crate::error::ApiError;
use crate::key::ObjectKey;
use crate::reserved::ACCOUNT_LABEL;
use crate::runtime::Cache;
use crate::template_policy::PodRole;

/// An account as it is applied.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredAccount {
    pub key: ObjectKey,
    body: Map<String, Value>,
}

impl DesiredAccount {
    pub fn new(namespace: &str, name: &str, role: PodRole) -> Self {
        let body = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": name, "namespace": namespace, "labels": { ACCOUNT_LABEL: role.label() } },
            "automountServiceAccountToken": false,
        });
        let body = if let Value::Object(body) = body { body } else { Map::new() };
        Self { key: ObjectKey::new(namespace.to_owned(), name.to_owned()), body }
    }
}

/// The accounts of all namespaces.
pub struct ServiceAccounts(AppliedObjects<ServiceAccount, ChildSnapshot>);

impl ServiceAccounts {
    /// `cache` is that of accounts with our label.
    pub(super) fn new(client: Client, cache: Cache<ChildSnapshot>) -> Self {
        Self(AppliedObjects::new(client, cache, ChildSnapshot::of))
    }

    /// Creates the account or changes it to what is desired. While nothing has changed, no request is sent.
    pub async fn ensure(&self, desired: &DesiredAccount) -> Result<(), ApiError> {
        let mut observed = self.0.cached(&desired.key);
        if observed.live.is_none() {
            // One that a user created has no label yet.
            observed = self.read(desired).await?;
        }
        match self.write(desired, &observed).await {
            Err(ApiError::Conflict { .. }) => self.write(desired, &self.read(desired).await?).await,
            written => written,
        }
    }

    async fn read(&self, desired: &DesiredAccount) -> Result<ObservedObject<ChildSnapshot>, ApiError> {
        self.0.read("read the ServiceAccount", &desired.key).await
    }

    async fn write(
        &self,
        desired: &DesiredAccount,
        observed: &ObservedObject<ChildSnapshot>,
    ) -> Result<(), ApiError> {
        let body = desired.body.clone();
        let write = match &observed.live {
            None => Some(ObjectWrite::Create(body)),
            Some(_) => observed.apply(body),
        };
        if let Some(write) = write {
            self.0.write("apply the ServiceAccount", &desired.key, &write).await?;
        }
        Ok(())
    }
}
