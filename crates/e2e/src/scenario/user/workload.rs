//! The StatefulSet of a VmafxNode is adopted, recreated and replaced, and an agent that is stopped becomes unhealthy.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use vmafx_testkit::wait;

use super::fixture::{NAMESPACE, RELEASE, UserFixture, expect_eq};
use crate::clips::Clips;
use crate::platform::STEP_TIMEOUT;

const NODE: &str = "solo";
const RESOURCE: &str = "vmnode/solo";
const SET: &str = "vmafx-node-solo";
const WORKERS: &str = "vmafx.dev/workload=vmafx-node-solo";

/// Deletes a VmafxNode without its StatefulSet; the next VmafxNode with its name adopts the StatefulSet.
pub(super) async fn adopted(fixture: &UserFixture<'_>) -> Result<()> {
    create(fixture).await?;
    let before = tracked(fixture).await?;
    fixture.kubectl.run(&["delete", RESOURCE, "--cascade=orphan"]).await?;
    let orphan = sets(fixture).get(SET).await.context("the StatefulSet was deleted")?;
    ensure!(orphan.owner_references().is_empty(), "{:?}", orphan.owner_references());
    create(fixture).await?;
    expect_eq("the adopted StatefulSet", tracked(fixture).await?, before)?;
    until_event(fixture, "Adopted").await
}

pub(super) async fn recreated(fixture: &UserFixture<'_>) -> Result<()> {
    let before = tracked(fixture).await?;
    sets(fixture).delete(SET, &DeleteParams::default()).await?;
    until_tracked_other_than(fixture, &[&before]).await?;
    until_event(fixture, "Recreated").await?;
    fixture.kubectl.wait("condition=Ready", RESOURCE).await
}

/// While no operator runs, somebody replaces the StatefulSet by a copy of it.
pub(super) async fn impostor_replaced(fixture: &UserFixture<'_>) -> Result<()> {
    let operator = format!("deployment/{RELEASE}-operator");
    let before = tracked(fixture).await?;
    fixture.kubectl.run(&["scale", &operator, "--replicas=0"]).await?;
    fixture.until_no_pods_with("app.kubernetes.io/component=operator").await?;
    let original = sets(fixture).get(SET).await?;
    sets(fixture).delete(SET, &DeleteParams::default()).await?;
    fixture.until_no_pods_with(WORKERS).await?;
    let mut copy = StatefulSet { status: None, ..original };
    let labels = copy.metadata.labels.take();
    copy.metadata = kube::api::ObjectMeta { name: Some(SET.to_owned()), labels, ..Default::default() };
    let impostor = sets(fixture).create(&PostParams::default(), &copy).await?.uid().unwrap_or_default();
    fixture.kubectl.run(&["scale", &operator, "--replicas=1"]).await?;
    until_tracked_other_than(fixture, &[&before, &impostor]).await?;
    until_event(fixture, "ReplacingImpostor").await?;
    fixture.kubectl.wait("condition=Ready", RESOURCE).await
}

/// Stops the only agent, which the kubelet leaves alone, and continues it.
pub(super) async fn stale_heartbeat(fixture: &UserFixture<'_>) -> Result<()> {
    let pods = fixture.pods_with(WORKERS).await?;
    let statuses = pods.first().and_then(|pod| pod.status.as_ref()?.container_statuses.as_ref());
    let container = statuses.and_then(|all| all.first()?.container_id.as_deref()?.split_once("://"));
    let (_, container) = container.context("the worker has no container")?;
    let cluster = fixture.platform.cluster();
    cluster.signal_container(container, "SIGSTOP")?;
    let stale = fixture.kubectl.wait("condition=AgentHealthy=False", RESOURCE).await;
    let stopped = fixture.kubectl.get(&[RESOURCE]).await;
    cluster.signal_container(container, "SIGCONT")?;
    stale?;
    let stopped = stopped?;
    let conditions = stopped["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let condition = conditions.iter().find(|one| one["type"] == "AgentHealthy").cloned().unwrap_or_default();
    expect_eq("the reason", condition["reason"].clone(), json!("HeartbeatStale"))?;
    expect_eq("healthy", stopped["status"]["healthy"].clone(), json!(false))?;
    fixture.kubectl.wait("condition=AgentHealthy", RESOURCE).await?;
    fixture.kubectl.run(&["delete", RESOURCE]).await?;
    fixture.until_no_pods_with(WORKERS).await
}

async fn create(fixture: &UserFixture<'_>) -> Result<()> {
    let mut template = Clips::pod_template();
    // The kubelet must not restart the agent while it is stopped.
    template["spec"]["containers"][0]["livenessProbe"] = json!({ "failureThreshold": 600 });
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": NODE },
        "spec": { "gpuVendor": "cpu", "podTemplate": template },
    });
    fixture.kubectl.apply(&node.to_string()).await?;
    fixture.kubectl.wait("condition=Ready", RESOURCE).await
}

fn sets(fixture: &UserFixture<'_>) -> Api<StatefulSet> {
    Api::namespaced(fixture.platform.client(), NAMESPACE)
}

/// The UID of the StatefulSet that the status names.
async fn tracked(fixture: &UserFixture<'_>) -> Result<String> {
    let status = fixture.nodes.get(NODE).await?.status.unwrap_or_default();
    Ok(status.stateful_set.context("the status names no StatefulSet")?.uid)
}

async fn until_tracked_other_than(fixture: &UserFixture<'_>, known: &[&str]) -> Result<()> {
    let changed = async || {
        let uid = tracked(fixture).await.map_err(|error| format!("{error:#}"))?;
        if known.contains(&uid.as_str()) { Err(uid) } else { Ok(()) }
    };
    Ok(wait::until(STEP_TIMEOUT, "the status to name a new StatefulSet", changed).await?)
}

async fn until_event(fixture: &UserFixture<'_>, reason: &str) -> Result<()> {
    let events: Api<k8s_openapi::api::events::v1::Event> =
        Api::namespaced(fixture.platform.client(), NAMESPACE);
    let of_node = ListParams::default().fields(&format!("regarding.name={NODE}"));
    let written = async || {
        let found = events.list(&of_node).await.map_err(|error| error.to_string())?.items;
        let reasons: Vec<_> = found.into_iter().filter_map(|event| event.reason).collect();
        if reasons.iter().any(|one| one == reason) { Ok(()) } else { Err(format!("{reasons:?}")) }
    };
    Ok(wait::until(STEP_TIMEOUT, &format!("the event {reason}"), written).await?)
}
