//! Controllers are replaced one after the other while jobs run.

use rstest::rstest;

use crate::harness::{Access, Harness};

#[rstest]
#[case::behind_a_balancer(Access::LoadBalancer)]
#[case::in_a_list(Access::AddressList)]
#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_of_the_controllers_costs_no_call_and_no_attempt(#[case] access: Access) {
    let mut harness = Harness::start(access).await;
    let mut submitted = 12;
    for _ in 0..submitted {
        harness.client.submit(None).await;
    }
    harness.until_completed(2).await;
    for controller in 0..2 {
        harness.controllers[controller].terminate().unwrap();
        harness.until_ready(controller, false).await;
        // Every call of the client must succeed meanwhile.
        submitted += harness.until_every_node_worked().await;
        let status = harness.controllers[controller].exited().await.unwrap();
        assert!(status.success(), "{status}");
        harness.controllers[controller].restart().await.unwrap();
        harness.until_ready(controller, true).await;
        submitted += harness.until_every_node_worked().await;
    }
    Harness::check_all(&harness.until_completed(submitted).await);
}
