//! Jobs with a Pod of their own: the Pods are real.

use std::process::Command;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::job::Phase;
use vmafx_api::{VmafxJob, VmafxJobStatus};
use vmafx_testkit::wait;

use crate::images::{golden, program};
use crate::stage::{PATIENCE, Stage, turn};

impl Stage {
    /// Makes a job about these clips.
    async fn submit(&self, name: &str, clips: [&str; 2], spec: Value) {
        let [reference, distorted] = clips.map(|clip| format!("file://{clip}"));
        let mut whole = json!({
            "reference": reference, "distorted": distorted, "execution": "Pod", "model": "vmaf_v0.6.1",
            "input": { "width": 160, "height": 90 },
        });
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name }, "spec": whole,
        });
        self.jobs.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    }

    /// One that takes its time: a long clip, and an eighth of a core.
    async fn submit_long(&self, name: &str, mut spec: Value) {
        spec["podTemplate"] = json!({ "spec": { "containers": [
            { "name": "agent", "resources": { "limits": { "cpu": "125m" } } },
        ]}});
        self.submit(name, ["/media/long.yuv", "/media/long.yuv"], spec).await;
    }

    /// Waits until a job is in a phase.
    pub(crate) async fn until_phase(&self, name: &str, phase: Phase) -> VmafxJobStatus {
        let seen = async || {
            let job: VmafxJob = self.jobs.get(name).await.map_err(|error| error.to_string())?;
            let status = job.status.unwrap_or_default();
            if status.phase == Some(phase) { Ok(status) } else { Err(format!("{status:?}")) }
        };
        match wait::until(PATIENCE, &format!("{name} to be {phase:?}"), seen).await {
            Ok(status) => status,
            Err(error) => panic!("{error}\n{}", self.explain().await),
        }
    }

    async fn pods_of(&self, name: &str) -> Vec<Pod> {
        let labelled = ListParams::default().labels(&format!("vmafx.dev/job={name}"));
        self.pods.list(&labelled).await.unwrap().items
    }

    async fn until_no_pods_of(&self, name: &str) {
        let gone = async || self.pods_of(name).await.is_empty();
        wait::until(PATIENCE, &format!("the Pods of {name} to be gone"), gone).await.unwrap();
    }
}

/// What `vmafx score` says of the same clips.
fn scored_here() -> f64 {
    let output = Command::new(program("vmafx"))
        .arg("score")
        .args([golden("ref_160x90.yuv"), golden("dis_160x90.yuv")])
        .args(["--size", "160x90", "--pixel-format", "yuv420p", "--model", "vmaf_v0.6.1", "-o", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap_or_else(|| panic!("{report}"))
}

fn failed(status: &VmafxJobStatus) -> (&str, &str) {
    let failed = status.conditions.iter().find(|one| one.type_ == "Failed").unwrap();
    (&failed.reason, &failed.message)
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn pods_really_score_are_tried_again_and_end() {
    let Some(_turn) = turn().await else { return };
    let base = tempfile::tempdir().unwrap();
    let stage = Stage::set(base.path()).await;
    let clips = ["/media/ref_160x90.yuv", "/media/dis_160x90.yuv"];

    stage.submit("golden", clips, json!({ "minScore": 100 })).await;
    let status = stage.until_phase("golden", Phase::Succeeded).await;
    assert_eq!((status.score, status.passed, status.frames), (Some(scored_here()), Some(false), Some(48)));
    assert_eq!((status.attempts, status.assigned_node.is_some()), (Some(1), true));
    assert!(status.model.unwrap().digest.unwrap().starts_with("sha256:"));
    let listed = stage.kubectl(&["get", "vmjob", "golden", "--no-headers"]);
    assert!(listed.contains("Succeeded"), "{listed}");
    stage.kubectl(&["wait", "--for=condition=Complete", "vmjob/golden", "--timeout=10s"]);

    stage.submit("secret", ["/etc/passwd", clips[1]], json!({})).await;
    let status = stage.until_phase("secret", Phase::Failed).await;
    assert_eq!((failed(&status).0, status.attempts), ("InputRefused", Some(1)), "{}", failed(&status).1);

    stage.submit_long("again", json!({ "backoffLimit": 1 })).await;
    stage.until_phase("again", Phase::Running).await;
    let first = stage.pods_of("again").await[0].name_any();
    stage.pods.delete(&first, &DeleteParams::default()).await.unwrap();
    let status = stage.until_phase("again", Phase::Succeeded).await;
    assert_eq!(status.attempts, Some(2), "{status:?}");

    stage.submit_long("late", json!({ "activeDeadlineSeconds": 3 })).await;
    let status = stage.until_phase("late", Phase::Failed).await;
    assert_eq!(failed(&status), ("DeadlineExceeded", "the job took longer than 3 s"));
    stage.until_no_pods_of("late").await;

    stage.submit_long("gone", json!({})).await;
    stage.until_phase("gone", Phase::Running).await;
    stage.kubectl(&["delete", "vmjob", "gone"]);
    stage.until_no_pods_of("gone").await;

    stage.submit_long("held", json!({})).await;
    stage.until_phase("held", Phase::Running).await;
    stage.kubectl(&["patch", "vmjob", "held", "--type=merge", "-p", r#"{"spec":{"suspend":true}}"#]);
    stage.kubectl(&["wait", "--for=condition=Suspended", "vmjob/held", "--timeout=60s"]);
    stage.until_no_pods_of("held").await;
    stage.kubectl(&[
        "patch",
        "vmjob",
        "held",
        "--type=merge",
        "-p",
        r#"{"spec":{"suspend":false,"cancel":true}}"#,
    ]);
    stage.until_phase("held", Phase::Cancelled).await;
}
