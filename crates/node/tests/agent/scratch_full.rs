//! A node whose scratch volume is filled by others: `/readyz` says so, the node stays alive, and goes on by itself.

use std::net::SocketAddr;

use vmafx_proto::controller::v1::JobStatus;
use vmafx_testkit::small_volume::SmallVolume;
use vmafx_testkit::{http_client, ports, wait};

use crate::harness::Harness;

#[test]
fn a_full_scratch_volume_makes_a_node_unready_until_it_has_room() {
    SmallVolume::run("scratch_full::on_a_small_volume", 32);
}

/// Whether the page has this status and this text.
async fn shows(pages: SocketAddr, path: &str, status: u16, text: &str) -> bool {
    let page = http_client::get(pages, path).await;
    page.is_ok_and(|page| page.status == status && page.body.contains(text))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs on a small volume, started by the test above"]
async fn on_a_small_volume() {
    let volume = SmallVolume::of_this_test();
    let harness = Harness::start().await;
    let pages = ports::free_address().unwrap();
    let _node = harness.node_with_pages(volume.path(), pages);
    let ready = || shows(pages, "/readyz", 200, "ready");
    wait::until(Harness::TIMEOUT, "the node to be ready", ready).await.unwrap();

    let ballast = volume.fill();
    let full = || shows(pages, "/readyz", 503, "- scratch: full: 0 of ");
    wait::until(Harness::TIMEOUT, "/readyz to say that the scratch volume is full", full).await.unwrap();
    assert!(shows(pages, "/readyz", 503, "(VMAFX_SCRATCH_DIR)").await);
    for alive in ["/livez", "/healthz", "/startupz"] {
        assert!(shows(pages, alive, 200, "ok").await, "{alive}");
    }
    assert_eq!(harness.nodes().await, ["node-0"], "it keeps its session");

    drop(ballast);
    wait::until(Harness::TIMEOUT, "the node to be ready again", ready).await.unwrap();
    let job = harness.submit("ref.yuv", "dis.yuv").await;
    assert_eq!(harness.ended(&job).await.status(), JobStatus::Completed);
}
