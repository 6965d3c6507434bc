//! Why a job is where it is.

use std::process::{Child, Stdio};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use vmafx_testkit::wait;

use crate::stage::{PATIENCE, Ran, Stage, failed, scored, waits};

/// Writes an event as the operator does.
async fn event(stage: &Stage, about: &Value, reason: &str, note: &str, at: &str) {
    let api: Api<Event> = Api::namespaced(stage.ns.client(), stage.ns.name());
    let event = json!({
        "metadata": { "generateName": "e-", "namespace": stage.ns.name() },
        "action": reason, "reason": reason, "note": note, "type": "Normal", "eventTime": at,
        "reportingController": "vmafx.dev/vmafx-operator", "reportingInstance": "x", "regarding": about,
    });
    api.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

fn about(kind: &str, version: &str, stage: &Stage, name: &str, uid: &str) -> Value {
    json!({ "kind": kind, "apiVersion": version, "namespace": stage.ns.name(), "name": name, "uid": uid })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_says_why_and_what_to_do() {
    let stage = Stage::set().await;
    let job = stage.job("a", json!({ "backend": "cuda" })).await;
    let unseen = stage.kube(&["explain", "a"]).ok();
    assert!(
        unseen.contains("The operator has not seen the job yet.")
            && unseen.contains("whether the operator runs"),
        "{unseen}"
    );

    stage.says("a", &waits("NoMatchingNode", "no node offers cuda; 3 offer cpu")).await;
    let about = about("VmafxJob", "vmafx.dev/v1", &stage, "a", &job.uid().unwrap());
    event(&stage, &about, "Submitted", "the controller has it", "2026-01-02T03:04:05.000000Z").await;
    event(&stage, &about, "NoMatchingNode", "second", "2026-01-02T03:05:05.000000Z").await;
    let text = stage.kube(&["explain", "vmjob/a"]).ok();
    assert!(text.contains("No connected node offers what the job needs."), "{text}");
    assert!(
        text.contains("no node offers cuda; 3 offer cpu") && text.contains("kubectl vmafx get nodes -o wide"),
        "{text}"
    );
    assert!(text.find("the controller has it") < text.find("second"), "{text}");
    assert!(text.contains("note: the controller can say who is ahead"), "{text}");

    let story = stage.json(&["explain", "a"]);
    assert_eq!((&story["phase"], &story["reason"]), (&json!("Pending"), &json!("NoMatchingNode")));
    assert_eq!((&story["events"][1]["note"], &story["controller"]), (&json!("second"), &Value::Null));
    assert_eq!(story["conditions"].as_array().unwrap().len(), 5);
    stage.kube(&["suspend", "a"]).ok();
    assert!(stage.kube(&["explain", "a"]).ok().contains("The spec was changed since"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_ended_says_how() {
    let stage = Stage::set().await;
    stage.job("good", json!({})).await;
    stage.job("bad", json!({})).await;
    stage.says("good", &scored(93.25, None)).await;
    stage.says("bad", &failed("Failed", "InputRefused", "s3://b/bad.mp4 is outside the scoring roots")).await;
    let good = stage.kube(&["explain", "good"]).ok();
    assert!(
        good.contains("93.250") && good.contains("The job has a score.") && !good.contains("What to do"),
        "{good}"
    );
    let bad = stage.kube(&["explain", "bad"]).ok();
    assert!(bad.contains("is outside the scoring roots") && bad.contains("VMAFX_SCORING_ROOTS"), "{bad}");
    assert!(!bad.contains("note:"), "{bad}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pods_of_a_job_say_why_they_do_not_run() {
    let stage = Stage::set().await;
    stage.job("a", json!({ "execution": "Pod" })).await;
    stage.says("a", &waits("JobCreated", "")).await;
    let pods: Api<Pod> = Api::namespaced(stage.ns.client(), stage.ns.name());
    let pod = json!({ "metadata": { "name": "a-1", "labels": { "vmafx.dev/job": "a" } },
        "spec": { "containers": [{ "name": "agent", "image": "x" }] } });
    let pod = pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let status = json!({ "status": { "conditions": [{ "type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/1 nodes have a GPU" }] } });
    pods.patch_status("a-1", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let about = about("Pod", "v1", &stage, "a-1", &pod.uid().unwrap());
    event(&stage, &about, "FailedScheduling", "no GPU", "2026-01-02T03:04:05.000000Z").await;
    let text = stage.kube(&["explain", "a"]).ok();
    assert!(
        text.contains("Unschedulable: 0/1 nodes have a GPU") && text.contains("FailedScheduling"),
        "{text}"
    );
    let story = stage.json(&["explain", "a"]);
    assert_eq!(story["pods"][0]["why"], "Unschedulable: 0/1 nodes have a GPU");
    assert_eq!(story["events"][0]["pod"], "a-1");
}

/// Ends `vmafx up`.
struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_controller_is_asked_if_it_is_named() {
    let stage = Stage::set().await;
    let mut up = stage.bare(env!("CARGO_BIN_EXE_vmafx"));
    up.args(["up", "--grpc-listen=127.0.0.1:0", "--http-addr=0", "--node-http-addr=0", "--root=/"]);
    let _up = Up(up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let standing = stage.path(".local/state/vmafx/up/up.json");
    wait::until(PATIENCE, "vmafx up", async || standing.exists()).await.unwrap();
    let standing: Value = serde_json::from_slice(&std::fs::read(standing).unwrap()).unwrap();
    let mut submit = stage.bare(env!("CARGO_BIN_EXE_vmafx"));
    let id = Ran::of(submit.args(["submit", "/r.mp4", "/d.mp4", "--backend=cuda"])).ok();

    stage.job("a", json!({ "backend": "cuda" })).await;
    let mut status = waits("NoMatchingNode", "no node");
    status["controllerJobID"] = json!(id.trim());
    stage.says("a", &status).await;
    let explain = |words: &[&str]| {
        let mut command = stage.command(&[&["explain", "a"], words].concat());
        command.env("VMAFX_CONTROLLER_ADDR", standing["grpc"].as_str().unwrap());
        Ran::of(command.env("VMAFX_CONTROLLER_TOKEN_FILE", standing["tokenFile"].as_str().unwrap())).ok()
    };
    let text = explain(&[]);
    assert!(text.contains("The controller says: ") && text.contains("Backend"), "{text}");
    let story: Value = serde_json::from_str(&explain(&["-o", "json"])).unwrap();
    assert_eq!(story["controller"]["reason"], "NoBackend");

    let mut gone = stage.command(&["explain", "a"]);
    let said = Ran::of(gone.env("VMAFX_CONTROLLER_ADDR", "127.0.0.1:1")).ok();
    assert!(said.contains("note: the controller could not be asked"), "the resource is enough: {said}");
}
