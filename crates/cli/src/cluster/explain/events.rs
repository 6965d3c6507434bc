//! What happened to a job, and to its Pods.

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use kube::core::DynamicObject;
use serde::Serialize;

use super::pods::Running;
use crate::cluster::reach::Cluster;
use crate::cluster::trouble::KubeError;

/// Most that are shown.
const MOST: usize = 12;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    /// Last time.
    pub(super) at: Option<Timestamp>,
    /// Normal or Warning.
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) reason: String,
    pub(super) note: String,
    /// The Pod it happened to; nothing for the job itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<String>,
}

/// The events of a job and its Pods, oldest first.
pub(super) async fn read(
    cluster: &Cluster,
    object: &DynamicObject,
    pods: &[Running],
) -> Result<Vec<Told>, KubeError> {
    let mut told = about(cluster, object.metadata.uid.as_deref().unwrap_or_default(), None).await?;
    for pod in pods {
        told.extend(about(cluster, &pod.uid, Some(&pod.name)).await?);
    }
    told.sort_by_key(|one| one.at);
    let first = told.len().saturating_sub(MOST);
    Ok(told.split_off(first))
}

async fn about(cluster: &Cluster, uid: &str, pod: Option<&str>) -> Result<Vec<Told>, KubeError> {
    let api: Api<Event> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let params = ListParams::default().fields(&format!("regarding.uid={uid}"));
    let events = cluster.call("read events", api.list(&params)).await?;
    Ok(events.items.into_iter().map(|event| one(event, pod)).collect())
}

fn one(event: Event, pod: Option<&str>) -> Told {
    // Which of them is set depends on who wrote it, and when.
    let last = event.series.map(|series| series.last_observed_time.0);
    let old = event.deprecated_last_timestamp.map(|time| time.0);
    let at = last.or(old).or(event.event_time.map(|time| time.0));
    Told {
        at: at.or(event.metadata.creation_timestamp.map(|time| time.0)),
        type_: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        note: event.note.unwrap_or_default(),
        pod: pod.map(str::to_owned),
    }
}
