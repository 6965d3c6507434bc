//! The events of a job and of its Pods.

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use kube::core::DynamicObject;
use serde::Serialize;

use super::pods::PodSummary;
use crate::cluster::connection::Cluster;
use crate::cluster::error::KubeError;

const MAX_EVENTS: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobEvent {
    /// The last occurrence.
    pub(super) at: Option<Timestamp>,
    /// Normal or Warning.
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) reason: String,
    pub(super) note: String,
    /// The Pod that the event is about; `None` for the job itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<String>,
}

/// Reads the latest events, oldest first.
pub(super) async fn read(
    cluster: &Cluster,
    object: &DynamicObject,
    pods: &[PodSummary],
) -> Result<Vec<JobEvent>, KubeError> {
    let mut events = events_of(cluster, object.metadata.uid.as_deref().unwrap_or_default(), None).await?;
    for pod in pods {
        events.extend(events_of(cluster, &pod.uid, Some(&pod.name)).await?);
    }
    events.sort_by_key(|event| event.at);
    let first = events.len().saturating_sub(MAX_EVENTS);
    Ok(events.split_off(first))
}

async fn events_of(cluster: &Cluster, uid: &str, pod: Option<&str>) -> Result<Vec<JobEvent>, KubeError> {
    let api: Api<Event> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let params = ListParams::default().fields(&format!("regarding.uid={uid}"));
    let events = cluster.call("read events", api.list(&params)).await?;
    Ok(events.items.into_iter().map(|event| convert(event, pod)).collect())
}

fn convert(event: Event, pod: Option<&str>) -> JobEvent {
    // Which of the timestamps is set depends on the API version that the reporter uses.
    let last = event.series.map(|series| series.last_observed_time.0);
    let old = event.deprecated_last_timestamp.map(|time| time.0);
    let at = last.or(old).or(event.event_time.map(|time| time.0));
    JobEvent {
        at: at.or(event.metadata.creation_timestamp.map(|time| time.0)),
        type_: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        note: event.note.unwrap_or_default(),
        pod: pod.map(str::to_owned),
    }
}
