//! The Pods of a job that runs in Pods of its own.

use k8s_openapi::api::core::v1::{ContainerState, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde::Serialize;

use crate::cluster::job::Job;
use crate::cluster::reach::Cluster;
use crate::cluster::trouble::KubeError;

/// On each Pod of a job: whose it is.
const LABEL: &str = "vmafx.dev/job";
/// What a label can hold.
const LONGEST_LABEL: usize = 63;

/// A Pod, as far as it explains its job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Running {
    pub(super) name: String,
    #[serde(skip)]
    pub(super) uid: String,
    pub(super) phase: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    /// Why it does not run, or how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

/// The Pods of a job, oldest first.
pub(super) async fn read(cluster: &Cluster, job: Job<'_>) -> Result<Vec<Running>, KubeError> {
    let pods = of_job(cluster, job.name()).await?;
    Ok(pods.iter().map(one).collect())
}

/// The same, whole.
pub(in crate::cluster) async fn of_job(cluster: &Cluster, name: &str) -> Result<Vec<Pod>, KubeError> {
    let api: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    // A name that no label can hold stands in an annotation.
    let fits = name.len() <= LONGEST_LABEL;
    let labels = if fits { format!("{LABEL}={name}") } else { LABEL.to_owned() };
    let params = ListParams::default().labels(&labels);
    let mut pods = cluster.call("list the job's Pods", api.list(&params)).await?.items;
    pods.retain(|pod| fits || pod.annotations().get(LABEL).is_some_and(|whose| whose == name));
    pods.sort_by_key(|pod| {
        let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, pod.metadata.name.clone())
    });
    Ok(pods)
}

fn one(pod: &Pod) -> Running {
    let status = pod.status.clone().unwrap_or_default();
    let waits = status.container_statuses.iter().flatten().find_map(|one| state(one.state.as_ref()?));
    let unfit =
        status.conditions.iter().flatten().find(|one| one.type_ == "PodScheduled" && one.status == "False");
    let unfit = unfit.map(|one| joined(one.reason.as_deref(), one.message.as_deref()));
    let evicted = status.reason.as_deref().map(|reason| joined(Some(reason), status.message.as_deref()));
    Running {
        name: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        phase: status.phase.unwrap_or_default(),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        why: waits.or(evicted).or(unfit).filter(|why| !why.is_empty()),
    }
}

/// Why a container does not run.
fn state(state: &ContainerState) -> Option<String> {
    if let Some(waiting) = &state.waiting {
        return Some(joined(waiting.reason.as_deref(), waiting.message.as_deref()));
    }
    let ended = state.terminated.as_ref()?;
    let how = ended.reason.as_deref().unwrap_or("ended");
    (ended.exit_code != 0).then(|| format!("{how}, exit code {}", ended.exit_code))
}

fn joined(reason: Option<&str>, message: Option<&str>) -> String {
    [reason, message].into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case(
        json!({ "phase": "Pending", "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes" }] }),
        Some("Unschedulable: 0/3 nodes")
    )]
    #[case(
        json!({ "phase": "Pending", "containerStatuses": [{ "name": "agent", "image": "x", "imageID": "", "ready": false,
            "restartCount": 0, "state": { "waiting": { "reason": "ImagePullBackOff", "message": "no such image" } } }] }),
        Some("ImagePullBackOff: no such image")
    )]
    #[case(
        json!({ "phase": "Failed", "containerStatuses": [{ "name": "agent", "image": "x", "imageID": "", "ready": false,
            "restartCount": 0, "state": { "terminated": { "reason": "OOMKilled", "exitCode": 137 } } }] }),
        Some("OOMKilled, exit code 137")
    )]
    #[case(json!({ "phase": "Failed", "reason": "Evicted", "message": "disk" }), Some("Evicted: disk"))]
    #[case(json!({ "phase": "Running" }), None)]
    fn a_pod_says_why_it_does_not_run(#[case] status: Value, #[case] expected: Option<&str>) {
        let pod: Pod =
            serde_json::from_value(json!({ "metadata": { "name": "p" }, "status": status })).unwrap();
        assert_eq!(one(&pod).why.as_deref(), expected);
    }
}
