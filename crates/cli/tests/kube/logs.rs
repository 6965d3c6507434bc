//! `logs`. The API server forwards the requests to the tests' own kubelet.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::harness::{Harness, RunningCommand, failed, pending, running, scored};
use crate::kubelet::Kubelet;

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

#[tokio::test(flavor = "multi_thread")]
async fn a_job_in_pods_has_the_logs_of_its_attempts() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({ "execution": "Pod" })).await;
    let error = harness.kube(&["logs", "a"]).error();
    assert!(error.contains("a has no log: it has no Pod (kubectl vmafx explain a has details"), "{error}");

    let kubelet = Kubelet::start(&harness, "begun\nscored\n").await;
    let of_job = json!({ "vmafx.dev/job": "a" });
    kubelet.create_pod(&harness, "a-1", &of_job, "Failed").await;
    assert_eq!(harness.kube(&["logs", "a", "--tail", "7"]).ok(), "begun\nscored\n");
    let path = format!("/containerLogs/{}/a-1/agent", harness.ns.name());
    assert_eq!(kubelet.requests(), [format!("{path}?tailLines=7")]);
    let error = harness.kube(&["logs", "a", "--previous"]).error();
    assert!(error.contains("no attempt before the last one"), "{error}");

    kubelet.create_pod(&harness, "a-2", &of_job, "Running").await;
    kubelet.create_pod(&harness, "other", &json!({ "vmafx.dev/job": "b" }), "Running").await;
    let both = harness.kube(&["logs", "a"]).ok();
    assert_eq!(both, "[pod/a-1] begun\n[pod/a-1] scored\n[pod/a-2] begun\n[pod/a-2] scored\n");
    assert_eq!(harness.kube(&["logs", "a", "--previous"]).ok(), "begun\nscored\n");
    assert_eq!(kubelet.requests().last(), Some(&path));
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_followed_from_attempt_to_attempt_until_the_job_has_ended() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({ "execution": "Pod" })).await;
    let kubelet = Kubelet::start(&harness, "").await;
    let following = RunningCommand::start(&harness, harness.command(&["logs", "a", "-f"]));
    kubelet.create_pod(&harness, "a-1", &json!({ "vmafx.dev/job": "a" }), "Running").await;
    kubelet.append("begun\n");
    following.until("[pod/a-1] begun\n").await;
    kubelet.append("the end\n");
    kubelet.create_pod(&harness, "a-2", &json!({ "vmafx.dev/job": "a" }), "Running").await;
    following.until("[pod/a-2] begun\n[pod/a-2] the end\n").await;
    harness.set_job_status("a", &scored(93.0, None)).await;
    let ran = following.end().await;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.stdout.matches("the end").count(), 2, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_has_not_started_is_named() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({ "execution": "Pod" })).await;
    let pods: Api<Pod> = Api::namespaced(harness.ns.client(), harness.ns.name());
    let pod = json!({ "metadata": { "name": "a-1", "labels": { "vmafx.dev/job": "a" } },
        "spec": { "containers": [{ "name": "agent", "image": "x" }] } });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let error = harness.kube(&["logs", "a"]).error();
    assert!(error.contains("its Pod a-1 has not started"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_the_queue_has_the_lines_about_it_in_its_nodes_log() {
    // The nodes run in another namespace.
    let (harness, system) = (Harness::new().await, Harness::new().await);
    harness.create_job("a", json!({})).await;
    let line =
        |text: &str, id: &str| format!("{{\"level\":\"INFO\",\"message\":\"{text}\",\"job\":\"{id}\"}}\n");
    let log =
        [line("job started", ID), line("job started", "other"), line("half", ID), line("job ended", ID)]
            .concat();
    let kubelet = Kubelet::start(&system, &log).await;
    let worker = format!("worker-{}", system.ns.name());
    kubelet
        .create_pod(&system, &worker, &json!({ "vmafx.dev/workload": "vmafx-node-pool" }), "Running")
        .await;
    harness.set_job_status("a", &running(&worker)).await;
    let mine = harness.kube(&["logs", "a"]).ok();
    assert_eq!(mine, [line("job started", ID), line("half", ID), line("job ended", ID)].concat());
    let request = kubelet.requests().pop().unwrap();
    assert!(request.contains("sinceTime=2026-01-02T03%3A03%3A05Z"), "a minute before the start: {request}");
    assert_eq!(harness.kube(&["logs", "a", "--tail=1"]).ok(), line("job ended", ID));
    assert_eq!(harness.kube(&["logs", "a", "--node-namespace", system.ns.name()]).ok(), mine);
    let error = harness.kube(&["logs", "a", "--node-namespace", "default"]).error();
    assert!(error.contains("is not a Pod of this cluster"), "{error}");

    let following = RunningCommand::start(&harness, harness.command(&["logs", "a", "-f"]));
    following.until("job ended").await;
    kubelet.append(&line("again", ID));
    following.until("again").await;
    harness.set_job_status("a", &scored(93.0, None)).await;
    assert_eq!(following.end().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_outside_the_cluster_is_named() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    harness.set_job_status("a", &pending("WaitingForSlot", "")).await;
    let error = harness.kube(&["logs", "a"]).error();
    assert!(error.contains("a has no log: it has not been assigned to a node"), "{error}");
    harness.set_job_status("a", &running("laptop")).await;
    let error = harness.kube(&["logs", "a"]).error();
    assert!(error.contains("node laptop is not a Pod of this cluster") && error.contains(ID), "{error}");
    harness.set_job_status("a", &failed("Failed", "ScoringFailed", "x")).await;
    harness.kube(&["logs", "nobody"]).error();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_servers_message_about_a_log_is_passed_on() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({ "execution": "Pod" })).await;
    let kubelet = Kubelet::start(&harness, "").await;
    kubelet.create_pod(&harness, "a-1", &json!({ "vmafx.dev/job": "a" }), "Running").await;
    let error = harness.kube(&["logs", "a", "-c", "sidecar"]).error();
    assert!(
        error.starts_with("error: cannot read the log of Pod a-1: container sidecar is not valid"),
        "{error}"
    );
}
