//! Jobs of a tenant that is suspended or deleted, on nodes that it shares with others.

use rstest::rstest;
use serde_json::json;
use tonic::Code;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::ControllerServer;
use vmafx_testkit::wait;

use crate::fixture::{Platform, TIMEOUT, answered, tenant, token};
use crate::http::Http;
use crate::issuer::Issuer;
use crate::node::TestNode;

const JOBS: &str = "/v1/jobs";

#[derive(Clone, Copy)]
enum End {
    Suspended,
    Invalid,
    Deleted,
}

impl End {
    async fn apply(self, platform: &Platform, issuer: &Issuer) {
        let mut ended = tenant("acme", issuer);
        match self {
            Self::Suspended => ended["enabled"] = json!(false),
            Self::Invalid => ended["scoring"]["roots"] = json!(["data"]),
            Self::Deleted => return platform.delete("acme").await,
        }
        platform.apply("acme", ended).await;
    }

    /// The status of a call of the tenant.
    const fn status(self) -> u16 {
        if matches!(self, Self::Suspended) { 403 } else { 401 }
    }
}

/// A controller with the tenants `pool` and `acme`, two jobs of `acme`, and a node of `pool` that serves all tenants.
async fn with_shared_node(platform: &Platform, issuer: &Issuer) -> (ControllerServer, TestNode) {
    let pool = "pool-0123456789abcdef";
    let controller = platform
        .config()
        .tokens(&format!("tokens:\n- {{token: {pool}, tenant: pool, roles: ['vmafx:node']}}\n"))
        .env("VMAFX_SHARED_POOLS", "pool=*")
        .start()
        .await
        .unwrap();
    for name in ["pool", "acme"] {
        platform.apply(name, tenant(name, issuer)).await;
        platform.ready_with(name, "TenantInForce").await;
    }
    let token = token(issuer, "acme");
    answered(&controller, &token, JOBS, 200).await;
    let job = json!({"scoring": {"reference": "/clips/r.y4m", "distorted": "/clips/d.y4m"}});
    for _ in 0..2 {
        Http::new(controller.http(), Some(&token)).post(JOBS, &job).await.expect(201);
    }
    let client = VmafxControllerClient::new(controller.channel(Some(pool)));
    let node = TestNode { serves: vec!["*".to_owned()], ..TestNode::register(client).await };
    (controller, node)
}

#[rstest]
#[case::suspended(End::Suspended)]
#[case::invalid(End::Invalid)]
#[case::deleted(End::Deleted)]
#[tokio::test]
async fn shared_nodes_take_no_job_of_a_tenant_that_is_not_in_force(#[case] end: End) {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let (controller, node) = with_shared_node(&platform, &issuer).await;
    assert_eq!(node.pull_for(TIMEOUT).await.unwrap().unwrap().tenant, "acme");

    end.apply(&platform, &issuer).await;
    let token = token(&issuer, "acme");
    answered(&controller, &token, JOBS, end.status()).await;
    assert_eq!(node.pull().await, None);

    platform.apply("acme", tenant("acme", &issuer)).await;
    answered(&controller, &token, JOBS, 200).await;
    assert_eq!(node.pull_for(TIMEOUT).await.unwrap().unwrap().tenant, "acme");
}

/// The jobs that a heartbeat with these running jobs names as lost.
async fn lost(node: &TestNode, running: &[&wire::Job]) -> Vec<String> {
    let guests = running.iter().filter(|job| !job.tenant.is_empty());
    let request = wire::HeartbeatRequest {
        node_id: node.node_id.clone(),
        session_token: node.session_token.clone(),
        running_job_ids: running.iter().map(|job| job.id.clone()).collect(),
        job_tenants: guests.map(|job| (job.id.clone(), job.tenant.clone())).collect(),
        serves: node.serves.clone(),
        ..Default::default()
    };
    node.client.clone().heartbeat(request).await.unwrap().into_inner().lost_job_ids
}

#[rstest]
#[case::suspended(End::Suspended)]
#[case::deleted(End::Deleted)]
#[tokio::test]
async fn shared_nodes_stop_the_jobs_of_a_tenant_that_is_not_in_force_and_lose_no_attempt(#[case] end: End) {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let (controller, node) = with_shared_node(&platform, &issuer).await;
    let jobs = [(); 2].map(|()| node.pull_for(TIMEOUT));
    let [first, second] = jobs.map(|job| async { job.await.unwrap().unwrap() });
    let (first, second) = (first.await, second.await);
    assert_eq!(lost(&node, &[&first, &second]).await, [""; 0]);

    end.apply(&platform, &issuer).await;
    answered(&controller, &token(&issuer, "acme"), JOBS, end.status()).await;
    assert_eq!(lost(&node, &[&first, &second]).await, [first.id.clone(), second.id.clone()]);
    let refused = node.report(node.report_request(&first, 90.0)).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");

    platform.apply("acme", tenant("acme", &issuer)).await;
    answered(&controller, &token(&issuer, "acme"), JOBS, 200).await;
    let again = async || {
        node.pull_for(TIMEOUT).await.map_err(|status| status.to_string())?.ok_or("no job".to_owned())
    };
    for _ in 0..2 {
        let job = wait::until(TIMEOUT, "the job again", again).await.unwrap();
        assert_eq!((job.tenant.as_str(), job.attempt, job.lost_attempts), ("acme", 2, 0));
        node.complete(&job, 90.0).await;
    }
}
