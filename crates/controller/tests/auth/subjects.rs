//! Service accounts, and the tokens of the token file.

use serde_json::json;
use vmafx_controller::auth::Access;
use vmafx_controller::identity::{Identity, Role, Roles};
use vmafx_controller::refusal::Refusal;

use crate::issuer::{Issuer, NOW, clock, key, mint, open};

const NODE: &str = "system:serviceaccount:vmafx:vmafx-node";

/// A token as the kubelet mounts it, without tenant and roles.
pub(crate) fn service_account(issuer: &Issuer, subject: &str) -> String {
    let claims = json!({
        "iss": issuer.url, "aud": ["vmafx"], "sub": subject, "exp": NOW + 3600, "iat": NOW, "nbf": NOW,
        "kubernetes.io": {"namespace": "vmafx", "serviceaccount": {"name": "vmafx-node"}},
    });
    mint(&json!({"alg": "RS256", "kid": "first"}), &claims, key(0))
}

async fn identify(access: &Access, token: &str) -> Result<Identity, Refusal> {
    access.authenticator.authenticate(Some(token)).await
}

#[tokio::test]
async fn a_service_account_has_the_roles_that_the_settings_give_it() {
    let issuer = Issuer::start().await;
    let mut settings = issuer.settings();
    settings.push(("VMAFX_AUTH_SUBJECTS", format!("{NODE}=vmafx:node")));
    settings.push(("VMAFX_AUTH_DEFAULT_TENANT", "studio".to_owned()));
    let access = open(&settings, &clock()).await.unwrap();
    let node = identify(&access, &service_account(&issuer, NODE)).await.unwrap();
    assert_eq!((node.tenant.as_str(), node.roles), ("studio", Roles::of(&[Role::Node])));

    let other = identify(&access, &service_account(&issuer, "system:serviceaccount:vmafx:other")).await;
    assert_eq!(other, Err(Refusal::Incomplete("tenant_id not found in token")));
    // A token cannot add roles to those that the settings give its subject.
    let greedy = issuer.token_with(|claims| {
        claims["sub"] = json!(NODE);
        claims["vmafx_roles"] = json!(["vmafx:admin"]);
    });
    let greedy = identify(&access, &greedy).await.unwrap();
    assert_eq!((greedy.tenant.as_str(), greedy.roles), ("studio", Roles::of(&[Role::Node])));
}

#[tokio::test]
async fn without_a_setting_the_issuer_is_that_of_our_own_token_also_when_it_changes() {
    let issuer = Issuer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("token");
    std::fs::write(&own, issuer.token()).unwrap();
    let mut settings = issuer.settings();
    settings.retain(|(name, _)| *name != "VMAFX_AUTH_ISSUER");
    settings.push(("VMAFX_JWKS_TOKEN_FILE", own.to_str().unwrap().to_owned()));
    let access = open(&settings, &clock()).await.unwrap();
    let (token, renamed) = (issuer.token(), issuer.token_with(|claims| claims["iss"] = json!("https://new")));
    assert!(identify(&access, &token).await.is_ok());
    assert_eq!(identify(&access, &renamed).await, Err(Refusal::Unauthenticated));

    // The kubelet replaces the file, and the name of the issuer has changed.
    std::fs::write(&own, &renamed).unwrap();
    access.refresher.reload_files().await;
    assert!(identify(&access, &renamed).await.is_ok());
    assert_eq!(
        identify(&access, &token).await,
        Err(Refusal::Unauthenticated),
        "the old issuer must not be cached"
    );
    // An unusable token changes nothing.
    std::fs::write(&own, "").unwrap();
    access.refresher.reload_files().await;
    assert!(identify(&access, &renamed).await.is_ok());
}

#[tokio::test]
async fn the_issuer_of_the_settings_wins_over_that_of_our_own_token() {
    let issuer = Issuer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("token");
    std::fs::write(&own, issuer.token_with(|claims| claims["iss"] = json!("https://elsewhere"))).unwrap();
    let mut settings = issuer.settings();
    settings.push(("VMAFX_JWKS_TOKEN_FILE", own.to_str().unwrap().to_owned()));
    let access = open(&settings, &clock()).await.unwrap();
    assert!(identify(&access, &issuer.token()).await.is_ok());
}

#[tokio::test]
async fn a_file_of_subjects_is_read_again_and_invalidates_cached_tokens() {
    let issuer = Issuer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("subjects.yaml");
    let write = |role: &str| {
        std::fs::write(&file, format!("subjects: [{{subject: '{NODE}', roles: ['{role}'], tenant: t}}]"))
            .unwrap();
    };
    write("vmafx:admin");
    let mut settings = issuer.settings();
    settings.push(("VMAFX_AUTH_SUBJECTS", file.to_str().unwrap().to_owned()));
    let access = open(&settings, &clock()).await.unwrap();
    let token = service_account(&issuer, NODE);
    assert_eq!(identify(&access, &token).await.unwrap().roles, Roles::of(&[Role::Admin]));

    write("vmafx:reader");
    access.refresher.reload_files().await;
    assert_eq!(identify(&access, &token).await.unwrap().roles, Roles::of(&[Role::Reader]));
    write("vmafx:typo");
    access.refresher.reload_files().await;
    assert_eq!(identify(&access, &token).await.unwrap().roles, Roles::of(&[Role::Reader]));
}

#[tokio::test]
async fn a_token_file_alone_is_enough_and_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tokens.yaml");
    let entry = |token: &str| format!("tokens: [{{token: {token}, tenant: local, roles: ['vmafx:writer']}}]");
    std::fs::write(&file, entry("0123456789abcdef")).unwrap();
    let settings = [("VMAFX_AUTH_TOKEN_FILE", file.to_str().unwrap().to_owned())];
    let access = open(&settings, &clock()).await.unwrap();
    assert_eq!(identify(&access, "0123456789abcdef").await.unwrap().tenant.as_str(), "local");
    assert_eq!(identify(&access, "0123456789abcdeF").await, Err(Refusal::Unauthenticated));

    std::fs::write(&file, entry("fedcba9876543210")).unwrap();
    access.refresher.reload_files().await;
    assert_eq!(identify(&access, "0123456789abcdef").await, Err(Refusal::Unauthenticated));
    assert!(identify(&access, "fedcba9876543210").await.is_ok());

    std::fs::remove_file(&file).unwrap();
    access.refresher.reload_files().await;
    assert!(identify(&access, "fedcba9876543210").await.is_ok());
}

#[tokio::test]
async fn a_token_file_goes_together_with_an_issuer() {
    let issuer = Issuer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tokens.yaml");
    std::fs::write(&file, "tokens: [{token: 0123456789abcdef, tenant: t, roles: ['vmafx:node']}]").unwrap();
    let mut settings = issuer.settings();
    settings.push(("VMAFX_AUTH_TOKEN_FILE", file.to_str().unwrap().to_owned()));
    let access = open(&settings, &clock()).await.unwrap();
    assert!(identify(&access, "0123456789abcdef").await.is_ok());
    assert_eq!(issuer.reads(), 0);
    assert!(identify(&access, &issuer.token()).await.is_ok());
}
