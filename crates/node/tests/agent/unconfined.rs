//! A node on a machine without Landlock.

use std::path::Path;

use vmafx_node::confine::ConfinementPolicy;
use vmafx_proto::controller::v1::{JobStatus, ListNodesRequest};
use vmafx_testkit::old_kernel::{MissingCall, program_without};
use vmafx_testkit::{http_client, ports, wait};

use crate::harness::{Harness, Node};

fn node_without_landlock(harness: &Harness, directory: &Path, arguments: &[&str]) -> Node {
    let program = Path::new(env!("CARGO_BIN_EXE_vmafx-node"));
    let program = program_without(MissingCall::Landlock, program, directory).unwrap();
    harness.node_of(&program, directory, "node-0", arguments)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_not_ready_and_pulls_no_jobs_where_confinement_is_required() {
    let harness = Harness::start().await;
    let directory = tempfile::tempdir().unwrap();
    let http = ports::free_address().unwrap();
    let job = harness.submit("ref.yuv", "dis.yuv").await;
    let node = node_without_landlock(&harness, directory.path(), &["--http-addr", &http.to_string()]);
    let refused = wait::until(Harness::TIMEOUT, "the node refuses", async || {
        let response = http_client::get(http, "/readyz").await.ok()?;
        (response.status == 503 && response.body.contains("not in force")).then_some(response.body)
    });
    let refused = refused.await.unwrap();
    assert!(refused.contains("confinement") && refused.contains("landlock is not in force"), "{refused}");
    assert_eq!(http_client::get(http, "/healthz").await.unwrap().status, 200, "the process is alive");
    assert_eq!(harness.nodes().await, Vec::<String>::new(), "it does not register");
    assert_eq!(harness.get(&job).await.status(), JobStatus::Pending);
    node.terminate();
    assert_eq!(node.exit_code(), Some(0), "it stops when it is asked to");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_best_effort_it_scores_and_its_labels_and_results_say_so() {
    let harness = Harness::start().await;
    let directory = tempfile::tempdir().unwrap();
    let job = harness.submit("ref.yuv", "dis.yuv").await;
    let _node = node_without_landlock(&harness, directory.path(), &["--confinement", "best-effort"]);
    let done = harness.ended(&job).await;
    let confinement = done.result.unwrap().confinement.unwrap();
    assert_eq!((confinement.landlock_abi, confinement.seccomp), (0, true));
    assert!(confinement.memory_bytes > 0 && confinement.wall_seconds == 86_400, "{confinement:?}");
    let nodes = harness.client.clone().list_nodes(ListNodesRequest::default()).await.unwrap().into_inner();
    let labels = nodes.nodes[0].capability.clone().unwrap().labels;
    assert_eq!(labels.get(ConfinementPolicy::LABEL).map(String::as_str), Some("landlock"));
}
