//! Namespaces that belong to tenants, with the tokens of real ServiceAccounts.

use std::slice;

use serde_json::{Value, json};
use vmafx_proto::NAMESPACE_HEADER;
use vmafx_testkit::controller::ControllerServer;
use vmafx_testkit::kube::TestNamespace;

use crate::fixture::{Platform, answered};
use crate::http::{ApiResponse, Http};

const JOBS: &str = "/v1/jobs";
const NO_TENANT: &str =
    "the namespace belongs to no tenant: one VmafxTenant, which is Ready, must list it in spec.namespaces";

/// A tenant that is a set of namespaces.
fn studio(namespaces: &[&TestNamespace]) -> Value {
    let names: Vec<_> = namespaces.iter().map(|namespace| namespace.name()).collect();
    json!({"tenantId": "studio", "namespaces": names, "scoring": {"roots": ["/clips/{namespace}"]}})
}

/// Submits a job with clips of a namespace.
async fn submit(controller: &ControllerServer, token: &str, clips_of: &TestNamespace) -> ApiResponse {
    let clip = |name: &str| format!("/clips/{}/{name}.y4m", clips_of.name());
    let job = json!({"scoring": {"reference": clip("r"), "distorted": clip("d")}});
    Http::new(controller.http(), Some(token)).post(JOBS, &job).await
}

async fn ids(controller: &ControllerServer, token: &str) -> Vec<Value> {
    let jobs = answered(controller, token, JOBS, 200).await.body;
    jobs["jobs"].as_array().unwrap().iter().map(|job| job["id"].clone()).collect()
}

/// The answer to the operator's call for a namespace.
async fn for_namespace(platform: &Platform, controller: &ControllerServer, namespace: &str) -> ApiResponse {
    let http = Http::new(controller.http(), Some(platform.operator_token()));
    http.send(http.request("GET", JOBS).header(NAMESPACE_HEADER, namespace)).await.unwrap()
}

#[tokio::test]
async fn namespaces_of_one_tenant_share_jobs_and_no_other_namespace_reads_them() {
    let platform = Platform::new().await;
    let [web, tv, stranger] = platform.namespaces(["web", "tv", "stranger"]).await;
    platform.apply("studio", studio(&[&web, &tv])).await;
    let controller = platform.config_with_accounts().start().await.unwrap();
    let (web_token, tv_token) = (platform.submitter(&web).await, platform.submitter(&tv).await);
    let stranger_token = platform.submitter(&stranger).await;
    platform.ready_with("studio", "TenantInForce").await;

    let job = submit(&controller, &web_token, &web).await.expect(201)["id"].clone();
    assert_eq!(ids(&controller, &tv_token).await, slice::from_ref(&job));
    // One tenant is one circle of trust: the clips of its namespaces are open to each of them.
    submit(&controller, &tv_token, &web).await.expect(201);
    submit(&controller, &tv_token, &stranger).await.refused(403);
    let refused = answered(&controller, &stranger_token, JOBS, 403).await.refused(403);
    assert_eq!(refused, NO_TENANT);

    for namespace in [&web, &tv] {
        let jobs = for_namespace(&platform, &controller, namespace.name()).await.expect(200);
        assert_eq!(jobs["jobs"].as_array().unwrap().len(), 2, "{jobs}");
    }
    let refused = for_namespace(&platform, &controller, stranger.name()).await.refused(403);
    assert_eq!(refused, NO_TENANT);
}

#[tokio::test]
async fn a_namespace_of_two_tenants_and_one_of_a_broken_or_suspended_tenant_are_denied() {
    let platform = Platform::new().await;
    let [web, tv] = platform.namespaces(["web", "tv"]).await;
    platform.apply("studio", studio(&[&web, &tv])).await;
    // Without its tenant, each namespace would be a tenant of its own.
    let controller = platform
        .config_with_accounts()
        .env("VMAFX_AUTH_DEFAULT_TENANT", "{namespace}")
        .start()
        .await
        .unwrap();
    let (web_token, tv_token) = (platform.submitter(&web).await, platform.submitter(&tv).await);
    platform.ready_with("studio", "TenantInForce").await;
    let job = submit(&controller, &web_token, &web).await.expect(201)["id"].clone();

    platform.apply("rival", json!({"tenantId": "rival", "namespaces": [web.name()]})).await;
    for name in ["studio", "rival"] {
        let ready = platform.ready_with(name, "NamespaceTaken").await;
        assert!(ready.message.contains(&format!("spec.namespaces: {:?} is also", web.name())), "{ready:?}");
    }
    assert_eq!(answered(&controller, &web_token, JOBS, 403).await.refused(403), NO_TENANT);
    assert_eq!(
        ids(&controller, &tv_token).await,
        slice::from_ref(&job),
        "only the namespace in question is denied"
    );
    platform.delete("rival").await;
    assert_eq!(ids(&controller, &web_token).await, slice::from_ref(&job));

    let mut broken = studio(&[&web, &tv]);
    broken["scoring"]["roots"] = json!(["data"]);
    platform.apply("studio", broken).await;
    assert_eq!(answered(&controller, &web_token, JOBS, 403).await.refused(403), NO_TENANT);
    let mut suspended = studio(&[&web, &tv]);
    suspended["enabled"] = json!(false);
    platform.apply("studio", suspended).await;
    platform.ready_with("studio", "Suspended").await;
    assert_eq!(answered(&controller, &web_token, JOBS, 403).await.refused(403), "the tenant is suspended");

    platform.delete("studio").await;
    assert_eq!(ids(&controller, &web_token).await, Vec::<Value>::new(), "a tenant of its own");
}

/// Whoever may create namespaces must not choose a tenant by it.
#[tokio::test]
async fn a_namespace_with_the_name_of_a_tenant_does_not_belong_to_it() {
    let platform = Platform::new().await;
    let [web, named] = platform.namespaces(["web", "named"]).await;
    let mut tenant = studio(&[&web]);
    tenant["tenantId"] = json!(named.name());
    platform.apply("studio", tenant).await;
    let controller = platform
        .config_with_accounts()
        .env("VMAFX_AUTH_DEFAULT_TENANT", "{namespace}")
        .start()
        .await
        .unwrap();
    platform.ready_with("studio", "TenantInForce").await;
    submit(&controller, &platform.submitter(&web).await, &web).await.expect(201);
    let token = platform.submitter(&named).await;
    assert_eq!(answered(&controller, &token, JOBS, 403).await.refused(403), NO_TENANT);
}
