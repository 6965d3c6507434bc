//! One look at a resource, and the write if it is due.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use vmafx_api::VmafxNode;

use super::Outcome;
use super::plan::{Resource, Seen, is_due};

/// Who the fields belong to.
const MANAGER: &str = "vmafx-controller";

/// For the read and the write together.
const DEADLINE: Duration = Duration::from_secs(10);

const CONFLICT: u16 = 409;
const NOT_FOUND: u16 = 404;

/// Looks, and writes if it is due.
pub(super) async fn apply(client: &Client, resource: &Resource, seen: &Seen) -> Outcome {
    let problem = match tokio::time::timeout(DEADLINE, look_and_write(client, resource, seen)).await {
        Ok(Ok(outcome)) => return outcome,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {DEADLINE:?}"),
    };
    tracing::warn!(
        namespace = resource.namespace,
        name = resource.name,
        problem,
        "cannot show the status of a VmafxNode"
    );
    Outcome::Failed
}

async fn look_and_write(client: &Client, resource: &Resource, seen: &Seen) -> kube::Result<Outcome> {
    let api: Api<VmafxNode> = Api::namespaced(client.clone(), &resource.namespace);
    let Some(live) = api.get_opt(&resource.name).await? else { return Ok(Outcome::Gone) };
    if !resource.uid.is_empty() && live.uid().is_none_or(|uid| uid != resource.uid) {
        // A later one of the same name: these agents are not its own.
        return Ok(Outcome::Gone);
    }
    if !is_due(live.status.as_ref(), seen) {
        return Ok(Outcome::NotDue);
    }
    let Ok(heartbeat) = jiff::Timestamp::from_second(seen.heartbeat) else { return Ok(Outcome::NotDue) };
    let patch = json!({
        "apiVersion": VmafxNode::api_version(&()),
        "kind": VmafxNode::kind(&()),
        "metadata": { "uid": live.uid(), "resourceVersion": live.resource_version() },
        "status": {
            "lastHeartbeat": Time(heartbeat),
            "assignedJobs": seen.jobs,
            "detectedDevice": seen.device,
        },
    });
    let forced = PatchParams::apply(MANAGER).force();
    match api.patch_status(&resource.name, &forced, &Patch::Apply(without_nulls(patch))).await {
        Ok(_) => Ok(Outcome::Written),
        Err(kube::Error::Api(status)) if status.code == CONFLICT => Ok(Outcome::NotDue),
        Err(kube::Error::Api(status)) if status.code == NOT_FOUND => Ok(Outcome::Gone),
        Err(error) => Err(error),
    }
}

/// An absent device is a field that is not ours, not a field that is null.
fn without_nulls(mut patch: serde_json::Value) -> serde_json::Value {
    if let Some(status) = patch["status"].as_object_mut() {
        status.retain(|_, value| !value.is_null());
    }
    patch
}
