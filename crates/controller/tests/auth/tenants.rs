//! Tenants with issuers of their own.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use vmafx_controller::auth::Access;
use vmafx_controller::identity::{Identity, Role, Roles};
use vmafx_controller::refusal::Refusal;
use vmafx_queue::TenantId;

use crate::issuer::{Answer, Hand, Issuer, open};

/// A file of tenants that a test can change.
struct File {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl File {
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

    async fn open(&self, hand: &Hand) -> Access {
        open(&self.settings(), hand).await.unwrap()
    }
}

fn tenant(name: &str, issuer: &Issuer) -> Value {
    json!({"tenantId": name, "oidc": {"issuer": issuer.url, "jwksEndpoint": issuer.endpoint(), "audience": "vmafx"}})
}

fn token(issuer: &Issuer, tenant: &str) -> String {
    issuer.token_with(|claims| claims["tid"] = json!(tenant))
}

async fn who(access: &Access, token: &str) -> Result<Identity, Refusal> {
    access.authenticator.authenticate(Some(token)).await
}

#[tokio::test]
async fn each_tenant_is_known_by_its_own_issuer() {
    let (one, two) = (Issuer::start().await, Issuer::start().await);
    let file = File::of(&[tenant("acme", &one), tenant("bolt", &two)]);
    let access = file.open(&Hand::new()).await;
    assert_eq!(who(&access, &token(&one, "acme")).await.unwrap().tenant.as_str(), "acme");
    assert_eq!(who(&access, &token(&two, "bolt")).await.unwrap().tenant.as_str(), "bolt");
    // An issuer cannot speak for the tenant of another, and a stranger for none.
    assert_eq!(who(&access, &token(&one, "bolt")).await, Err(Refusal::Unauthenticated));
    assert_eq!(who(&access, &token(&one, "nobody")).await, Err(Refusal::Unauthenticated));
    assert_eq!(who(&access, &token(&Issuer::start().await, "acme")).await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn tenants_may_share_an_issuer_and_its_keys() {
    let issuer = Issuer::start().await;
    let file = File::of(&[tenant("acme", &issuer), tenant("bolt", &issuer)]);
    let access = file.open(&Hand::new()).await;
    for name in ["acme", "bolt"] {
        assert_eq!(who(&access, &token(&issuer, name)).await.unwrap().tenant.as_str(), name);
    }
    assert_eq!(issuer.reads(), 1);
    let silent = issuer.token_with(|claims| drop(claims.as_object_mut().unwrap().remove("tid")));
    assert_eq!(who(&access, &silent).await, Err(Refusal::Incomplete("tenant_id not found in token")));
}

#[tokio::test]
async fn a_token_that_two_tenants_recognise_is_refused() {
    let issuer = Issuer::start().await;
    let mut other = tenant("bolt", &issuer);
    other["oidc"]["tenantClaim"] = json!("org");
    let file = File::of(&[tenant("acme", &issuer), other]);
    let access = file.open(&Hand::new()).await;
    let both = issuer.token_with(|claims| claims["org"] = json!("bolt"));
    assert_eq!(who(&access, &both).await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn a_tenant_gives_no_role_it_does_not_allow() {
    let issuer = Issuer::start().await;
    let mut strict = tenant("acme", &issuer);
    strict["rbac"] = json!({"allowedRoles": ["vmafx:reader"], "defaultRole": "vmafx:reader"});
    let access = File::of(&[strict]).open(&Hand::new()).await;
    let greedy = issuer.token_with(|claims| claims["vmafx_roles"] = json!(["vmafx:admin", "vmafx:node"]));
    assert_eq!(who(&access, &greedy).await.unwrap().roles, Roles::NONE);
    let silent = issuer.token_with(|claims| claims["vmafx_roles"] = json!([]));
    assert_eq!(who(&access, &silent).await.unwrap().roles, Roles::of(&[Role::Reader]));
}

#[tokio::test]
async fn a_suspended_tenant_is_forbidden_also_with_a_token_that_is_remembered() {
    let issuer = Issuer::start().await;
    let file = File::of(&[tenant("acme", &issuer)]);
    let access = file.open(&Hand::new()).await;
    assert!(who(&access, &issuer.token()).await.is_ok());
    let mut suspended = tenant("acme", &issuer);
    suspended["enabled"] = json!(false);
    file.write(&[suspended]);
    access.upkeep.refresh().await;
    let refusal = who(&access, &issuer.token()).await.unwrap_err();
    assert_eq!(refusal, Refusal::Denied("the tenant is suspended".to_owned()));
    assert_eq!(issuer.reads(), 1, "keys that are known are kept");

    file.write(&[]);
    access.upkeep.refresh().await;
    assert_eq!(who(&access, &issuer.token()).await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn a_token_of_the_token_file_is_bound_by_its_tenant_too() {
    let issuer = Issuer::start().await;
    let mut suspended = tenant("gone", &issuer);
    suspended["enabled"] = json!(false);
    let file = File::of(&[tenant("acme", &issuer), suspended]);
    let tokens = file.path.with_file_name("tokens.yaml");
    let list = json!({"tokens": [
        {"token": "acme-0123456789ab", "tenant": "acme", "roles": ["vmafx:node"]},
        {"token": "gone-0123456789ab", "tenant": "gone", "roles": ["vmafx:node"]},
        {"token": "none-0123456789ab", "tenant": "none", "roles": ["vmafx:node"]},
    ]});
    std::fs::write(&tokens, list.to_string()).unwrap();
    let mut settings = file.settings();
    settings.push(("VMAFX_AUTH_TOKEN_FILE", tokens.to_str().unwrap().to_owned()));
    let access = open(&settings, &Hand::new()).await.unwrap();
    assert!(who(&access, "acme-0123456789ab").await.is_ok());
    assert!(matches!(who(&access, "gone-0123456789ab").await, Err(Refusal::Denied(_))));
    assert_eq!(who(&access, "none-0123456789ab").await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn tenants_that_cannot_be_read_for_ten_intervals_are_not_trusted() {
    let issuer = Issuer::start().await;
    let file = File::of(&[tenant("acme", &issuer)]);
    let hand = Hand::new();
    let access = file.open(&hand).await;
    let good = issuer.token();
    assert!(who(&access, &good).await.is_ok());
    std::fs::write(&file.path, "tenants: {").unwrap();
    access.upkeep.refresh().await;
    hand.advance(Duration::from_mins(5));
    assert!(who(&access, &good).await.is_ok());
    hand.advance(Duration::from_millis(1));
    assert!(matches!(who(&access, &good).await, Err(Refusal::Unavailable(_))));

    file.write(&[tenant("acme", &issuer)]);
    access.upkeep.refresh().await;
    assert!(who(&access, &good).await.is_ok());
}

#[tokio::test]
async fn later_a_bad_tenant_is_left_out_and_at_start_it_is_refused() {
    let issuer = Issuer::start().await;
    let file = File::of(&[tenant("acme", &issuer)]);
    let access = file.open(&Hand::new()).await;
    let mut bad = tenant("bolt", &issuer);
    bad["more"] = json!(1);
    file.write(&[tenant("acme", &issuer), bad]);
    access.upkeep.refresh().await;
    assert!(who(&access, &issuer.token()).await.is_ok());
    assert_eq!(who(&access, &token(&issuer, "bolt")).await, Err(Refusal::Unauthenticated));

    let error = open(&file.settings(), &Hand::new()).await.err().unwrap();
    let text = format!("{:#}", anyhow::Error::from(error));
    assert!(text.contains("tenant 2: unknown field `more`"), "{text}");
}

#[tokio::test]
async fn tenants_have_roots_of_their_own() {
    let issuer = Issuer::start().await;
    let mut acme = tenant("acme", &issuer);
    acme["scoring"] = json!({"roots": ["s3://clips/{tenant}"]});
    let access = File::of(&[acme, tenant("bolt", &issuer)]).open(&Hand::new()).await;
    let id = |name: &str| TenantId::new(name).unwrap();
    assert_eq!(access.roots.of(&id("acme")), ["s3://clips/acme"]);
    assert!(access.roots.check(&id("acme"), "s3://clips/acme/a.mp4").is_ok());
    assert!(access.roots.check(&id("acme"), "s3://clips/bolt/a.mp4").is_err());
    for other in ["bolt", "nobody"] {
        assert!(access.roots.of(&id(other)).is_empty());
        assert!(access.roots.check(&id(other), "s3://clips/acme/a.mp4").is_err());
    }
}

#[tokio::test]
async fn an_issuer_that_is_down_harms_only_its_own_tenants() {
    let (up, down) = (Issuer::start().await, Issuer::start().await);
    down.answers(Answer::Status(axum::http::StatusCode::BAD_GATEWAY));
    let access = File::of(&[tenant("acme", &up), tenant("bolt", &down)]).open(&Hand::new()).await;
    assert!(who(&access, &up.token()).await.is_ok());
    assert!(matches!(who(&access, &token(&down, "bolt")).await, Err(Refusal::Unavailable(_))));
}
