//! What `get` shows.

use serde_json::{Value, json};

use crate::stage::{Stage, Started, condition, create, runs, scored, touch, waits};

async fn three(stage: &Stage) {
    stage.job("a", json!({ "priority": 3 })).await;
    stage.job("b", json!({})).await;
    stage.job("c", json!({})).await;
    stage.says("a", &scored(0.0, Some(false))).await;
    stage.says("b", &waits("WaitingForSlot", "4 jobs are ahead")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_tells_where_each_job_stands_and_why() {
    let stage = Stage::set().await;
    three(&stage).await;
    let rows = stage.kube(&["get"]).rows();
    assert_eq!(rows[0], ["Name", "Phase", "Score", "Reason", "Node", "Age"]);
    assert_eq!(rows[2][..5], ["a", "Succeeded", "0.000", "BelowMinScore", "worker-0"]);
    assert_eq!(rows[3][..5], ["b", "Pending", "-", "WaitingForSlot", "-"]);
    assert_eq!(rows[4][..5], ["c", "-", "-", "-", "-"]);
    let wide = stage.kube(&["get", "job/b", "-o", "wide"]).ok();
    assert!(
        wide.contains("4 jobs are ahead") && wide.contains("b.mp4") && !wide.contains("Succeeded"),
        "{wide}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_get_the_resource_or_a_list_as_kubectl_writes_them() {
    let stage = Stage::set().await;
    three(&stage).await;
    let one = stage.json(&["get", "a"]);
    assert_eq!(
        (&one["kind"], &one["spec"]["priority"], &one["status"]["score"]),
        (&json!("VmafxJob"), &json!(3), &json!(0))
    );
    assert_eq!(one["metadata"]["managedFields"], Value::Null);
    let two = stage.json(&["get", "a", "vmjob/b"]);
    assert_eq!((&two["kind"], two["items"].as_array().unwrap().len()), (&json!("List"), 2));
    assert_eq!(stage.json(&["get", "-l", "team=other"])["items"], json!([]));
    assert_eq!(stage.kube(&["get", "-l", "team=web", "-o", "name"]).ok().lines().count(), 3);
    let yaml = stage.kube(&["get", "b", "-o", "yaml"]).ok();
    assert!(yaml.contains("kind: VmafxJob") && yaml.contains("reason: WaitingForSlot"), "{yaml}");
    assert_eq!(stage.kube(&["get", "b", "-o", "name"]).ok(), "vmafxjob.vmafx.dev/b\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_namespaces_are_shown_with_their_names() {
    let (here, there) = (Stage::set().await, Stage::set().await);
    here.job("a", json!({})).await;
    there.job("b", json!({})).await;
    let rows = here.kube(&["get", "-A"]).rows();
    assert_eq!(rows[0][0], "Namespace");
    let has = |ns: &str, name: &str| {
        rows.iter().any(|row| row[0] == ns && row.get(1).is_some_and(|cell| cell == name))
    };
    assert!(has(here.ns.name(), "a") && has(there.ns.name(), "b"), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_trainings_are_shown_too() {
    let stage = Stage::set().await;
    create(&stage.nodes(), "VmafxNode", "pool", &json!({}), &json!({ "gpuVendor": "cpu", "replicas": 3 }))
        .await;
    let status =
        json!({ "readyReplicas": 2, "conditions": [condition("Ready", "False", "WorkersStarting", "")] });
    stage.status(&stage.nodes(), "pool", &status).await;
    let spec = json!({ "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": "localhost:5000/m" });
    create(&stage.trainings(), "VmafxModelTraining", "house", &json!({}), &spec).await;
    let nodes = stage.kube(&["get", "nodes"]).rows();
    assert_eq!(nodes[2][..6], ["pool", "False", "2", "of", "3", "-"]);
    assert_eq!(stage.kube(&["get", "trainings", "-o", "name"]).ok(), "vmafxmodeltraining.vmafx.dev/house\n");
    assert_eq!(stage.json(&["get", "vmnode/pool"])["kind"], "VmafxNode");
    let none = stage.kube(&["get", "jobs"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert_eq!(none.stderr, format!("no jobs in namespace {}\n", stage.ns.name()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_does_not_exist_is_answered_with_the_nearest() {
    let stage = Stage::set().await;
    stage.job("trailer-1080p", json!({})).await;
    let said = stage.kube(&["get", "trailer-1081p"]).refused();
    assert!(said.contains("there is no job \"trailer-1081p\" in namespace"), "{said}");
    assert!(said.ends_with("; do you mean trailer-1080p?\n"), "{said}");
    let other = Stage::set().await;
    let said = other.kube(&["explain", "trailer-1080p"]).refused();
    assert!(said.contains(&format!("(-n {})", stage.ns.name())), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_shown_as_they_happen_until_ctrl_c() {
    let stage = Stage::set().await;
    three(&stage).await;
    let table = Started::start(&stage, stage.command(&["get", "--watch"]));
    let lines = Started::start(&stage, stage.command(&["get", "c", "--watch", "-o", "json"]));
    table.until("\nc ").await;
    lines.until("\"name\":\"c\"").await;
    stage.says("c", &runs("worker-7")).await;
    table.until("worker-7").await;
    lines.until("worker-7").await;
    touch(stage.ns.client(), stage.ns.name(), "a", "1").await;
    stage.jobs().delete("a", &kube::api::DeleteParams::default()).await.unwrap();
    table.until("deleted").await;
    for (started, rows) in [(table, 7), (lines, 2)] {
        started.interrupt();
        let ran = started.end().await;
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(130), ""), "{ran:?}");
        assert_eq!(ran.stdout.lines().count(), rows, "{}", ran.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_who_does_not_listen_any_more() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    let mut watching =
        stage.command(&["get", "-w", "-o", "name"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut said = std::io::BufReader::new(watching.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut first).unwrap();
    assert_eq!(first, "vmafxjob.vmafx.dev/a\n");
    // As `head` does.
    drop(said);
    touch(stage.ns.client(), stage.ns.name(), "a", "1").await;
    let ended = || std::future::ready(watching.try_wait().unwrap());
    let status = vmafx_testkit::wait::until(crate::stage::PATIENCE, "its end", ended).await.unwrap();
    assert_eq!(status.code(), Some(0));
}
