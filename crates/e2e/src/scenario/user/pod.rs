//! Jobs with `execution: Pod`.

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use vmafx_api::VmafxJobStatus;
use vmafx_api::job::Phase;

use super::fixture::{UserFixture, expect_eq};
use crate::clips::Clips;
use crate::values::merge_values;

/// CPU limit with which a long job runs for longer than a test takes to stop it.
const SLOW_CPU: &str = "125m";

fn label(job: &str) -> String {
    format!("vmafx.dev/job={job}")
}

/// Spec of a job whose Pod mounts the clips.
fn in_pod(extra: Value) -> Value {
    merge_values(json!({ "execution": "Pod", "podTemplate": Clips::pod_template() }), extra)
}

/// Submits a job with a long clip and a CPU limit.
async fn submit_long(fixture: &UserFixture<'_>, name: &str, extra: Value) -> Result<()> {
    let mut spec = in_pod(extra);
    spec["podTemplate"]["spec"]["containers"][0]["resources"] = json!({ "limits": { "cpu": SLOW_CPU } });
    fixture.submit_pair(name, [Clips::LONG; 2], spec).await
}

fn failure(status: &VmafxJobStatus) -> Result<(&str, &str)> {
    let failed = status.conditions.iter().find(|one| one.type_ == "Failed");
    failed.map(|one| (one.reason.as_str(), one.message.as_str())).context("the job has not failed")
}

pub(super) async fn scores(fixture: &UserFixture<'_>) -> Result<()> {
    fixture.submit_pair("golden", Clips::GOLDEN, in_pod(json!({ "minScore": 100 }))).await?;
    let status = fixture.until_scored("golden", Clips::GOLDEN).await?;
    expect_eq(
        "passed, frames, attempts",
        (status.passed, status.frames, status.attempts),
        (Some(false), Some(48), Some(1)),
    )?;
    ensure!(status.assigned_node.is_some(), "{status:?}");
    fixture
        .submit(
            "secret",
            in_pod(json!({
                "reference": "file:///etc/passwd", "distorted": Clips::uri(Clips::GOLDEN[1]), "activeDeadlineSeconds": 5,
            })),
        )
        .await?;
    let status = fixture.until_phase("secret", Phase::Failed).await?;
    expect_eq("the reason at the deadline", failure(&status)?.0, "DeadlineExceeded")?;
    let accepted = status.conditions.iter().find(|one| one.type_ == "Accepted");
    let refused = accepted.map(|one| one.reason.as_str());
    expect_eq("the reason for a clip outside the scoring roots", refused, Some("InputRefused"))
}

pub(super) async fn retried(fixture: &UserFixture<'_>) -> Result<()> {
    submit_long(fixture, "again", json!({ "backoffLimit": 1 })).await?;
    fixture.until_phase("again", Phase::Running).await?;
    let pods = fixture.pods_with(&label("again")).await?;
    let first = pods.first().context("the job has no Pod")?.name_any();
    fixture.pods.delete(&first, &DeleteParams::default()).await?;
    let status = fixture.until_phase("again", Phase::Succeeded).await?;
    expect_eq("attempts", status.attempts, Some(2))
}

pub(super) async fn deadline_exceeded(fixture: &UserFixture<'_>) -> Result<()> {
    // A deadline that passes while the Pod starts would only show that the Pod never scored.
    submit_long(fixture, "late", json!({ "activeDeadlineSeconds": 600 })).await?;
    fixture.until_phase("late", Phase::Running).await?;
    fixture.patch_spec(&fixture.jobs, "late", json!({ "activeDeadlineSeconds": 1 })).await?;
    let status = fixture.until_phase("late", Phase::Failed).await?;
    expect_eq("the failure", failure(&status)?, ("DeadlineExceeded", "the job took longer than 1 s"))?;
    fixture.until_no_pods_with(&label("late")).await
}

/// Deletes one long job; suspends and then cancels another.
pub(super) async fn stopped(fixture: &UserFixture<'_>) -> Result<()> {
    for name in ["gone", "held"] {
        submit_long(fixture, name, json!({})).await?;
    }
    for name in ["gone", "held"] {
        fixture.until_phase(name, Phase::Running).await?;
    }
    fixture.kubectl.run(&["delete", "vmjob", "gone"]).await?;
    fixture.patch_spec(&fixture.jobs, "held", json!({ "suspend": true })).await?;
    fixture.kubectl.wait("condition=Suspended", "vmjob/held").await?;
    for name in ["gone", "held"] {
        fixture.until_no_pods_with(&label(name)).await?;
    }
    fixture.patch_spec(&fixture.jobs, "held", json!({ "suspend": false, "cancel": true })).await?;
    fixture.until_phase("held", Phase::Cancelled).await.map(drop)
}
