//! What happens to callers and to the status when a tenant is created, changed, broken and deleted.

use serde_json::json;
use vmafx_api::ConditionStatus;
use vmafx_testkit::kube::proxy::RecordedRequest;
use vmafx_testkit::wait;

use crate::fixture::{Platform, TIMEOUT, answered, tenant, token};
use crate::http::Http;
use crate::issuer::Issuer;

const JOBS: &str = "/v1/jobs";

#[tokio::test]
async fn a_tenant_is_in_force_while_its_resource_says_so() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let mut controller = platform.config().start().await.unwrap();
    let token = token(&issuer, "acme");
    answered(&controller, &token, JOBS, 401).await;

    platform.apply("acme", tenant("acme", &issuer)).await;
    answered(&controller, &token, JOBS, 200).await;
    platform.kubectl(&["wait", "--for=condition=Ready", "--timeout=60s", "vmtenant/acme"]);
    let shown = platform.kubectl(&["get", "vmtenant", "acme", "--no-headers", "-o", "wide"]);
    let shown: Vec<_> = shown.split_whitespace().collect();
    assert_eq!(shown[..3], ["acme", issuer.url.as_str(), "true"], "{shown:?}");
    assert_eq!(shown[4..], ["acme", "True", "TenantInForce"], "{shown:?}");
    let job = json!({"scoring": {"reference": "/clips/r.y4m", "distorted": "/clips/d.y4m"}});
    Http::new(controller.http(), Some(&token)).post(JOBS, &job).await.expect(201);

    controller.kill().unwrap();
    controller.restart().await.unwrap();
    let jobs = answered(&controller, &token, JOBS, 200).await.body;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs}");

    let mut suspended = tenant("acme", &issuer);
    suspended["enabled"] = json!(false);
    platform.apply("acme", suspended).await;
    let refused = answered(&controller, &token, JOBS, 403).await.refused(403);
    assert_eq!(refused, "the tenant is suspended");
    let ready = platform.ready_with("acme", "Suspended").await;
    assert_eq!(ready.status, ConditionStatus::False);
    assert_eq!(ready.message, "spec.enabled is false: every call of the tenant's callers is denied");

    platform.delete("acme").await;
    answered(&controller, &token, JOBS, 401).await;
}

#[tokio::test]
async fn a_broken_tenant_says_what_to_change_and_the_others_work() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let controller = platform.config().start().await.unwrap();
    let mut broken = tenant("bolt", &issuer);
    broken["scoring"]["roots"] = json!(["data"]);
    platform.apply("acme", tenant("acme", &issuer)).await;
    platform.apply("bolt", broken).await;
    platform.apply("one", tenant("twice", &issuer)).await;
    platform.apply("two", tenant("twice", &issuer)).await;

    let ready = platform.ready_with("bolt", "TenantInvalid").await;
    assert_eq!(ready.status, ConditionStatus::False);
    assert!(ready.message.starts_with("spec.scoring.roots: \"data\": it is neither"), "{}", ready.message);
    let taken = platform.ready_with("one", "TenantIdTaken").await;
    assert!(taken.message.contains("spec.tenantId: \"twice\" is also the name of two"), "{}", taken.message);
    platform.ready_with("two", "TenantIdTaken").await;
    platform.ready_with("acme", "TenantInForce").await;
    answered(&controller, &token(&issuer, "acme"), JOBS, 200).await;
    for refused in ["bolt", "twice"] {
        answered(&controller, &token(&issuer, refused), JOBS, 401).await;
    }

    platform.delete("one").await;
    platform.apply("bolt", tenant("bolt", &issuer)).await;
    for (name, id) in [("two", "twice"), ("bolt", "bolt")] {
        platform.ready_with(name, "TenantInForce").await;
        answered(&controller, &token(&issuer, id), JOBS, 200).await;
    }
}

#[tokio::test]
async fn several_controllers_write_a_status_once() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let one = platform.config().start().await.unwrap();
    let other = platform.config().start().await.unwrap();
    platform.apply("acme", tenant("acme", &issuer)).await;
    platform.ready_with("acme", "TenantInForce").await;
    for controller in [&one, &other] {
        answered(controller, &token(&issuer, "acme"), JOBS, 200).await;
    }
    platform.refreshed(6).await;
    let written: Vec<_> = platform.proxy.writes().into_iter().filter(RecordedRequest::succeeded).collect();
    assert_eq!(written.len(), 1, "{written:?}");
    let tenant = platform.tenants().get("acme").await.unwrap();
    let owners: Vec<_> = tenant.metadata.managed_fields.unwrap_or_default();
    let status_owners: Vec<_> = owners
        .iter()
        .filter(|one| one.subresource.as_deref() == Some("status"))
        .map(|one| &one.manager)
        .collect();
    assert_eq!(status_owners, [&Some("vmafx-controller".to_owned())]);
}

/// Whoever may write in another namespace must not become a tenant by it.
#[tokio::test]
async fn a_tenant_of_another_namespace_has_no_effect() {
    let (platform, elsewhere, issuer) = (Platform::new().await, Platform::new().await, Issuer::start().await);
    let controller = platform.config().start().await.unwrap();
    elsewhere.apply("acme", tenant("acme", &issuer)).await;
    platform.refreshed(2).await;
    answered(&controller, &token(&issuer, "acme"), JOBS, 401).await;
    assert_eq!(elsewhere.tenants().get("acme").await.unwrap().status, None);
}

#[tokio::test]
async fn the_issuer_of_the_settings_names_only_tenants_that_are_declared() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let controller = platform
        .config()
        .env("VMAFX_JWKS_ENDPOINT", issuer.endpoint())
        .env("VMAFX_AUTH_ISSUER", issuer.url.clone())
        .env("VMAFX_AUTH_SUBJECTS", "system:serviceaccount:ci:runner=vmafx:writer")
        .start()
        .await
        .unwrap();
    let token = token(&issuer, "acme");
    let refused = answered(&controller, &token, JOBS, 401).await.refused(401);
    assert_eq!(refused, "tenant_id not found in token");

    let mut readers = tenant("acme", &issuer);
    readers["rbac"] = json!({"allowedRoles": ["vmafx:reader"]});
    platform.apply("acme", readers).await;
    platform.ready_with("acme", "TenantInForce").await;
    // A writer by its claim, and a reader by the declaration.
    answered(&controller, &token, JOBS, 403).await;
}

#[tokio::test]
async fn a_quota_binds_its_tenant_alone_and_can_be_raised() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let controller = platform.config().start().await.unwrap();
    let mut small = tenant("acme", &issuer);
    small["quota"] = json!({"pendingJobs": 1, "streams": 3});
    small["weight"] = json!(3);
    platform.apply("acme", small.clone()).await;
    platform.apply("bolt", tenant("bolt", &issuer)).await;
    for name in ["acme", "bolt"] {
        platform.ready_with(name, "TenantInForce").await;
        answered(&controller, &token(&issuer, name), JOBS, 200).await;
    }
    let job = json!({"scoring": {"reference": "/clips/r.y4m", "distorted": "/clips/d.y4m"}});
    let [acme, bolt] = ["acme", "bolt"].map(|id| Http::new(controller.http(), Some(&token(&issuer, id))));
    acme.post(JOBS, &job).await.expect(201);
    let refused = acme.post(JOBS, &job).await;
    assert_eq!((refused.status, &refused.body["limit"]), (429, &json!("pendingJobs")), "{refused:?}");
    for _ in 0..2 {
        bolt.post(JOBS, &job).await.expect(201);
    }

    small["quota"] = json!({"pendingJobs": 2});
    platform.apply("acme", small).await;
    let accepted = async || {
        let response = acme.post(JOBS, &job).await;
        if response.status == 201 { Ok(()) } else { Err(format!("{response:?}")) }
    };
    wait::until(TIMEOUT, "the new quota", accepted).await.unwrap();
    assert_eq!(acme.post(JOBS, &job).await.status, 429);
}
