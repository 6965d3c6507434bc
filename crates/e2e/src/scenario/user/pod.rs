//! Jobs in Pods of their own.

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use vmafx_api::VmafxJobStatus;
use vmafx_api::job::Phase;

use super::stage::{Stage, same};
use crate::clips::Clips;
use crate::release::merged;

/// Of a core: the job outlasts whatever is done to it.
const SLOW: &str = "125m";

fn label(job: &str) -> String {
    format!("vmafx.dev/job={job}")
}

/// In a Pod that has the clips.
fn in_pod(more: Value) -> Value {
    merged(json!({ "execution": "Pod", "podTemplate": Clips::pod_template() }), more)
}

/// One that takes its time: a long clip, and a part of a core.
async fn submit_long(stage: &Stage<'_>, name: &str, cpu: &str, more: Value) -> Result<()> {
    let mut spec = in_pod(more);
    spec["podTemplate"]["spec"]["containers"][0]["resources"] = json!({ "limits": { "cpu": cpu } });
    stage.score(name, [Clips::LONG; 2], spec).await
}

fn failed(status: &VmafxJobStatus) -> Result<(&str, &str)> {
    let failed = status.conditions.iter().find(|one| one.type_ == "Failed");
    failed.map(|one| (one.reason.as_str(), one.message.as_str())).context("it has not failed")
}

pub(super) async fn scores(stage: &Stage<'_>) -> Result<()> {
    stage.score("golden", Clips::GOLDEN, in_pod(json!({ "minScore": 100 }))).await?;
    let status = stage.until_scored("golden", Clips::GOLDEN).await?;
    same(
        "passed, frames, attempts",
        (status.passed, status.frames, status.attempts),
        (Some(false), Some(48), Some(1)),
    )?;
    ensure!(status.assigned_node.is_some(), "{status:?}");
    stage
        .submit(
            "secret",
            in_pod(json!({ "reference": "file:///etc/passwd", "distorted": Clips::uri(Clips::GOLDEN[1]) })),
        )
        .await?;
    let status = stage.until_phase("secret", Phase::Failed).await?;
    same("what is below no root", failed(&status)?.0, "InputRefused")
}

pub(super) async fn again(stage: &Stage<'_>) -> Result<()> {
    submit_long(stage, "again", "500m", json!({ "backoffLimit": 1 })).await?;
    stage.until_phase("again", Phase::Running).await?;
    let pods = stage.pods_with(&label("again")).await?;
    let first = pods.first().context("it has no Pod")?.name_any();
    stage.pods.delete(&first, &DeleteParams::default()).await?;
    let status = stage.until_phase("again", Phase::Succeeded).await?;
    same("attempts", status.attempts, Some(2))
}

pub(super) async fn late(stage: &Stage<'_>) -> Result<()> {
    submit_long(stage, "late", SLOW, json!({ "activeDeadlineSeconds": 3 })).await?;
    let status = stage.until_phase("late", Phase::Failed).await?;
    same("the failure", failed(&status)?, ("DeadlineExceeded", "the job took longer than 3 s"))?;
    stage.until_no_pods_with(&label("late")).await
}

/// The three at once: each has a Pod that would run for long.
pub(super) async fn stopped(stage: &Stage<'_>) -> Result<()> {
    for name in ["gone", "held"] {
        submit_long(stage, name, SLOW, json!({})).await?;
    }
    for name in ["gone", "held"] {
        stage.until_phase(name, Phase::Running).await?;
    }
    stage.kubectl.run(&["delete", "vmjob", "gone"]).await?;
    stage.change(&stage.jobs, "held", json!({ "suspend": true })).await?;
    stage.kubectl.wait("condition=Suspended", "vmjob/held").await?;
    for name in ["gone", "held"] {
        stage.until_no_pods_with(&label(name)).await?;
    }
    stage.change(&stage.jobs, "held", json!({ "suspend": false, "cancel": true })).await?;
    stage.until_phase("held", Phase::Cancelled).await.map(drop)
}
