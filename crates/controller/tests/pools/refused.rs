//! What a node may not do for tenants that it does not serve, and what survives a restart.

use std::time::Duration;

use rstest::rstest;
use tonic::Code;
use vmafx_proto::controller::v1 as wire;

use crate::harness::{Pools, StoreKind, WAIT, beat, tenant_of};
use crate::node::{TestNode, get};

#[rstest]
#[case::sqlite(StoreKind::Sqlite)]
#[case::postgres(StoreKind::Postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_node_can_do_nothing_for_a_tenant_that_it_does_not_serve(#[case] store: StoreKind) {
    let pools = Pools::on(store).await;
    pools.submit("a", 2).await;
    pools.submit("c", 1).await;
    // Nobody permits the nodes of `stranger` anything, and those of `a` only `b`.
    for (home, serves) in [("stranger", "*"), ("stranger", "a"), ("b", "a"), ("a", "c")] {
        let node = pools.node(home, "greedy", &[serves]).await;
        let pulled = node.pull().await;
        assert_eq!(
            pulled.as_ref().map(tenant_of),
            (home == "a").then_some("pool"),
            "its own job, without a tenant"
        );
        if let Some(own) = pulled {
            assert!(node.release(&own).await.unwrap());
        }
    }
    let honest = pools.node("pool", "honest", &["a"]).await;
    let job = honest.pull().await.unwrap();
    assert_eq!(job.tenant, "a");
    let before = get(&mut pools.client("a"), &job.id).await;

    // Each names the tenant of the job: a node of another home, one of the pool that never served `a`, and one that did.
    let stranger = pools.node("stranger", "stranger", &["a"]).await;
    let new = pools.node("pool", "new", &[]).await;
    for node in [&stranger, &new] {
        assert_eq!(
            node.report(node.report_request(&job, 1.0)).await.unwrap_err().code(),
            Code::PermissionDenied
        );
        assert_eq!(node.release(&job).await.unwrap_err().code(), Code::PermissionDenied);
    }
    assert_eq!(beat(&stranger, &[&job]).await.unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(beat(&new, &[&job]).await.unwrap().lost_job_ids, std::slice::from_ref(&job.id));
    let other = pools.node("pool", "other", &["a"]).await;
    assert_eq!(other.pull().await.unwrap().tenant, "a");
    assert_eq!(
        other.report(other.report_request(&job, 1.0)).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    assert!(!other.release(&job).await.unwrap());
    // The id of a session is not enough, neither for the job nor to open a session; nor is a tenant that is none.
    pools.submit("a", 1).await;
    let forged = TestNode { session_token: other.session_token.clone(), ..honest.clone() };
    assert_eq!(
        forged.report(forged.report_request(&job, 1.0)).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    assert_eq!(forged.pull_for(Duration::ZERO).await.unwrap_err().code(), Code::PermissionDenied);
    for tenant in ["c", "no such tenant", "*", "\n"] {
        let elsewhere = wire::Job { tenant: tenant.into(), ..job.clone() };
        let refused = honest.report(honest.report_request(&elsewhere, 1.0)).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{tenant}");
    }
    assert_eq!(get(&mut pools.client("a"), &job.id).await, before);
    honest.complete(&job, 90.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_another_tenant_survives_a_restart_but_not_the_end_of_the_permission() {
    let mut pools = Pools::start(|config| config).await;
    pools.submit("a", 2).await;
    let node = pools.node("pool", "node-0", &["a"]).await;
    let (first, second) = (node.pull().await.unwrap(), node.pull().await.unwrap());
    pools.0.kill().unwrap();
    pools.0.restart().await.unwrap();
    assert_eq!(beat(&node, &[&first, &second]).await.unwrap().lost_job_ids, [""; 0]);
    node.complete(&first, 90.0).await;
    pools.0.kill().unwrap();
    pools.0.set_env("VMAFX_SHARED_POOLS", "pool=b");
    pools.0.restart().await.unwrap();
    let refused = node.report(node.report_request(&second, 90.0)).await.unwrap_err();
    assert_eq!(
        (refused.code(), refused.message()),
        (Code::PermissionDenied, "nodes of \"pool\" may not serve \"a\"")
    );
}

/// The node does not know for which tenant a lost pull claimed.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_another_tenant_whose_assignment_is_lost_waits_again() {
    let pools = Pools::start(|config| config).await;
    pools.submit("a", 1).await;
    let node = pools.node("pool", "node-0", &["*"]).await;
    let lost = "0192d3f4-0000-7000-8000-000000000001".to_owned();
    let request = wire::PullWorkRequest { pull_id: lost.clone(), ..node.pull_request(Duration::ZERO) };
    let job = node.client.clone().pull_work(request).await.unwrap().into_inner().job.unwrap();
    let request = wire::PullWorkRequest { lost_pull_ids: vec![lost], ..node.pull_request(WAIT) };
    let again = node.client.clone().pull_work(request).await.unwrap().into_inner().job.unwrap();
    assert_eq!((again.id, again.tenant, again.attempt, again.lost_attempts), (job.id, job.tenant, 2, 0));
}
