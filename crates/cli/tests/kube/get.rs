//! `get`.

use serde_json::{Value, json};

use crate::harness::{Harness, RunningCommand, condition, create, pending, running, scored, touch};

async fn create_three_jobs(harness: &Harness) {
    harness.create_job("a", json!({ "priority": 3 })).await;
    harness.create_job("b", json!({})).await;
    harness.create_job("c", json!({})).await;
    harness.set_job_status("a", &scored(0.0, Some(false))).await;
    harness.set_job_status("b", &pending("WaitingForSlot", "4 jobs are ahead")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_shows_the_phase_score_and_reason_of_each_job() {
    let harness = Harness::new().await;
    create_three_jobs(&harness).await;
    let rows = harness.kube(&["get"]).rows();
    assert_eq!(rows[0], ["Name", "Phase", "Score", "Reason", "Node", "Age"]);
    assert_eq!(rows[2][..5], ["a", "Succeeded", "0.000", "BelowMinScore", "worker-0"]);
    assert_eq!(rows[3][..5], ["b", "Pending", "-", "WaitingForSlot", "-"]);
    assert_eq!(rows[4][..5], ["c", "-", "-", "-", "-"]);
    let wide = harness.kube(&["get", "job/b", "-o", "wide"]).ok();
    assert!(
        wide.contains("4 jobs are ahead") && wide.contains("b.mp4") && !wide.contains("Succeeded"),
        "{wide}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn json_and_yaml_are_the_resource_or_a_list_as_kubectl_writes_them() {
    let harness = Harness::new().await;
    create_three_jobs(&harness).await;
    let one = harness.json(&["get", "a"]);
    assert_eq!(
        (&one["kind"], &one["spec"]["priority"], &one["status"]["score"]),
        (&json!("VmafxJob"), &json!(3), &json!(0))
    );
    assert_eq!(one["metadata"]["managedFields"], Value::Null);
    let two = harness.json(&["get", "a", "vmjob/b"]);
    assert_eq!((&two["kind"], two["items"].as_array().unwrap().len()), (&json!("List"), 2));
    assert_eq!(harness.json(&["get", "-l", "team=other"])["items"], json!([]));
    assert_eq!(harness.kube(&["get", "-l", "team=web", "-o", "name"]).ok().lines().count(), 3);
    let yaml = harness.kube(&["get", "b", "-o", "yaml"]).ok();
    assert!(yaml.contains("kind: VmafxJob") && yaml.contains("reason: WaitingForSlot"), "{yaml}");
    assert_eq!(harness.kube(&["get", "b", "-o", "name"]).ok(), "vmafxjob.vmafx.dev/b\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_namespaces_are_shown_with_their_names() {
    let (here, there) = (Harness::new().await, Harness::new().await);
    here.create_job("a", json!({})).await;
    there.create_job("b", json!({})).await;
    let rows = here.kube(&["get", "-A"]).rows();
    assert_eq!(rows[0][0], "Namespace");
    let has = |ns: &str, name: &str| {
        rows.iter().any(|row| row[0] == ns && row.get(1).is_some_and(|cell| cell == name))
    };
    assert!(has(here.ns.name(), "a") && has(there.ns.name(), "b"), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_trainings_are_shown_too() {
    let harness = Harness::new().await;
    create(&harness.nodes(), "VmafxNode", "pool", &json!({}), &json!({ "gpuVendor": "cpu", "replicas": 3 }))
        .await;
    let status =
        json!({ "readyReplicas": 2, "conditions": [condition("Ready", "False", "WorkersStarting", "")] });
    harness.set_status(&harness.nodes(), "pool", &status).await;
    let spec = json!({ "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": "localhost:5000/m" });
    create(&harness.trainings(), "VmafxModelTraining", "house", &json!({}), &spec).await;
    let nodes = harness.kube(&["get", "nodes"]).rows();
    assert_eq!(nodes[2][..6], ["pool", "False", "2", "of", "3", "-"]);
    assert_eq!(
        harness.kube(&["get", "trainings", "-o", "name"]).ok(),
        "vmafxmodeltraining.vmafx.dev/house\n"
    );
    assert_eq!(harness.json(&["get", "vmnode/pool"])["kind"], "VmafxNode");
    let none = harness.kube(&["get", "jobs"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert_eq!(none.stderr, format!("no jobs in namespace {}\n", harness.ns.name()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_name_is_reported_with_similar_ones_or_its_namespace() {
    let harness = Harness::new().await;
    harness.create_job("trailer-1080p", json!({})).await;
    let error = harness.kube(&["get", "trailer-1081p"]).error();
    assert!(error.contains("there is no job \"trailer-1081p\" in namespace"), "{error}");
    assert!(error.ends_with("; do you mean trailer-1080p?\n"), "{error}");
    let other = Harness::new().await;
    let error = other.kube(&["explain", "trailer-1080p"]).error();
    assert!(error.contains(&format!("(-n {})", harness.ns.name())), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_shown_as_they_happen_until_ctrl_c() {
    let harness = Harness::new().await;
    create_three_jobs(&harness).await;
    let table = RunningCommand::start(&harness, harness.command(&["get", "--watch"]));
    let lines = RunningCommand::start(&harness, harness.command(&["get", "c", "--watch", "-o", "json"]));
    table.until("\nc ").await;
    lines.until("\"name\":\"c\"").await;
    harness.set_job_status("c", &running("worker-7")).await;
    table.until("worker-7").await;
    lines.until("worker-7").await;
    touch(harness.ns.client(), harness.ns.name(), "a", "1").await;
    harness.jobs().delete("a", &kube::api::DeleteParams::default()).await.unwrap();
    table.until("deleted").await;
    for (started, rows) in [(table, 7), (lines, 2)] {
        started.interrupt();
        let ran = started.end().await;
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(130), ""), "{ran:?}");
        assert_eq!(ran.stdout.lines().count(), rows, "{}", ran.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_when_its_output_is_closed() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    let mut watching =
        harness.command(&["get", "-w", "-o", "name"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut stdout = std::io::BufReader::new(watching.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut first).unwrap();
    assert_eq!(first, "vmafxjob.vmafx.dev/a\n");
    // `head` closes its input, too.
    drop(stdout);
    touch(harness.ns.client(), harness.ns.name(), "a", "1").await;
    let ended = || std::future::ready(watching.try_wait().unwrap());
    let status =
        vmafx_testkit::wait::until(crate::harness::TIMEOUT, "the end of the watch", ended).await.unwrap();
    assert_eq!(status.code(), Some(0));
}
