//! Valid and invalid tokens of one issuer.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_controller::auth::{AuthMetrics, AuthOutcome};
use vmafx_controller::identity::{Role, Roles};
use vmafx_controller::refusal::Refusal;

use crate::issuer::{Issuer, NOW, clock, jwk, key, mint, open_with_metrics};

const VALID_HEADER: fn() -> Value = || json!({"alg": "RS256", "kid": "first"});

#[tokio::test]
async fn a_valid_token_has_a_tenant_a_subject_and_roles() {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&clock()).await;
    let identity = access.authenticator.authenticate(Some(&issuer.token())).await.unwrap();
    assert_eq!((identity.tenant.as_str(), identity.subject.as_str()), ("acme", "somebody"));
    assert_eq!(identity.roles, Roles::of(&[Role::Writer]));
}

/// Replaces a claim, or removes it if the value is null.
fn claim(name: &'static str, value: Value) -> impl Fn(&mut Value, &Issuer) {
    move |claims, _| {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
}

#[rstest]
#[case::expired(claim("exp", json!(NOW - 30)), AuthOutcome::Expired)]
#[case::without_end(claim("exp", Value::Null), AuthOutcome::Expired)]
#[case::end_as_text(claim("exp", json!("never")), AuthOutcome::Malformed)]
#[case::premature(claim("nbf", json!(NOW + 3601)), AuthOutcome::Premature)]
#[case::other_issuer(claim("iss", json!("https://evil.example")), AuthOutcome::Issuer)]
#[case::no_issuer(claim("iss", Value::Null), AuthOutcome::Issuer)]
#[case::issuer_as_number(claim("iss", json!(7)), AuthOutcome::Malformed)]
#[case::other_audience(claim("aud", json!("others")), AuthOutcome::Audience)]
#[case::other_audiences(claim("aud", json!(["others", "vmafx2"])), AuthOutcome::Audience)]
#[case::no_audience(claim("aud", Value::Null), AuthOutcome::Audience)]
#[tokio::test]
async fn a_token_with_invalid_claims_is_refused(
    #[case] change: impl Fn(&mut Value, &Issuer),
    #[case] expected: AuthOutcome,
) {
    let issuer = Issuer::start().await;
    let token = issuer.token_with(|claims| change(claims, &issuer));
    refused(&issuer, &token, expected).await;
}

#[rstest]
#[case::none(json!({"alg": "none", "kid": "first"}), AuthOutcome::Algorithm)]
#[case::none_in_capitals(json!({"alg": "NONE", "kid": "first"}), AuthOutcome::Algorithm)]
#[case::elliptic(json!({"alg": "ES256", "kid": "first"}), AuthOutcome::Algorithm)]
#[case::longer_hash(json!({"alg": "RS512", "kid": "first"}), AuthOutcome::Algorithm)]
#[case::padding(json!({"alg": "PS256", "kid": "first"}), AuthOutcome::Algorithm)]
#[case::small_letters(json!({"alg": "rs256", "kid": "first"}), AuthOutcome::Algorithm)]
#[case::no_algorithm(json!({"kid": "first"}), AuthOutcome::Malformed)]
#[case::no_key(json!({"alg": "RS256"}), AuthOutcome::UnknownKey)]
#[case::other_key(json!({"alg": "RS256", "kid": "second"}), AuthOutcome::UnknownKey)]
#[case::demand(json!({"alg": "RS256", "kid": "first", "crit": ["exp"]}), AuthOutcome::Malformed)]
#[tokio::test]
async fn a_token_with_an_invalid_header_is_refused(#[case] header: Value, #[case] expected: AuthOutcome) {
    let issuer = Issuer::start().await;
    let token = mint(&header, &issuer.claims(), key(0));
    refused(&issuer, &token, expected).await;
}

#[tokio::test]
async fn another_key_with_the_id_of_a_trusted_one_is_refused() {
    let issuer = Issuer::start().await;
    let token = mint(&VALID_HEADER(), &issuer.claims(), key(1));
    refused(&issuer, &token, AuthOutcome::Signature).await;
}

#[tokio::test]
async fn a_key_inside_the_token_is_ignored() {
    let issuer = Issuer::start().await;
    let header =
        json!({"alg": "RS256", "kid": "first", "jwk": jwk("first", key(1)), "jku": "https://evil/keys"});
    let token = mint(&header, &issuer.claims(), key(1));
    refused(&issuer, &token, AuthOutcome::Signature).await;
}

/// The public key used as the secret of an HMAC: a verifier that lets the token choose the algorithm would accept it.
#[tokio::test]
async fn a_token_signed_with_the_public_key_as_a_secret_is_refused() {
    let issuer = Issuer::start().await;
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({"alg": "HS256", "kid": "first"});
    let message = format!("{}.{}", encode(&header), encode(&issuer.claims()));
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key(0).public_key().as_ref());
    let token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(hmac::sign(&secret, message.as_bytes())));
    refused(&issuer, &token, AuthOutcome::Algorithm).await;
}

#[tokio::test]
async fn a_token_without_a_signature_is_refused() {
    let issuer = Issuer::start().await;
    let valid = issuer.token();
    let (unsigned, _) = valid.rsplit_once('.').unwrap();
    refused(&issuer, &format!("{unsigned}."), AuthOutcome::Signature).await;
    refused(&issuer, unsigned, AuthOutcome::Malformed).await;
}

#[tokio::test]
async fn changed_claims_invalidate_the_signature() {
    let issuer = Issuer::start().await;
    let (valid, other) = (issuer.token(), issuer.token_with(|claims| claims["tid"] = json!("other")));
    let parts: Vec<_> = valid.split('.').collect();
    let forged = format!("{}.{}.{}", parts[0], other.split('.').nth(1).unwrap(), parts[2]);
    refused(&issuer, &forged, AuthOutcome::Signature).await;
}

#[rstest]
#[case::garbage("garbage".to_owned(), AuthOutcome::Malformed)]
#[case::dots("a.b.c".to_owned(), AuthOutcome::Malformed)]
#[case::four_parts("e30.e30.e30.e30".to_owned(), AuthOutcome::Malformed)]
#[case::no_json("Zm9v.Zm9v.Zm9v".to_owned(), AuthOutcome::Malformed)]
#[case::long("x".repeat(100_000), AuthOutcome::TooLarge)]
#[case::not_text("é.ü.ö".to_owned(), AuthOutcome::Malformed)]
#[tokio::test]
async fn text_that_is_not_a_token_is_refused(#[case] token: String, #[case] expected: AuthOutcome) {
    let issuer = Issuer::start().await;
    refused(&issuer, &token, expected).await;
    assert_eq!(issuer.reads(), 0, "an invalid token must not cause a read of the keys");
}

#[tokio::test]
async fn a_call_without_a_token_is_refused() {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&clock()).await;
    assert_eq!(access.authenticator.authenticate(None).await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn a_key_of_1024_bits_is_ignored() {
    let issuer = Issuer::start().await;
    let mut weak = jwk("weak", key(0));
    weak["n"] = json!(URL_SAFE_NO_PAD.encode([0xff; 128]));
    issuer.publish(&[weak, jwk("first", key(0))]);
    let token = mint(&json!({"alg": "RS256", "kid": "weak"}), &issuer.claims(), key(0));
    refused(&issuer, &token, AuthOutcome::UnknownKey).await;
}

#[rstest]
#[case::text(json!("vmafx:admin"), &[Role::Admin])]
#[case::list(json!(["vmafx:reader", "vmafx:node"]), &[Role::Reader, Role::Node])]
#[case::unknown(json!(["root", "vmafx:root"]), &[])]
#[case::number(json!(7), &[])]
#[case::absent(Value::Null, &[])]
#[tokio::test]
async fn roles_are_a_string_or_a_list_and_unknown_ones_are_ignored(
    #[case] roles: Value,
    #[case] expected: &[Role],
) {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&clock()).await;
    let token = issuer.token_with(|claims| claims["vmafx_roles"] = roles);
    let identity = access.authenticator.authenticate(Some(&token)).await.unwrap();
    assert_eq!(identity.roles, Roles::of(expected));
}

#[rstest]
#[case::absent(Value::Null)]
#[case::empty(json!(""))]
#[case::number(json!(7))]
#[case::control(json!("a\u{7}"))]
#[case::long(json!("x".repeat(129)))]
#[tokio::test]
async fn a_valid_token_without_a_tenant_is_incomplete(#[case] tenant: Value) {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&clock()).await;
    let token = issuer.token_with(|claims| claims["tid"] = tenant);
    let refusal = access.authenticator.authenticate(Some(&token)).await.unwrap_err();
    assert_eq!(refusal, Refusal::Incomplete("tenant_id not found in token"));
}

#[tokio::test]
async fn the_names_of_the_claims_are_settings() {
    let issuer = Issuer::start().await;
    let mut settings = issuer.settings();
    settings.push(("VMAFX_AUTH_TENANT_CLAIM", "org".to_owned()));
    settings.push(("VMAFX_AUTH_ROLES_CLAIM", "groups".to_owned()));
    let access = crate::issuer::open(&settings, &clock()).await.unwrap();
    let token = issuer.token_with(|claims| {
        claims["org"] = json!("studio");
        claims["groups"] = json!("vmafx:reader");
    });
    let identity = access.authenticator.authenticate(Some(&token)).await.unwrap();
    assert_eq!((identity.tenant.as_str(), identity.roles), ("studio", Roles::of(&[Role::Reader])));
}

#[tokio::test]
async fn a_cached_token_expires_on_time() {
    let issuer = Issuer::start().await;
    let clock = clock();
    let access = issuer.trusted(&clock).await;
    let token = issuer.token_with(|claims| claims["exp"] = json!(NOW + 10));
    for _ in 0..3 {
        access.authenticator.authenticate(Some(&token)).await.unwrap();
    }
    clock.advance(std::time::Duration::from_secs(39));
    access.authenticator.authenticate(Some(&token)).await.unwrap();
    clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(access.authenticator.authenticate(Some(&token)).await, Err(Refusal::Unauthenticated));
}

/// The caller gets one error for every cause; only the metric has the cause.
async fn refused(issuer: &Issuer, token: &str, expected: AuthOutcome) {
    let metrics = AuthMetrics::default();
    let access = open_with_metrics(&issuer.settings(), &clock(), metrics.clone()).await.unwrap();
    let refusal = access.authenticator.authenticate(Some(token)).await.unwrap_err();
    assert_eq!(refusal, Refusal::Unauthenticated);
    assert_eq!(metrics.calls(expected), 1, "refused for another reason than {expected:?}");
}
