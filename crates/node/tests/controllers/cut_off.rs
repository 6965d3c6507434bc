//! One of two controllers loses its database.

use rstest::rstest;
use vmafx_testkit::tcp_proxy::ProxyFault;

use crate::harness::{Access, Harness};

#[rstest]
#[case::silently_behind_a_balancer(ProxyFault::Blackhole, Access::LoadBalancer)]
#[case::silently_in_a_list(ProxyFault::Blackhole, Access::AddressList)]
#[case::with_an_error_behind_a_balancer(ProxyFault::Reset, Access::LoadBalancer)]
#[case::with_an_error_in_a_list(ProxyFault::Reset, Access::AddressList)]
#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_clients_leave_a_controller_that_lost_its_database(
    #[case] fault: ProxyFault,
    #[case] access: Access,
) {
    let harness = Harness::start(access).await;
    let mut submitted = 12;
    for _ in 0..submitted {
        harness.client.submit(None).await;
    }
    harness.until_completed(4).await;

    harness.database_proxy.set_fault(fault);
    harness.until_ready(0, false).await;
    submitted += harness.until_every_node_worked().await;
    Harness::check_all(&harness.until_completed(submitted).await);

    harness.database_proxy.set_fault(ProxyFault::None);
    harness.until_ready(0, true).await;
    submitted += harness.until_every_node_worked().await;
    Harness::check_all(&harness.until_completed(submitted).await);
}
