//! Tenants that have their own issuers.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use vmafx_controller::auth::Access;
use vmafx_controller::identity::{Identity, Role, Roles};
use vmafx_controller::pools::SharingArgs;
use vmafx_controller::refusal::Refusal;
use vmafx_controller::service::{NodeNamespaces, Tenancy as _};
use vmafx_job::TenantLimits;
use vmafx_queue::TenantId;

use crate::clock::TestClock;
use crate::issuer::{Issuer, KeyResponse, clock, open};

/// A file of tenants, which a test can change.
struct TenantsFile {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl TenantsFile {
    fn of(tenants: &[Value]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = Self { path: directory.path().join("tenants.yaml"), _directory: directory };
        file.write(tenants);
        file
    }

    fn write(&self, tenants: &[Value]) {
        std::fs::write(&self.path, json!({ "tenants": tenants }).to_string()).unwrap();
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("VMAFX_AUTH_TENANTS_SOURCE", "file".to_owned()),
            ("VMAFX_AUTH_TENANTS_FILE", self.path.to_str().unwrap().to_owned()),
        ]
    }

    async fn open(&self, clock: &TestClock) -> Access {
        open(&self.settings(), clock).await.unwrap()
    }
}

fn tenant(name: &str, issuer: &Issuer) -> Value {
    json!({"tenantId": name, "oidc": {"issuer": issuer.url, "jwksEndpoint": issuer.endpoint(), "audience": "vmafx"}})
}

fn token(issuer: &Issuer, tenant: &str) -> String {
    issuer.token_with(|claims| claims["tid"] = json!(tenant))
}

async fn identify(access: &Access, token: &str) -> Result<Identity, Refusal> {
    access.authenticator.authenticate(Some(token)).await
}

#[tokio::test]
async fn each_tenant_is_known_by_its_own_issuer() {
    let (one, two) = (Issuer::start().await, Issuer::start().await);
    let file = TenantsFile::of(&[tenant("acme", &one), tenant("bolt", &two)]);
    let access = file.open(&clock()).await;
    assert_eq!(identify(&access, &token(&one, "acme")).await.unwrap().tenant.as_str(), "acme");
    assert_eq!(identify(&access, &token(&two, "bolt")).await.unwrap().tenant.as_str(), "bolt");
    // An issuer cannot issue tokens for a tenant of another one, and an unknown issuer for none.
    assert_eq!(identify(&access, &token(&one, "bolt")).await, Err(Refusal::Unauthenticated));
    assert_eq!(identify(&access, &token(&one, "nobody")).await, Err(Refusal::Unauthenticated));
    assert_eq!(
        identify(&access, &token(&Issuer::start().await, "acme")).await,
        Err(Refusal::Unauthenticated)
    );
}

#[tokio::test]
async fn tenants_may_share_an_issuer_and_its_keys() {
    let issuer = Issuer::start().await;
    let file = TenantsFile::of(&[tenant("acme", &issuer), tenant("bolt", &issuer)]);
    let access = file.open(&clock()).await;
    for name in ["acme", "bolt"] {
        assert_eq!(identify(&access, &token(&issuer, name)).await.unwrap().tenant.as_str(), name);
    }
    assert_eq!(issuer.reads(), 1);
    let silent = issuer.token_with(|claims| drop(claims.as_object_mut().unwrap().remove("tid")));
    assert_eq!(identify(&access, &silent).await, Err(Refusal::Incomplete("tenant_id not found in token")));
}

#[tokio::test]
async fn a_token_that_two_tenants_recognise_is_refused() {
    let issuer = Issuer::start().await;
    let mut other = tenant("bolt", &issuer);
    other["oidc"]["tenantClaim"] = json!("org");
    let file = TenantsFile::of(&[tenant("acme", &issuer), other]);
    let access = file.open(&clock()).await;
    let both = issuer.token_with(|claims| claims["org"] = json!("bolt"));
    assert_eq!(identify(&access, &both).await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn a_tenant_grants_only_the_roles_that_it_allows() {
    let issuer = Issuer::start().await;
    let mut strict = tenant("acme", &issuer);
    strict["rbac"] = json!({"allowedRoles": ["vmafx:reader"], "defaultRole": "vmafx:reader"});
    let access = TenantsFile::of(&[strict]).open(&clock()).await;
    let greedy = issuer.token_with(|claims| claims["vmafx_roles"] = json!(["vmafx:admin", "vmafx:node"]));
    assert_eq!(identify(&access, &greedy).await.unwrap().roles, Roles::NONE);
    let silent = issuer.token_with(|claims| claims["vmafx_roles"] = json!([]));
    assert_eq!(identify(&access, &silent).await.unwrap().roles, Roles::of(&[Role::Reader]));
}

#[tokio::test]
async fn a_suspended_tenant_is_denied_also_with_a_cached_token() {
    let issuer = Issuer::start().await;
    let file = TenantsFile::of(&[tenant("acme", &issuer)]);
    let access = file.open(&clock()).await;
    assert!(identify(&access, &issuer.token()).await.is_ok());
    let mut suspended = tenant("acme", &issuer);
    suspended["enabled"] = json!(false);
    file.write(&[suspended]);
    access.refresher.refresh_tenants().await;
    let refusal = identify(&access, &issuer.token()).await.unwrap_err();
    assert_eq!(refusal, Refusal::Denied("the tenant is suspended".to_owned()));
    assert_eq!(issuer.reads(), 1, "the cached keys are kept");

    file.write(&[]);
    access.refresher.refresh_tenants().await;
    assert_eq!(identify(&access, &issuer.token()).await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn a_token_of_the_token_file_is_bound_by_its_tenant_too() {
    let issuer = Issuer::start().await;
    let mut suspended = tenant("gone", &issuer);
    suspended["enabled"] = json!(false);
    let file = TenantsFile::of(&[tenant("acme", &issuer), suspended]);
    let tokens = file.path.with_file_name("tokens.yaml");
    let list = json!({"tokens": [
        {"token": "acme-0123456789ab", "tenant": "acme", "roles": ["vmafx:node"]},
        {"token": "gone-0123456789ab", "tenant": "gone", "roles": ["vmafx:node"]},
        {"token": "none-0123456789ab", "tenant": "none", "roles": ["vmafx:node"]},
    ]});
    std::fs::write(&tokens, list.to_string()).unwrap();
    let mut settings = file.settings();
    settings.push(("VMAFX_AUTH_TOKEN_FILE", tokens.to_str().unwrap().to_owned()));
    let access = open(&settings, &clock()).await.unwrap();
    assert!(identify(&access, "acme-0123456789ab").await.is_ok());
    assert!(matches!(identify(&access, "gone-0123456789ab").await, Err(Refusal::Denied(_))));
    assert_eq!(identify(&access, "none-0123456789ab").await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn tenants_that_cannot_be_read_for_ten_intervals_are_not_trusted() {
    let issuer = Issuer::start().await;
    let file = TenantsFile::of(&[tenant("acme", &issuer)]);
    let clock = clock();
    let access = file.open(&clock).await;
    let token = issuer.token();
    assert!(identify(&access, &token).await.is_ok());
    std::fs::write(&file.path, "tenants: {").unwrap();
    access.refresher.refresh_tenants().await;
    clock.advance(Duration::from_mins(5));
    assert!(identify(&access, &token).await.is_ok());
    clock.advance(Duration::from_millis(1));
    assert!(matches!(identify(&access, &token).await, Err(Refusal::Unavailable(_))));

    file.write(&[tenant("acme", &issuer)]);
    access.refresher.refresh_tenants().await;
    assert!(identify(&access, &token).await.is_ok());
}

#[tokio::test]
async fn an_invalid_tenant_fails_the_start_and_is_left_out_later() {
    let issuer = Issuer::start().await;
    let file = TenantsFile::of(&[tenant("acme", &issuer)]);
    let access = file.open(&clock()).await;
    let mut bad = tenant("bolt", &issuer);
    bad["more"] = json!(1);
    file.write(&[tenant("acme", &issuer), bad]);
    access.refresher.refresh_tenants().await;
    assert!(identify(&access, &issuer.token()).await.is_ok());
    assert_eq!(identify(&access, &token(&issuer, "bolt")).await, Err(Refusal::Unauthenticated));

    let error = open(&file.settings(), &clock()).await.err().unwrap();
    let text = format!("{:#}", anyhow::Error::from(error));
    assert!(text.contains("tenant 2: unknown field `more`"), "{text}");
}

#[tokio::test]
async fn tenants_have_their_own_scoring_roots() {
    let issuer = Issuer::start().await;
    let mut acme = tenant("acme", &issuer);
    acme["scoring"] = json!({"roots": ["s3://clips/{tenant}"]});
    acme["reports"] = json!({"roots": ["s3://reports/{tenant}"]});
    let access = TenantsFile::of(&[acme, tenant("bolt", &issuer)]).open(&clock()).await;
    let id = |name: &str| TenantId::new(name).unwrap();
    assert_eq!(access.roots.of(&id("acme")), ["s3://clips/acme"]);
    assert!(access.roots.check(&id("acme"), "s3://clips/acme/a.mp4").is_ok());
    assert!(access.roots.check(&id("acme"), "s3://clips/bolt/a.mp4").is_err());
    assert_eq!(access.roots.of_reports(&id("acme")), ["s3://reports/acme"]);
    assert!(access.roots.check_report(&id("acme"), "s3://reports/acme/a.json").is_ok());
    assert!(access.roots.check_report(&id("acme"), "s3://clips/acme/a.json").is_err());
    for other in ["bolt", "nobody"] {
        assert!(access.roots.of_reports(&id(other)).is_empty());
        assert!(access.roots.check_report(&id(other), "s3://reports/acme/a.json").is_err());
        assert!(access.roots.of(&id(other)).is_empty());
        assert!(access.roots.check(&id(other), "s3://clips/acme/a.mp4").is_err());
    }
}

#[tokio::test]
async fn an_issuer_that_is_down_affects_only_its_own_tenants() {
    let (up, down) = (Issuer::start().await, Issuer::start().await);
    down.respond(KeyResponse::Status(axum::http::StatusCode::BAD_GATEWAY));
    let access = TenantsFile::of(&[tenant("acme", &up), tenant("bolt", &down)]).open(&clock()).await;
    assert!(identify(&access, &up.token()).await.is_ok());
    assert!(matches!(identify(&access, &token(&down, "bolt")).await, Err(Refusal::Unavailable(_))));
}

/// Its issuer may choose any subject, that of a worker in another namespace too.
#[tokio::test]
async fn a_node_of_a_tenant_in_the_file_reports_for_the_namespaces_that_it_lists() {
    let issuer = Issuer::start().await;
    let mut acme = tenant("acme", &issuer);
    acme["namespaces"] = json!(["web", "tv"]);
    let access = TenantsFile::of(&[acme, tenant("bolt", &issuer)]).open(&clock()).await;
    let rules = access.tenant_rules(TenantLimits::default(), SharingArgs::default());
    for (name, listed) in [("acme", &["tv", "web"][..]), ("bolt", &[])] {
        let token = issuer.token_with(|claims| {
            claims["tid"] = json!(name);
            claims["sub"] = json!("system:serviceaccount:video:vmafx-worker");
        });
        let who = identify(&access, &token).await.unwrap();
        assert_eq!(who.service_account(), None);
        let listed = listed.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(rules.node_namespaces(&who), NodeNamespaces::Listed(listed));
    }
}
