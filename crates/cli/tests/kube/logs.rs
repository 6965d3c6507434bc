//! Where `logs` finds them. The kubelet is the tests' own, the way to it is the API server's.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::kubelet::Kubelet;
use crate::stage::{Stage, Started, failed, runs, scored, waits};

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

#[tokio::test(flavor = "multi_thread")]
async fn a_job_in_pods_has_the_logs_of_its_attempts() {
    let stage = Stage::set().await;
    stage.job("a", json!({ "execution": "Pod" })).await;
    let said = stage.kube(&["logs", "a"]).refused();
    assert!(said.contains("a has no log: it has no Pod (kubectl vmafx explain a says"), "{said}");

    let kubelet = Kubelet::start(&stage, "begun\nscored\n").await;
    let of_job = json!({ "vmafx.dev/job": "a" });
    kubelet.pod(&stage, "a-1", &of_job, "Failed").await;
    assert_eq!(stage.kube(&["logs", "a", "--tail", "7"]).ok(), "begun\nscored\n");
    let path = format!("/containerLogs/{}/a-1/agent", stage.ns.name());
    assert_eq!(kubelet.asked(), [format!("{path}?tailLines=7")]);
    let said = stage.kube(&["logs", "a", "--previous"]).refused();
    assert!(said.contains("no attempt before the last one"), "{said}");

    kubelet.pod(&stage, "a-2", &of_job, "Running").await;
    kubelet.pod(&stage, "other", &json!({ "vmafx.dev/job": "b" }), "Running").await;
    let both = stage.kube(&["logs", "a"]).ok();
    assert_eq!(both, "[pod/a-1] begun\n[pod/a-1] scored\n[pod/a-2] begun\n[pod/a-2] scored\n");
    assert_eq!(stage.kube(&["logs", "a", "--previous"]).ok(), "begun\nscored\n");
    assert_eq!(kubelet.asked().last(), Some(&path));
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_followed_from_attempt_to_attempt_until_the_job_has_ended() {
    let stage = Stage::set().await;
    stage.job("a", json!({ "execution": "Pod" })).await;
    let kubelet = Kubelet::start(&stage, "").await;
    let following = Started::start(&stage, stage.command(&["logs", "a", "-f"]));
    kubelet.pod(&stage, "a-1", &json!({ "vmafx.dev/job": "a" }), "Running").await;
    kubelet.say("begun\n");
    following.until("[pod/a-1] begun\n").await;
    kubelet.say("the end\n");
    kubelet.pod(&stage, "a-2", &json!({ "vmafx.dev/job": "a" }), "Running").await;
    following.until("[pod/a-2] begun\n[pod/a-2] the end\n").await;
    stage.says("a", &scored(93.0, None)).await;
    let ran = following.end().await;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.stdout.matches("the end").count(), 2, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_has_not_begun_is_named() {
    let stage = Stage::set().await;
    stage.job("a", json!({ "execution": "Pod" })).await;
    let pods: Api<Pod> = Api::namespaced(stage.ns.client(), stage.ns.name());
    let pod = json!({ "metadata": { "name": "a-1", "labels": { "vmafx.dev/job": "a" } },
        "spec": { "containers": [{ "name": "agent", "image": "x" }] } });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let said = stage.kube(&["logs", "a"]).refused();
    assert!(said.contains("its Pod a-1 has not begun"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_the_queue_has_the_lines_about_it_in_its_nodes_log() {
    // The nodes live in a namespace of their own.
    let (stage, system) = (Stage::set().await, Stage::set().await);
    stage.job("a", json!({})).await;
    let line =
        |text: &str, id: &str| format!("{{\"level\":\"INFO\",\"message\":\"{text}\",\"job\":\"{id}\"}}\n");
    let log =
        [line("job started", ID), line("job started", "other"), line("half", ID), line("job ended", ID)]
            .concat();
    let kubelet = Kubelet::start(&system, &log).await;
    let worker = format!("worker-{}", system.ns.name());
    kubelet.pod(&system, &worker, &json!({ "vmafx.dev/workload": "vmafx-node-pool" }), "Running").await;
    stage.says("a", &runs(&worker)).await;
    let mine = stage.kube(&["logs", "a"]).ok();
    assert_eq!(mine, [line("job started", ID), line("half", ID), line("job ended", ID)].concat());
    let asked = kubelet.asked().pop().unwrap();
    assert!(asked.contains("sinceTime=2026-01-02T03%3A03%3A05Z"), "a minute before it began: {asked}");
    assert_eq!(stage.kube(&["logs", "a", "--tail=1"]).ok(), line("job ended", ID));
    assert_eq!(stage.kube(&["logs", "a", "--node-namespace", system.ns.name()]).ok(), mine);
    let said = stage.kube(&["logs", "a", "--node-namespace", "default"]).refused();
    assert!(said.contains("is no Pod of this cluster"), "{said}");

    let following = Started::start(&stage, stage.command(&["logs", "a", "-f"]));
    following.until("job ended").await;
    kubelet.say(&line("again", ID));
    following.until("again").await;
    stage.says("a", &scored(93.0, None)).await;
    assert_eq!(following.end().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_elsewhere_is_explained() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    stage.says("a", &waits("WaitingForSlot", "")).await;
    let said = stage.kube(&["logs", "a"]).refused();
    assert!(said.contains("a has no log: no node has had it"), "{said}");
    stage.says("a", &runs("laptop")).await;
    let said = stage.kube(&["logs", "a"]).refused();
    assert!(said.contains("node laptop is no Pod of this cluster") && said.contains(ID), "{said}");
    stage.says("a", &failed("Failed", "ScoringFailed", "x")).await;
    stage.kube(&["logs", "nobody"]).refused();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_server_says_of_a_log_is_passed_on() {
    let stage = Stage::set().await;
    stage.job("a", json!({ "execution": "Pod" })).await;
    let kubelet = Kubelet::start(&stage, "").await;
    kubelet.pod(&stage, "a-1", &json!({ "vmafx.dev/job": "a" }), "Running").await;
    let said = stage.kube(&["logs", "a", "-c", "sidecar"]).refused();
    assert!(
        said.starts_with("error: cannot read the log of Pod a-1: container sidecar is not valid"),
        "{said}"
    );
}
