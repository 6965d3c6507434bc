//! Reads a resource and writes its status if that is due.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use vmafx_api::VmafxNode;

use super::plan::{AgentSummary, Resource, is_due};
use super::{FIELD_MANAGER, StatusOutcome};

/// Covers the read and the write.
const TIMEOUT: Duration = Duration::from_secs(10);

const CONFLICT: u16 = 409;
const NOT_FOUND: u16 = 404;

pub(super) async fn apply(client: &Client, resource: &Resource, summary: &AgentSummary) -> StatusOutcome {
    let problem = match tokio::time::timeout(TIMEOUT, write_if_due(client, resource, summary)).await {
        Ok(Ok(outcome)) => return outcome,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no response within {TIMEOUT:?}"),
    };
    tracing::warn!(
        namespace = resource.namespace,
        name = resource.name,
        problem,
        "cannot write the status of a VmafxNode"
    );
    StatusOutcome::Failed
}

async fn write_if_due(
    client: &Client,
    resource: &Resource,
    summary: &AgentSummary,
) -> kube::Result<StatusOutcome> {
    let api: Api<VmafxNode> = Api::namespaced(client.clone(), &resource.namespace);
    let Some(live) = api.get_opt(&resource.name).await? else { return Ok(StatusOutcome::Gone) };
    if !resource.uid.is_empty() && live.uid().is_none_or(|uid| uid != resource.uid) {
        // The resource was deleted and created again; these agents belong to the deleted one.
        return Ok(StatusOutcome::Gone);
    }
    if !is_due(live.status.as_ref(), summary) {
        return Ok(StatusOutcome::NotDue);
    }
    let Ok(heartbeat) = jiff::Timestamp::from_second(summary.heartbeat) else {
        return Ok(StatusOutcome::NotDue);
    };
    let patch = json!({
        "apiVersion": VmafxNode::api_version(&()),
        "kind": VmafxNode::kind(&()),
        "metadata": { "uid": live.uid(), "resourceVersion": live.resource_version() },
        "status": {
            "lastHeartbeat": Time(heartbeat),
            "assignedJobs": summary.jobs,
            "detectedDevice": summary.device,
            "quarantine": summary.quarantine,
        },
    });
    let forced = PatchParams::apply(FIELD_MANAGER).force();
    match api.patch_status(&resource.name, &forced, &Patch::Apply(without_nulls(patch))).await {
        Ok(_) => Ok(StatusOutcome::Written),
        Err(kube::Error::Api(status)) if status.code == CONFLICT => Ok(StatusOutcome::NotDue),
        Err(kube::Error::Api(status)) if status.code == NOT_FOUND => Ok(StatusOutcome::Gone),
        Err(error) => Err(error),
    }
}

/// An absent device or quarantine must not become a field with the value null that the controller owns.
fn without_nulls(mut patch: serde_json::Value) -> serde_json::Value {
    if let Some(status) = patch["status"].as_object_mut() {
        status.retain(|_, value| !value.is_null());
    }
    patch
}
