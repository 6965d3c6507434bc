//! The Pods of a job with `execution: Pod`.

use k8s_openapi::api::core::v1::{ContainerState, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde::Serialize;

use crate::cluster::connection::Cluster;
use crate::cluster::error::KubeError;
use crate::cluster::job::JobView;

/// Label, or annotation for long names, with the name of the job.
const JOB_LABEL: &str = "vmafx.dev/job";
/// Kubernetes' limit of a label's value.
const MAX_LABEL_LENGTH: usize = 63;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSummary {
    pub(super) name: String,
    #[serde(skip)]
    pub(super) uid: String,
    pub(super) phase: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    /// Why the Pod does not run, or how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

pub(super) async fn read(cluster: &Cluster, job: JobView<'_>) -> Result<Vec<PodSummary>, KubeError> {
    let pods = pods_of_job(cluster, job.name()).await?;
    Ok(pods.iter().map(summarize).collect())
}

/// The Pods of a job, oldest first.
pub(in crate::cluster) async fn pods_of_job(cluster: &Cluster, name: &str) -> Result<Vec<Pod>, KubeError> {
    let api: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    // The operator puts a name that is too long for a label into an annotation.
    let fits = name.len() <= MAX_LABEL_LENGTH;
    let labels = if fits { format!("{JOB_LABEL}={name}") } else { JOB_LABEL.to_owned() };
    let params = ListParams::default().labels(&labels);
    let mut pods = cluster.call("list the job's Pods", api.list(&params)).await?.items;
    pods.retain(|pod| fits || pod.annotations().get(JOB_LABEL).is_some_and(|job| job == name));
    pods.sort_by_key(|pod| {
        let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, pod.metadata.name.clone())
    });
    Ok(pods)
}

fn summarize(pod: &Pod) -> PodSummary {
    let status = pod.status.clone().unwrap_or_default();
    let mut containers = status.container_statuses.iter().flatten();
    let container = containers.find_map(|status| container_problem(status.state.as_ref()?));
    let unscheduled =
        status.conditions.iter().flatten().find(|one| one.type_ == "PodScheduled" && one.status == "False");
    let unscheduled = unscheduled.map(|one| joined(one.reason.as_deref(), one.message.as_deref()));
    let evicted = status.reason.as_deref().map(|reason| joined(Some(reason), status.message.as_deref()));
    PodSummary {
        name: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        phase: status.phase.unwrap_or_default(),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        why: container.or(evicted).or(unscheduled).filter(|why| !why.is_empty()),
    }
}

/// Why a container does not run, or failed.
fn container_problem(state: &ContainerState) -> Option<String> {
    if let Some(waiting) = &state.waiting {
        return Some(joined(waiting.reason.as_deref(), waiting.message.as_deref()));
    }
    let terminated = state.terminated.as_ref()?;
    let reason = terminated.reason.as_deref().unwrap_or("ended");
    (terminated.exit_code != 0).then(|| format!("{reason}, exit code {}", terminated.exit_code))
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
    #[case(json!({ "phase": "PodSummary" }), None)]
    fn a_pod_says_why_it_does_not_run(#[case] status: Value, #[case] expected: Option<&str>) {
        let pod: Pod =
            serde_json::from_value(json!({ "metadata": { "name": "p" }, "status": status })).unwrap();
        assert_eq!(summarize(&pod).why.as_deref(), expected);
    }
}
